/* SPDX-License-Identifier: MIT */
/* The best path to each class, row by row, and what all of them share. */
#ifndef CF_EVENTS_PATH_H
#define CF_EVENTS_PATH_H

#include "events_report.h"

/* ---- what is confirmed ---- */

/* The only segment that follows the root, where all open paths share one and it is a node; else -1. The segment that follows
   it, on one of the paths, starts at *start, and *before is the sum of w p until then. */
static int32_t shared_segment(const events_view *s, double *start, double *before) {
    const int32_t root = s->head->root, lead = s->head->lead;
    int32_t i;
    if (lead < 0 || s->node[root].refs != 1) return -1;
    i = s->parent[lead];
    if (i == root) return s->self[lead];
    *start = s->start[lead];
    *before = s->before[lead];
    while (s->node[i].parent != root) {
        *start = s->node[i].start;
        *before = s->node[i].before;
        i = s->node[i].parent;
    }
    return i;
}

/* Whether every path leaves the segment, and all at the same time. */
static int has_one_end(const events_view *s, int32_t segment, double end) {
    int32_t i;
    for (i = 0; i < s->head->count; i++) {
        const events_slot *slot = &s->slot[slot_at(s, i)];
        if (slot->node == segment && slot->time != end) return 0;
    }
    for (i = 0; i < s->head->states; i++)
        if (s->self[i] == segment || (s->parent[i] == segment && s->start[i] != end)) return 0;
    for (i = 0; i < s->head->nodes; i++)
        if (s->node[i].refs > 0 && s->node[i].parent == segment && s->node[i].start != end) return 0;
    return 1;
}

/* The earliest time at which a path leaves the segment, or `end` where none does. */
static double first_end(const events_view *s, int32_t segment, double end) {
    int32_t i;
    for (i = 0; i < s->head->count; i++) {
        const events_slot *slot = &s->slot[slot_at(s, i)];
        if (slot->node == segment && slot->time < end) end = slot->time;
    }
    for (i = 0; i < s->head->states; i++)
        if (s->parent[i] == segment && s->start[i] < end) end = s->start[i];
    for (i = 0; i < s->head->nodes; i++)
        if (s->node[i].refs > 0 && s->node[i].parent == segment && s->node[i].start < end) end = s->node[i].start;
    return end;
}

/* Reports the segments that all open paths share. */
static void confirm(events_view *s) {
    double end = 0, before = 0;
    int32_t segment;
    while ((segment = shared_segment(s, &end, &before)) >= 0) {
        const events_node *n = &s->node[segment];
        if (s->head->lead >= 0 && s->self[s->head->lead] == segment) return; /* it goes on */
        if (!has_one_end(s, segment, end)) return;
        report_segment(s, n->label, n->start, end, before, n->forced, 0);
        release_node(s, s->head->root);
        s->node[segment].parent = -1;
        s->head->root = segment;
        s->head->decided = end;
    }
}

/* The class of an event that is certain to follow the last confirmed segment, or -1: all paths share its start, and it cannot
   become empty. No event starts before *frontier. */
static int32_t certain_event(const events_view *s, double now, double *frontier) {
    double start, before, end;
    const int32_t segment = shared_segment(s, &start, &before);
    *frontier = shifted(s, s->head->decided);
    if (segment < 0) return -1;
    end = shifted(s, first_end(s, segment, now));
    if (is_reported(s->rule, s->node[segment].label)) return end > *frontier ? s->node[segment].label : -1;
    *frontier = end;
    return -1;
}

/* Hands out the held event where all open paths agree on what follows, or on nothing for long enough. */
static void settle(events_view *s, double now) {
    double frontier = now;
    const int32_t label = s->head->seen ? certain_event(s, now, &frontier) : -1;
    if (label < 0)
        settle_held(s, frontier);
    else if (label != s->head->held || !can_merge(s->rule, s->head->held_end, frontier))
        hand_out_before(s, frontier);
}

/* ---- decisions before their time ---- */

/* The earliest time at which open paths differ. */
static double first_difference(const events_view *s, double now) {
    double start, before;
    int32_t segment;
    if (s->head->lead < 0 || s->node[s->head->root].refs > 1) return s->head->decided;
    segment = shared_segment(s, &start, &before);
    return segment < 0 ? now : first_end(s, segment, now);
}

/* Whether a path is in the segment `chosen` at the horizon. Its last segment has the node `segment` or none, -1. */
static int agrees(const events_view *s, int32_t segment, double start, int32_t parent, double horizon, int32_t chosen) {
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
    for (k = 0; k < s->head->states; k++)
        if (s->parent[k] >= 0 && (best < 0 || s->value[k] > s->value[best])) best = k;
    return best;
}

CF_INLINE void lower_values(events_view *s, cf_real by) {
    int32_t k;
    for (k = 0; k < s->head->states; k++) s->value[k] -= by;
    for (k = 0; k < s->head->slow; k++) s->gains[k] -= by;
}

/* The class that the next row's changes come from is b = argmax v_k - leave_k. */
static void find_lead(events_view *s) {
    const cf_real *const leave = s->rule->leave, *const value = s->value;
    const int32_t old = s->head->lead;
    int32_t k, lead = -1;
    for (k = 0; k < s->head->states; k++)
        if (s->parent[k] >= 0 && (lead < 0 || value[k] - leave[k] > value[lead] - leave[lead])) lead = k;
    s->head->lead = lead;
    if (lead >= 0 && lead != old) lower_values(s, value[lead] - leave[lead]);
}

/* After a row, values count from the lead: v_k <- v_k - (v_b - leave_b), so they do not grow with the stream. */
CF_INLINE void follow_lead(events_view *s) {
    const int32_t lead = s->head->lead;
    if (lead >= 0) lower_values(s, s->value[lead] - s->rule->leave[lead]);
    find_lead(s);
}

/* Decides what is up to the horizon by the best path: drops all that differ from it there. */
static void decide(events_view *s, double horizon) {
    events_head *h = s->head;
    const int32_t best = best_class(s);
    int32_t chosen, i, k;
    if (best < 0) return;
    chosen = s->start[best] > horizon ? s->parent[best] : s->self[best];
    if (s->start[best] <= horizon) s->forced[best] = 1;
    while (chosen >= 0 && chosen != h->root && s->node[chosen].start > horizon) chosen = s->node[chosen].parent;
    for (i = s->start[best] > horizon || chosen >= 0 ? chosen : s->parent[best]; i >= 0 && i != h->root;
         i = s->node[i].parent)
        s->node[i].forced = 1;
    for (k = 0; k < h->states; k++)
        if (k != best && s->parent[k] >= 0 && !agrees(s, s->self[k], s->start[k], s->parent[k], horizon, chosen))
            drop_open(s, k);
    while (h->count > 0 && s->slot[h->oldest].time <= horizon) pop_slot(s);
    for (i = 0; i < h->count; i++) {
        events_slot *slot = &s->slot[slot_at(s, i)];
        if (slot->node < 0 || agrees(s, -1, slot->time, slot->node, horizon, chosen)) continue;
        release_node(s, slot->node);
        slot->node = slot->label = -1;
    }
    h->lead = best;
    confirm(s);
    lower_values(s, s->value[best] - s->rule->leave[best]);
    find_lead(s);
}

CF_INLINE int lacks_node(const events_head *h, const int32_t *self) {
    return h->free < 0 && (h->lead < 0 || self[h->lead] < 0);
}

CF_INLINE int lacks_slot(const events_head *h) { return h->slow > 0 && h->count == h->slots; }

/* Room for one more node and slot. Each round drops an open path or a slot; one path alone needs two nodes. */
CF_INLINE void make_room(events_view *s) {
    int32_t rounds = s->head->states + s->head->count;
    if (lacks_slot(s->head)) decide(s, s->slot[s->head->oldest].time);
    for (; rounds > 0 && lacks_node(s->head, s->self); rounds--) decide(s, first_difference(s, s->head->last));
}

/* Decides what is longer ago than max_delay. */
static void keep_delay(events_view *s, double end) {
    const double horizon = end - s->rule->max_delay - time_tolerance(s->rule->max_delay, end);
    if (s->head->agreed > horizon) return;
    s->head->agreed = first_difference(s, end);
    if (s->head->agreed <= horizon) decide(s, horizon);
}

/* ---- a row ---- */

/* w e of each class. */
CF_INLINE void weigh(const events_view *s, const cf_real *p, cf_real w) {
    const cf_events *rule = s->rule;
    const size_t classes = CF_COUNT(rule->classes);
    size_t k;
    if (rule->log) {
        for (k = 0; k < classes; k++) {
            const cf_real believed = p[k] > rule->floor ? p[k] : rule->floor;
            s->gain[k] = w * (cf_log_ratio(believed, 1) - rule->bias[k]);
        }
    } else {
        for (k = 0; k < classes; k++) s->gain[k] = w * (p[k] - rule->bias[k]);
    }
    if (rule->min_probability > 0)
        s->gain[classes] = w * (rule->log ? cf_log_ratio(rule->min_probability, 1) : rule->min_probability);
}

/* Class k at a row: v_k <- max(v_k, -enter_k) + w e_k, as the lead is at 0; y is w p_k. Returns whether the best path to
   k comes from another segment than before. */
CF_INLINE int pass_class(events_view *s, int32_t k, double time, double before, int32_t own, cf_real y) {
    const cf_real entered = -s->rule->enter[k];
    const int change = s->value[k] < entered;
    int other = 0;
    /* mostly, a class that changes has come from this segment before: then only its start is new */
    if (change & ((s->parent[k] != own) | (s->self[k] >= 0))) {
        enter_from(s, k, node_of_open(s, s->head->lead));
        other = 1;
    }
    s->value[k] = (change ? entered : s->value[k]) + s->gain[k];
    s->start[k] = change ? time : s->start[k];
    s->before[k] = change ? before : s->before[k];
    s->mass[k] = change ? 0 : s->mass[k];
    if (CF_RESTS) s->rest[k] = change ? 0 : s->rest[k];
    add_mass(s, k, y);
    return other;
}

/* A row of a rule without minimum durations. */
CF_STRAIGHT static void pass_row(events_view *s, const cf_real *p, double time, cf_real w) {
    const int32_t classes = (int32_t)CF_COUNT(s->rule->classes), lead = s->head->lead;
    const double before = open_mass(s, lead);
    int32_t k, own = s->self[lead] < 0 ? -2 : s->self[lead]; /* -2 is nobody's parent */
    int others = 0;
    weigh(s, p, w);
    for (k = 0; k < classes; k++)
        if (pass_class(s, k, time, before, own, w * p[k])) {
            own = s->self[lead];
            others = 1;
        }
    if (s->head->states > classes) others |= pass_class(s, k, time, before, own, 0);
    if (others) confirm(s);
}

/* Remembers that classes may be entered at this row, from the lead or, at the start of a stretch, from nothing. */
static void push_slot(events_view *s, double time) {
    events_head *h = s->head;
    const int32_t at = slot_at(s, h->count), from = h->lead;
    events_slot *slot = &s->slot[at];
    int32_t m;
    slot->time = time;
    slot->label = from;
    slot->node = from < 0 ? h->root : node_of_open(s, from);
    slot->before = from < 0 ? 0 : open_mass(s, from);
    s->node[slot->node].refs++;
    for (m = 0; m < h->slow; m++) {
        s->slot_gain[at * h->slow + m] = s->gains[m];
        s->slot_mass[at * h->slow + m] = s->masses[m];
    }
    h->count++;
}

/* Sums begin at zero again, so that they stay exact however long the stretch. */
static void rebase(events_view *s) {
    events_head *h = s->head;
    int32_t i, m;
    h->since = 0;
    for (i = 0; i < h->count; i++) {
        for (m = 0; m < h->slow; m++) {
            s->slot_gain[slot_at(s, i) * h->slow + m] -= s->gains[m];
            s->slot_mass[slot_at(s, i) * h->slow + m] -= s->masses[m];
        }
    }
    for (m = 0; m < h->slow; m++) s->gains[m] = s->masses[m] = 0;
}

/* Class k, number m of those with a minimum duration d: since the row t' of each slot that is old enough by now,

     v_k <- max(v_k, -enter_k + sum of w e_k from t' on),   relative to the lead at t'. */
static int mature(events_view *s, int32_t k, int32_t m, double end) {
    const events_head *h = s->head;
    const double d = s->rule->min_duration[k], enough = d - time_tolerance(d, end);
    int changed = 0;
    for (; s->next[m] < h->count; s->next[m]++) {
        const int32_t at = slot_at(s, s->next[m]);
        const events_slot *slot = &s->slot[at];
        const cf_real cost = slot->label < 0 ? 0 : s->rule->enter[k];
        const cf_real value = s->gains[m] - s->slot_gain[at * h->slow + m] - cost;
        if (end - slot->time < enough) break;
        if (slot->node < 0 || slot->label == k || (s->parent[k] >= 0 && value <= s->value[k])) continue;
        enter_from(s, k, slot->node);
        s->value[k] = value;
        s->start[k] = slot->time;
        s->before[k] = slot->before;
        set_mass(s, k, s->masses[m] - s->slot_mass[at * h->slow + m]);
        changed = 1;
    }
    return changed;
}

/* A row of a rule with minimum durations: v_k is the best path whose last segment has lasted long enough. */
static void pass_slow_row(events_view *s, const cf_real *p, double time, cf_real w, double end) {
    events_head *h = s->head;
    const int32_t lead = h->lead, classes = (int32_t)CF_COUNT(s->rule->classes);
    const double before = lead < 0 ? 0 : open_mass(s, lead);
    int32_t k, m = 0, from, oldest, changed = 0;
    if (lead >= 0) push_slot(s, time);
    from = lead < 0 ? -1 : s->self[lead];
    weigh(s, p, w);
    for (k = 0; k < h->states; k++) {
        const cf_real y = k < classes ? w * p[k] : 0;
        const int slow = k < classes && s->rule->min_duration[k] > 0;
        if (!slow && lead >= 0 && (s->parent[k] < 0 || s->value[k] < -s->rule->enter[k])) {
            enter_from(s, k, from);
            s->value[k] = -s->rule->enter[k];
            s->start[k] = time;
            s->before[k] = before;
            set_mass(s, k, 0);
            changed = 1;
        }
        if (s->parent[k] >= 0) {
            s->value[k] += s->gain[k];
            add_mass(s, k, y);
        } else {
            s->value[k] = CF_EVENTS_NEVER; /* not less each time */
        }
        if (slow) {
            s->gains[m] += s->gain[k];
            s->masses[m] += y;
            changed |= mature(s, k, m, end);
            m++;
        }
    }
    oldest = s->next[0];
    for (m = 1; m < h->slow; m++) oldest = s->next[m] < oldest ? s->next[m] : oldest;
    changed |= oldest > 0;
    for (; oldest > 0; oldest--) pop_slot(s);
    if (h->lead < 0) h->lead = best_class(s);
    if (changed) confirm(s);
    if (++h->since >= CF_EVENTS_REBASE) rebase(s);
}

/* ---- a stretch ---- */

static void begin_stretch(events_view *s, double time) {
    events_head *h = s->head;
    int32_t k, m = 0;
    free_all_nodes(s);
    h->root = new_node(s, -1, -1, time, 0, 0);
    s->node[h->root].refs = 0;
    h->stretch = h->decided = h->agreed = time;
    h->lead = h->slow > 0 ? -1 : 0;
    h->oldest = h->count = h->since = 0;
    for (k = 0; k < h->states; k++) {
        const int slow = (size_t)k < s->rule->classes && s->rule->min_duration[k] > 0;
        s->value[k] = slow ? CF_EVENTS_NEVER : 0;
        s->parent[k] = slow ? -1 : h->root;
        s->node[h->root].refs += !slow;
        s->start[k] = time;
        s->before[k] = 0;
        set_mass(s, k, 0);
        s->self[k] = -1;
        s->forced[k] = 0;
    }
    for (; m < h->slow; m++) {
        s->gains[m] = s->masses[m] = 0;
        s->next[m] = 0;
    }
    if (h->slow > 0) push_slot(s, time);
}

/* The row before the present one stands for w and ends at `end`. */
CF_INLINE void pass(events_view *s, const cf_real *p, double time, double w, double end) {
    make_room(s);
    if (s->head->slow > 0)
        pass_slow_row(s, p, time, (cf_real)w, end);
    else
        pass_row(s, p, time, (cf_real)w);
    if (s->rule->max_delay <= DBL_MAX) keep_delay(s, end);
    follow_lead(s);
}

/* Reports the rest of the best path, from the oldest segment on: its parents become children first. */
static void end_stretch(events_view *s, double end) {
    events_head *h = s->head;
    const int32_t best = best_class(s);
    int32_t i, next = -1;
    s->reached = 0;
    h->seen = 0;
    if (best < 0) return;
    for (i = s->parent[best]; i >= 0 && i != h->root;) {
        const int32_t parent = s->node[i].parent;
        s->node[i].parent = next;
        next = i;
        i = parent;
    }
    for (i = next; i >= 0; i = s->node[i].parent) {
        const events_node *n = &s->node[i];
        const int is_last = n->parent < 0;
        report_segment(s, n->label, n->start, is_last ? s->start[best] : s->node[n->parent].start,
                       is_last ? s->before[best] : s->node[n->parent].before, n->forced, 0);
    }
    report_segment(s, best, s->start[best], end, open_mass(s, best), s->forced[best], 1);
}

#endif
