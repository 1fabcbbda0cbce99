/* SPDX-License-Identifier: MIT */
/* What goes on, as soon as it is likely; and what has happened, once no later prediction can change it. */
#include <stdio.h>

#include "classfilter.h"
#include "rows.h" /* predictions; yours come from a classifier */

static cf_stream_f32 stream;
static const char *const names[CF_CLASSES] = CF_CLASS_NAMES;

/* The clock counts milliseconds from 8 o'clock on. */
static void print_time(cf_time ms) {
    const unsigned minutes = 8 * 60 + (unsigned)(ms / 60000);
    printf("%02u:%02u", minutes / 60 % 24, minutes % 60);
}

static void print_event(const cf_event *event) {
    printf("       ");
    print_time(event->start);
    printf(" to ");
    print_time(event->end);
    printf("  %s, %d %%\n", names[event->label], (int)(100 * event->probability + 0.5f));
}

/* Where the classifier has a prediction. */
static void on_prediction(int source, const float *output, uint32_t now_ms) {
    static cf_event events[CF_MOST_EVENTS];
    static uint32_t before_ms;
    static int started, shown = -1;
    const float dt = started ? (float)(now_ms - before_ms) / 1000 : 0; /* seconds; 0 at the first */
    float probs[CF_CLASSES];
    cf_event present;
    size_t i, count;
    if (cf_update_f32(&stream, source, output, dt, probs) != CF_OK) return; /* the stream is as it was */
    before_ms = now_ms;
    started = 1;
    if (cf_decide_f32(&stream, now_ms, probs, events, &count) != CF_OK) return;
    for (i = 0; i < count; i++) print_event(&events[i]);
    if (cf_current_f32(&stream, &present) == 0 || present.label == shown) return;
    shown = present.label;
    print_time(now_ms);
    printf("  %s since ", names[shown]);
    print_time(present.start);
    printf("\n");
}

int main(void) {
    cf_event events[CF_MOST_EVENTS];
    size_t i, count;
    cf_start_f32(&stream);
    for (i = 0; i < ROWS; i++) on_prediction(rows[i].source, rows[i].output, rows[i].time_ms);
    cf_finish_f32(&stream, events, &count); /* the day is over */
    for (i = 0; i < count; i++) print_event(&events[i]);
    return 0;
}
