/* SPDX-License-Identifier: MIT */
/* The search for the posterior's mode, for one stream or for several in lockstep.

   With x the new alpha, X its sum, c = eta after forgetting, m_i = digamma(A) - digamma(alpha_i) of the old alpha,
   b_i = beta x_i + 1 - beta and B their sum, the mode is the root of the gradient
     g_i = c (digamma(X) - digamma(x_i) - m_i) + beta (digamma(B) - digamma(b_i) + log s_i).
   The Hessian is e 11' - diag(d), so a Newton step costs O(K); with the third derivative, which has the same form,
   it becomes a step of third order. Where beta is 1, b = x: the root is that of nu <- c m - log s, eta <- c + 1, and
   half of the special functions are saved.

   Numbers lie in rows of `lanes`, one lane a stream: number k of lane l is [k * lanes + l]. `lanes` is a constant where
   these functions are called, 1 or CF_LANES, and what a lane computes does not depend on their number. */
#ifndef CF_DIRICHLET_MODE_H
#define CF_DIRICHLET_MODE_H

#include "validate.h"

#ifdef CF_FLOAT
#define CF_STEP_TOLERANCE 2e-3f /* relative step after which a step of third order is exact to rounding */
#define CF_LARGEST_SUM 1e7f     /* ten times the largest limit: a step from there is the last, before it overflows */
#else
#define CF_STEP_TOLERANCE 1e-4
#define CF_LARGEST_SUM 1e13
#endif
/* After so many iterations, a step that promises L less than CF_ROUNDING wanders about the mode in rounding errors. */
#define CF_MIN_ITERATIONS 6
#define CF_ROUNDING (64 * CF_EPSILON)
#define CF_LARGEST_RISE 8  /* of the sum */
#define CF_LARGEST_FALL 64 /* of a class */

/* A small build has one lane, and knows it everywhere. */
#ifdef CF_SMALL
enum { lanes = 1 };
#define CF_LANES_GIVEN size_t one CF_UNUSED
#else
#define CF_LANES_GIVEN size_t lanes
#endif

/* Views into the scratch memory. Row k < K belongs to class k, row K to the sum over the classes; rows beyond it
   fill the last block and are ignored. */
typedef struct {
    size_t classes, rows;
    cf_real *x, *digamma_diff, *first, *second;       /* the new alpha and its polygamma functions */
    cf_real *b, *digamma_diff_b, *first_b, *second_b; /* the same for beta x + 1 - beta */
    cf_real *m, *log_s;                      /* what was remembered, and what is observed */
    cf_real *gradient, *inverse, *third_derivative, *over_x, *newton, *gain, *base, *change, *product,
        *ratio; /* of a step */
    cf_real *state;
} cf_workspace;

CF_INLINE cf_workspace make_workspace(size_t classes, size_t rows, CF_LANES_GIVEN, cf_real *scratch) {
    const size_t size = rows * lanes;
    cf_workspace w;
    w.classes = classes;
    w.rows = rows;
    w.x = scratch;
    w.digamma_diff = scratch + size;
    w.first = scratch + 2 * size;
    w.second = scratch + 3 * size;
    w.b = scratch + 4 * size;
    w.digamma_diff_b = scratch + 5 * size;
    w.first_b = scratch + 6 * size;
    w.second_b = scratch + 7 * size;
    w.m = scratch + 8 * size;
    w.log_s = scratch + 9 * size;
    w.gradient = scratch + 10 * size;
    w.inverse = scratch + 11 * size;
    w.third_derivative = scratch + 12 * size;
    w.over_x = scratch + 13 * size;
    w.newton = scratch + 14 * size;
    w.gain = scratch + 15 * size;
    w.base = scratch + 16 * size;
    w.change = scratch + 17 * size;
    w.product = scratch + 18 * size;
    w.ratio = scratch + 19 * size;
    w.state = scratch + 20 * size;
    return w;
}

/* In a small build, the views are made again in each function: they are but distances from the first, which the
   compiler knows where the program says how many classes there are, by CF_CLASSES. */
#ifndef CF_SMALL
#define CF_VIEWS(w) (void)0
#else
#define CF_VIEWS(w)                                                                                                    \
    const size_t count = CF_COUNT((w)->classes);                                                                       \
    const cf_workspace views = make_workspace(count, CF_DIRICHLET_ROWS(count), 1, (w)->x);                             \
    (w) = &views
#endif

/* Where lanes go separate ways, each number is chosen, not each way, so that the loops become vector code. */
#define CF_CHOOSE(in_mask, value, other) (lanes == 1 || (in_mask) ? (value) : (other))

/* A loop over the numbers of the rows, none of which depends on another. */
#if defined(__GNUC__) && !defined(__clang__)
#define CF_INDEPENDENT _Pragma("GCC ivdep")
#else
#define CF_INDEPENDENT
#endif
#define CF_EACH_NUMBER(k, l) CF_INDEPENDENT for (k = 0; k < rows; k++) CF_INDEPENDENT for (l = 0; l < lanes; l++)
/* The same where only the classes' numbers count: a full last block is quicker, but not without vector registers. */
#if CF_BLOCK > 1
#define CF_EACH_CLASS(k, l) CF_EACH_NUMBER(k, l)
#else
#define CF_EACH_CLASS(k, l) CF_INDEPENDENT for (k = 0; k + 1 < rows; k++) CF_INDEPENDENT for (l = 0; l < lanes; l++)
#endif

/* A number of row k, or 0 where the row belongs to no class. */
#define CF_CLASS(k, value) cf_from_bits(cf_to_bits(value) & (0 - (cf_bits)((cf_bits)(k) < (cf_bits)classes)))

/* Sum over the classes' rows of each lane, in an order that depends on nothing else: four interleaved partial sums. */
CF_INLINE void sum_rows(size_t classes, size_t rows, CF_LANES_GIVEN, const cf_real *a, cf_real *sum) {
    const size_t whole = rows / 4 * 4, width = 4 * lanes;
    cf_real part[4 * CF_LANES] = {0};
    size_t k, l;
#if CF_BLOCK == 1
    if (lanes == 1) {
        *sum = cf_sum(classes, a);
        return;
    }
#endif
    for (k = 0; k < whole; k += 4)
        for (l = 0; l < width; l++) part[l] += CF_CLASS(k + l / lanes, a[k * lanes + l]);
    for (l = 0; l < (rows - whole) * lanes; l++) part[l] += CF_CLASS(whole + l / lanes, a[whole * lanes + l]);
    for (l = 0; l < lanes; l++) sum[l] = (part[l] + part[lanes + l]) + (part[2 * lanes + l] + part[3 * lanes + l]);
}

CF_PART void max_rows(size_t classes, size_t rows, CF_LANES_GIVEN, const cf_real *a, cf_real *most) {
    const size_t whole = rows / 4 * 4, width = 4 * lanes;
    cf_real part[4 * CF_LANES] = {0}, value;
    size_t k, l;
#if CF_BLOCK == 1
    if (lanes == 1) {
        for (*most = 0, k = 0; k < classes; k++) *most = a[k] > *most ? a[k] : *most;
        return;
    }
#endif
    for (k = 0; k < whole; k += 4)
        for (l = 0; l < width; l++) {
            value = CF_CLASS(k + l / lanes, a[k * lanes + l]);
            part[l] = value > part[l] ? value : part[l];
        }
    for (l = 0; l < (rows - whole) * lanes; l++) {
        value = CF_CLASS(whole + l / lanes, a[whole * lanes + l]);
        part[l] = value > part[l] ? value : part[l];
    }
    for (l = 0; l < lanes; l++) {
        const cf_real even = part[l] > part[2 * lanes + l] ? part[l] : part[2 * lanes + l];
        const cf_real odd = part[lanes + l] > part[3 * lanes + l] ? part[lanes + l] : part[3 * lanes + l];
        most[l] = even > odd ? even : odd;
    }
}

/* Completes x by its sum and, in the rows that are not used, a harmless number. */
CF_PART void fill_sum(const cf_workspace *w, CF_LANES_GIVEN) {
    CF_VIEWS(w);
    const size_t classes = w->classes, rows = w->rows;
    cf_real *restrict x = w->x, sum[CF_LANES];
    size_t k, l;
    sum_rows(classes, rows, lanes, x, sum);
    for (k = 0; k < rows; k++)
        for (l = 0; l < lanes; l++)
            x[k * lanes + l] = (cf_bits)k < (cf_bits)classes    ? x[k * lanes + l]
                               : (cf_bits)k == (cf_bits)classes ? sum[l]
                                                                : 1;
}

/* Polygamma functions. `digamma_diff` becomes log of the sum's h over the row's, less `rest`, so that
   digamma_diff[k] - digamma_diff[classes] = digamma(sum) - digamma(row). */
CF_PART void polygamma_rows(size_t classes, size_t rows, CF_LANES_GIVEN, const cf_real *restrict x,
                            cf_real *restrict digamma_diff, cf_real *restrict first, cf_real *restrict second) {
    cf_real top_h[CF_LANES];
    size_t k, l;
    for (l = 0; l < lanes; l++) top_h[l] = x[classes * lanes + l] + (CF_SHIFT - CF_R(0.5));
    CF_EACH_NUMBER(k, l) {
        const size_t i = k * lanes + l;
        cf_polygamma p = cf_polygamma_of(x[i]);
        digamma_diff[i] = cf_log_ratio(top_h[l], p.h) - p.rest;
        first[i] = p.trigamma;
        second[i] = p.tetragamma;
    }
}

/* The polygamma functions are most of the code, so they are compiled once for one lane and once for several, not
   wherever they are needed. */
#ifdef CF_SMALL
#define CF_POLYGAMMA_ROWS polygamma_rows
#else
#define CF_POLYGAMMA_ROWS polygamma_rows_lanes
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

CF_INLINE void polygamma_rows_lanes(size_t classes, size_t rows, size_t lanes, const cf_real *restrict x,
                                    cf_real *restrict digamma_diff, cf_real *restrict first, cf_real *restrict second) {
    if (lanes == 1)
        polygamma_rows_one(classes, rows, x, digamma_diff, first, second);
    else
        polygamma_rows_many(classes, rows, x, digamma_diff, first, second);
}
#endif

CF_PART void evaluate_polygamma(const cf_workspace *w, CF_LANES_GIVEN, int fractional_beta, const cf_real *beta) {
    CF_VIEWS(w);
    const size_t classes = w->classes, rows = w->rows;
    if (fractional_beta) {
        const cf_real *restrict x = w->x;
        cf_real *restrict b = w->b;
        size_t k, l;
        for (k = 0; k < rows; k++)
            for (l = 0; l < lanes; l++) {
                const cf_real rest = 1 - beta[l], top_rest = rest * (cf_real)classes;
                b[k * lanes + l] = beta[l] * x[k * lanes + l] + ((cf_bits)k == (cf_bits)classes ? top_rest : rest);
            }
        CF_POLYGAMMA_ROWS(classes, rows, lanes, w->b, w->digamma_diff_b, w->first_b, w->second_b);
    }
    CF_POLYGAMMA_ROWS(classes, rows, lanes, w->x, w->digamma_diff, w->first, w->second);
}

/* Derivatives of L by class: the first; 1 / the second, which stands alone but for a part that all classes share; and
   the third, likewise. Also the first one's products with the last change, and with 1 / the second. */
CF_PART void derivatives(const cf_workspace *w, CF_LANES_GIVEN, int fractional_beta, const cf_real *c,
                         const cf_real *share, const cf_real *beta) {
    CF_VIEWS(w);
    const size_t rows = w->rows, top = w->classes * lanes;
    const cf_real *restrict x = w->x, *restrict digamma_diff = w->digamma_diff,
                            *restrict digamma_diff_b = fractional_beta ? w->digamma_diff_b : w->digamma_diff;
    const cf_real *restrict first = w->first, *restrict first_b = fractional_beta ? w->first_b : w->first;
    const cf_real *restrict second = w->second, *restrict second_b = fractional_beta ? w->second_b : w->second;
    const cf_real *restrict m = w->m, *restrict log_s = w->log_s, *restrict change = w->change;
    cf_real *restrict gradient = w->gradient, *restrict inverse = w->inverse,
                      *restrict third_derivative = w->third_derivative;
    cf_real *restrict over_x = w->over_x, *restrict product = w->product, *restrict newton = w->newton;
    cf_real *restrict gain = w->gain;
    size_t k, l;
    CF_EACH_CLASS(k, l) {
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

/* What the third derivatives add to the sum of the Newton step (g + rise) / d. Remembers where the step starts. */
CF_PART void third_order_term(const cf_workspace *w, CF_LANES_GIVEN, const int *mask, const cf_real *rise,
                              const cf_real *top_third) {
    CF_VIEWS(w);
    const size_t rows = w->rows;
    const cf_real *restrict inverse = w->inverse, *restrict third_derivative = w->third_derivative,
                            *restrict gradient = w->gradient;
    const cf_real *restrict x = w->x;
    cf_real *restrict product = w->product, *restrict base = w->base;
    size_t k, l;
    CF_EACH_CLASS(k, l) {
        const size_t i = k * lanes + l;
        const cf_real step = (gradient[i] + rise[l]) * inverse[i];
        product[i] = (top_third[l] - third_derivative[i] * (step * step)) * inverse[i];
        base[i] = CF_CHOOSE(mask[l], x[i], base[i]);
    }
}

/* Takes the step from `base`. With a its first and b its second order, relative to x, x (1 + a + b) for a rise and
   x / (1 - a + a^2 - b) for a fall agree to third order, and stay positive. Leaves the relative change in `ratio`,
   and the gain it promises in `product`. */
CF_PART void take_step(const cf_workspace *w, CF_LANES_GIVEN, const int *mask, const cf_real *rise) {
    CF_VIEWS(w);
    const size_t rows = w->rows;
    const cf_real *restrict inverse = w->inverse, *restrict gradient = w->gradient,
                            *restrict third_derivative = w->third_derivative;
    const cf_real *restrict base = w->base, *restrict over_x = w->over_x;
    cf_real *restrict x = w->x, *restrict change = w->change, *restrict product = w->product;
    cf_real *restrict distance = w->ratio;
    size_t k, l;
    CF_EACH_CLASS(k, l) {
        const size_t i = k * lanes + l;
        const cf_real old = base[i], step = (gradient[i] + rise[l]) * inverse[i], a = step * over_x[i];
        const cf_real b = CF_R(-0.5) * (third_derivative[i] * inverse[i]) * (step * a);
        cf_real up = 1 + a + (b < a ? b : a), down = 1 - a + (a * a - b), ratio;
        down = 1 / (down < CF_LARGEST_FALL ? down : CF_LARGEST_FALL);
        ratio = a > 0 ? up : down;
        x[i] = CF_CHOOSE(mask[l], old * ratio, x[i]);
        change[i] = CF_CHOOSE(mask[l], old * ratio - old, change[i]);
        product[i] = CF_CHOOSE(mask[l], gradient[i] * (old * ratio - old), product[i]);
        distance[i] = CF_CHOOSE(mask[l], ratio > 1 ? ratio - 1 : 1 - ratio, distance[i]);
    }
}

/* Goes back half of the last change. */
CF_PART void backtrack(const cf_workspace *w, CF_LANES_GIVEN, const int *mask) {
    CF_VIEWS(w);
    const size_t rows = w->rows;
    const cf_real *restrict base = w->base;
    cf_real *restrict x = w->x, *restrict change = w->change;
    size_t k, l;
    CF_EACH_CLASS(k, l) {
        const size_t i = k * lanes + l;
        const cf_real half = CF_R(0.5) * change[i];
        change[i] = CF_CHOOSE(mask[l], half, change[i]);
        x[i] = CF_CHOOSE(mask[l], base[i] + half, x[i]);
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
   is not x. A step of at most `close`, relative to x, is the last. c is overwritten: L is divided by c + beta. */
CF_PART void find_mode(const cf_workspace *w, CF_LANES_GIVEN, int fractional_beta, cf_real close, cf_real *c,
                       const cf_real *beta, size_t *iterations) {
    CF_VIEWS(w);
    const size_t classes = w->classes, rows = w->rows, top = classes * lanes;
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
    for (k = 0; k < rows * lanes; k++) w->change[k] = 0;

    for (iteration = 1; iteration <= CF_MAX_ITERATIONS; iteration++) {
        int any_back = 0, any_on = 0, any_far = 0, searching = 0;
        for (l = 0; l < lanes; l++) beyond[l] = w->x[top + l] > CF_LARGEST_SUM;
        derivatives(w, lanes, fractional_beta, c, share, beta);
        /* L is concave: it rose if it still rises at the end of the step, or falls there by little of what it rose by
           at the start. Otherwise go back half way. */
        sum_rows(classes, rows, lanes, w->product, slope);
        for (l = 0; l < lanes; l++) {
            back[l] = iterations[l] == 0 && slope[l] < CF_R(-0.16) * promised[l];
            on[l] = iterations[l] == 0 && !back[l];
            any_back |= back[l];
            any_on |= on[l];
        }
        if (any_back) {
            backtrack(w, lanes, back);
            for (l = 0; l < lanes; l++) promised[l] = back[l] ? CF_R(0.5) * promised[l] : promised[l];
        }
        if (any_on) {
            const cf_real *first_b = fractional_beta ? w->first_b : w->first,
                          *second_b = fractional_beta ? w->second_b : w->second;
            sum_rows(classes, rows, lanes, w->inverse, per_space);
            sum_rows(classes, rows, lanes, w->newton, sum);
            sum_rows(classes, rows, lanes, w->gain, alone);
            for (l = 0; l < lanes; l++) {
                cf_real space;
                shared[l] = c[l] * w->first[top + l] + share[l] * beta[l] * first_b[top + l];
                shared_third[l] = c[l] * w->second[top + l] + share[l] * beta[l] * beta[l] * second_b[top + l];
                space = 1 - shared[l] * per_space[l];
                per_space[l] = 1 / (space > CF_EPSILON ? space : CF_EPSILON);
                sum[l] *= per_space[l];
                rise[l] = shared[l] * sum[l];
                top_third[l] = shared_third[l] * (sum[l] * sum[l]);
            }
            third_order_term(w, lanes, on, rise, top_third);
            sum_rows(classes, rows, lanes, w->product, more);
            for (l = 0; l < lanes; l++)
                rise[l] = rise_of_sum(sum[l], more[l] * (CF_R(0.5) * per_space[l]), w->x[top + l], shared[l],
                                      shared_third[l]);
            take_step(w, lanes, on, rise);
            sum_rows(classes, rows, lanes, w->product, more);
            for (l = 0; l < lanes; l++) {
                promised[l] = on[l] ? more[l] : promised[l];
                far[l] = on[l] && !(promised[l] > CF_R(0.5) * alone[l]);
                any_far |= far[l];
            }
            if (any_far) {
                /* Too far for the sum's linear model: hold the sum's digamma, each class then moves uphill. */
                take_step(w, lanes, far, zero);
                sum_rows(classes, rows, lanes, w->product, more);
                for (l = 0; l < lanes; l++) promised[l] = far[l] ? more[l] : promised[l];
            }
            max_rows(classes, rows, lanes, w->ratio, distance);
        }
        fill_sum(w, lanes);
        for (l = 0; l < lanes; l++) {
            const cf_real noise = 16 * CF_EPSILON * w->x[top + l]; /* what rounding leaves open of the sum */
            const int near = distance[l] < close || (distance[l] < noise && distance[l] < CF_R(0.03));
            const int lost =
                iteration >= CF_MIN_ITERATIONS && (promised[l] < CF_ROUNDING || (on[l] && distance[l] < noise));
            if (iterations[l] == 0 && ((on[l] && (near || beyond[l])) || lost)) iterations[l] = iteration;
            searching |= iterations[l] == 0;
        }
        if (!searching) return;
        evaluate_polygamma(w, lanes, fractional_beta, beta);
    }
}

#endif
