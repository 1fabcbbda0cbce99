/* SPDX-License-Identifier: MIT */
/* The Dirichlet filter: forget, then move to the exact mode of the posterior. */
#include "dirichlet_bound.h"
#ifndef CF_SMALL
#include "table.h"
#endif

#define CF_SMALLEST_ALPHA CF_R(1e-6)
#define CF_SMALLEST_WEIGHT CF_R(1e-30)
#define CF_LARGEST_WEIGHT CF_R(1e9)

/* One update of one stream: what is given, and what becomes of it. */
typedef struct {
    const cf_real *observed;
    cf_real *state, beta, dt;
} cf_update;

/* What a pause leaves of the memory. */
CF_INLINE cf_real kept_share(const cf_dirichlet *f, cf_real dt) {
    return dt == 1 ? f->gamma : dt == 0 ? 1 : f->gamma > 0 ? cf_exp_negative(dt * f->log_gamma) : 0;
}

/* The streams that cf_dirichlet_run takes at a time, and so few that one by one takes less. */
#ifdef CF_FLOAT
enum { CF_GROUP = CF_LANES, CF_FEW = CF_LANES / 2 };
#else
#include "dirichlet_quick.h"
enum { CF_GROUP = CF_PACK, CF_FEW = CF_PACK - 1 };
#endif

/* Leaves log(max(s, floor) / sum) of each lane in log_s, and its alpha in x. Lanes that see nothing get a harmless row. */
CF_PART void load_lanes(const cf_workspace *w, size_t given_lanes, cf_real floor, const cf_update *updates,
                        const int *seen) {
    const size_t lanes = known_lanes(given_lanes);
    cf_workspace own;
    const cf_workspace *const v = views_of(w, &own);
    const size_t classes = v->classes, rows = v->rows;
    cf_real *restrict s = v->log_s, *restrict x = v->x, sum[CF_LANES];
    size_t k, l;
    for (l = 0; l < lanes; l++)
        for (k = 0; k < classes; k++) {
            s[k * lanes + l] = seen[l] && updates[l].observed[k] > floor ? updates[l].observed[k] : floor;
            x[k * lanes + l] = updates[l].state[k + 1];
        }
    sum_rows(classes, classes, lanes, s, sum);
    for (k = 0; k < rows - (CF_BLOCK == 1); k++)
        for (l = 0; l < lanes; l++)
            s[k * lanes + l] = cf_log_ratio((cf_bits)k < (cf_bits)classes ? s[k * lanes + l] : sum[l], sum[l]);
    fill_sum(v, lanes);
}

/* Updates one stream a lane; all were checked. *max_iterations is raised to the most that a lane took. */
CF_PART cf_status step_lanes(const cf_dirichlet *f, const cf_workspace *w, size_t given_lanes, const cf_update *updates,
                             const int *seen, size_t *max_iterations) {
    const size_t lanes = known_lanes(given_lanes);
    cf_workspace own;
    const cf_workspace *const v = views_of(w, &own);
    const size_t classes = v->classes, rows = v->rows, top = classes * lanes;
    cf_real c[CF_LANES] = {0}, eta[CF_LANES] = {0}, weight[CF_LANES] = {0}, pull[CF_LANES] = {0};
    size_t iterations[CF_LANES], k, l;
    int moves[CF_LANES], fractional_beta = 0, silent = 1, searching = 0;
    for (l = 0; l < lanes; l++) {
        const cf_real keep = kept_share(f, updates[l].dt);
        weight[l] = seen[l] ? updates[l].beta : 0;
        pull[l] = (1 - keep) * f->anchor;
        c[l] = keep * updates[l].state[0];
        eta[l] = c[l] + pull[l];
        fractional_beta |= is_fractional(weight[l]);
        moves[l] = seen[l] || pull[l] > 0;
        silent &= !seen[l];
    }
    if (silent && !(f->anchor > 0)) {
        /* the weight is 0, but adding it makes -0 to 0, as below: a lane's bits do not depend on its neighbours */
        for (l = 0; l < lanes; l++) updates[l].state[0] = eta[l] + weight[l];
        return CF_OK;
    }

    load_lanes(v, lanes, f->floor, updates, seen);
    evaluate_polygamma(v, lanes, fractional_beta, weight);
    for (k = 0; k < rows; k++)
        for (l = 0; l < lanes; l++) v->m[k * lanes + l] = v->digamma_diff[k * lanes + l] - v->digamma_diff[top + l];
    if (f->bounded) bound_memory(f, v, lanes, moves);
    for (l = 0; l < lanes; l++) {
        if (f->anchor > 0 && eta[l] > 0)
            for (k = 0; k < classes; k++)
                v->m[k * lanes + l] = (c[l] * v->m[k * lanes + l] + pull[l] * f->prior_nu[k]) / eta[l];
        c[l] = eta[l];
        eta[l] += weight[l];
        iterations[l] = 0;
        if (!seen[l] && !(f->anchor > 0)) iterations[l] = 1;
        if (c[l] <= CF_EPSILON * weight[l] || c[l] < CF_SMALLEST_WEIGHT) {
            /* Nothing is remembered, so nothing bounds alpha: all there is to know is the observation. */
            iterations[l] = 1;
            for (k = 0; seen[l] && k < classes; k++)
                v->x[k * lanes + l] = f->max_concentration * cf_exp_negative(v->log_s[k * lanes + l]);
        }
        if (iterations[l] != 0) {
            c[l] = 1;
            weight[l] = 0;
        }
        searching |= iterations[l] == 0;
    }
    fill_sum(v, lanes);
    if (searching) find_mode(v, lanes, fractional_beta, f->tolerance, c, weight, iterations);

    for (l = 0; l < lanes; l++)
        if (iterations[l] == 0) return CF_NOT_CONVERGED;
    for (l = 0; l < lanes; l++) {
        const cf_real sum = v->x[top + l], excess = sum > f->max_concentration ? f->max_concentration / sum : 1;
        if (iterations[l] > *max_iterations) *max_iterations = iterations[l];
        updates[l].state[0] = eta[l];
        for (k = 0; k < classes && (seen[l] || f->anchor > 0); k++) {
            const cf_real alpha = v->x[k * lanes + l] * excess;
            updates[l].state[k + 1] = alpha > CF_SMALLEST_ALPHA ? alpha : CF_SMALLEST_ALPHA;
        }
    }
    return CF_OK;
}

/* Where no alpha exceeds 1 by more than rounding, there is no mode to speak of: the mean stands in. */
CF_PART void read_alpha(const cf_dirichlet *f, const cf_real *alpha, cf_real *probs) {
    const size_t classes = CF_COUNT(f->classes);
    cf_real sum = 0;
    size_t k;
    if (!f->mean) {
        for (k = 0; k < classes; k++) probs[k] = alpha[k] > 1 ? alpha[k] - 1 : 0;
        sum = cf_sum(classes, probs);
    }
    if (!(sum > CF_ROUNDING)) {
        for (k = 0; k < classes; k++) probs[k] = alpha[k];
        sum = cf_sum(classes, probs);
    }
    for (k = 0; k < classes; k++) probs[k] /= sum;
}

/* E[-log s_i] of a Dirichlet distribution: digamma(sum alpha) - digamma(alpha_i). */
CF_INLINE cf_real expected_neg_log(cf_polygamma top, cf_real alpha) {
    const cf_polygamma one = cf_polygamma_of(alpha);
    return cf_log_ratio(top.h, one.h) + (top.rest - one.rest);
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
    of_prior = expected_neg_log(cf_polygamma_of(sum), least);
    f->bound = cf_log_ratio(1 + (cf_real)CF_SUM_TOLERANCE + (cf_real)(f->classes - 1) * f->floor, f->floor);
    f->bound = f->bound > of_prior ? f->bound : of_prior;
    f->log_gamma = f->gamma > 0 ? cf_log_ratio(f->gamma, 1) : 0;
    f->prior_nu = f->anchor > 0 ? prior_nu : NULL;
    for (k = 0; k < f->classes && f->anchor > 0; k++) prior_nu[k] = expected_neg_log(cf_polygamma_of(sum), prior[k]);
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
    const cf_polygamma top = cf_polygamma_of(cf_sum(f->classes, state + 1));
    size_t k;
    for (k = 0; k < f->classes; k++) {
        const cf_real m = expected_neg_log(top, state[k + 1]);
        /* below 0 by rounding only, where one class has almost all of alpha */
        nu[k] = state[0] * (f->bounded && m > f->bound ? f->bound : m > 0 ? m : 0);
    }
}

#ifndef CF_FLOAT
/* Whether one stream could be updated quickly. */
CF_KERNEL int update_one(const cf_dirichlet *f, cf_real *scratch, const cf_update *update, const int *seen,
                         size_t *max_iterations) {
    const size_t classes = f->classes, packs = (classes + CF_PACK) / CF_PACK;
    /* A number of packs that the compiler knows makes straight code of the common case. */
    if (CF_PACK > 1 && packs == 2)
        return update_one_quickly(f, make_quick(classes, 2, scratch), update, *seen, max_iterations);
    return update_one_quickly(f, make_quick(classes, packs, scratch), update, *seen, max_iterations);
}

/* The streams of a pack that could be updated quickly, a bit each. */
CF_KERNEL unsigned update_pack(const cf_dirichlet *f, cf_real *scratch, const cf_update *updates, const int *seen,
                               size_t *max_iterations) {
    return update_pack_quickly(f, make_quick(f->classes, f->classes + 1, scratch), updates, seen, max_iterations);
}

CF_KERNEL cf_status update_slowly(const cf_dirichlet *f, const cf_workspace *w, const cf_update *update,
                                  const int *seen, size_t *max_iterations) {
    return step_lanes(f, w, 1, update, seen, max_iterations);
}
#endif

/* Updates one stream, which was checked. */
CF_INLINE cf_status step_one(const cf_dirichlet *f, const cf_workspace *w, const cf_update *update, const int *seen,
                             size_t *max_iterations) {
#ifdef CF_FLOAT
    return step_lanes(f, w, 1, update, seen, max_iterations);
#else
    if (update_one(f, w->x, update, seen, max_iterations)) return CF_OK;
    return update_slowly(f, w, update, seen, max_iterations);
#endif
}

#ifdef CF_SMALL
cf_status cf_dirichlet_update(const cf_dirichlet *f, cf_real *state, const cf_real *observed, cf_real beta, cf_real dt,
                              cf_real *probs, cf_real *scratch) {
    const size_t classes = CF_COUNT(f->classes);
    const cf_workspace w = make_workspace(classes, CF_DIRICHLET_ROWS(classes), 1, scratch);
    const cf_update update = {observed, state, beta, dt};
    size_t max_iterations = 0;
    int seen = 0;
    cf_status status = check_update(classes, observed, is_valid_row(classes, observed), beta, dt, &seen);
    if (status == CF_OK) status = step_one(f, &w, &update, &seen, &max_iterations);
    if (status == CF_OK && probs != NULL) read_alpha(f, state + 1, probs);
    return status;
}
#else
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
CF_INLINE cf_status run_one(const cf_dirichlet *f, const cf_table *t, const cf_workspace *w, cf_lane lane, size_t *row,
                            size_t *max_iterations) {
    const size_t classes = w->classes;
    size_t k;
    for (k = 0; k <= classes; k++) w->state[k] = lane.from[k];
    for (; lane.left > 0; lane.next++, lane.left--) {
        const cf_update update = update_at(t, classes, lane.next, w->state);
        int seen = 0;
        cf_status status = check_one(classes, &update, &seen);
        if (status == CF_OK) status = step_one(f, w, &update, &seen, max_iterations);
        if (status != CF_OK) {
            *row = row_at(t, lane.next);
            return status;
        }
        read_estimate(f, t, lane.next, w->state);
    }
    for (k = 0; k <= classes; k++) lane.state[k] = w->state[k];
    return CF_OK;
}

/* Updates one stream a lane; all were checked. */
CF_INLINE cf_status update_group(const cf_dirichlet *f, cf_real *scratch, const cf_update *updates, const int *seen,
                                 size_t *max_iterations) {
#ifdef CF_FLOAT
    const cf_workspace w = make_workspace(f->classes, f->classes + 1, CF_LANES, scratch);
    return step_lanes(f, &w, CF_LANES, updates, seen, max_iterations);
#else
    const cf_workspace w = make_workspace(f->classes, CF_DIRICHLET_ROWS(f->classes), 1, scratch);
    const unsigned done = update_pack(f, scratch, updates, seen, max_iterations);
    cf_status status = CF_OK;
    size_t l;
    for (l = 0; l < CF_GROUP && status == CF_OK; l++)
        if (!(done >> l & 1)) status = update_slowly(f, &w, updates + l, seen + l, max_iterations);
    return status;
#endif
}

/* One row of each of many streams at a time, as long as more than CF_FEW have any left: *count of them, at the end. */
CF_KERNEL cf_status run_lanes(const cf_dirichlet *f, cf_cursor *cursor, cf_real *scratch, cf_lane *lanes, size_t *count,
                              size_t *max_iterations) {
    const cf_table *const t = cursor->table;
    const size_t classes = f->classes;
    cf_real *const spare = make_workspace(classes, classes + 1, CF_LANES, scratch).state;
    cf_update updates[CF_GROUP];
    int seen[CF_GROUP] = {0};
    cf_status status;
    size_t k, l;
    for (l = 0; l < CF_GROUP; l++) lanes[l].left = 0;
    for (*count = CF_GROUP;;) {
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
        for (; l < CF_GROUP; l++) { /* lanes to spare repeat the last stream on a copy of its state */
            for (k = 0; k <= classes; k++) spare[k] = updates[*count - 1].state[k];
            updates[l] = updates[*count - 1];
            updates[l].state = spare;
            seen[l] = seen[*count - 1];
        }
        status = update_group(f, scratch, updates, seen, max_iterations);
        if (status != CF_OK) return status;
        for (l = 0; l < *count; l++) {
            read_estimate(f, t, lanes[l].next++, lanes[l].state);
            lanes[l].left--;
        }
    }
}

CF_TARGETS cf_status cf_dirichlet_run(const cf_dirichlet *f, const cf_table *t, cf_real *scratch, size_t *row,
                                      size_t *iterations) {
    const cf_workspace w = make_workspace(f->classes, CF_DIRICHLET_ROWS(f->classes), 1, scratch);
    cf_cursor cursor = {t, CF_DIRICHLET_STATE(f->classes), 0, 0};
    cf_lane lanes[CF_GROUP];
    size_t max_iterations = 0, count = 0;
    int grouped = CF_GROUP > 1 && t->streams > CF_FEW;
    cf_status status = CF_OK;
    if (grouped) status = run_lanes(f, &cursor, scratch, lanes, &count, &max_iterations);
    for (;;) {
        if (status != CF_OK) {
            if (!grouped) return status;
            /* from the start, one by one, which comes to the first row that fails */
            grouped = 0;
            cursor.stream = cursor.next = count = 0;
        }
        if (count == 0 && !next_stream(&cursor, lanes)) break;
        status = run_one(f, t, &w, lanes[count > 0 ? --count : 0], row, &max_iterations);
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
