/* SPDX-License-Identifier: MIT */
/* The Dirichlet filter: forget, then move to the exact mode of the posterior. */
#include "validate.h"
#include "dirichlet_mode.h"

#define SMALLEST_ALPHA CF_R(1e-6)
#define SMALLEST_WEIGHT CF_R(1e-30)
#define LARGEST_WEIGHT CF_R(1e9)

/* One update of one stream: what is given, and what becomes of it. */
typedef struct {
    const cf_real *observed;
    cf_real *state, beta, dt;
} CF_(update);

/* Leaves log(max(s, floor) / sum) of each lane in log_s, and its alpha in x. Lanes that see nothing get a harmless row. */
CF_PART void CF_(load)(const CF_(work) *w, CF_LANES_GIVEN, cf_real floor, const CF_(update) *updates, const int *seen) {
    CF_VIEWS(w);
    const size_t classes = w->classes, rows = w->rows;
    cf_real *restrict s = w->log_s, *restrict x = w->x, sum[CF_LANES];
    size_t k, l;
    for (l = 0; l < lanes; l++)
        for (k = 0; k < classes; k++) {
            s[k * lanes + l] = seen[l] && updates[l].observed[k] > floor ? updates[l].observed[k] : floor;
            x[k * lanes + l] = updates[l].state[k + 1];
        }
    CF_(total)(classes, classes, lanes, s, sum);
    for (k = 0; k < rows - (CF_BLOCK == 1); k++)
        for (l = 0; l < lanes; l++)
            s[k * lanes + l] = cf_log_ratio((cf_bits)k < (cf_bits)classes ? s[k * lanes + l] : sum[l], sum[l]);
    CF_(complete)(w, lanes);
}

/* Updates one stream a lane; all were checked. *iterations is raised to the most that a lane took. */
CF_PART cf_status CF_(step)(const CF_(cf_dirichlet) *f, const CF_(work) *w, CF_LANES_GIVEN, const CF_(update) *updates,
                              const int *seen, size_t *iterations) {
    CF_VIEWS(w);
    const size_t classes = w->classes, rows = w->rows, top = classes * lanes;
    cf_real c[CF_LANES] = {0}, eta[CF_LANES] = {0}, weight[CF_LANES] = {0}, pull[CF_LANES] = {0};
    const cf_real close = f->tolerance > TOLERANCE ? f->tolerance : TOLERANCE;
    size_t taken[CF_LANES], k, l;
    int mixed = 0, silent = 1, searching = 0;
    for (l = 0; l < lanes; l++) {
        const cf_real dt = updates[l].dt;
        const cf_real keep =
            dt == 1 ? f->gamma : dt == 0 ? 1 : f->gamma > 0 ? cf_exp_negative(dt * f->log_gamma) : 0;
        weight[l] = seen[l] ? updates[l].beta : 0;
        pull[l] = (1 - keep) * f->anchor;
        c[l] = keep * updates[l].state[0];
        eta[l] = c[l] + pull[l];
        mixed |= CF_PARTIAL(weight[l]);
        silent &= !seen[l];
    }
    if (silent && !(f->anchor > 0)) {
        for (l = 0; l < lanes; l++) updates[l].state[0] = eta[l];
        return CF_OK;
    }

    CF_(load)(w, lanes, f->floor, updates, seen);
    CF_(evaluate)(w, lanes, mixed, weight);
    for (k = 0; k < rows; k++)
        for (l = 0; l < lanes; l++) w->m[k * lanes + l] = w->lag[k * lanes + l] - w->lag[top + l];
    for (l = 0; l < lanes; l++) {
        if (f->anchor > 0 && eta[l] > 0)
            for (k = 0; k < classes; k++)
                w->m[k * lanes + l] = (c[l] * w->m[k * lanes + l] + pull[l] * f->prior_nu[k]) / eta[l];
        c[l] = eta[l];
        eta[l] += weight[l];
        taken[l] = 0;
        if (!seen[l] && !(f->anchor > 0)) taken[l] = 1;
        if (c[l] <= CF_EPSILON * weight[l] || c[l] < SMALLEST_WEIGHT) {
            /* Nothing is remembered, so nothing bounds alpha: all there is to know is the observation. */
            taken[l] = 1;
            for (k = 0; seen[l] && k < classes; k++)
                w->x[k * lanes + l] = f->max_concentration * cf_exp_negative(w->log_s[k * lanes + l]);
        }
        if (taken[l] != 0) {
            c[l] = 1;
            weight[l] = 0;
        }
        searching |= taken[l] == 0;
    }
    CF_(complete)(w, lanes);
    if (searching) CF_(climb)(w, lanes, mixed, close, c, weight, taken);

    for (l = 0; l < lanes; l++)
        if (taken[l] == 0) return CF_NOT_CONVERGED;
    for (l = 0; l < lanes; l++) {
        const cf_real sum = w->x[top + l], excess = sum > f->max_concentration ? f->max_concentration / sum : 1;
        if (taken[l] > *iterations) *iterations = taken[l];
        updates[l].state[0] = eta[l];
        for (k = 0; k < classes && (seen[l] || f->anchor > 0); k++) {
            const cf_real alpha = w->x[k * lanes + l] * excess;
            updates[l].state[k + 1] = alpha > SMALLEST_ALPHA ? alpha : SMALLEST_ALPHA;
        }
    }
    return CF_OK;
}

/* Where no alpha exceeds 1 by more than rounding, there is no mode to speak of: the mean stands in. */
CF_PART void CF_(read_alpha)(const CF_(cf_dirichlet) *f, const cf_real *alpha, cf_real *probs) {
    const size_t classes = CF_COUNT(f->classes);
    cf_real sum = 0;
    size_t k;
    if (!f->mean) {
        for (k = 0; k < classes; k++) probs[k] = alpha[k] > 1 ? alpha[k] - 1 : 0;
        sum = CF_(sum)(classes, probs);
    }
    if (!(sum > ROUNDING)) {
        for (k = 0; k < classes; k++) probs[k] = alpha[k];
        sum = CF_(sum)(classes, probs);
    }
    for (k = 0; k < classes; k++) probs[k] /= sum;
}

/* nu of a weight: weight (digamma(sum alpha) - digamma(alpha_i)). */
static void CF_(surprise)(size_t classes, const cf_real *alpha, cf_real weight, cf_real *nu) {
    const CF_(cf_polygamma) top = CF_(cf_polygamma_of)(CF_(sum)(classes, alpha));
    size_t k;
    for (k = 0; k < classes; k++) {
        const CF_(cf_polygamma) one = CF_(cf_polygamma_of)(alpha[k]);
        nu[k] = weight * (cf_log_ratio(top.h, one.h) + (top.rest - one.rest));
    }
}

cf_status CF_(cf_dirichlet_prepare)(CF_(cf_dirichlet) *f, const cf_real *prior, cf_real *prior_nu) {
#ifdef CF_FLOAT
    const cf_real largest = 1e6f;
#else
    const cf_real largest = 1e12;
#endif
    cf_real sum;
    size_t k;
    if (f->classes < 2) return CF_BAD_CLASSES;
    if (!(f->gamma >= 0 && f->gamma <= 1)) return CF_BAD_GAMMA;
    if (!(f->floor >= CF_R(1e-30) && f->floor < 1)) return CF_BAD_FLOOR;
    if (!(f->anchor >= 0 && f->anchor <= LARGEST_WEIGHT)) return CF_BAD_ANCHOR;
    if (!(f->max_concentration >= (cf_real)f->classes && f->max_concentration <= largest)) return CF_BAD_CONCENTRATION;
    if (!(f->tolerance >= 0 && f->tolerance <= CF_R(0.1))) return CF_BAD_TOLERANCE;
    for (k = 0; k < f->classes; k++)
        if (!(prior[k] >= SMALLEST_ALPHA && prior[k] <= f->max_concentration)) return CF_BAD_PRIOR;
    sum = CF_(sum)(f->classes, prior);
    if (!(sum <= f->max_concentration)) return CF_BAD_PRIOR;
    f->log_gamma = f->gamma > 0 ? cf_log_ratio(f->gamma, 1) : 0;
    f->prior_nu = f->anchor > 0 ? prior_nu : NULL;
    if (f->anchor > 0) CF_(surprise)(f->classes, prior, 1, prior_nu);
    return CF_OK;
}

cf_status CF_(cf_dirichlet_start)(const CF_(cf_dirichlet) *f, const cf_real *alpha, cf_real eta, cf_real *state) {
    cf_real sum = CF_(sum)(f->classes, alpha);
    size_t k;
    if (!(eta >= 0 && eta <= LARGEST_WEIGHT)) return CF_BAD_WEIGHT;
    for (k = 0; k < f->classes; k++)
        if (!(alpha[k] >= SMALLEST_ALPHA && alpha[k] <= f->max_concentration)) return CF_BAD_PRIOR;
    /* an update's own sum may exceed the limit by rounding and by the smallest alphas */
    if (!(sum <= f->max_concentration * (1 + 16 * CF_EPSILON) + (cf_real)f->classes * SMALLEST_ALPHA)) return CF_BAD_PRIOR;
    for (k = 0; k < f->classes; k++) state[k + 1] = alpha[k];
    state[0] = eta;
    return CF_OK;
}

void CF_(cf_dirichlet_read)(const CF_(cf_dirichlet) *f, const cf_real *state, cf_real *probs) {
    CF_(read_alpha)(f, state + 1, probs);
}

void CF_(cf_dirichlet_nu)(const CF_(cf_dirichlet) *f, const cf_real *state, cf_real *nu) {
    CF_(surprise)(f->classes, state + 1, state[0], nu);
}

#ifdef CF_SMALL
cf_status CF_(cf_dirichlet_update)(const CF_(cf_dirichlet) *f, cf_real *state, const cf_real *observed, cf_real beta,
                                   cf_real dt, cf_real *probs, cf_real *scratch) {
    const size_t classes = CF_COUNT(f->classes);
    const CF_(work) w = CF_(carve)(classes, CF_DIRICHLET_ROWS(classes), 1, scratch);
    const CF_(update) update = {observed, state, beta, dt};
    size_t iterations = 0;
    int seen = 0;
    cf_status status = CF_(check)(classes, observed, CF_(plain)(classes, observed), beta, dt, &seen);
    if (status == CF_OK) status = CF_(step)(f, &w, 1, &update, &seen, &iterations);
    if (status == CF_OK && probs != NULL) CF_(read_alpha)(f, state + 1, probs);
    return status;
}
#else
CF_INLINE cf_status CF_(steps)(const CF_(cf_dirichlet) *f, cf_real *state, size_t steps, const cf_real *observed,
                               const cf_real *beta, size_t beta_stride, const cf_real *dt, size_t dt_stride,
                               cf_real *probs, const CF_(work) w, size_t *row) {
    const size_t classes = w.classes;
    size_t iterations = 0, i, k;
    for (k = 0; k <= classes; k++) w.state[k] = state[k];
    for (i = 0; i < steps; i++) {
        const CF_(update) update = {observed + i * classes, w.state, beta[i * beta_stride], dt[i * dt_stride]};
        int seen = 0;
        cf_status status = CF_(check)(classes, update.observed, CF_(plain)(classes, update.observed), update.beta,
                                      update.dt, &seen);
        if (status == CF_OK) status = CF_(step)(f, &w, 1, &update, &seen, &iterations);
        if (status != CF_OK) {
            *row = i;
            return status;
        }
        if (probs != NULL) CF_(read_alpha)(f, w.state + 1, probs + i * classes);
    }
    for (k = 0; k <= classes; k++) state[k] = w.state[k];
    *row = iterations;
    return CF_OK;
}

CF_TARGETS cf_status CF_(cf_dirichlet_run)(const CF_(cf_dirichlet) *f, cf_real *state, size_t steps,
                                           const cf_real *observed, const cf_real *beta, size_t beta_stride,
                                           const cf_real *dt, size_t dt_stride, cf_real *probs, cf_real *scratch,
                                           size_t *row) {
    const size_t rows = CF_DIRICHLET_ROWS(f->classes);
    return CF_(steps)(f, state, steps, observed, beta, beta_stride, dt, dt_stride, probs,
                      CF_(carve)(f->classes, rows, 1, scratch), row);
}

/* Updates `count` <= lanes streams that were checked. */
CF_INLINE cf_status CF_(group)(const CF_(cf_dirichlet) *f, const CF_(work) *w, CF_LANES_GIVEN, size_t count,
                               const CF_(update) *updates, const int *seen, cf_real *const *probs) {
    size_t iterations = 0, l;
    cf_status status = CF_(step)(f, w, lanes, updates, seen, &iterations);
    for (l = 0; l < count && status == CF_OK; l++)
        if (probs[l] != NULL) CF_(read_alpha)(f, updates[l].state + 1, probs[l]);
    return status;
}

CF_TARGETS cf_status CF_(cf_dirichlet_many)(const CF_(cf_dirichlet) *f, cf_real *states, const size_t *which,
                                            size_t streams, const cf_real *observed, const cf_real *beta,
                                            size_t beta_stride, const cf_real *dt, size_t dt_stride, cf_real *probs,
                                            cf_real *scratch, size_t *row) {
    const size_t classes = f->classes, size = CF_DIRICHLET_STATE(classes);
    const CF_(work) w = CF_(carve)(classes, classes + 1, CF_LANES, scratch);
    size_t i, l;
    int seen[CF_LANES] = {0};
    cf_status status = CF_(cf_check)(classes, streams, observed, beta, beta_stride, dt, dt_stride, row);
    if (status != CF_OK) return status;
    for (i = 0; i < streams; i += CF_LANES) {
        const size_t count = streams - i < CF_LANES ? streams - i : CF_LANES;
        CF_(update) updates[CF_LANES];
        cf_real *results[CF_LANES];
        for (l = 0; l < CF_LANES; l++) {
            /* lanes to spare repeat the last stream on a copy of its state */
            const size_t j = i + (l < count ? l : count - 1);
            cf_real *state = states + (which == NULL ? j : which[j]) * size;
            size_t k;
            if (l >= count) {
                for (k = 0; k < size; k++) w.state[k] = state[k];
                state = w.state;
            }
            updates[l].observed = observed + j * classes;
            updates[l].state = state;
            updates[l].beta = beta[j * beta_stride];
            updates[l].dt = dt[j * dt_stride];
            results[l] = probs == NULL ? NULL : probs + j * classes;
            (void)CF_(check)(classes, updates[l].observed, CF_(plain)(classes, updates[l].observed), updates[l].beta,
                             updates[l].dt, seen + l);
        }
        status = CF_(group)(f, &w, CF_LANES, count, updates, seen, results);
        if (status != CF_OK) {
            *row = i;
            return status;
        }
    }
    return CF_OK;
}

cf_status CF_(cf_dirichlet_update)(const CF_(cf_dirichlet) *f, cf_real *state, const cf_real *observed, cf_real beta,
                                   cf_real dt, cf_real *probs, cf_real *scratch) {
    size_t row;
    return CF_(cf_dirichlet_run)(f, state, 1, observed, &beta, 0, &dt, 0, probs, scratch, &row);
}
#endif
