/* SPDX-License-Identifier: MIT */
/* States that grow, or come from anywhere: not for firmware. */
#ifndef CF_EVENTS_GROW_H
#define CF_EVENTS_GROW_H

#include "events_check.h"

/* What a state should have before the next row: twice as much where it is full. */
static void room_for_row(const events_view *s, size_t *nodes, size_t *slots) {
    *nodes = (size_t)s->head->nodes << needs_nodes(s);
    *slots = (size_t)s->head->slots << needs_entries(s);
    if (*nodes > CF_EVENTS_MOST_NODES) *nodes = CF_EVENTS_MOST_NODES;
    if (*slots > CF_EVENTS_SLOTS) *slots = CF_EVENTS_SLOTS;
}

size_t cf_events_needed(const cf_events *rule, const void *state) {
    events_view s;
    size_t nodes, slots;
    view_state(&s, rule, state);
    room_for_row(&s, &nodes, &slots);
    return size_of_block(rule, (size_t)s.head->slow, nodes, slots);
}

void cf_events_grow(const cf_events *rule, const void *state, void *larger) {
    events_view from, to;
    size_t i, m, nodes, slots, before;
    view_state(&from, rule, state);
    room_for_row(&from, &nodes, &slots);
    before = (size_t)from.head->nodes;
    copy_words(size_of_fixed(rule, (size_t)from.head->slow), state, larger);
    lay_out(&to, rule, (char *)larger, (size_t)from.head->slow, nodes);
    to.head->bytes = (uint32_t)size_of_block(rule, (size_t)from.head->slow, nodes, slots);
    to.head->nodes = (events_index)nodes;
    to.head->slots = (events_index)slots;
    copy_words(before * sizeof(events_node), from.node, to.node);
    clear_words((nodes - before) * sizeof(events_node), to.node + before);
    for (i = before; i < nodes; i++) { /* the new nodes are free, and the first of them */
        to.node[i].parent = (events_index)(i + 1 < nodes ? (events_index)(i + 1) : from.head->free);
        to.head->free = (events_index)before;
    }
    for (m = 0; m < (size_t)from.head->slow; m++) {
        const size_t count = (size_t)from.ring[m].count;
        for (i = 0; i < count; i++) to.entry[m * slots + i] = *entry_at(&from, (int32_t)m, (int32_t)i);
        clear_words((slots - count) * sizeof(events_entry), &to.entry[m * slots + count]);
        for (i = count; i < slots; i++) to.entry[m * slots + i].node = -1;
        to.ring[m].oldest = 0;
    }
}

cf_status cf_events_check(const cf_events *rule, const void *state, size_t bytes) {
    return is_state(rule, state, bytes) ? CF_OK : CF_BAD_BLOCK;
}

#endif
