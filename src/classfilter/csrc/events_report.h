/* SPDX-License-Identifier: MIT */
/* From confirmed segments to events: shifted, ignored, merged and padded. One event is held, until nothing can change it. */
#ifndef CF_EVENTS_REPORT_H
#define CF_EVENTS_REPORT_H

#include "events_state.h"

/* The time of a change, moved back. */
CF_INLINE cf_time shifted(const events_view *s, cf_time time) {
    const cf_time back = time - rule_of(s)->shift;
    return back > s->head->stretch ? back : s->head->stretch;
}

CF_INLINE int can_merge(const cf_events *rule, cf_time from, cf_time to) {
    return rule->merge_gap >= 0 && !is_longer(to - from, rule->merge_gap, to);
}

/* Where an event starts whose first segment does so at `from`: padded, but not into the event before it. */
CF_INLINE cf_time padded_start(const events_view *s, cf_time from) {
    const cf_time back = from - rule_of(s)->pad_before;
    return back > s->head->reported ? back : s->head->reported;
}

static cf_event held_event(const events_view *s, cf_time end) {
    const events_head *h = s->head;
    const cf_real mean = (cf_real)h->held_sum / as_real(h->held_time);
    cf_event event;
    event.start = h->held_start;
    event.end = end;
    event.probability = (cf_mean)(mean < 1 ? mean : 1);
    event.label = h->held;
    event.forced = h->held_forced;
    return event;
}

static void hand_out(events_view *s, cf_time end) {
    if (s->events != NULL) s->events[s->count++] = held_event(s, end);
    s->head->reported = end;
    s->head->held = -1;
}

/* The event that is held ends before one that starts here. If the time g between them is less than both pads, the end
   is held_end + g pad_after / (pad_after + pad_before). */
static void hand_out_before(events_view *s, cf_time start) {
    const cf_time after = rule_of(s)->pad_after, both = after + rule_of(s)->pad_before, g = start - s->head->held_end;
    hand_out(s, s->head->held_end + (g < both ? share_of_gap(g, after, both) : after));
}

/* Takes the next confirmed segment. `last`: it ends its stretch. */
static void report_segment(events_view *s, int32_t label, cf_time start, cf_time end, events_sum sum, int32_t forced,
                           int last) {
    events_head *h = s->head;
    const cf_time time = end - start, from = shifted(s, start), to = last ? end : shifted(s, end);
    s->reached = 0;
    if (!(time > 0 && to > from && is_reported(rule_of(s), label))) return;
    s->reached = last;
    if (h->held == label && can_merge(rule_of(s), h->held_end, from)) {
        h->held_end = to;
        h->held_sum = (events_sum)((cf_real)h->held_sum + (cf_real)sum);
        h->held_time += time;
        if (forced) h->held_forced = 1;
        return;
    }
    if (h->held >= 0) hand_out_before(s, from);
    h->held = (events_index)label;
    h->held_start = padded_start(s, from);
    h->held_end = to;
    h->held_sum = sum;
    h->held_time = time;
    h->held_forced = (events_index)forced;
    h->held_begin = start;
}

/* Hands out the held event where no event can start before `frontier`, and that is far enough. */
static void settle_held(events_view *s, cf_time frontier) {
    const events_head *h = s->head;
    if (can_merge(rule_of(s), h->held_end, frontier)) return;
    if (frontier - h->held_end >= rule_of(s)->pad_after + rule_of(s)->pad_before) hand_out_before(s, frontier);
}

#endif
