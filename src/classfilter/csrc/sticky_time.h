/* SPDX-License-Identifier: MIT */
/* What time does to the classes' probabilities: some stay, or they change by rates. Rows have `width` numbers, K rounded
   up to whole parts of a block; beyond K they are zero. */
#ifndef CF_STICKY_TIME_H
#define CF_STICKY_TIME_H

#include "validate.h"

/* exp is a series of CF_TERMS for times up to 1 / 16 of a change; longer ones are squares. */
#define CF_SHORT CF_R(0.0625)
#ifdef CF_FLOAT
#define CF_TERMS 5
#else
#define CF_TERMS 9
#endif

static const cf_real *rates_of(const cf_sticky *f) {
#ifdef CF_NO_RATES
    (void)f;
    return NULL;
#else
    return f->rates;
#endif
}

/* The modes of the rates, where they are used; in double precision only. */
static const cf_real *modes_of(const cf_sticky *f) {
#if defined(CF_FLOAT) || defined(CF_NO_RATES)
    (void)f;
    return NULL;
#else
    return f->modes;
#endif
}

static size_t pairs_of(const cf_sticky *f) {
#if defined(CF_FLOAT) || defined(CF_NO_RATES)
    (void)f;
    return 0;
#else
    return f->pairs;
#endif
}

/* Rows of the modes: the rates of decay and of rotation, then K rows each from classes to modes, back, and of the
   transitions of one time unit. */
#define CF_ROTATION(width) (width)
#define CF_TO_MODES(width) (2 * (width))
#define CF_FROM_MODES(classes, width) ((2 + (classes)) * (width))
#define CF_UNIT(classes, width) ((2 + 2 * (classes)) * (width))

/* out = v matrix: two interleaved partial sums over the rows of the matrix, for two parts of the columns at a time, so
   that four sums keep a processor busy; a last part alone. */
CF_INLINE void vecmat(size_t classes, size_t width, const cf_real *v, const cf_real *matrix, cf_real *out) {
    size_t i, j, b;
    for (j = 0; j < width; j += 2 * CF_STICKY_PART) {
        const size_t next = j + CF_STICKY_PART < width ? CF_STICKY_PART : 0; /* 0: the same part again */
        cf_real even[CF_STICKY_PART] = {0}, odd[CF_STICKY_PART] = {0};
        cf_real next_even[CF_STICKY_PART] = {0}, next_odd[CF_STICKY_PART] = {0};
        for (i = 0; i + 2 <= classes; i += 2) {
            const cf_real *const row = matrix + i * width + j;
            for (b = 0; b < CF_STICKY_PART; b++) even[b] += v[i] * row[b];
            for (b = 0; b < CF_STICKY_PART; b++) odd[b] += v[i + 1] * row[width + b];
            for (b = 0; b < CF_STICKY_PART; b++) next_even[b] += v[i] * row[next + b];
            for (b = 0; b < CF_STICKY_PART; b++) next_odd[b] += v[i + 1] * row[width + next + b];
        }
        if (i < classes) {
            const cf_real *const row = matrix + i * width + j;
            for (b = 0; b < CF_STICKY_PART; b++) even[b] += v[i] * row[b];
            for (b = 0; b < CF_STICKY_PART; b++) next_even[b] += v[i] * row[next + b];
        }
        for (b = 0; b < CF_STICKY_PART; b++) out[j + b] = even[b] + odd[b];
        for (b = 0; b < CF_STICKY_PART; b++) out[j + next + b] = next_even[b] + next_odd[b];
    }
}

/* Where the compiler does not know the width, there is nothing to gain by straight code. */
#ifdef CF_SMALL
CF_INLINE
#else
CF_KERNEL
#endif
void vecmat_any(size_t classes, size_t width, const cf_real *v, const cf_real *matrix, cf_real *out) {
    vecmat(classes, width, v, matrix, out);
}

/* out = matrix v: each row in four interleaved partial sums. */
CF_INLINE void matvec(size_t classes, size_t width, const cf_real *matrix, const cf_real *v, cf_real *out) {
    size_t i, k, l;
    for (i = 0; i < classes; i++, matrix += width) {
        cf_real part[4] = {0};
        for (k = 0; k + 4 <= width; k += 4)
            for (l = 0; l < 4; l++) part[l] += matrix[k + l] * v[k + l];
        for (l = 0; k + l < width; l++) part[l] += matrix[k + l] * v[k + l];
        out[i] = (part[0] + part[1]) + (part[2] + part[3]);
    }
    for (; i < width; i++) out[i] = 0;
}

/* Divides by the sum, so that no rounding error outlives a step. */
CF_INLINE void normalize_row(size_t width, cf_real *row) {
    const cf_real sum = cf_sum(width, row);
    size_t k;
    for (k = 0; k < width; k++) row[k] /= sum;
}

/* What dt does with rates: exp(rates dt), K rows. No sum has a negative term, so nothing cancels: with q the fastest rate
   of leaving and J = I + rates / q, the probabilities of a jump, exp(rates h) = exp(q h J) / exp(q h). */
CF_INLINE void exponentiate(const cf_sticky *f, size_t width, cf_real dt, cf_real *result, cf_real *scratch) {
    const size_t classes = f->classes, size = classes * width;
    cf_real *restrict jump = scratch, *restrict next = scratch + size;
    cf_real jumps = dt * f->fastest;
    size_t i, j, squares = 0;
    int m;
    jumps = jumps < CF_R(1e30) ? jumps : CF_R(1e30);
    for (; jumps > CF_SHORT; squares++) jumps *= CF_R(0.5);
    for (i = 0; i < classes; i++) {
        cf_real leave = 0;
        for (j = 0; j < width; j++) {
            const cf_real rate = j < classes && j != i && f->fastest > 0 ? f->rates[i * classes + j] / f->fastest : 0;
            jump[i * width + j] = rate;
            result[i * width + j] = j == i;
            leave += rate;
        }
        jump[i * width + i] = leave < 1 ? 1 - leave : 0;
    }
    for (m = CF_TERMS; m > 0; m--) {
        const cf_real factor = jumps / (cf_real)m;
        for (i = 0; i < classes; i++) vecmat_any(classes, width, jump + i * width, result, next + i * width);
        for (i = 0; i < size; i++) result[i] = next[i] * factor;
        for (i = 0; i < classes; i++) result[i * width + i] += 1;
    }
    for (i = 0; i < classes; i++) normalize_row(width, result + i * width);
    for (; squares > 0; squares--) {
        for (i = 0; i < classes; i++) vecmat_any(classes, width, result + i * width, result, next + i * width);
        for (i = 0; i < classes; i++) normalize_row(width, next + i * width);
        for (i = 0; i < size; i++) result[i] = next[i];
    }
}

CF_STRAIGHT CF_KERNEL void fill_transition_cache(const cf_sticky *f, cf_real dt, cf_real *transition_cache,
                                                 cf_real *scratch) {
    const size_t width = CF_STICKY_ROW(f->classes);
    transition_cache[0] = dt;
    exponentiate(f, width, dt, transition_cache + 1, scratch);
}

/* exp(x) - 1 for x <= 0. Near 0 the difference would cancel, but the series of exp does not. */
#define CF_EXPM1_NEAR CF_R(-0.34)

CF_INLINE cf_real expm1_near(cf_real x) {
    static const cf_real coefficients[] = CF_EXP;
    return x + x * x * cf_polynomial(CF_TERMS_OF(coefficients), coefficients, x);
}

CF_INLINE cf_real expm1_negative(cf_real x) {
    const cf_real near = expm1_near(x > CF_EXPM1_NEAR ? x : 0);
    return x > CF_EXPM1_NEAR ? near : cf_exp_negative(x) - 1;
}

/* What dt leaves of the memory, and what it takes, each to full precision. */
typedef struct {
    cf_real dt, keep, leave;
} cf_decay;

CF_INLINE cf_decay make_decay(const cf_sticky *f, cf_real dt) {
    const cf_real x = dt * f->log_stay;
    cf_decay result = {dt, f->stay, 1 - f->stay};
    if (dt == 1) return result;
    if (dt == 0) {
        result.keep = 1;
        result.leave = 0;
    } else if (!(f->stay > 0)) {
        return result;
    } else if (x > CF_EXPM1_NEAR) {
        result.leave = -expm1_near(x);
        result.keep = 1 - result.leave; /* the bits of exp(x), whose reduction leaves x as it is */
    } else {
        result.keep = cf_exp_negative(x);
        result.leave = 1 - result.keep;
    }
    return result;
}

/* cos(x) - 1 and sin(x) for |x| < 1e5: quarters of a turn, and the series of what is left. */
CF_INLINE void rotate(cf_real x, cf_real *cosine_less_1, cf_real *sine) {
    const cf_real shifted = x * CF_R(0.636619772367581343) + CF_ROUND, quarters = shifted - CF_ROUND;
    const cf_real r = (x - quarters * CF_R(1.57079632673412561417)) - quarters * CF_R(6.07710050650619224932e-11);
    const cf_bits turn = cf_to_bits(shifted);
    const cf_real v = r * r;
    static const cf_real of_cosine[] = {CF_R(-0.5),
                                        CF_R(1.0) / 24,
                                        CF_R(-1.0) / 720,
                                        CF_R(1.0) / 40320,
                                        CF_R(-1.0) / 3628800,
                                        CF_R(1.0) / 479001600,
                                        CF_R(-1.0) / CF_R(87178291200.0)};
    static const cf_real of_sine[] = {CF_R(-1.0) / 6,
                                      CF_R(1.0) / 120,
                                      CF_R(-1.0) / 5040,
                                      CF_R(1.0) / 362880,
                                      CF_R(-1.0) / 39916800,
                                      CF_R(1.0) / CF_R(6227020800.0),
                                      CF_R(-1.0) / CF_R(1307674368000.0)};
    cf_real c = cf_polynomial(CF_TERMS_OF(of_cosine), of_cosine, v), low;
    cf_real s = cf_polynomial(CF_TERMS_OF(of_sine), of_sine, v);
    c *= v; /* cos r - 1 */
    s = r + r * (v * s);
    low = turn & 1 ? s : 1 + c;
    s = turn & 1 ? 1 + c : s;
    *sine = turn & 2 ? -s : s;
    *cosine_less_1 = (turn & 3) == 0 ? c : ((turn + 1) & 2 ? -low : low) - 1;
}

/* Turns the factors of the complex modes, which have decayed. */
CF_KERNEL void rotate_factors(const cf_sticky *f, cf_real dt, cf_real *restrict along, cf_real *restrict across) {
    const cf_real *restrict rotation = modes_of(f) + CF_ROTATION(CF_STICKY_ROW(f->classes));
    size_t k;
    for (k = 0; k < 2 * pairs_of(f); k++) {
        /* what has decayed need not turn; its angle could be too large */
        const cf_real left = 1 + along[k], angle = left > CF_R(1e-17) ? rotation[k] * dt : 0;
        cf_real cosine_less_1, sine;
        rotate(angle, &cosine_less_1, &sine);
        along[k] += left * cosine_less_1;
        across[k] = left * sine;
    }
}

/* What dt does to the modes, less 1: exp(decay dt) (cos, sin)(rotation dt), a row of each after the dt. */
CF_INLINE void fill_factors(const cf_sticky *f, size_t width, cf_real dt, cf_real *transition_cache) {
    const cf_real *restrict decay = modes_of(f);
    cf_real *restrict along = transition_cache + 1;
    size_t k;
    transition_cache[0] = dt;
    for (k = 0; k < width; k++) along[k] = expm1_negative(decay[k] * dt);
    if (pairs_of(f) > 0) rotate_factors(f, dt, along, along + width);
}

/* out = p exp(rates dt) = p + (p to modes) factors (back to classes); no number below zero. */
CF_INLINE void pass_by_modes(const cf_sticky *f, size_t width, cf_real dt, cf_real *transition_cache, const cf_real *p,
                             cf_real *out) {
    const size_t classes = f->classes, turning = 2 * pairs_of(f);
    const cf_real *const modes = modes_of(f), *const along = transition_cache + 1, *const across = along + width;
    cf_real *const y = out + width, *const z = y + width;
    size_t k;
    if (transition_cache[0] != dt) fill_factors(f, width, dt, transition_cache);
    vecmat(classes, width, p, modes + CF_TO_MODES(width), y);
    for (k = 0; k < width; k++) z[k] = y[k] * along[k];
    for (k = 0; k < turning; k++) z[k] += y[k ^ 1] * across[k];
    vecmat(classes, width, z, modes + CF_FROM_MODES(classes, width), out);
    for (k = 0; k < width; k++) out[k] = p[k] + out[k] > 0 ? p[k] + out[k] : 0;
}

/* out = exp(rates dt) v, for the backward pass. */
CF_INLINE void pass_back_by_modes(const cf_sticky *f, size_t width, cf_real dt, cf_real *transition_cache,
                                  const cf_real *v, cf_real *out, cf_real *scratch) {
    const size_t classes = f->classes, pairs = pairs_of(f);
    const cf_real *const modes = modes_of(f), *const along = transition_cache + 1, *const across = along + width;
    cf_real *const y = scratch, *const z = scratch + width;
    size_t k;
    if (dt == 1) {
        matvec(classes, width, modes + CF_UNIT(classes, width), v, out);
        return;
    }
    if (transition_cache[0] != dt) fill_factors(f, width, dt, transition_cache);
    matvec(classes, width, modes + CF_FROM_MODES(classes, width), v, y);
    for (k = 0; k < width; k++) z[k] = y[k] * along[k];
    for (k = 0; k < 2 * pairs; k++) z[k] -= y[k ^ 1] * across[k];
    matvec(classes, width, modes + CF_TO_MODES(width), z, out);
    for (k = 0; k < width; k++) out[k] = v[k] + out[k] > 0 ? v[k] + out[k] : 0;
}

/* out = p exp(rates dt); at `out` there are 2 K rows of memory. */
CF_INLINE void pass_time(const cf_sticky *f, size_t width, cf_real dt, cf_real *transition_cache, const cf_real *p,
                         cf_real *out) {
    if (modes_of(f) == NULL) {
        if (transition_cache[0] != dt) fill_transition_cache(f, dt, transition_cache, out);
        vecmat(f->classes, width, p, transition_cache + 1, out);
    } else if (dt == 1) {
        vecmat(f->classes, width, p, modes_of(f) + CF_UNIT(f->classes, width), out);
    } else {
        pass_by_modes(f, width, dt, transition_cache, p, out);
    }
}

/* The same for any width. */
CF_KERNEL void pass_time_any(const cf_sticky *f, cf_real dt, cf_real *transition_cache, const cf_real *p,
                             cf_real *out) {
    pass_time(f, CF_STICKY_ROW(f->classes), dt, transition_cache, p, out);
}

#endif
