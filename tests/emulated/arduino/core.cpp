/* SPDX-License-Identifier: MIT */
/* A stand-in for Arduino's core: forty seconds of loop() on the emulated board, ten calls a second. */
#include "Arduino.h"

extern "C" {
#include "board.h"
void *_sbrk(int more);
}

Terminal Serial;
static unsigned long now_ms;
static bool begun;

unsigned long millis() { return now_ms; }

void Terminal::begin(unsigned long baud) { begun = baud > 0; }

void Terminal::println(const char *text) {
    if (!begun) board_exit(71);
    board_write(text);
    board_write("\n");
}

/* The library of C asks for it; nothing may be allocated. */
void *_sbrk(int) {
    board_exit(72);
    return nullptr;
}

int main() {
    setup();
    for (now_ms = 0; now_ms < 40000; now_ms += 100) loop();
    return 0;
}
