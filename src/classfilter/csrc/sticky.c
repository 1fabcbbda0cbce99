/* SPDX-License-Identifier: MIT */
/* The sticky filter: the class stays or changes as time passes, then Bayes' rule.

   Work is done on rows of `width` numbers, K rounded up to whole parts of a block; beyond K they are zero. */
#include "validate.h"

#define SMALLEST_PRIOR CF_R(1e-6)
#define LARGEST_RATE CF_R(1e6)
/* exp is a series of TERMS for times up to 1 / 16 of a change; longer ones are squares. */
#define SHORT CF_R(0.0625)
#ifdef CF_FLOAT
#define TERMS 5
#else
#define TERMS 9
#endif

/* out = v matrix: two interleaved partial sums over the rows of the matrix. */
CF_INLINE void CF_(through)(size_t classes, size_t width, const cf_real *v, const cf_real *matrix, cf_real *out) {
    size_t i, j, b;
    for (j = 0; j < width; j += CF_STICKY_PART) {
        cf_real even[CF_STICKY_PART] = {0}, odd[CF_STICKY_PART] = {0};
        for (i = 0; i + 2 <= classes; i += 2) {
            const cf_real *row = matrix + i * width + j;
            for (b = 0; b < CF_STICKY_PART; b++) even[b] += v[i] * row[b];
            for (b = 0; b < CF_STICKY_PART; b++) odd[b] += v[i + 1] * row[width + b];
        }
        for (b = 0; i < classes && b < CF_STICKY_PART; b++) even[b] += v[i] * matrix[i * width + j + b];
        for (b = 0; b < CF_STICKY_PART; b++) out[j + b] = even[b] + odd[b];
    }
}

/* Divides by the sum, so that no rounding error outlives a step. */
CF_INLINE void CF_(normalise)(size_t width, cf_real *row) {
    const cf_real sum = CF_(sum)(width, row);
    size_t k;
    for (k = 0; k < width; k++) row[k] /= sum;
}

/* What dt does with rates: exp(rates dt), K rows. No sum has a negative term, so nothing cancels: with q the fastest rate
   of leaving and J = I + rates / q, the probabilities of a jump, exp(rates h) = exp(q h J) / exp(q h). */
CF_INLINE void CF_(exponentiate)(const CF_(cf_sticky) *f, size_t width, cf_real dt, cf_real *made, cf_real *scratch) {
    const size_t classes = f->classes, size = classes * width;
    cf_real *restrict jump = scratch, *restrict next = scratch + size;
    cf_real jumps = dt * f->fastest;
    size_t i, j, squares = 0;
    int m;
    jumps = jumps < CF_R(1e30) ? jumps : CF_R(1e30);
    for (; jumps > SHORT; squares++) jumps *= CF_R(0.5);
    for (i = 0; i < classes; i++) {
        cf_real leave = 0;
        for (j = 0; j < width; j++) {
            const cf_real rate = j < classes && j != i && f->fastest > 0 ? f->rates[i * classes + j] / f->fastest : 0;
            jump[i * width + j] = rate;
            made[i * width + j] = j == i;
            leave += rate;
        }
        jump[i * width + i] = leave < 1 ? 1 - leave : 0;
    }
    for (m = TERMS; m > 0; m--) {
        const cf_real factor = jumps / (cf_real)m;
        for (i = 0; i < classes; i++) CF_(through)(classes, width, jump + i * width, made, next + i * width);
        for (i = 0; i < size; i++) made[i] = next[i] * factor;
        for (i = 0; i < classes; i++) made[i * width + i] += 1;
    }
    for (i = 0; i < classes; i++) CF_(normalise)(width, made + i * width);
    for (; squares > 0; squares--) {
        for (i = 0; i < classes; i++) CF_(through)(classes, width, made + i * width, made, next + i * width);
        for (i = 0; i < classes; i++) CF_(normalise)(width, next + i * width);
        for (i = 0; i < size; i++) made[i] = next[i];
    }
}

CF_TARGETS static void CF_(make_passage)(const CF_(cf_sticky) *f, cf_real dt, cf_real *passage, cf_real *scratch) {
    const size_t width = CF_STICKY_ROW(f->classes);
    passage[0] = dt;
#if CF_BLOCK > 1
    if (width == 2 * CF_STICKY_PART) {
        CF_(exponentiate)(f, 2 * CF_STICKY_PART, dt, passage + 1, scratch);
        return;
    }
#endif
    CF_(exponentiate)(f, width, dt, passage + 1, scratch);
}

/* What dt leaves of the memory, and what it takes, each to full precision. */
typedef struct {
    cf_real dt, keep, leave;
} CF_(pause);

static CF_(pause) CF_(make_pause)(const CF_(cf_sticky) *f, cf_real dt) {
    const cf_real x = dt * f->log_stay;
    CF_(pause) made = {dt, 1, 0};
    if (dt == 0) return made;
    made.keep = dt == 1 || !(f->stay > 0) ? f->stay : cf_exp_negative(x);
    made.leave = 1 - made.keep;
    if (dt != 1 && f->stay > 0 && x > CF_R(-0.34)) { /* there 1 - exp(x) would cancel, but the series of exp does not */
        cf_real rest;
        CF_POLYNOMIAL(rest, x, CF_EXP);
        made.leave = -(x + x * x * rest);
    }
    return made;
}

/* Rows of the table. */
enum { PRIOR, OVER_PRIOR, SHIFT, LEAST };

/* Lets time pass, then takes one observation if there is one; p becomes the new reading. */
CF_INLINE void CF_(advance)(const CF_(cf_sticky) *f, size_t width, cf_real dt, CF_(pause) *pause, cf_real *passage,
                            const cf_real *likely, cf_real *restrict p, cf_real *scratch) {
    const cf_real *restrict prior = f->table + PRIOR * width, *restrict least = f->table + LEAST * width;
    cf_real sum;
    size_t k;
    if (CF_RATES_OF(f) == NULL) {
        if (pause->dt != dt) *pause = CF_(make_pause)(f, dt);
        if (!(pause->leave > 0) && likely == NULL) return;
        for (k = 0; k < width; k++) {
            const cf_real passed = pause->keep * p[k] + pause->leave * prior[k];
            p[k] = likely != NULL ? passed * likely[k] : passed;
        }
    } else if (dt > 0) {
        if (passage[0] != dt) CF_(make_passage)(f, dt, passage, scratch);
        CF_(through)(f->classes, width, p, passage + 1, scratch);
        for (k = 0; k < width; k++) p[k] = likely != NULL ? scratch[k] * likely[k] : scratch[k];
    } else if (likely != NULL) {
        for (k = 0; k < width; k++) p[k] *= likely[k];
    } else {
        return;
    }
    sum = CF_(sum)(width, p);
    for (k = 0; k < width; k++) {
        p[k] /= sum;
        p[k] = p[k] > least[k] ? p[k] : least[k];
    }
}

#ifdef CF_SMALL
cf_status CF_(cf_sticky_update)(const CF_(cf_sticky) *f, cf_real *state, const cf_real *observed, cf_real beta, cf_real dt,
                                cf_real *passage, cf_real *scratch) {
    const size_t classes = CF_COUNT(f->classes);
    const cf_real *const over_prior = f->table + OVER_PRIOR * classes, *const shift = f->table + SHIFT * classes;
    const cf_real floor = f->floor;
    CF_(pause) pause = {-1, 1, 0};
    int seen = 0;
    size_t k;
    const cf_status status = CF_(check)(classes, observed, CF_(plain)(classes, observed), beta, dt, &seen);
    if (status != CF_OK) return status;
    if (CF_PARTIAL(beta))
        for (k = 0; seen && k < classes; k++) {
            const cf_real s = observed[k] > floor ? observed[k] : floor;
            scratch[k] = cf_exp_negative(beta * (cf_log_ratio(s, 1) - shift[k]));
        }
    else
        for (k = 0; seen && k < classes; k++)
            scratch[k] = (observed[k] > floor ? observed[k] : floor) * over_prior[k];
    CF_(advance)(f, classes, dt, &pause, passage, seen ? scratch : NULL, state, scratch + classes);
    return CF_OK;
}
#else
/* Turns the first `rows` of s into s^beta over prior^beta, up to a factor that keeps exp's argument below zero. The
   loops run through all rows at once, so that a processor overlaps them. */
CF_INLINE void CF_(raise)(const CF_(cf_sticky) *f, size_t width, size_t rows, const cf_real *beta, cf_real *restrict s) {
    const cf_real *restrict shift = f->table + SHIFT * width;
    const size_t size = rows * width;
    size_t i, k;
    for (i = 0; i < size; i++) s[i] = cf_log_ratio(s[i], 1);
    for (i = 0; i < rows; i++)
        for (k = 0; k < width; k++) s[i * width + k] = beta[i] * (s[i * width + k] - shift[k]);
    for (i = 0; i < size; i++) s[i] = cf_exp_negative(s[i]);
}

/* The likelihoods do not wait for the state, so those of CF_BLOCK rows come first; in their memory, those with a weight
   below 1 come first. */
CF_INLINE cf_status CF_(walk)(const CF_(cf_sticky) *f, size_t width, cf_real *state, size_t steps, const cf_real *observed,
                              const cf_real *beta, size_t beta_stride, const cf_real *dt, size_t dt_stride,
                              cf_real *probs, cf_real *passage, cf_real *scratch, size_t *row) {
    const size_t classes = f->classes;
    const cf_real floor = f->floor, *restrict over_prior = f->table + OVER_PRIOR * width;
    cf_real *const p = scratch, *const all = scratch + width, *const work = all + CF_BLOCK * width;
    CF_(pause) pause = CF_(make_pause)(f, 1);
    size_t i, j, k;
    for (k = 0; k < width; k++) p[k] = k < classes ? state[k] : 0;
    for (i = 0; i < steps; i += CF_BLOCK) {
        const size_t count = steps - i < CF_BLOCK ? steps - i : CF_BLOCK;
        const cf_real *likely[CF_BLOCK];
        cf_real powers[CF_BLOCK];
        size_t raised = 0, whole = CF_BLOCK;
        for (j = 0; j < count; j++) {
            const cf_real *const given = observed + (i + j) * classes, weight = beta[(i + j) * beta_stride];
            cf_real *restrict s = all + (weight < 1 ? raised : whole - 1) * width;
            int seen = 0;
            cf_status status;
            for (k = 0; k < width; k++) s[k] = k < classes ? given[k] : 0;
            status = CF_(check)(classes, given, CF_(plain)(width, s), weight, dt[(i + j) * dt_stride], &seen);
            if (status != CF_OK) {
                *row = i + j;
                return status;
            }
            likely[j] = seen ? s : NULL;
            if (!seen) continue;
            if (weight < 1) {
                for (k = 0; k < width; k++) s[k] = s[k] > floor ? s[k] : floor;
                powers[raised++] = weight;
            } else {
                for (k = 0; k < width; k++) s[k] = (s[k] > floor ? s[k] : floor) * over_prior[k];
                whole--;
            }
        }
        if (raised > 0) CF_(raise)(f, width, raised, powers, all);
        for (j = 0; j < count; j++) {
            CF_(advance)(f, width, dt[(i + j) * dt_stride], &pause, passage, likely[j], p, work);
            if (probs != NULL)
                for (k = 0; k < classes; k++) probs[(i + j) * classes + k] = p[k];
        }
    }
    for (k = 0; k < classes; k++) state[k] = p[k];
    return CF_OK;
}

CF_TARGETS cf_status CF_(cf_sticky_run)(const CF_(cf_sticky) *f, cf_real *state, size_t steps, const cf_real *observed,
                                        const cf_real *beta, size_t beta_stride, const cf_real *dt, size_t dt_stride,
                                        cf_real *probs, cf_real *passage, cf_real *scratch, size_t *row) {
    const size_t width = CF_STICKY_ROW(f->classes);
#if CF_BLOCK > 1
    /* A width that the compiler knows makes straight code of the common cases. */
    if (width == CF_STICKY_PART)
        return CF_(walk)(f, CF_STICKY_PART, state, steps, observed, beta, beta_stride, dt, dt_stride, probs, passage,
                         scratch, row);
    if (width == 2 * CF_STICKY_PART)
        return CF_(walk)(f, 2 * CF_STICKY_PART, state, steps, observed, beta, beta_stride, dt, dt_stride, probs, passage,
                         scratch, row);
#endif
    return CF_(walk)(f, width, state, steps, observed, beta, beta_stride, dt, dt_stride, probs, passage, scratch, row);
}

cf_status CF_(cf_sticky_update)(const CF_(cf_sticky) *f, cf_real *state, const cf_real *observed, cf_real beta, cf_real dt,
                                cf_real *passage, cf_real *scratch) {
    size_t row;
    return CF_(cf_sticky_run)(f, state, 1, observed, &beta, 0, &dt, 0, NULL, passage, scratch, &row);
}
#endif

cf_status CF_(cf_sticky_prepare)(CF_(cf_sticky) *f, const cf_real *prior, cf_real *table) {
    const cf_real tolerance = (cf_real)CF_SUM_TOLERANCE;
    const size_t classes = f->classes, width = CF_STICKY_ROW(classes);
    cf_real sum, smallest = 1, fastest = 0;
    size_t i, j;
    if (classes < 2) return CF_BAD_CLASSES;
    if (!(f->stay >= 0 && f->stay <= 1)) return CF_BAD_STAY;
    if (!(f->floor >= CF_R(1e-30) && f->floor < 1)) return CF_BAD_FLOOR;
    for (i = 0; i < classes; i++)
        if (!(prior[i] >= SMALLEST_PRIOR && prior[i] <= 1)) return CF_BAD_CLASS_PRIOR;
    sum = CF_(sum)(classes, prior);
    if (!(sum >= 1 - tolerance && sum <= 1 + tolerance)) return CF_BAD_CLASS_PRIOR;
    for (i = 0; f->rates != NULL && i < classes; i++) {
        cf_real leave = 0;
        for (j = 0; j < classes; j++) {
            const cf_real rate = i == j ? 0 : f->rates[i * classes + j];
            if (!(rate >= 0 && rate <= LARGEST_RATE)) return CF_BAD_RATES;
            leave += rate;
        }
        fastest = leave > fastest ? leave : fastest;
    }
    for (i = 0; i < classes; i++) smallest = prior[i] < smallest ? prior[i] : smallest;
    for (i = 0; i < width; i++) {
        const int real = i < classes;
        table[PRIOR * width + i] = real ? prior[i] / sum : 0;
        table[OVER_PRIOR * width + i] = real ? 1 / (prior[i] / sum) : 0;
        /* the likelihood's largest value: no observation exceeds 1 + tolerance */
        table[SHIFT * width + i] = cf_log_ratio(real ? prior[i] : smallest, smallest) + 2 * tolerance;
        table[LEAST * width + i] = real ? CF_STICKY_SMALLEST : 0;
    }
    f->log_stay = f->stay > 0 ? cf_log_ratio(f->stay, 1) : 0;
    f->fastest = fastest;
    f->table = table;
    return CF_OK;
}

cf_status CF_(cf_sticky_start)(const CF_(cf_sticky) *f, const cf_real *probs, cf_real *state) {
    const cf_real tolerance = CF_R(1e-4), sum = CF_(sum)(f->classes, probs);
    size_t k;
    for (k = 0; k < f->classes; k++)
        if (!(probs[k] >= 0)) return CF_BAD_STATE;
    if (!(sum >= 1 - tolerance && sum <= 1 + tolerance)) return CF_BAD_STATE;
    for (k = 0; k < f->classes; k++) state[k] = probs[k] > CF_STICKY_SMALLEST ? probs[k] : CF_STICKY_SMALLEST;
    return CF_OK;
}

cf_status CF_(cf_sticky_transitions)(const CF_(cf_sticky) *f, cf_real dt, cf_real *matrix, cf_real *passage,
                                     cf_real *scratch) {
    const size_t classes = f->classes, width = CF_STICKY_ROW(classes);
    size_t i, j;
    if (!(dt >= 0 && dt <= CF_R(1e30))) return CF_BAD_DT;
    if (f->rates != NULL) {
        if (passage[0] != dt) CF_(make_passage)(f, dt, passage, scratch);
        for (i = 0; i < classes; i++)
            for (j = 0; j < classes; j++) matrix[i * classes + j] = passage[1 + i * width + j];
    } else {
        const CF_(pause) pause = CF_(make_pause)(f, dt);
        for (i = 0; i < classes; i++)
            for (j = 0; j < classes; j++)
                matrix[i * classes + j] = (i == j ? pause.keep : 0) + pause.leave * f->table[j];
    }
    return CF_OK;
}
