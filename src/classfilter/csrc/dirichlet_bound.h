/* SPDX-License-Identifier: MIT */
/* The bound on what is remembered of a class.

   m_i = digamma(A) - digamma(alpha_i), A the sum of alpha, is the average of -log s_i that the state stands for. A
   prediction, floored and normalised, has no probability below `smallest`, so no such average can exceed
   bound = -log smallest. At weight 1 m is an average of predictions and keeps to it. Below 1 the mode may not: then
   alpha becomes the Dirichlet distribution of min(m_i, bound). */
#ifndef CF_DIRICHLET_BOUND_H
#define CF_DIRICHLET_BOUND_H

#include "dirichlet_mode.h"

/* Whether the largest m_i, that of the least alpha, may exceed the bound. Without digamma, from
   log(x - 1/2) < digamma(x) < log(x) - 1 / (2 x) and, up to x = 1/2, digamma(x) > x - 0.5773 - 1 / x; with some room for rounding. */
CF_INLINE int may_exceed_bound(cf_real smallest, cf_real sum, cf_real least) {
    const cf_real scaled = smallest * sum, half = CF_R(0.5);
    if (least > CF_R(0.51) + CF_R(1.001) * scaled) return 0;
    return !(least * (cf_log_ratio(1, scaled) + half / sum + (least < half ? least : half) - CF_R(0.58)) > 1);
}

/* The x with digamma(x) = digamma(sum) - m, by Newton's method; `top` is of the sum, which is 2 or more. */
CF_INLINE cf_real alpha_at_sum(cf_polygamma top, cf_real m) {
    const cf_real half = CF_R(0.5), y = cf_log_ratio(top.h, 1) + top.rest - m;
    /* from below, where the concave function lets no step go too far, or from where it is all but a logarithm */
    cf_real x = y > 1             ? (top.h - (CF_SHIFT - half) - half) * cf_exp_negative(-m) + half
                : y > CF_R(-0.57) ? 1
                                  : 1 / (CF_R(0.43) - y);
    int i;
    for (i = 0; i < 8; i++) {
        const cf_polygamma p = cf_polygamma_of(x);
        const cf_real step = ((cf_log_ratio(top.h, p.h) + (top.rest - p.rest)) - m) / p.trigamma;
        x += step;
        if (step * step <= CF_EPSILON * (x * x)) break;
    }
    return x;
}

/* Where no Dirichlet distribution of a smaller sum has these m, gives x the sum: classes at the bound keep it, the others
   share the rest in proportion. Returns 0, and leaves x as it is, where there is such a distribution. */
CF_KERNEL int hold_at_sum(size_t classes, size_t stride, cf_real sum, cf_real bound, const cf_real *m, cf_real *x,
                          cf_real *a) {
    const cf_polygamma top = cf_polygamma_of(sum);
    const cf_real least = alpha_at_sum(top, bound);
    cf_real total = 0, share = 1;
    size_t held = 0, before, k;
    for (k = 0; k < classes * stride; k += stride) {
        a[k] = m[k] < bound ? alpha_at_sum(top, m[k]) : least;
        total += a[k];
    }
    if (total < sum) return 0;
    do {
        cf_real rest = 0;
        before = held;
        held = 0;
        for (k = 0; k < classes * stride; k += stride) {
            if (share * a[k] > least)
                rest += a[k];
            else
                held++;
        }
        if (held < classes) share = (sum - (cf_real)held * least) / rest;
    } while (held > before && held < classes); /* a smaller share may bring another class to the bound */
    for (k = 0; k < classes * stride; k += stride)
        x[k] = held == classes ? sum / (cf_real)classes : share * a[k] > least ? share * a[k] : least;
    return 1;
}

/* Bounds m of the lanes where `below_one`, from their x. Returns whether any is left to search for: iterations[l] = 0, and
   m and the polygamma functions as `find_mode` needs them. */
CF_PART int bound_lanes(const cf_dirichlet *f, const cf_workspace *w, CF_LANES_GIVEN, const int *below_one,
                        size_t *iterations) {
    CF_VIEWS(w);
    const size_t classes = w->classes, rows = w->rows, top = classes * lanes;
    const cf_real most = f->max_concentration;
    cf_real bound;
    size_t k, l;
    int suspicious = 0, searching = 0;
    for (l = 0; l < lanes; l++) {
        const cf_real sum = w->x[top + l] < most ? w->x[top + l] : most;
        cf_real least = w->x[l];
        for (k = 1; k < classes; k++) least = w->x[k * lanes + l] < least ? w->x[k * lanes + l] : least;
        suspicious |= below_one[l] && may_exceed_bound(f->smallest, sum, least);
    }
    if (!suspicious) return 0;
    bound = cf_log_ratio(1, f->smallest);
    fill_sum(w, lanes);
    CF_POLYGAMMA_ROWS(classes, rows, lanes, w->x, w->digamma_diff, w->first, w->second);
    for (l = 0; l < lanes; l++) {
        cf_real space = 1;
        int exceeds = 0;
        for (k = l; k < top; k += lanes) {
            w->m[k] = w->digamma_diff[k] - w->digamma_diff[top + l];
            exceeds |= w->m[k] > bound;
        }
        if (!exceeds || !below_one[l]) continue;
        for (k = l; k < top; k += lanes) {
            w->m[k] = w->m[k] < bound ? w->m[k] : bound;
            space -= cf_exp_negative(-w->m[k]);
        }
        /* x < exp(digamma(x)) + 1/2: with so much space there is a distribution of a smaller sum */
        if (most * space < CF_R(0.5) * (cf_real)classes + 1 &&
            hold_at_sum(classes, lanes, most, bound, w->m + l, w->x + l, w->product + l))
            continue;
        iterations[l] = 0;
        searching = 1;
    }
    return searching;
}

#endif
