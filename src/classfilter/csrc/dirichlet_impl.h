/* SPDX-License-Identifier: MIT */
/* The Dirichlet filter: forget, then move to the exact mode of the posterior. */
#include "dirichlet_search.h"
#ifndef CF_SMALL
#include "table.h"
#endif

#define CF_SMALLEST_WEIGHT CF_R(1e-30)
#define CF_LARGEST_WEIGHT CF_R(1e9)
#define CF_ROUNDING (64 * CF_EPSILON)

/* One update of one stream: what is given, and what becomes of it. */
typedef struct {
    const cf_real *observed;
    cf_real *state, beta, dt;
} cf_update;

/* What an update does to the weight of the state, eta = kept + pull + beta: what a pause leaves of it, what silence adds for
   the prior, and the observation. */
typedef struct {
    cf_real kept, pull, beta, eta;
    int searches; /* alpha moves, and what is remembered bounds it */
} cf_weights;

CF_INLINE cf_weights weigh(const cf_dirichlet *f, const cf_update *update, int seen) {
    const cf_real dt = update->dt;
    const cf_real keep = dt == 1 ? f->gamma : dt == 0 ? 1 : f->gamma > 0 ? cf_exp_negative(dt * f->log_gamma) : 0;
    cf_weights w;
    cf_real memory;
    w.kept = keep * update->state[0];
    w.pull = (1 - keep) * anchor_of(f);
    w.beta = seen ? update->beta : 0;
    memory = w.kept + w.pull;
    w.eta = memory + w.beta;
    w.searches = (seen || w.pull > 0) && memory > CF_EPSILON * w.beta && memory >= CF_SMALLEST_WEIGHT;
    return w;
}

/* An update without a search: only time passed, or nothing is remembered, so nothing bounds alpha, and all there is to know is
   the observation. */
static void update_plainly(const cf_dirichlet *f, const cf_update *update, cf_weights w) {
    const size_t classes = CF_COUNT(f->classes);
    cf_real *const state = update->state, share;
    size_t k;
    state[0] = w.eta;
    if (!(w.beta > 0)) return;
    for (k = 0; k < classes; k++) state[k + 1] = cf_max(update->observed[k], f->floor);
    share = f->max_concentration / cf_sum(classes, state + 1);
    for (k = 1; k <= classes; k++) state[k] = cf_max(share * state[k], CF_SMALLEST_ALPHA);
}

CF_INLINE void set_weights(cf_search *w, cf_vec kept, cf_vec pull, cf_vec beta, cf_vec eta) {
    const cf_mask part = vec_less(vec_of(0), beta) & vec_less(beta, vec_of(1));
    w->kept = kept;
    w->pull = pull;
    w->beta = beta;
    w->old_part = (kept + pull) / eta;
    w->new_part = beta / eta;
    w->c = vec_choose(part, w->old_part, vec_of(1));
    w->share = vec_choose(part, w->new_part, vec_of(0));
}

/* Updates one stream; of the state, whole vectors are read and written. Returns whether the search found the mode. */
CF_INLINE int update_stream(const cf_dirichlet *f, cf_number *number, size_t vectors, const cf_update *update,
                            cf_weights weights, size_t *iterations) {
    const size_t classes = CF_COUNT(f->classes);
    /* where nothing is observed, any positive numbers serve */
    const cf_real *const observed = weights.beta > 0 ? update->observed : update->state + 1;
    cf_search w;
    size_t n;
    w.classes = classes;
    w.vectors = vectors;
    w.across = CF_WIDTH > 1;
    w.number = number;
    set_weights(&w, vec_of(weights.kept), vec_of(weights.pull), vec_of(weights.beta), vec_of(weights.eta));
#ifdef CF_VECTORS
    mark_classes(&w);
#endif
    for (n = 0; n < vectors; n++) {
        number[n].x = ((const cf_vec *)update->state)[n];
        number[n].m = vec_of(0);
        number[n].rest = 1 - w.beta;
        if (anchor_of(f) > 0) number[n].prior = vec_of(0);
    }
    for (n = 1; n <= classes; n++) {
        *number_at(&w, &number->s, n, 0) = cf_max(observed[n - 1], f->floor);
        if (anchor_of(f) > 0) *number_at(&w, &number->prior, n, 0) = f->prior_nu[n - 1];
    }
    if (!any_stream(&w, search(f, &w, is_fractional(weights.beta), mask_of(1), iterations))) return 0;
    for (n = 0; n < vectors; n++) ((cf_vec *)update->state)[n] = number[n].x;
    update->state[0] = weights.eta;
    return 1;
}

CF_KERNEL int update_one(const cf_dirichlet *f, cf_real *scratch, const cf_update *update, int seen,
                         size_t *iterations) {
    const cf_weights weights = weigh(f, update, seen);
    const size_t vectors = (CF_COUNT(f->classes) + CF_WIDTH) / CF_WIDTH;
    cf_number *const number = (cf_number *)(void *)scratch;
    if (!weights.searches) {
        update_plainly(f, update, weights);
        return 1;
    }
    /* A number of vectors that the compiler knows makes straight code of the common case. */
    if (CF_WIDTH > 1 && vectors == 8 / CF_WIDTH)
        return update_stream(f, number, 8 / CF_WIDTH, update, weights, iterations);
    return update_stream(f, number, vectors, update, weights, iterations);
}

#ifdef CF_VECTORS
/* The same for CF_WIDTH streams: all of them, or returns 0. */
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
    on = *(const cf_mask *)searches;
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
#endif

/* Where no alpha exceeds 1 by more than rounding, there is no mode to speak of: the mean stands in. */
CF_PART void read_alpha(const cf_dirichlet *f, const cf_real *alpha, cf_real *probs) {
    const size_t classes = CF_COUNT(f->classes);
    const cf_real *from = probs;
    cf_real sum = 0;
    size_t k;
    if (!f->mean) {
        for (k = 0; k < classes; k++) probs[k] = cf_max(alpha[k] - 1, 0);
        sum = cf_sum(classes, probs);
    }
    if (!(sum > CF_ROUNDING)) {
        from = alpha;
        sum = cf_sum(classes, alpha);
    }
    for (k = 0; k < classes; k++) probs[k] = from[k] / sum;
}

/* E[-log s_i] of a Dirichlet distribution: digamma(sum alpha) - digamma(alpha_i). */
CF_INLINE cf_real expected_neg_log(cf_real sum, cf_real alpha) {
    return cf_polygamma_of(alpha, sum).drop - cf_polygamma_of(sum, sum).drop;
}

cf_status cf_dirichlet_prepare(cf_dirichlet *f, const cf_real *prior, cf_real *prior_nu) {
#ifdef CF_FLOAT
    const cf_real largest = 1e6f;
#else
    const cf_real largest = 1e12;
#endif
    cf_real sum, least = prior[0], of_prior;
    size_t k;
    if (f->classes < 2) return CF_BAD_CLASSES;
    if (!(f->gamma >= 0 && f->gamma <= 1)) return CF_BAD_GAMMA;
    if (!(f->floor >= CF_R(1e-30) && f->floor < 1)) return CF_BAD_FLOOR;
    if (!(f->anchor >= 0 && f->anchor <= CF_LARGEST_WEIGHT)) return CF_BAD_ANCHOR;
    if (!(f->max_concentration >= (cf_real)f->classes && f->max_concentration <= largest)) return CF_BAD_CONCENTRATION;
    if (!(f->tolerance >= 0 && f->tolerance <= CF_R(0.1))) return CF_BAD_TOLERANCE;
    for (k = 0; k < f->classes; k++)
        if (!(prior[k] >= CF_SMALLEST_ALPHA && prior[k] <= f->max_concentration)) return CF_BAD_PRIOR;
    sum = cf_sum(f->classes, prior);
    if (!(sum <= f->max_concentration)) return CF_BAD_PRIOR;
    /* the prior may be more certain than any prediction, and is believed */
    for (k = 1; k < f->classes; k++) least = prior[k] < least ? prior[k] : least;
    of_prior = expected_neg_log(sum, least);
    f->bound = cf_log_ratio(1 + (cf_real)CF_SUM_TOLERANCE + (cf_real)(f->classes - 1) * f->floor, f->floor);
    f->bound = f->bound > of_prior ? f->bound : of_prior;
    f->log_gamma = f->gamma > 0 ? cf_log_ratio(f->gamma, 1) : 0;
    f->prior_nu = f->anchor > 0 ? prior_nu : NULL;
    for (k = 0; k < f->classes && f->anchor > 0; k++) prior_nu[k] = expected_neg_log(sum, prior[k]);
    return CF_OK;
}

cf_status cf_dirichlet_start(const cf_dirichlet *f, const cf_real *alpha, cf_real eta, cf_real *state) {
    cf_real sum = cf_sum(f->classes, alpha);
    size_t k;
    if (!(eta >= 0 && eta <= CF_LARGEST_WEIGHT)) return CF_BAD_WEIGHT;
    for (k = 0; k < f->classes; k++)
        if (!(alpha[k] >= CF_SMALLEST_ALPHA && alpha[k] <= f->max_concentration)) return CF_BAD_PRIOR;
    /* an update's own sum may exceed the limit by rounding and by the smallest alphas */
    if (!(sum <= f->max_concentration * (1 + 16 * CF_EPSILON) + (cf_real)f->classes * CF_SMALLEST_ALPHA))
        return CF_BAD_PRIOR;
    for (k = 0; k < f->classes; k++) state[k + 1] = alpha[k];
    state[0] = eta;
    return CF_OK;
}

void cf_dirichlet_read(const cf_dirichlet *f, const cf_real *state, cf_real *probs) { read_alpha(f, state + 1, probs); }

void cf_dirichlet_nu(const cf_dirichlet *f, const cf_real *state, cf_real *nu) {
    const cf_real sum = cf_sum(f->classes, state + 1);
    size_t k;
    for (k = 0; k < f->classes; k++) {
        const cf_real m = expected_neg_log(sum, state[k + 1]);
        /* below 0 by rounding only, where one class has almost all of alpha */
        nu[k] = state[0] * (f->bounded && m > f->bound ? f->bound : m > 0 ? m : 0);
    }
}

#ifdef CF_SMALL
/* cf_dirichlet_update as straight code, for a caller in the same file whose settings are constants. */
CF_INLINE cf_status update_row(const cf_dirichlet *f, cf_real *state, const cf_real *observed, cf_real beta, cf_real dt,
                               cf_real *probs, cf_real *scratch) {
    const size_t classes = CF_COUNT(f->classes);
    const cf_update update = {observed, state, beta, dt};
    size_t iterations = 0;
    int seen = 0;
    const cf_status status = check_update(classes, observed, is_valid_row(classes, observed), beta, dt, &seen);
    if (status != CF_OK) return status;
    if (!update_one(f, scratch, &update, seen, &iterations)) return CF_NOT_CONVERGED;
    if (probs != NULL) read_alpha(f, state + 1, probs);
    return CF_OK;
}

cf_status cf_dirichlet_update(const cf_dirichlet *f, cf_real *state, const cf_real *observed, cf_real beta, cf_real dt,
                              cf_real *probs, cf_real *scratch) {
    return update_row(f, state, observed, beta, dt, probs, scratch);
}
#else
/* So few streams take less one by one. */
enum { CF_FEW = CF_WIDTH / 2 };

/* Row number `place` of the table's order, for a state. */
CF_INLINE cf_update update_at(const cf_table *t, size_t classes, size_t place, cf_real *state) {
    const size_t r = row_at(t, place);
    const cf_update update = {t->observed + r * classes, state, t->beta[r * t->beta_stride], t->dt[r * t->dt_stride]};
    return update;
}

CF_INLINE cf_status check_one(size_t classes, const cf_update *update, int *seen) {
    return check_update(classes, update->observed, is_valid_row(classes, update->observed), update->beta, update->dt,
                        seen);
}

CF_INLINE void read_estimate(const cf_dirichlet *f, const cf_table *t, size_t place, const cf_real *state) {
    cf_real *probs;
    if (t->probs == NULL) return;
    probs = t->probs + row_at(t, place) * f->classes;
    if (CF_BLOCK > 1)
        read_alpha(f, state + 1, probs);
    else
        cf_dirichlet_read(f, state, probs); /* in memory once */
}

/* What is left of one stream. */
CF_INLINE cf_status run_one(const cf_dirichlet *f, const cf_table *t, cf_real *scratch, cf_lane lane, size_t *row,
                            size_t *iterations) {
    const size_t classes = f->classes;
    cf_real *const state = scratch + CF_DIRICHLET_MEMBERS * CF_DIRICHLET_NUMBERS(classes);
    size_t k;
    for (k = 0; k <= classes; k++) state[k] = lane.from[k];
    for (; lane.left > 0; lane.next++, lane.left--) {
        const cf_update update = update_at(t, classes, lane.next, state);
        int seen = 0;
        cf_status status = check_one(classes, &update, &seen);
        if (status == CF_OK && !update_one(f, scratch, &update, seen, iterations)) status = CF_NOT_CONVERGED;
        if (status != CF_OK) {
            *row = row_at(t, lane.next);
            return status;
        }
        read_estimate(f, t, lane.next, state);
    }
    for (k = 0; k <= classes; k++) lane.state[k] = state[k];
    return CF_OK;
}

#ifdef CF_VECTORS
/* One row of each of many streams at a time, as long as more than CF_FEW have any left: *count of them, at the end. */
CF_KERNEL cf_status run_lanes(const cf_dirichlet *f, cf_cursor *cursor, cf_real *scratch, cf_lane *lanes, size_t *count,
                              size_t *max_iterations) {
    const cf_table *const t = cursor->table;
    const size_t classes = f->classes;
    cf_real *const spare = scratch + CF_WIDTH * CF_DIRICHLET_MEMBERS * CF_DIRICHLET_NUMBERS(classes);
    cf_update updates[CF_WIDTH];
    int seen[CF_WIDTH] = {0};
    cf_status status;
    size_t k, l;
    for (l = 0; l < CF_WIDTH; l++) lanes[l].left = 0;
    for (*count = CF_WIDTH;;) {
        for (l = 0; l < *count;) {
            if (lanes[l].left == 0) {
                if (!next_stream(cursor, lanes + l)) {
                    lanes[l] = lanes[--*count];
                    continue;
                }
                for (k = 0; k <= classes; k++) lanes[l].state[k] = lanes[l].from[k];
                lanes[l].from = lanes[l].state;
            }
            l++;
        }
        if (*count <= CF_FEW) return CF_OK;
        for (l = 0; l < *count; l++) {
            updates[l] = update_at(t, classes, lanes[l].next, lanes[l].state);
            status = check_one(classes, updates + l, seen + l);
            if (status != CF_OK) return status;
        }
        for (; l < CF_WIDTH; l++) { /* lanes to spare repeat the last stream on a copy of its state */
            for (k = 0; k <= classes; k++) spare[k] = updates[*count - 1].state[k];
            updates[l] = updates[*count - 1];
            updates[l].state = spare;
            seen[l] = seen[*count - 1];
        }
        if (!update_many(f, scratch, updates, seen, max_iterations)) return CF_NOT_CONVERGED;
        for (l = 0; l < *count; l++) {
            read_estimate(f, t, lanes[l].next++, lanes[l].state);
            lanes[l].left--;
        }
    }
}
#endif

CF_TARGETS cf_status cf_dirichlet_run(const cf_dirichlet *f, const cf_table *t, cf_real *scratch, size_t *row,
                                      size_t *iterations) {
    cf_cursor cursor = {t, CF_DIRICHLET_STATE(f->classes), 0, 0};
    cf_lane lanes[CF_WIDTH];
    size_t max_iterations = 0, count = 0;
    int grouped = CF_WIDTH > 1 && t->streams > CF_FEW;
    cf_status status = CF_OK;
#ifdef CF_VECTORS
    if (grouped) status = run_lanes(f, &cursor, scratch, lanes, &count, &max_iterations);
#endif
    for (;;) {
        if (status != CF_OK) {
            if (!grouped) return status;
            /* from the start, one by one, which comes to the first row that fails */
            grouped = 0;
            cursor.stream = cursor.next = count = 0;
        }
        if (count == 0 && !next_stream(&cursor, lanes)) break;
        status = run_one(f, t, scratch, lanes[count > 0 ? --count : 0], row, &max_iterations);
    }
    if (iterations != NULL) *iterations = max_iterations;
    return CF_OK;
}

cf_status cf_dirichlet_update(const cf_dirichlet *f, cf_real *state, const cf_real *observed, cf_real beta, cf_real dt,
                              cf_real *probs, cf_real *scratch) {
    const cf_table table = {1, NULL, NULL, NULL, state, state, observed, &beta, &dt, 0, 0, probs};
    size_t row;
    return cf_dirichlet_run(f, &table, scratch, &row, NULL);
}
#endif
