/* SPDX-License-Identifier: MIT */
/* A stand-in for Arduino's header, with what the sketch calls. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stdint.h>

unsigned long millis();
void setup();
void loop();

struct Terminal {
    void begin(unsigned long baud);
    void println(const char *text);
};
extern Terminal Serial;

#endif
