/* SPDX-License-Identifier: MIT */
/* What is remembered of a class: m_i = nu_i / eta, an average of -log s_i, and its bound.

   A prediction, floored and normalised, has no probability below floor / (1.05 + (K - 1) floor), so no average of -log s_i
   exceeds minus its logarithm, the bound. At weight 1 this holds by itself. Below 1 the mode may imply more, and forgetting,
   which scales nu and eta alike, would never undo it. */
#ifndef CF_DIRICHLET_MEMORY_H
#define CF_DIRICHLET_MEMORY_H

#include "dirichlet_numbers.h"

#define CF_UNBOUNDED CF_R(1e30)

/* The sum of exp(-m_i) must stay below 1, or no Dirichlet distribution has these m. Where the bound raised it above `limit`,
   the other classes of the stream in this lane lose in proportion; `ratio` holds the exp(-m_i). */
CF_KERNEL void lower_others(const cf_search *w, size_t lane, cf_real bound, cf_real limit) {
    const size_t classes = CF_COUNT(w->classes);
    const cf_real least = cf_exp_negative(-bound);
    cf_vec *const terms = &w->number->ratio, *const memory = &w->number->m;
    cf_real share = 1;
    size_t held = 0, before, n;
    do {
        cf_real rest = 0;
        before = held;
        held = 0;
        for (n = 1; n <= classes; n++) {
            const cf_real a = *number_at(w, terms, n, lane);
            if (*number_at(w, memory, n, lane) < bound && share * a > least)
                rest += a;
            else
                held++;
        }
        if (held < classes) share = (limit - (cf_real)held * least) / rest;
    } while (held > before && held < classes); /* a smaller share may bring another class to the bound */
    for (n = 1; n <= classes; n++) {
        cf_real *const m = number_at(w, memory, n, lane);
        *m = *m < bound && share * *number_at(w, terms, n, lane) > least ? *m + cf_rare_log_ratio(1, share) : bound;
    }
}

/* Fills in m of the old alpha, at which evaluate() was called: within the bound, drawn to the prior. Where the weight is 1,
   so that b = x, or 0, the observation is added, and m is the whole of nu / eta. */
CF_PART void remember(const cf_dirichlet *f, cf_search *w, cf_mask on) {
    cf_number *const top = w->number, *const end = top + w->vectors, *a;
    const cf_real bound = f->bounded ? f->bound : CF_UNBOUNDED,
                  limit = 1 - CF_R(0.5) * (cf_real)w->classes / f->max_concentration;
    const cf_mask whole = mask_not(vec_less(vec_of(0), w->beta) & vec_less(w->beta, vec_of(1)));
    const cf_vec top_drop = top_of(w, top->drop), total = top_of(w, top->x);
    cf_mask beyond = mask_of(0);
    CF_EACH_VECTOR
    for (a = top; a < end; a++) {
        const cf_vec m = a->drop - top_drop;
        beyond |= vec_less(vec_of(bound), m);
        a->m = vec_min(m, vec_of(bound));
        a->ratio = a->x * a->x / (a->x + CF_R(0.5));
    }
    beyond = any_of(w, beyond) & on;
    if (any_stream(w, beyond)) {
        /* exp(digamma(x)) < x^2 / (x + 1/2), exp(digamma(X)) > X - 1/2 and exp(-bound) < floor: mostly there is room */
        const cf_vec most = sum_classes(w, &top->ratio) + (cf_real)w->classes * f->floor * total;
        beyond &= mask_not(vec_less(most, (total - CF_R(0.5)) * limit));
    }
    if (any_stream(w, beyond)) {
        size_t lane;
        CF_EACH_VECTOR
        for (a = top; a < end; a++) a->ratio = vec_rare_exp(vec_max(-a->m, vec_of(CF_EXP_MIN)));
        beyond &= vec_less(vec_of(limit), sum_classes(w, &top->ratio));
        for (lane = 0; lane < (is_across(w) ? 1 : CF_WIDTH); lane++)
            if (mask_at(beyond, lane)) lower_others(w, lane, bound, limit);
    }
    CF_EACH_VECTOR
    for (a = top; a < end; a++) {
        if (anchor_of(f) > 0) a->m = (w->kept * a->m + w->pull * a->prior) / (w->kept + w->pull);
        if (any_stream(w, whole))
            a->m =
                vec_choose(whole, w->old_part * a->m - w->new_part * vec_rare_log_ratio(a->s, top_of(w, top->s)), a->m);
        a->gradient -= w->c * a->m;
        a->term[0] = a->gradient * a->term[1];
    }
}

#endif
