/* SPDX-License-Identifier: MIT */
/* Eight predictions go in, a steady class comes out. Run on a PC: make && ./example */
#include "examples/Steady/steady.h"

int main(void) {
    cf_stream_f32 stream;
    uint32_t i;
    cf_start_f32(&stream);
    for (i = 0; i < 8; i++) {
        char text[STEADY_TEXT];
        steady_step(&stream, i * STEADY_PERIOD_MS, text);
        puts(text);
    }
    return 0;
}
