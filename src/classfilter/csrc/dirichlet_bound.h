/* SPDX-License-Identifier: MIT */
/* The bound on what is remembered of a class.

   m_i = nu_i / eta is an average of -log s_i. A prediction, floored and normalised, has no probability below
   floor / (1.05 + (K - 1) floor), so no such average exceeds minus its logarithm, the bound. At weight 1 this holds by
   itself. Below 1 the mode may imply more, and forgetting, which scales nu and eta alike, would never undo it. */
#ifndef CF_DIRICHLET_BOUND_H
#define CF_DIRICHLET_BOUND_H

#include "dirichlet_mode.h"

/* The sum of exp(-m_i) must stay below 1, or no Dirichlet distribution has these m. Where the bound raised it above
   `limit`, the other classes lose in proportion; `a` holds the exp(-m_i). */
CF_KERNEL void lower_others(size_t classes, size_t stride, cf_real bound, cf_real limit, const cf_real *a, cf_real *m) {
    const cf_real least = cf_exp_negative(-bound);
    cf_real share = 1;
    size_t held = 0, before, k;
    do {
        cf_real rest = 0;
        before = held;
        held = 0;
        for (k = 0; k < classes * stride; k += stride) {
            if (m[k] < bound && share * a[k] > least)
                rest += a[k];
            else
                held++;
        }
        if (held < classes) share = (limit - (cf_real)held * least) / rest;
    } while (held > before && held < classes); /* a smaller share may bring another class to the bound */
    for (k = 0; k < classes * stride; k += stride)
        m[k] = m[k] < bound && share * a[k] > least ? m[k] + cf_log_ratio(1, share) : bound;
}

/* Bounds m of the lanes whose alpha moves. */
CF_PART void bound_memory(const cf_dirichlet *f, const cf_workspace *w, size_t given_lanes, const int *moves) {
    const size_t lanes = known_lanes(given_lanes);
    cf_workspace own;
    const cf_workspace *const v = views_of(w, &own);
    const size_t classes = v->classes, rows = v->rows;
    const cf_real bound = f->bound, limit = 1 - CF_R(0.5) * (cf_real)classes / f->max_concentration;
    cf_real *restrict m = v->m, *restrict a = v->product, most[CF_LANES], sum[CF_LANES];
    size_t k, l;
    int any = 0;
    max_rows(classes, rows, lanes, m, most);
    for (l = 0; l < lanes; l++) any |= moves[l] && most[l] > bound;
    if (!any) return;
    CF_INDEPENDENT
    for (k = 0; k < class_rows(rows); k++) {
        CF_INDEPENDENT
        for (l = 0; l < lanes; l++) {
            const size_t i = k * lanes + l;
            m[i] = choose(lanes, moves[l], m[i] < bound ? m[i] : bound, m[i]);
            a[i] = cf_exp_negative(-m[i]);
        }
    }
    sum_rows(classes, rows, lanes, a, sum);
    for (l = 0; l < lanes; l++)
        if (moves[l] && most[l] > bound && sum[l] > limit) lower_others(classes, lanes, bound, limit, a + l, m + l);
}

#endif
