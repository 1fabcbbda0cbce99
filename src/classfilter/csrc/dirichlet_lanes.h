/* SPDX-License-Identifier: MIT */
/* The Dirichlet filter on many streams at a time: a stream in each lane of the vectors. */
#ifndef CF_DIRICHLET_LANES_H
#define CF_DIRICHLET_LANES_H

#include "dirichlet_update.h"

#ifdef CF_WIDE_LANES
/* run_lanes on vectors of 64 bytes. */
cf_status cf_dirichlet_wide(const cf_dirichlet *f, cf_cursor *cursor, cf_real *scratch, cf_lane *lanes, size_t *count,
                            size_t *max_iterations);
#endif

#ifdef CF_VECTORS
/* One row of each of CF_WIDTH streams: all of them, or returns 0. */
CF_KERNEL int update_many(const cf_dirichlet *f, cf_real *scratch, const cf_update *updates, const int *seen,
                          size_t *iterations) {
    const size_t classes = f->classes;
    cf_real kept[CF_WIDTH], pull[CF_WIDTH], beta[CF_WIDTH], eta[CF_WIDTH];
    cf_bits searches[CF_WIDTH];
    cf_number *const number = (cf_number *)(void *)scratch;
    cf_weights weights;
    cf_mask on, good;
    cf_search w;
    size_t l, n;
    int fractional = 0;
    for (l = 0; l < CF_WIDTH; l++) {
        const cf_real *const state = updates[l].state, *observed;
        weights = weigh(f, updates + l, seen[l]);
        observed = weights.beta > 0 ? updates[l].observed : state + 1;
        kept[l] = weights.kept;
        pull[l] = weights.pull;
        beta[l] = weights.beta;
        eta[l] = weights.eta;
        searches[l] = 0 - (cf_bits)weights.searches;
        fractional |= is_fractional(weights.beta);
        for (n = 1; n <= classes; n++) {
            ((cf_real *)&number[n].x)[l] = state[n];
            ((cf_real *)&number[n].s)[l] = cf_max(observed[n - 1], f->floor);
        }
    }
    w.classes = classes;
    w.vectors = classes + 1;
    w.across = 0;
    w.number = number;
    set_weights(&w, *(const cf_vec *)kept, *(const cf_vec *)pull, *(const cf_vec *)beta, *(const cf_vec *)eta);
    for (n = 0; n <= classes; n++) {
        number[n].m = vec_of(0);
        number[n].rest = 1 - w.beta;
        if (anchor_of(f) > 0) number[n].prior = vec_of(n > 0 ? f->prior_nu[n - 1] : 0);
    }
    on = mask_from(searches);
    good = search(f, &w, fractional, on, iterations);
    if (mask_any(on & ~good)) return 0;
    for (l = 0; l < CF_WIDTH; l++) {
        if (searches[l]) {
            updates[l].state[0] = eta[l];
            for (n = 1; n <= classes; n++) updates[l].state[n] = ((const cf_real *)&number[n].x)[l];
        } else {
            weights.beta = beta[l];
            weights.eta = eta[l];
            update_plainly(f, updates + l, weights);
        }
    }
    return 1;
}

/* So few streams take less on shorter vectors, or one by one. */
#ifdef CF_WIDE
enum { CF_FEW = CF_WIDTH * 5 / 8 };
#else
enum { CF_FEW = CF_WIDTH / 2 };
#endif

/* Goes on with the *count streams in `lanes`, and with the next ones where there is room, a row of each at a time, as long as
   there are more than CF_FEW. */
CF_KERNEL cf_status run_lanes(const cf_dirichlet *f, cf_cursor *cursor, cf_real *scratch, cf_lane *lanes, size_t *count,
                              size_t *max_iterations) {
    const cf_table *const t = cursor->table;
    const size_t classes = f->classes;
    cf_real *const spare = scratch + CF_WIDTH * CF_DIRICHLET_MEMBERS * CF_DIRICHLET_NUMBERS(classes);
    cf_update updates[CF_WIDTH];
    int seen[CF_WIDTH] = {0};
    cf_status status;
    size_t k, l;
    for (;;) {
        size_t active;
        for (l = 0; l < *count;)
            if (lanes[l].left == 0)
                lanes[l] = lanes[--*count];
            else
                l++;
        for (; *count < CF_WIDTH && next_stream(cursor, lanes + *count); ++*count) {
            cf_lane *const lane = lanes + *count;
            for (k = 0; k <= classes; k++) lane->state[k] = lane->from[k];
            lane->from = lane->state;
        }
        if (*count <= CF_FEW) return CF_OK;
        active = *count < CF_WIDTH ? *count : CF_WIDTH;
        for (l = 0; l < active; l++) {
            updates[l] = update_at(t, classes, lanes[l].next, lanes[l].state);
            status = check_one(classes, updates + l, seen + l);
            if (status != CF_OK) return status;
        }
        for (; l < CF_WIDTH; l++) { /* lanes to spare repeat the last stream on a copy of its state */
            for (k = 0; k <= classes; k++) spare[k] = updates[active - 1].state[k];
            updates[l] = updates[active - 1];
            updates[l].state = spare;
            seen[l] = seen[active - 1];
        }
        if (!update_many(f, scratch, updates, seen, max_iterations)) return CF_NOT_CONVERGED;
        for (l = 0; l < active; l++) {
            read_estimate(f, t, lanes[l].next++, lanes[l].state);
            lanes[l].left--;
        }
    }
}

#ifdef CF_WIDE
cf_status cf_dirichlet_wide(const cf_dirichlet *f, cf_cursor *cursor, cf_real *scratch, cf_lane *lanes, size_t *count,
                            size_t *max_iterations) {
    return run_lanes(f, cursor, scratch, lanes, count, max_iterations);
}
#endif
#endif

#endif
