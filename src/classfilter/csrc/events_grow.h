/* SPDX-License-Identifier: MIT */
/* States that grow, or come from anywhere: not for firmware. */
#ifndef CF_EVENTS_GROW_H
#define CF_EVENTS_GROW_H

#include "events_check.h"

int cf_events_full(const cf_events *rule, const void *state, size_t *nodes, size_t *slots) {
    events_view s;
    int full;
    view_state(&s, rule, state);
    cf_events_memory(state, nodes, slots);
    if (!s.head->seen) return 0;
    full = lacks_node(&s) && *nodes < CF_EVENTS_MOST_NODES;
    if (full) *nodes = 2 * *nodes < CF_EVENTS_MOST_NODES ? 2 * *nodes : CF_EVENTS_MOST_NODES;
    if (!lacks_slot(&s) || *slots == CF_EVENTS_MOST) return full;
    *slots = 2 * *slots < CF_EVENTS_MOST ? 2 * *slots : CF_EVENTS_MOST;
    return 1;
}

cf_status cf_events_grow(const cf_events *rule, const void *state, void *larger, size_t nodes, size_t slots) {
    events_view from, to;
    const events_head *h;
    events_head head;
    size_t i, n;
    cf_status status;
    view_state(&from, rule, state);
    h = from.head;
    if (nodes < (size_t)h->nodes || slots < (size_t)h->slots) return CF_BAD_MEMORY;
    status = cf_events_start(rule, larger, nodes, slots);
    if (status != CF_OK) return status;
    view_state(&to, rule, larger);
    head = *h;
    head.bytes = to.head->bytes;
    head.nodes = to.head->nodes;
    head.slots = to.head->slots;
    head.oldest = 0;
    for (i = 0; i < (size_t)h->nodes; i++) to.node[i] = from.node[i];
    if (h->nodes < head.nodes) { /* the new nodes are already a list; the old ones follow */
        to.node[head.nodes - 1].parent = h->free;
        head.free = h->nodes;
    }
    n = (size_t)h->slow;
    for (i = 0; i < (size_t)h->count; i++) {
        const size_t at = (size_t)slot_at(&from, (int32_t)i);
        size_t m;
        to.slot[i] = from.slot[at];
        for (m = 0; m < n; m++) {
            to.slot_gain[i * n + m] = from.slot_gain[at * n + m];
            to.slot_mass[i * n + m] = from.slot_mass[at * n + m];
        }
    }
    for (i = 0; i < n; i++) {
        to.gains[i] = from.gains[i];
        to.masses[i] = from.masses[i];
        to.next[i] = from.next[i];
    }
    for (i = 0; i < rule->classes; i++) to.last[i] = from.last[i];
    for (i = 0; i < (size_t)h->states; i++) {
        *to.start[i] = *from.start[i];
        *to.before[i] = *from.before[i];
        *to.value[i] = *from.value[i];
        *to.mass[i] = *from.mass[i];
        if (CF_RESTS) *to.rest[i] = *from.rest[i];
        to.gain[i] = from.gain[i];
        *to.parent[i] = *from.parent[i];
        *to.self[i] = *from.self[i];
        *to.forced[i] = *from.forced[i];
    }
    *to.head = head;
    return CF_OK;
}

cf_status cf_events_check(const cf_events *rule, const void *state, size_t bytes) {
    return is_state(rule, state, bytes) ? CF_OK : CF_BAD_BLOCK;
}

#endif
