/* SPDX-License-Identifier: MIT */
/* The least program that filters; without FILTER, the same without the filter. What it adds is its size. */
#include "board.h"
#include "classfilter.h"

volatile float given, seen;

int main(void) {
    float probs[CF_CLASSES], observed[CF_CLASSES];
    int k;
    for (k = 0; k < CF_CLASSES; k++) observed[k] = probs[k] = given;
#ifdef FILTER
    {
        static cf_stream_f32 stream;
        int source = (int)board_ticks();
        cf_start_f32(&stream);
#ifdef CF_POLICY
        (void)cf_choose_f32(&stream, given, &source);
#endif
        (void)cf_update_f32(&stream, source, observed, given, probs);
#if defined(CF_EVENTS) && !defined(NO_EVENTS)
        {
            static cf_event events[CF_MOST_EVENTS];
            size_t count;
            (void)cf_decide_f32(&stream, board_ticks(), probs, events, &count);
            seen = (float)count;
        }
#endif
    }
#endif
    for (k = 0; k < CF_CLASSES; k++) seen = probs[k] + observed[k];
    return (int)board_ticks();
}
