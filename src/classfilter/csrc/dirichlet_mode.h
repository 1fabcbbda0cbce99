/* SPDX-License-Identifier: MIT */
/* The search for the posterior's mode, for one stream or for several in lockstep.

   With x the new alpha, X its sum, c = eta after forgetting, m_i = digamma(A) - digamma(alpha_i) of the old alpha,
   b_i = beta x_i + 1 - beta and B their sum, the mode is the root of the gradient
     g_i = c (digamma(X) - digamma(x_i) - m_i) + beta (digamma(B) - digamma(b_i) + log s_i).
   The Hessian is e 11' - diag(d), so a Newton step costs O(K); with the third derivative, which has the same form,
   it becomes a step of third order. Where beta is 1, b = x: the root is that of nu <- c m - log s, eta <- c + 1, and
   half of the special functions are saved.

   In double precision dirichlet_quick.h goes first. dirichlet_rows.h says where the numbers lie. */
#ifndef CF_DIRICHLET_MODE_H
#define CF_DIRICHLET_MODE_H

#include "dirichlet_rows.h"

#ifdef CF_FLOAT
#define CF_STEP_TOLERANCE 2e-3f /* relative step after which a step of third order is exact to rounding */
#define CF_STEP_TOLERANCE_LARGE 2e-3f
#define CF_LARGEST_SUM 1e7f     /* ten times the largest limit: a step from there is the last, before it overflows */
#define CF_SUM_NOISE (16 * CF_EPSILON)
#else
#define CF_STEP_TOLERANCE 1e-4
#define CF_STEP_TOLERANCE_LARGE 2e-5 /* where the sum is, of which a step leaves an error in proportion */
#define CF_LARGEST_SUM 1e13
#define CF_SUM_NOISE (64 * CF_EPSILON)
#endif
/* After so many iterations, a step that promises L less than CF_ROUNDING wanders about the mode in rounding errors. */
#define CF_MIN_ITERATIONS 6
#define CF_ROUNDING (64 * CF_EPSILON)
#define CF_LARGE_SUM 128
#define CF_LARGEST_RISE 8  /* of the sum */
#define CF_LARGEST_FALL 64 /* of a class */

/* Polygamma functions. `digamma_diff` becomes log of the sum's h over the row's, less `rest`, so that
   digamma_diff[k] - digamma_diff[classes] = digamma(sum) - digamma(row). */
CF_PART void polygamma_rows(size_t classes, size_t rows, size_t given_lanes, const cf_real *restrict x,
                            cf_real *restrict digamma_diff, cf_real *restrict first, cf_real *restrict second) {
    const size_t lanes = known_lanes(given_lanes);
    cf_real top_h[CF_LANES];
    size_t k, l;
    for (l = 0; l < lanes; l++) top_h[l] = x[classes * lanes + l] + (CF_SHIFT - CF_R(0.5));
    CF_INDEPENDENT
    for (k = 0; k < rows; k++) {
        CF_INDEPENDENT
        for (l = 0; l < lanes; l++) {
            const size_t i = k * lanes + l;
            cf_polygamma p = cf_polygamma_of(x[i]);
            digamma_diff[i] = cf_log_ratio(top_h[l], p.h) - p.rest;
            first[i] = p.trigamma;
            second[i] = p.tetragamma;
        }
    }
}

/* The polygamma functions are most of the code, so they are compiled once for one lane and once for several, not
   wherever they are needed. */
#ifndef CF_SMALL
CF_KERNEL void polygamma_rows_one(size_t classes, size_t rows, const cf_real *restrict x,
                                  cf_real *restrict digamma_diff, cf_real *restrict first, cf_real *restrict second) {
    /* A number of rows that the compiler knows makes straight code of the common case. */
    if (rows == CF_BLOCK)
        polygamma_rows(classes, CF_BLOCK, 1, x, digamma_diff, first, second);
    else
        polygamma_rows(classes, rows, 1, x, digamma_diff, first, second);
}

CF_KERNEL void polygamma_rows_many(size_t classes, size_t rows, const cf_real *restrict x,
                                   cf_real *restrict digamma_diff, cf_real *restrict first, cf_real *restrict second) {
    polygamma_rows(classes, rows, CF_LANES, x, digamma_diff, first, second);
}
#endif

CF_INLINE void polygamma_rows_lanes(size_t classes, size_t rows, size_t lanes, const cf_real *restrict x,
                                    cf_real *restrict digamma_diff, cf_real *restrict first, cf_real *restrict second) {
#ifdef CF_SMALL
    polygamma_rows(classes, rows, lanes, x, digamma_diff, first, second);
#else
    if (lanes == 1)
        polygamma_rows_one(classes, rows, x, digamma_diff, first, second);
    else
        polygamma_rows_many(classes, rows, x, digamma_diff, first, second);
#endif
}

CF_PART void evaluate_polygamma(const cf_workspace *w, size_t given_lanes, int fractional_beta, const cf_real *beta) {
    const size_t lanes = known_lanes(given_lanes);
    cf_workspace own;
    const cf_workspace *const v = views_of(w, &own);
    const size_t classes = v->classes, rows = v->rows;
    if (fractional_beta) {
        const cf_real *restrict x = v->x;
        cf_real *restrict b = v->b;
        size_t k, l;
        for (k = 0; k < rows; k++)
            for (l = 0; l < lanes; l++) {
                const cf_real rest = 1 - beta[l], top_rest = rest * (cf_real)classes;
                b[k * lanes + l] = beta[l] * x[k * lanes + l] + ((cf_bits)k == (cf_bits)classes ? top_rest : rest);
            }
        polygamma_rows_lanes(classes, rows, lanes, v->b, v->digamma_diff_b, v->first_b, v->second_b);
    }
    polygamma_rows_lanes(classes, rows, lanes, v->x, v->digamma_diff, v->first, v->second);
}

/* Derivatives of L by class: the first; 1 / the second, which stands alone but for a part that all classes share; and
   the third, likewise. Also the first one's products with the last change, and with 1 / the second. */
CF_PART void derivatives(const cf_workspace *w, size_t given_lanes, int fractional_beta, const cf_real *c,
                         const cf_real *share, const cf_real *beta) {
    const size_t lanes = known_lanes(given_lanes);
    cf_workspace own;
    const cf_workspace *const v = views_of(w, &own);
    const size_t rows = v->rows, top = v->classes * lanes;
    const cf_real *restrict x = v->x, *restrict digamma_diff = v->digamma_diff,
                            *restrict digamma_diff_b = fractional_beta ? v->digamma_diff_b : v->digamma_diff;
    const cf_real *restrict first = v->first, *restrict first_b = fractional_beta ? v->first_b : v->first;
    const cf_real *restrict second = v->second, *restrict second_b = fractional_beta ? v->second_b : v->second;
    const cf_real *restrict m = v->m, *restrict log_s = v->log_s, *restrict change = v->change;
    cf_real *restrict gradient = v->gradient, *restrict inverse = v->inverse,
                      *restrict third_derivative = v->third_derivative;
    cf_real *restrict over_x = v->over_x, *restrict product = v->product, *restrict newton = v->newton;
    cf_real *restrict gain = v->gain;
    size_t k, l;
    CF_INDEPENDENT
    for (k = 0; k < class_rows(rows); k++) {
        CF_INDEPENDENT
        for (l = 0; l < lanes; l++) {
            const size_t i = k * lanes + l;
            const cf_real share2 = share[l] * beta[l], share3 = share2 * beta[l];
            const cf_real g = c[l] * ((digamma_diff[i] - digamma_diff[top + l]) - m[i]) +
                              share[l] * ((digamma_diff_b[i] - digamma_diff_b[top + l]) + log_s[i]);
            const cf_real d = 1 / (c[l] * first[i] + share2 * first_b[i]);
            gradient[i] = g;
            inverse[i] = d;
            third_derivative[i] = c[l] * second[i] + share3 * second_b[i];
            over_x[i] = 1 / x[i];
            product[i] = g * change[i];
            newton[i] = g * d;
            gain[i] = g * (g * d);
        }
    }
}

/* What the third derivatives add to the sum of the Newton step (g + rise) / d. Remembers where the step starts. */
CF_PART void third_order_term(const cf_workspace *w, size_t given_lanes, const int *mask, const cf_real *rise,
                              const cf_real *top_third) {
    const size_t lanes = known_lanes(given_lanes);
    cf_workspace own;
    const cf_workspace *const v = views_of(w, &own);
    const size_t rows = v->rows;
    const cf_real *restrict inverse = v->inverse, *restrict third_derivative = v->third_derivative,
                            *restrict gradient = v->gradient;
    const cf_real *restrict x = v->x;
    cf_real *restrict product = v->product, *restrict base = v->base;
    size_t k, l;
    CF_INDEPENDENT
    for (k = 0; k < class_rows(rows); k++) {
        CF_INDEPENDENT
        for (l = 0; l < lanes; l++) {
            const size_t i = k * lanes + l;
            const cf_real step = (gradient[i] + rise[l]) * inverse[i];
            product[i] = (top_third[l] - third_derivative[i] * (step * step)) * inverse[i];
            base[i] = choose(lanes, mask[l], x[i], base[i]);
        }
    }
}

/* Takes the step from `base`. With a its first and b its second order, relative to x, x (1 + a + b) for a rise and
   x / (1 - a + a^2 - b) for a fall agree to third order, and stay positive. Leaves the relative change in `ratio`,
   and the gain it promises in `product`. */
CF_PART void take_step_inline(const cf_workspace *w, size_t given_lanes, const int *mask, const cf_real *rise) {
    const size_t lanes = known_lanes(given_lanes);
    cf_workspace own;
    const cf_workspace *const v = views_of(w, &own);
    const size_t rows = v->rows;
    const cf_real *restrict inverse = v->inverse, *restrict gradient = v->gradient,
                            *restrict third_derivative = v->third_derivative;
    const cf_real *restrict base = v->base, *restrict over_x = v->over_x;
    cf_real *restrict x = v->x, *restrict change = v->change, *restrict product = v->product;
    cf_real *restrict distance = v->ratio;
    size_t k, l;
    CF_INDEPENDENT
    for (k = 0; k < class_rows(rows); k++) {
        CF_INDEPENDENT
        for (l = 0; l < lanes; l++) {
            const size_t i = k * lanes + l;
            const cf_real old = base[i], step = (gradient[i] + rise[l]) * inverse[i], a = step * over_x[i];
            const cf_real b = CF_R(-0.5) * (third_derivative[i] * inverse[i]) * (step * a);
            cf_real up = 1 + a + (b < a ? b : a), down = 1 - a + (a * a - b), ratio;
            down = 1 / (down < CF_LARGEST_FALL ? down : CF_LARGEST_FALL);
            ratio = a > 0 ? up : down;
            x[i] = choose(lanes, mask[l], old * ratio, x[i]);
            change[i] = choose(lanes, mask[l], old * ratio - old, change[i]);
            product[i] = choose(lanes, mask[l], gradient[i] * (old * ratio - old), product[i]);
            distance[i] = choose(lanes, mask[l], ratio > 1 ? ratio - 1 : 1 - ratio, distance[i]);
        }
    }
}

#ifndef CF_SMALL
CF_KERNEL void take_step_many(const cf_workspace *w, const int *mask, const cf_real *rise) {
    take_step_inline(w, CF_LANES, mask, rise);
}
#endif

CF_INLINE void take_step(const cf_workspace *w, size_t lanes, const int *mask, const cf_real *rise) {
#ifndef CF_SMALL
    if (lanes > 1) {
        take_step_many(w, mask, rise);
        return;
    }
#endif
    take_step_inline(w, lanes, mask, rise);
}

/* Goes back half of the last change. */
CF_PART void backtrack(const cf_workspace *w, size_t given_lanes, const int *mask) {
    const size_t lanes = known_lanes(given_lanes);
    cf_workspace own;
    const cf_workspace *const v = views_of(w, &own);
    const size_t rows = v->rows;
    const cf_real *restrict base = v->base;
    cf_real *restrict x = v->x, *restrict change = v->change;
    size_t k, l;
    CF_INDEPENDENT
    for (k = 0; k < class_rows(rows); k++) {
        CF_INDEPENDENT
        for (l = 0; l < lanes; l++) {
            const size_t i = k * lanes + l;
            const cf_real half = CF_R(0.5) * change[i];
            change[i] = choose(lanes, mask[l], half, change[i]);
            x[i] = choose(lanes, mask[l], base[i] + half, x[i]);
        }
    }
}

/* How far the sum's digamma is to rise, from the sum's change of second order, sum + more: held back where `more` is
   no small correction, and never so far that the sum falls below a quarter or rises above eight times itself. */
CF_PART cf_real rise_of_sum(cf_real sum, cf_real more, cf_real x, cf_real shared, cf_real shared_third) {
    cf_real part = 1;
    if (sum * more < 0)
        part = 1 - more / sum;
    else
        sum += more * more < sum * sum ? more : sum;
    if (sum < CF_R(-0.75) * x * part) {
        sum = CF_R(-0.75) * x;
        part = 1;
    } else if (sum > (CF_LARGEST_RISE - 1) * x * part) {
        sum = (CF_LARGEST_RISE - 1) * x;
        part = 1;
    }
    return shared * shared * sum / (shared * part - CF_R(0.5) * shared_third * sum);
}

/* Moves x of the lanes with iterations[l] = 0 to their modes, from the x at which `evaluate_polygamma` was last called; iterations[l] becomes
   the number of iterations, and stays 0 where they were not enough. `fractional_beta`: some beta is neither 0 nor 1, so that b
   is not x. A step of at most `tolerance`, relative to x, is the last. c is overwritten: L is divided by c + beta. */
CF_PART void find_mode(const cf_workspace *w, size_t given_lanes, int fractional_beta, cf_real tolerance, cf_real *c,
                       const cf_real *beta, size_t *iterations) {
    const size_t lanes = known_lanes(given_lanes);
    cf_workspace own;
    const cf_workspace *const v = views_of(w, &own);
    const size_t classes = v->classes, rows = v->rows, top = classes * lanes;
    const cf_real zero[CF_LANES] = {0};
    cf_real share[CF_LANES], promised[CF_LANES] = {0}, slope[CF_LANES], alone[CF_LANES], rise[CF_LANES];
    cf_real shared[CF_LANES], shared_third[CF_LANES], per_space[CF_LANES], sum[CF_LANES], more[CF_LANES];
    cf_real distance[CF_LANES] = {0}, top_third[CF_LANES];
    int back[CF_LANES], on[CF_LANES], far[CF_LANES], beyond[CF_LANES];
    size_t iteration, k, l;
    for (l = 0; l < lanes; l++) {
        share[l] = beta[l] / (c[l] + beta[l]);
        c[l] = c[l] / (c[l] + beta[l]);
    }
    for (k = 0; k < rows * lanes; k++) v->change[k] = 0;

    for (iteration = 1; iteration <= CF_MAX_ITERATIONS; iteration++) {
        int any_back = 0, any_on = 0, any_far = 0, searching = 0;
        for (l = 0; l < lanes; l++) beyond[l] = v->x[top + l] > CF_LARGEST_SUM;
        derivatives(v, lanes, fractional_beta, c, share, beta);
        /* L is concave: it rose if it still rises at the end of the step, or falls there by little of what it rose by
           at the start. Otherwise go back half way. */
        sum_rows(classes, rows, lanes, v->product, slope);
        for (l = 0; l < lanes; l++) {
            back[l] = iterations[l] == 0 && slope[l] < CF_R(-0.16) * promised[l];
            on[l] = iterations[l] == 0 && !back[l];
            any_back |= back[l];
            any_on |= on[l];
        }
        if (any_back) {
            backtrack(v, lanes, back);
            for (l = 0; l < lanes; l++) promised[l] = back[l] ? CF_R(0.5) * promised[l] : promised[l];
        }
        if (any_on) {
            const cf_real *first_b = fractional_beta ? v->first_b : v->first,
                          *second_b = fractional_beta ? v->second_b : v->second;
            sum_rows(classes, rows, lanes, v->inverse, per_space);
            sum_rows(classes, rows, lanes, v->newton, sum);
            sum_rows(classes, rows, lanes, v->gain, alone);
            for (l = 0; l < lanes; l++) {
                cf_real space;
                shared[l] = c[l] * v->first[top + l] + share[l] * beta[l] * first_b[top + l];
                shared_third[l] = c[l] * v->second[top + l] + share[l] * beta[l] * beta[l] * second_b[top + l];
                space = 1 - shared[l] * per_space[l];
                per_space[l] = 1 / (space > CF_EPSILON ? space : CF_EPSILON);
                sum[l] *= per_space[l];
                rise[l] = shared[l] * sum[l];
                top_third[l] = shared_third[l] * (sum[l] * sum[l]);
            }
            third_order_term(v, lanes, on, rise, top_third);
            sum_rows(classes, rows, lanes, v->product, more);
            for (l = 0; l < lanes; l++)
                rise[l] = rise_of_sum(sum[l], more[l] * (CF_R(0.5) * per_space[l]), v->x[top + l], shared[l],
                                      shared_third[l]);
            take_step(v, lanes, on, rise);
            sum_rows(classes, rows, lanes, v->product, more);
            for (l = 0; l < lanes; l++) {
                promised[l] = on[l] ? more[l] : promised[l];
                far[l] = on[l] && !(promised[l] > CF_R(0.5) * alone[l]);
                any_far |= far[l];
            }
            if (any_far) {
                /* Too far for the sum's linear model: hold the sum's digamma, each class then moves uphill. */
                take_step(v, lanes, far, zero);
                sum_rows(classes, rows, lanes, v->product, more);
                for (l = 0; l < lanes; l++) promised[l] = far[l] ? more[l] : promised[l];
            }
            max_rows(classes, rows, lanes, v->ratio, distance);
        }
        fill_sum(v, lanes);
        for (l = 0; l < lanes; l++) {
            const cf_real noise = CF_SUM_NOISE * v->x[top + l]; /* what rounding leaves open of the sum */
            const cf_real least = v->x[top + l] < CF_LARGE_SUM ? CF_STEP_TOLERANCE : CF_STEP_TOLERANCE_LARGE;
            const int near = distance[l] < (least > tolerance ? least : tolerance) ||
                             (distance[l] < noise && distance[l] < CF_R(0.03));
            const int lost =
                iteration >= CF_MIN_ITERATIONS && (promised[l] < CF_ROUNDING || (on[l] && distance[l] < noise));
            if (iterations[l] == 0 && ((on[l] && (near || beyond[l])) || lost)) iterations[l] = iteration;
            searching |= iterations[l] == 0;
        }
        if (!searching) return;
        evaluate_polygamma(v, lanes, fractional_beta, beta);
    }
}

#endif
