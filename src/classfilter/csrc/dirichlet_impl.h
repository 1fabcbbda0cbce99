/* SPDX-License-Identifier: MIT */
/* The Dirichlet filter: forget, then move to the exact mode of the posterior. */
#include "dirichlet_update.h"
#ifndef CF_SMALL
#include "dirichlet_lanes.h"
#endif

#define CF_LARGEST_WEIGHT CF_R(1e9)

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
#ifdef CF_ACROSS
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

CF_NEW_KERNEL int update_one(const cf_dirichlet *f, cf_real *scratch, const cf_update *update, int seen,
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

CF_NEW_TARGETS cf_status cf_dirichlet_run(const cf_dirichlet *f, const cf_table *t, cf_real *scratch, size_t *row,
                                          size_t *iterations) {
    cf_cursor cursor = {t, CF_DIRICHLET_STATE(f->classes), 0, 0};
    cf_lane lanes[CF_LANES];
    size_t max_iterations = 0, count = 0;
    int grouped = 0;
    cf_status status = CF_OK;
#ifdef CF_VECTORS
    grouped = t->streams > CF_FEW;
#ifdef CF_WIDE_LANES
    if (grouped && CF_HAS_WIDE) status = cf_dirichlet_wide(f, &cursor, scratch, lanes, &count, &max_iterations);
#endif
    if (grouped && status == CF_OK) status = run_lanes(f, &cursor, scratch, lanes, &count, &max_iterations);
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
