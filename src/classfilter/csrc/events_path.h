/* SPDX-License-Identifier: MIT */
/* The best path to each class, row by row. */
#ifndef CF_EVENTS_PATH_H
#define CF_EVENTS_PATH_H

#ifdef CF_TICKS
#include "events_ticks.h"
#else
#include "events_confirm.h"
#endif

/* ---- a row ---- */

#ifdef CF_TICKS
CF_INLINE cf_real gain_of(const events_view *s, const cf_real *p, cf_real w, int32_t k) {
    return weighed(rule_of(s), p, w, (size_t)k);
}
#else
CF_INLINE cf_real gain_of(const events_view *s, const cf_real *p, cf_real w, int32_t k) {
    return (void)p, (void)w, s->gain[k]; /* as `weigh` has left it */
}

/* w e of each class. */
CF_INLINE void weigh(const events_view *s, const cf_real *p, cf_real w) {
    const cf_events *rule = rule_of(s);
    const size_t classes = CF_COUNT(rule->classes);
    size_t k;
    if (rule->log) {
        for (k = 0; k < classes; k++) s->gain[k] = weighed(rule, p, w, k);
    } else {
        for (k = 0; k < classes; k++) s->gain[k] = w * (p[k] - rule->bias[k]);
    }
    if (rule->min_probability > 0) s->gain[classes] = weighed(rule, p, w, classes);
}

/* Class k at a row: v_k <- max(v_k, -enter_k) + w e_k, as the lead is at 0; y is w p_k. Returns whether the best path to
   k comes from another segment than before. */
CF_INLINE int pass_class(events_view *s, int32_t k, cf_time time, events_sum before, int32_t own, cf_real y) {
    const cf_real entered = -enter_of(rule_of(s), k);
    const int change = *s->value[k] < entered;
    int other = 0;
    /* mostly, a class that changes has come from this segment before: then only its start is new */
    if (change & ((*s->parent[k] != own) | (*s->self[k] >= 0))) {
        enter_from(s, k, node_of_open(s, s->head->lead));
        other = 1;
    }
    *s->value[k] = (change ? entered : *s->value[k]) + s->gain[k];
    *s->start[k] = change ? time : *s->start[k];
    *s->before[k] = change ? before : *s->before[k];
    *s->mass[k] = change ? 0 : *s->mass[k];
    if (CF_RESTS) *s->rest[k] = change ? 0 : *s->rest[k];
    add_mass(s, k, y);
    return other;
}

/* A row of a rule without minimum durations. */
CF_STRAIGHT static void pass_row(events_view *s, const cf_real *p, cf_time time, cf_real w) {
    const int32_t classes = (int32_t)CF_COUNT(rule_of(s)->classes), lead = s->head->lead;
    const events_sum before = open_mass(s, lead);
    int32_t k, own = *s->self[lead] < 0 ? -2 : *s->self[lead]; /* -2 is nobody's parent */
    int others = 0;
    weigh(s, p, w);
    for (k = 0; k < classes; k++)
        if (pass_class(s, k, time, before, own, w * p[k])) {
            own = *s->self[lead];
            others = 1;
        }
    if (states_in(s) > classes) others |= pass_class(s, k, time, before, own, 0);
    if (others) confirm(s);
}
#endif

/* The least that class k loses by an entry: the better of two has the smaller one. */
CF_INLINE cf_real loss_of(const events_view *s, const events_entry *entry, int32_t k) {
    if (entry->label == k) return -CF_EVENTS_NEVER; /* it goes on instead */
    return entry->gain + (entry->label < 0 ? 0 : enter_of(rule_of(s), k));
}

/* Class number m of those with a minimum duration. */
static int32_t slow_class(const events_view *s, int32_t m) {
    int32_t k = 0;
    for (; !(rule_of(s)->min_duration[k] > 0) || m-- > 0; k++) continue;
    return k;
}

/* Drops one entry of class number m of those with a minimum duration: one that is no better than the one before it. Where
   there is none, the later ones are better, and the one between the two closest goes, for the later of them is little later.
   So of n entries over a time d the class can be entered as well as before, at most 2 d / (n - 2) late. */
CF_RARE void thin(events_view *s, int32_t m) {
    const int32_t k = slow_class(s, m);
    int32_t i, between = 1;
    for (i = s->ring[m].count - 1; i > 0; i--) {
        if (loss_of(s, entry_at(s, m, i), k) >= loss_of(s, entry_at(s, m, i - 1), k)) break;
        if (i > 1 && entry_at(s, m, i)->time - entry_at(s, m, i - 2)->time <
                         entry_at(s, m, between + 1)->time - entry_at(s, m, between - 1)->time)
            between = i - 1;
    }
    drop_entry(s, m, i > 0 ? i : between);
}

/* Remembers that classes may be entered at this row, from the lead or, at the start of a stretch, from nothing. */
static void push_entries(events_view *s, cf_time time) {
    const int32_t from = s->head->lead, node = from < 0 ? s->head->root : node_of_open(s, from);
    const events_sum before = from < 0 ? 0 : open_mass(s, from);
    int32_t m;
    for (m = 0; m < slow_in(s); m++) {
        events_ring *const ring = &s->ring[m];
        events_entry *entry;
        if (ring->count == slots_in(s)) thin(s, m);
        entry = entry_at(s, m, ring->count++);
        entry->time = time;
        entry->before = before;
        entry->gain = s->gains[m];
        entry->mass = s->masses[m];
        entry->node = (events_index)node;
        entry->label = (events_index)from;
    }
    s->node[node].refs = (events_index)(s->node[node].refs + m);
}

/* Sums begin at zero again, so that they stay exact however long the stretch. */
static void rebase(events_view *s) {
    int32_t i, m;
    s->head->since = 0;
    for (m = 0; m < slow_in(s); m++) {
        for (i = m * slots_in(s); i < (m + 1) * slots_in(s); i++) {
            s->entry[i].gain -= s->gains[m];
            s->entry[i].mass -= s->masses[m];
        }
        s->gains[m] = s->masses[m] = 0;
    }
}

/* Class k, number m of those with a minimum duration d: since the row t' of each entry that is old enough by now,

     v_k <- max(v_k, -enter_k + sum of w e_k from t' on),   relative to the lead at t'. */
static int mature(events_view *s, int32_t k, int32_t m, cf_time end) {
    const cf_time d = rule_of(s)->min_duration[k];
    events_ring *const ring = &s->ring[m];
    events_entry *entry = entry_at(s, m, 0);
    int changed = 0;
    for (; ring->count > 0 && is_as_long(end - entry->time, d, end); changed = 1) {
        const cf_real value = s->gains[m] - entry->gain - (entry->label < 0 ? 0 : enter_of(rule_of(s), k));
        if (entry->label != k && (*s->parent[k] < 0 || value > *s->value[k])) {
            enter_from(s, k, entry->node);
            *s->value[k] = value;
            *s->start[k] = entry->time;
            *s->before[k] = entry->before;
            set_mass(s, k, s->masses[m] - entry->mass);
        }
        release_node(s, entry->node);
        entry++->node = -1;
        ring->count--;
        if (++ring->oldest < slots_in(s)) continue;
        ring->oldest = 0;
        entry -= slots_in(s);
    }
    return changed;
}

/* A row of a rule with minimum durations: v_k is the best path whose last segment has lasted long enough. */
static void pass_slow_row(events_view *s, const cf_real *p, cf_time time, cf_real w, cf_time end) {
    events_head *h = s->head;
    const int32_t lead = h->lead, classes = (int32_t)CF_COUNT(rule_of(s)->classes);
    const events_sum before = lead < 0 ? 0 : open_mass(s, lead);
    int32_t k, m = 0, from, kept, changed = 0;
    if (lead >= 0) push_entries(s, time);
    from = lead < 0 ? -1 : *s->self[lead];
    kept = slow_in(s) < states_in(s) ? from : -1; /* for other classes, also where its entries are old enough at once */
    if (kept >= 0) s->node[kept].refs++;
#ifndef CF_TICKS
    weigh(s, p, w);
#endif
    for (k = 0; k < states_in(s); k++) {
        const cf_real gain = gain_of(s, p, w, k), y = k < classes ? w * p[k] : 0;
        const int slow = k < classes && rule_of(s)->min_duration[k] > 0;
        if (!slow && lead >= 0 && (*s->parent[k] < 0 || *s->value[k] < -enter_of(rule_of(s), k))) {
            enter_from(s, k, from);
            *s->value[k] = -enter_of(rule_of(s), k);
            *s->start[k] = time;
            *s->before[k] = before;
            set_mass(s, k, 0);
            changed = 1;
        }
        if (*s->parent[k] >= 0) {
            *s->value[k] += gain;
            add_mass(s, k, y);
        } else {
            *s->value[k] = CF_EVENTS_NEVER; /* not less each time */
        }
        if (slow) {
            s->gains[m] += gain;
            s->masses[m] += y;
            changed |= mature(s, k, m, end);
            m++;
        }
    }
    release_node(s, kept);
    if (h->lead < 0) h->lead = (events_index)best_class(s);
    if (changed) confirm(s);
    if (++h->since >= CF_EVENTS_REBASE) rebase(s);
}

/* ---- a stretch ---- */

static void begin_stretch(events_view *s, cf_time time) {
    events_head *h = s->head;
    int32_t k, m = 0;
    free_all_nodes(s);
    h->root = (events_index)new_node(s, -1, -1, time, 0, 0);
    s->node[h->root].refs = 0;
    h->stretch = h->decided = h->agreed = time;
    h->lead = slow_in(s) > 0 ? -1 : 0;
    h->since = 0;
    for (k = 0; k < states_in(s); k++) {
        const int slow = (size_t)k < rule_of(s)->classes && rule_of(s)->min_duration[k] > 0;
        *s->value[k] = slow ? CF_EVENTS_NEVER : 0;
        *s->parent[k] = (events_index)(slow ? -1 : h->root);
        if (!slow) s->node[h->root].refs++;
        *s->start[k] = time;
        *s->before[k] = 0;
        set_mass(s, k, 0);
        *s->self[k] = -1;
        *s->forced[k] = 0;
    }
    for (; m < slow_in(s); m++) {
        s->gains[m] = s->masses[m] = 0;
        s->ring[m].oldest = s->ring[m].count = 0;
    }
    for (k = 0; k < slow_in(s) * slots_in(s); k++) s->entry[k].node = -1;
    if (slow_in(s) > 0) push_entries(s, time);
}

/* The row before the present one stands for w and ends at `end`. */
CF_INLINE void pass(events_view *s, const cf_real *p, cf_time time, cf_time w, cf_time end) {
    const int delayed = !is_endless(rule_of(s)->max_delay);
    make_room(s);
    if (slow_in(s) == 0) {
#ifdef CF_TICKS
        const int due = delayed && s->head->agreed <= horizon_of(rule_of(s)->max_delay, end);
        if (pass_plain_row(s->rule, s->head, due)) confirm(s);
        if (!due) return;
#else
        pass_row(s, p, time, as_weight(w));
#endif
    } else {
        pass_slow_row(s, p, time, as_weight(w), end);
    }
    if (delayed) keep_delay(s, end);
    follow_lead(s);
}

/* Reports the rest of the best path, from the oldest segment on: its parents become children first. */
static void end_stretch(events_view *s, cf_time end) {
    events_head *h = s->head;
    const int32_t best = best_class(s);
    int32_t i, next = -1;
    s->reached = 0;
    h->seen = 0;
    if (best < 0) return;
    for (i = *s->parent[best]; i >= 0 && i != h->root;) {
        const int32_t parent = s->node[i].parent;
        s->node[i].parent = (events_index)next;
        next = i;
        i = parent;
    }
    for (i = next; i >= 0; i = s->node[i].parent) {
        const events_node *n = &s->node[i];
        const int is_last = n->parent < 0;
        report_segment(s, n->label, n->start, is_last ? *s->start[best] : s->node[n->parent].start,
                       is_last ? *s->before[best] : s->node[n->parent].before, n->forced, 0);
    }
    report_segment(s, best, *s->start[best], end, open_mass(s, best), *s->forced[best], 1);
}

#endif
