/* SPDX-License-Identifier: MIT */
/* Whether bytes from anywhere are a state: every number in it that is used as a place is one, the tree is a tree, and its
   references are counted right. */
#ifndef CF_EVENTS_CHECK_H
#define CF_EVENTS_CHECK_H

#include "events_path.h"

CF_INLINE int is_finite(double x) { return x - x == 0; }
CF_INLINE int is_between(double x, double least, double most) { return x >= least && x <= most; }
CF_INLINE int is_index(int32_t i, int32_t least, int32_t end) { return i >= least && i < end; }

static int is_head(const cf_events *rule, const events_head *h, size_t bytes) {
    const int held = h->held >= 0;
    if (h->magic != CF_EVENTS_MAGIC || h->bytes != bytes) return 0;
    if (h->states != (int32_t)states_of(rule) || h->slow != (int32_t)slow_of(rule)) return 0;
    if (!is_index(h->nodes, CF_EVENTS_NODES, CF_EVENTS_MOST_NODES + 1)) return 0;
    if (!is_index(h->slots, h->slow > 0 ? 2 : 0, h->slow > 0 ? CF_EVENTS_SLOTS + 1 : 1)) return 0;
    if (size_of_block(rule, (size_t)h->slow, (size_t)h->nodes, (size_t)h->slots) != bytes) return 0;
    if (!is_index(h->since, 0, CF_EVENTS_REBASE)) return 0;
    if (!is_index(h->rows, 0, 3) || !is_index(h->seen, 0, 1 + (h->rows > 0))) return 0;
    if (!is_index(h->held, -1, (int32_t)rule->classes) || (held && !is_reported(rule, h->held))) return 0;
    if (!is_index(h->held_forced, 0, 2) || !is_finite(h->held_begin)) return 0;
    if (!is_finite(h->started) || !is_finite(h->reported) || !is_finite(h->last)) return 0;
    if (!(h->step >= 0 && h->step <= 1e30) || (h->rows > 0 && h->started > h->last)) return 0;
    if (h->reported > h->last) return 0;
    if (!is_finite(h->agreed) || !is_finite(h->held_start) || !is_finite(h->held_end)) return 0;
    if (!is_finite(h->held_sum) || !is_finite(h->held_time)) return 0;
    if (!held) return 1;
    return h->held_time > 0 && h->reported <= h->held_start && h->held_start < h->held_end && h->held_end <= h->last;
}

/* The free nodes are one list. */
static int is_free_list(const events_view *s) {
    int32_t i, left = 0;
    for (i = 0; i < s->head->nodes; i++) left += s->node[i].refs == 0;
    for (i = s->head->free; left > 0; left--) {
        if (!is_index(i, 0, s->head->nodes) || s->node[i].refs != 0) return 0;
        i = s->node[i].parent;
    }
    return i == -1;
}

static int32_t references(const events_view *s, int32_t node) {
    int32_t i, n = 0;
    for (i = 0; i < s->head->nodes; i++) n += s->node[i].refs > 0 && s->node[i].parent == node;
    for (i = 0; i < s->head->states; i++) n += (*s->self[i] >= 0 ? *s->self[i] : *s->parent[i]) == node;
    for (i = 0; i < s->head->slow * s->head->slots; i++) n += s->entry[i].node == node;
    return n;
}

CF_INLINE int is_used(const events_view *s, int32_t node) {
    return is_index(node, 0, s->head->nodes) && s->node[node].refs > 0;
}

/* Whether a segment may follow that node. */
CF_INLINE int may_follow(const events_view *s, int32_t node, double start, double before) {
    if (!is_used(s, node) || !is_finite(start) || !is_finite(before) || start > s->head->last) return 0;
    return node == s->head->root ? start == s->head->decided : start >= s->node[node].start;
}

static int are_nodes(const events_view *s) {
    const events_head *h = s->head;
    int32_t i;
    if (!is_used(s, h->root) || s->node[h->root].parent != -1) return 0;
    for (i = 0; i < h->nodes; i++) {
        const events_node *n = &s->node[i];
        int32_t up = i, steps = 0;
        if (n->refs == 0) continue;
        if (n->refs < 0 || !is_index(n->label, i == h->root ? -1 : 0, h->states) || !is_index(n->forced, 0, 2))
            return 0;
        if (i != h->root && !may_follow(s, n->parent, n->start, n->before)) return 0;
        if (n->refs != references(s, i)) return 0;
        while (up != h->root) {
            up = s->node[up].parent;
            if (++steps > h->nodes || !is_used(s, up)) return 0;
        }
    }
    return is_free_list(s);
}

static int are_open(const events_view *s) {
    const events_head *h = s->head;
    int32_t k, valid = 0;
    for (k = 0; k < h->states; k++) {
        const int32_t self = *s->self[k];
        if (!is_index(*s->forced[k], 0, 2) || !is_finite(open_mass(s, k))) return 0;
        if (*s->parent[k] == -1 && self == -1) continue;
        valid++;
        if (!may_follow(s, *s->parent[k], *s->start[k], *s->before[k]) || !is_finite((double)*s->value[k])) return 0;
        if (self == -1) continue;
        if (!is_used(s, self) || s->node[self].parent != *s->parent[k] || s->node[self].label != k) return 0;
        if (s->node[self].start != *s->start[k]) return 0;
    }
    if (h->lead == -1) return h->slow > 0;
    return valid > 0 && is_index(h->lead, 0, h->states) && *s->parent[h->lead] >= 0;
}

/* Whether the rings are rings, before anything is read from them. */
static int are_rings(const events_view *s) {
    int32_t m;
    for (m = 0; m < s->head->slow; m++)
        if (!is_index(s->ring[m].oldest, 0, s->head->slots) || !is_index(s->ring[m].count, 0, s->head->slots + 1))
            return 0;
    return 1;
}

static int are_entries(const events_view *s) {
    int32_t i, m;
    for (m = 0; m < s->head->slow; m++) {
        double time = s->head->stretch;
        if (!is_finite((double)s->gains[m]) || !is_finite((double)s->masses[m])) return 0;
        for (i = 0; i < s->ring[m].count; i++) {
            const events_entry *entry = entry_at(s, m, i);
            if (!is_index(entry->label, -1, s->head->states) || !is_finite(entry->time) || entry->time < time) return 0;
            if (!may_follow(s, entry->node, entry->time, entry->before)) return 0;
            if (!is_finite((double)entry->gain) || !is_finite((double)entry->mass)) return 0;
            time = entry->time;
        }
    }
    return 1;
}

static int is_state(const cf_events *rule, const void *state, size_t bytes) {
    const events_head *h = (const events_head *)state;
    events_view s;
    if (bytes < sizeof *h || !is_head(rule, h, bytes)) return 0;
    if (!h->seen) return 1; /* the next stretch begins with all the rest anew */
    if (!is_finite(h->stretch) || !is_finite(h->decided) || h->decided < h->stretch || h->decided > h->last) return 0;
    view_state(&s, rule, state);
    if (h->held >= 0 && h->held_end > shifted(&s, h->decided)) return 0; /* what is open begins there, or later */
    return is_valid_row(rule->classes, s.last) && are_rings(&s) && are_nodes(&s) && are_open(&s) && are_entries(&s);
}

#endif
