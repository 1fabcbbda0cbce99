/* SPDX-License-Identifier: MIT */
/* What the example does on every platform: it calls the classifier, updates the filter, and puts the result into words.
   Steady.ino, example.c and the sample for Zephyr have the clock and the terminal. */
#ifndef STEADY_H
#define STEADY_H

#include <stdio.h>

#include "classfilter.h"
#include "classifier.h"

#define STEADY_PERIOD_MS 5000u
#define STEADY_TEXT 100 /* characters of a line, at most */

/* One prediction, at now_ms of a clock that may wrap. The time unit of these settings is the second. */
static void steady_step(cf_stream_f32 *stream, uint32_t now_ms, char *text) {
    static uint32_t before_ms;
    static int begun, source;
    const float dt = begun ? (float)(now_ms - before_ms) / 1000 : 0;
    float output[CF_COLUMNS], probs[CF_COLUMNS];
    cf_status status;
    int used;
#ifdef CF_POLICY
    (void)cf_choose_f32(stream, dt, &source); /* whom to call */
#else
    source = begun ? (source + 1) % CF_SOURCES : 0; /* each in turn */
#endif
    classify(source, output);
    status = cf_update_f32(stream, source, output, dt, probs);
    if (status != CF_OK) { /* the stream is as it was */
        snprintf(text, STEADY_TEXT, "refused: status %d", (int)status);
        return;
    }
    before_ms = now_ms;
    begun = 1;
    used = snprintf(text, STEADY_TEXT, "%5lu s  ", (unsigned long)(now_ms / 1000));
    describe(stream, probs, text + used, STEADY_TEXT - (size_t)used);
}

#endif
