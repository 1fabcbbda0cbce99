/* SPDX-License-Identifier: MIT */
/* A prediction every five seconds, and the steady class of it on the serial port. classifier.h has what to replace. */
#include <classfilter.h>

#include "steady.h"

static cf_stream_f32 stream;

void setup() {
    Serial.begin(115200);
    cf_start_f32(&stream);
}

void loop() {
    static uint32_t due_ms;
    char text[STEADY_TEXT];
    const uint32_t now_ms = millis();
    if ((int32_t)(now_ms - due_ms) < 0) return; /* also where the clock wraps */
    due_ms = now_ms + STEADY_PERIOD_MS;
    steady_step(&stream, now_ms, text);
    Serial.println(text);
}
