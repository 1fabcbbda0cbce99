/* SPDX-License-Identifier: MIT */
/* The streams of a table, one after the other. */
#ifndef CF_TABLE_H
#define CF_TABLE_H

#include "cf_real.h"

/* The streams that were not taken yet; `size` numbers are a state. */
typedef struct {
    const cf_table *table;
    size_t size, stream, next;
} cf_cursor;

/* A stream on its way: where its state is read and where it goes, the place of its next row in the table's order, and how
   many are left. */
typedef struct {
    const cf_real *from;
    cf_real *state;
    size_t next, left;
} cf_lane;

CF_INLINE size_t row_at(const cf_table *t, size_t place) { return t->order == NULL ? place : t->order[place]; }

CF_KERNEL void copy_numbers(size_t count, const cf_real *from, cf_real *to) {
    size_t k;
    for (k = 0; k < count; k++) to[k] = from[k];
}

/* Takes the next stream that has rows, if there is one; the state of one without is copied. */
CF_INLINE int next_stream(cf_cursor *cursor, cf_lane *lane) {
    const cf_table *const t = cursor->table;
    while (cursor->stream < t->streams) {
        const size_t i = cursor->stream++;
        lane->from = t->states + (t->slots == NULL ? i : t->slots[i]) * cursor->size;
        lane->state = t->after + i * cursor->size;
        lane->next = cursor->next;
        lane->left = t->counts == NULL ? 1 : t->counts[i];
        cursor->next += lane->left;
        if (lane->left > 0) return 1;
        copy_numbers(cursor->size, lane->from, lane->state);
    }
    return 0;
}

#endif
