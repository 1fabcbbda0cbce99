/* SPDX-License-Identifier: MIT */
/* What all open paths share is confirmed; what they do not share can be decided early. */
#ifndef CF_EVENTS_CONFIRM_H
#define CF_EVENTS_CONFIRM_H

#include "events_report.h"

/* ---- what is confirmed ---- */

/* The only segment that follows the root, where all open paths share one and it is a node; else -1. The segment that follows
   it, on one of the paths, starts at *start, and *before is the sum of w p until then. */
static int32_t shared_segment(const events_view *s, cf_time *start, events_sum *before) {
    const int32_t root = s->head->root, lead = s->head->lead;
    int32_t i;
    if (lead < 0 || s->node[root].refs != 1) return -1;
    i = *s->parent[lead];
    if (i == root) return *s->self[lead];
    *start = *s->start[lead];
    *before = *s->before[lead];
    while (s->node[i].parent != root) {
        *start = s->node[i].start;
        *before = s->node[i].before;
        i = s->node[i].parent;
    }
    return i;
}

/* Whether every path leaves the segment, and all at the same time. */
static int has_one_end(const events_view *s, int32_t segment, cf_time end) {
    int32_t i;
    for (i = 0; i < states_in(s); i++)
        if (*s->self[i] == segment || (*s->parent[i] == segment && *s->start[i] != end)) return 0;
    for (i = 0; i < nodes_in(s); i++)
        if (s->node[i].refs > 0 && s->node[i].parent == segment && s->node[i].start != end) return 0;
    for (i = 0; i < slow_in(s) * slots_in(s); i++)
        if (s->entry[i].node == segment && s->entry[i].time != end) return 0;
    return 1;
}

/* The earliest time at which a path leaves the segment, or `end` where none does. */
static cf_time first_end(const events_view *s, int32_t segment, cf_time end) {
    int32_t i;
    for (i = 0; i < slow_in(s) * slots_in(s); i++)
        if (s->entry[i].node == segment && s->entry[i].time < end) end = s->entry[i].time;
    for (i = 0; i < states_in(s); i++)
        if (*s->parent[i] == segment && *s->start[i] < end) end = *s->start[i];
    for (i = 0; i < nodes_in(s); i++)
        if (s->node[i].refs > 0 && s->node[i].parent == segment && s->node[i].start < end) end = s->node[i].start;
    return end;
}

/* Reports the segments that all open paths share. */
static void confirm(events_view *s) {
    cf_time end = 0;
    events_sum before = 0;
    int32_t segment;
    while ((segment = shared_segment(s, &end, &before)) >= 0) {
        const events_node *n = &s->node[segment];
        if (s->head->lead >= 0 && *s->self[s->head->lead] == segment) return; /* it goes on */
        if (!has_one_end(s, segment, end)) return;
        report_segment(s, n->label, n->start, end, before, n->forced, 0);
        release_node(s, s->head->root);
        s->node[segment].parent = -1;
        s->head->root = (events_index)segment;
        s->head->decided = end;
    }
}

/* The class of an event that is certain to follow the last confirmed segment, or -1: all paths share its start, and it cannot
   become empty. No event starts before *frontier. */
static int32_t certain_event(const events_view *s, cf_time now, cf_time *frontier) {
    cf_time start, end;
    events_sum before;
    const int32_t segment = shared_segment(s, &start, &before);
    *frontier = shifted(s, s->head->decided);
    if (segment < 0) return -1;
    end = shifted(s, first_end(s, segment, now));
    if (is_reported(rule_of(s), s->node[segment].label)) return end > *frontier ? s->node[segment].label : -1;
    *frontier = end;
    return -1;
}

/* Hands out the held event where all open paths agree on what follows, or on nothing for long enough. */
static void settle(events_view *s, cf_time now) {
    cf_time frontier = now;
    const int32_t label = s->head->seen ? certain_event(s, now, &frontier) : -1;
    if (label < 0)
        settle_held(s, frontier);
    else if (label != s->head->held || !can_merge(rule_of(s), s->head->held_end, frontier))
        hand_out_before(s, frontier);
}

/* ---- decisions before their time ---- */

/* The earliest time at which open paths differ. */
static cf_time first_difference(const events_view *s, cf_time now) {
    cf_time start;
    events_sum before;
    int32_t segment;
    if (s->head->lead < 0 || s->node[s->head->root].refs > 1) return s->head->decided;
    segment = shared_segment(s, &start, &before);
    return segment < 0 ? now : first_end(s, segment, now);
}

/* Whether a path is in the segment `chosen` at the horizon. Its last segment has the node `segment` or none, -1. */
static int agrees(const events_view *s, int32_t segment, cf_time start, int32_t parent, cf_time horizon,
                  int32_t chosen) {
    while (start > horizon) {
        segment = parent;
        if (segment < 0 || segment == s->head->root) return 0;
        start = s->node[segment].start;
        parent = s->node[segment].parent;
    }
    return segment >= 0 && segment == chosen;
}

static int32_t best_class(const events_view *s) {
    int32_t k, best = -1;
    for (k = 0; k < states_in(s); k++)
        if (*s->parent[k] >= 0 && (best < 0 || *s->value[k] > *s->value[best])) best = k;
    return best;
}

CF_INLINE void lower_values(events_view *s, cf_real by) {
    int32_t k;
    for (k = 0; k < states_in(s); k++) *s->value[k] -= by;
    for (k = 0; k < slow_in(s); k++) s->gains[k] -= by;
}

/* The class that the next row's changes come from is b = argmax v_k - leave_k. */
static void find_lead(events_view *s) {
    const cf_events *const rule = rule_of(s);
    const int32_t old = s->head->lead;
    int32_t k, lead = -1;
    for (k = 0; k < states_in(s); k++)
        if (*s->parent[k] >= 0 &&
            (lead < 0 || *s->value[k] - leave_of(rule, k) > *s->value[lead] - leave_of(rule, lead)))
            lead = k;
    s->head->lead = (events_index)lead;
    if (lead >= 0 && lead != old) lower_values(s, *s->value[lead] - leave_of(rule, lead));
}

/* After a row, values count from the lead: v_k <- v_k - (v_b - leave_b), so they do not grow with the stream. */
CF_INLINE void follow_lead(events_view *s) {
    const int32_t lead = s->head->lead;
    if (lead >= 0) lower_values(s, *s->value[lead] - leave_of(rule_of(s), lead));
    find_lead(s);
}

/* Decides what is up to the horizon by the best path: drops all that differ from it there. */
static void decide(events_view *s, cf_time horizon) {
    events_head *h = s->head;
    const int32_t best = best_class(s);
    int32_t chosen, i, k, m;
    if (best < 0) return;
    chosen = *s->start[best] > horizon ? *s->parent[best] : *s->self[best];
    if (*s->start[best] <= horizon) *s->forced[best] = 1;
    while (chosen >= 0 && chosen != h->root && s->node[chosen].start > horizon) chosen = s->node[chosen].parent;
    for (i = *s->start[best] > horizon || chosen >= 0 ? chosen : *s->parent[best]; i >= 0 && i != h->root;
         i = s->node[i].parent)
        s->node[i].forced = 1;
    for (k = 0; k < states_in(s); k++)
        if (k != best && *s->parent[k] >= 0 && !agrees(s, *s->self[k], *s->start[k], *s->parent[k], horizon, chosen))
            drop_open(s, k);
    for (m = 0; m < slow_in(s); m++)
        for (i = s->ring[m].count - 1; i >= 0; i--) {
            const events_entry *entry = entry_at(s, m, i);
            if (entry->time <= horizon || !agrees(s, -1, entry->time, entry->node, horizon, chosen))
                drop_entry(s, m, i);
        }
    h->lead = (events_index)best;
    confirm(s);
    lower_values(s, *s->value[best] - leave_of(rule_of(s), best));
    find_lead(s);
}

CF_INLINE int lacks_node(const events_view *s) {
    return s->head->free < 0 && (s->head->lead < 0 || *s->self[s->head->lead] < 0);
}

/* Whether the next row may need more nodes or entries than a state that grows has. */
CF_INLINE int needs_nodes(const events_view *s) {
    return s->head->seen && lacks_node(s) && nodes_in(s) < CF_EVENTS_MOST_NODES;
}

CF_INLINE int needs_entries(const events_view *s) {
    int32_t m, count = 0;
    for (m = 0; m < slow_in(s); m++) count = s->ring[m].count > count ? s->ring[m].count : count;
    return s->head->seen && count > 0 && count == slots_in(s) && count < CF_EVENTS_SLOTS;
}

/* Room for one more node. Each round drops an open path or an entry; one path alone needs two nodes. */
CF_INLINE void make_room(events_view *s) {
    int32_t rounds = states_in(s) + slow_in(s) * slots_in(s);
    for (; rounds > 0 && lacks_node(s); rounds--) decide(s, first_difference(s, s->head->last));
}

/* Decides what is longer ago than max_delay. */
static void keep_delay(events_view *s, cf_time end) {
    const cf_time horizon = horizon_of(rule_of(s)->max_delay, end);
    if (s->head->agreed > horizon) return;
    s->head->agreed = first_difference(s, end);
    if (s->head->agreed <= horizon) decide(s, horizon);
}

#endif
