/* SPDX-License-Identifier: MIT */
/* The search for the posterior's mode, alpha = x.

   With X the sum of x, b_i = beta x_i + 1 - beta and B their sum, c and share the parts that what is remembered and what is
   observed have in the posterior (c + share = 1), and m_i the average of -log s_i that is remembered, the gradient is

     g_i = c (digamma(X) - digamma(x_i) - m_i) + share (digamma(B) - digamma(b_i) + log s_i)

   and the mode is where all g_i are 0. They depend on each other through the sum alone. Let sigma be how much the sum's own
   part of them rises in a step, and, of any number x, of which the sum is number 0 with g_0 = 0,

     f1 = c trigamma(x) + share beta trigamma(b)          f2 = -(c tetragamma(x) + share beta^2 tetragamma(b))
     w = 1 / (f1 x)     kappa = f2 x / (2 f1)     u = (g + sigma) w

   so that u is the Newton step, relative to x, and kappa how it curves: 1/2 where digamma is like log x, 1 where it is like -1/x,
   0 where b is nearly constant.
   `curve` has the step itself. sigma is the one with which the classes' steps add up to the sum's.

   Where beta is 1, b = x; where it is 0, nothing is observed. Then share is 0, c is 1, and m is the whole of nu / eta. */
#ifndef CF_DIRICHLET_SEARCH_H
#define CF_DIRICHLET_SEARCH_H

#include "dirichlet_memory.h"

#ifdef CF_FLOAT
#define CF_STEP_NEAR CF_R(8e-3) /* a step below this, relative to x, leaves an error of rounding: it is the last */
#define CF_STEP_NEAR_LARGE CF_R(2e-3) /* the same where X is CF_LARGE_SUM or more */
#define CF_STEP_SHORT CF_R(2e-3) /* below this, a step need not curve */
#define CF_SUM_NOISE (8 * CF_EPSILON)
#define CF_LARGEST_SUM 1e7f /* ten times the largest limit: a step from beyond is the last, and the limit decides */
#else
#define CF_STEP_NEAR 8e-4 /* leaves an error of 1e-10 */
#define CF_STEP_NEAR_LARGE 3e-5
#define CF_STEP_SHORT 0
#define CF_SUM_NOISE (64 * CF_EPSILON)
#define CF_LARGEST_SUM 1e13
#endif
#define CF_LARGE_SUM 128
#define CF_STEP_FAR CF_R(0.3)
#define CF_PATIENCE 5 /* from this step on, one that rounding may have caused is the last */
#define CF_LATE 16 /* few searches take so many */
#define CF_LATE_NEAR (CF_R(32768.0) * CF_EPSILON) /* times the number of steps: then, one below this is the last */

/* Fills in gradient, reach and bend at x. `deep`: where bend is needed anew. Before remember(), m is 0. */
CF_PART void evaluate(cf_search *w, int fractional, cf_mask deep) {
    const cf_vec share1 = w->share * w->beta, share2 = share1 * w->beta;
    cf_number *const top = w->number, *const end = top + w->vectors, *a;
    /* All digammas are compared with log h of the sum; what is left of the sum's own, top_gradient, comes off at the end. */
    const cf_vec total = top_of(w, top->x), top_x = total + CF_UP_TO_H;
    const cf_vec top_b = w->beta * total + top_of(w, top->rest) + CF_UP_TO_H;
    cf_vec top_gradient = vec_of(0);
    CF_EACH_VECTOR
    for (a = top; a < end; a++) {
        const cf_vec x = a->x;
        const vec_polygamma p = vec_polygamma_of(x, top_x);
        cf_vec gradient = w->c * (p.drop - a->m), f1 = w->c * p.first, f2 = vec_of(0), d;
        if (any_stream(w, deep)) f2 = w->c * p.second;
        if (fractional) {
            const vec_polygamma q = vec_polygamma_of(w->beta * x + a->rest, top_b * a->s);
            gradient += w->share * q.drop;
            f1 += share1 * q.first;
            if (any_stream(w, deep)) f2 += share2 * q.second;
        }
        if (a == top) top_gradient = top_of(w, gradient);
        a->drop = p.drop;
        a->gradient = gradient - top_gradient;
        a->reach = 1 / (f1 * x);
        d = a->reach * x;
        a->term[0] = a->gradient * d;
        a->term[1] = d;
        if (any_stream(w, deep)) a->bend = vec_choose(deep, CF_R(0.5) * f2 * d * x, a->bend);
    }
}

/* New over old x after a step u, and its derivative. With q = kappa (1 + 2 kappa) / 3, which guesses the third derivative and is
   exact at both ends of kappa, and t = u / (1 - q u),

     y = 1 + t (1 + (kappa - q) u)     y' = 1 + kappa t (2 + q t)

   Where u < -0.8, y = 1 / (1 - u + (1 - kappa) u^2 + min((4 kappa - 3) (1 - kappa) / 3, 0) u^3), which has the same series where
   kappa is 0, 1/2 or 1, and stays positive; u goes no lower than -9, and 1 - q u no lower than 0.1. */
typedef struct {
    cf_vec y, slope;
} cf_curve;

CF_INLINE cf_curve curve(cf_vec u, cf_vec kappa) {
    const cf_vec q = kappa * (1 + (kappa + kappa)) * CF_R(0.333333333333333333);
    const cf_mask wild = vec_less(vec_of(CF_R(0.8)), vec_abs(u));
    cf_vec under = 1 - q * u, t;
    cf_curve to;
    if (mask_any(wild)) under = vec_max(under, vec_of(CF_R(0.1)));
    t = u / under;
    to.y = 1 + t * (1 + (kappa - q) * u);
    to.slope = 1 + kappa * t * (2 + q * t);
    if (mask_any(wild)) {
        const cf_mask fall = vec_less(u, vec_of(CF_R(-0.8)));
        const cf_vec z = vec_max(u, vec_of(-9)), e2 = 1 - kappa;
        const cf_vec e3 = vec_min((4 * kappa - 3) * e2 * CF_R(0.333333333333333333), vec_of(0));
        const cf_vec y = 1 / (1 - z * (1 - z * (e2 + e3 * z)));
        to.y = vec_choose(fall, y, to.y);
        to.slope = vec_choose(fall, (1 - z * ((e2 + e2) + 3 * (e3 * z))) * (y * y), to.slope);
    }
    return to;
}

/* Takes a step in the streams that are `on`; returns where it was the last. *gentle: where it was short enough for bend to
   serve again. */
CF_PART cf_mask take_step(const cf_dirichlet *f, cf_search *w, cf_mask on, size_t step, cf_mask *gentle) {
    cf_number *const top = w->number, *const end = top + w->vectors, *a;
    const cf_vec total = top_of(w, top->x), reach = top_of(w, top->reach), d0 = top_of(w, top->term[1]);
    const cf_mask modest = vec_less(total, vec_of(CF_LARGE_SUM));
    const cf_vec enough = vec_choose(modest, vec_of(cf_max(CF_STEP_NEAR, f->tolerance)),
                                     vec_of(cf_max(CF_STEP_NEAR_LARGE, f->tolerance)));
    const cf_vec least = CF_EPSILON * d0, space = vec_max(d0 - sum_classes(w, &top->term[1]), least);
    /* what rounding leaves open of the sum */
    const cf_vec noise = vec_min(CF_SUM_NOISE * total, vec_of(step < CF_PATIENCE ? CF_R(0.03) : CF_R(0.5)));
    const cf_vec late = vec_of(step < CF_LATE ? 0 : CF_LATE_NEAR * (cf_real)step);
    const cf_vec limit = vec_max(vec_max(enough, noise), late);
    cf_vec sigma, change, more;
    cf_mask distant, rough, last, brief;

    /* sigma = sum g_i x_i w_i / (X w_0 - sum x_i w_i), by which the sum changes by U = sigma w_0. */
    sigma = sum_classes(w, &top->term[0]) / space;
    change = sigma * reach;

    /* Along a ray, digamma(X) - digamma(x) is nearly linear in 1/X: Newton in 1/X, X' = X / (1 - U), is good however far it
       goes. sigma is what takes log X there. */
    distant = vec_less(vec_of(CF_STEP_FAR), vec_abs(change));
    if (any_stream(w, distant)) {
        const cf_vec held = vec_max(vec_min(change, vec_of(CF_R(0.9))), vec_of(-63));
        sigma = vec_choose(distant, vec_rare_log_ratio(vec_of(1), 1 - held) / reach, sigma);
    }
    last = vec_less(vec_abs(change), 2 * limit);
    /* Rarely, steps go back and forth. Now and then, hold the sum's digamma: each class climbs by itself then. */
    if (step >= CF_LATE && step % 8 == 0) sigma = vec_of(0);

    brief = vec_less(vec_abs(change), vec_of(CF_STEP_SHORT));
    if (CF_STEP_SHORT > 0 && any_stream(w, brief)) {
        for (a = top; a < end; a++) brief &= vec_less(vec_abs((a->gradient + sigma) * a->reach), vec_of(CF_STEP_SHORT));
        brief = all_of(w, brief);
        if (!any_stream(w, mask_not(brief) & on)) {
            for (a = top; a < end; a++) a->x = where_on(w, on, a->x * (1 + (a->gradient + sigma) * a->reach), a->x);
            return on;
        }
    }

    CF_EACH_VECTOR
    for (a = top; a < end; a++) {
        const cf_vec u = (a->gradient + sigma) * a->reach;
        const cf_curve to = curve(u, a->bend);
        a->ratio = CF_STEP_SHORT > 0 ? vec_choose(brief, 1 + u, to.y) : to.y;
        a->reach *= to.slope;
        a->term[0] = a->x * a->ratio;
        a->term[1] = a->x * a->reach;
    }

    /* sigma + more is a Newton step nearer to where the classes' curves add up to the sum's. A long one is held back. */
    more = (sum_classes(w, &top->term[0]) - top_of(w, top->term[0])) /
           vec_max(top_of(w, top->term[1]) - sum_classes(w, &top->term[1]), least);
    rough = distant | mask_not(vec_less(vec_abs(more * reach), vec_of(CF_R(0.1))));
    if (any_stream(w, rough)) {
        const cf_vec most = CF_R(0.5) * vec_max(vec_abs(sigma), CF_R(0.1) / reach);
        more = vec_choose(rough, vec_max(vec_min(more, most), -most), more);
    }
    if (step >= CF_LATE && step % 4 == 0) more = vec_of(0);
    if (CF_STEP_SHORT > 0) more = vec_choose(brief, vec_of(0), more);
    CF_EACH_VECTOR
    for (a = top; a < end; a++) {
        const cf_vec y = a->ratio, dy = a->reach * more;
        cf_vec ratio = vec_abs(y + dy); /* x stays positive */
        if (any_stream(w, rough)) {
            const cf_vec held = vec_min(y + vec_max(vec_min(dy, y), CF_R(-0.75) * y), vec_of(32));
            ratio = vec_choose(rough, held, ratio);
        }
        last &= vec_less(vec_abs(ratio - 1), limit);
        a->x = where_on(w, on, a->x * ratio, a->x);
    }
    *gentle = mask_not(rough);
    return on & (all_of(w, last) | brief | vec_less(vec_of(CF_LARGEST_SUM), total));
}

/* Moves x from the old alpha to the new one in the streams that are `on`, and returns where it found it. The caller fills in
   the weights; x, the old alpha, and s of the classes; m, 0; rest, 1 - beta; and prior, where there is an anchor. */
CF_INLINE cf_mask search(const cf_dirichlet *f, cf_search *w, int fractional, cf_mask on, size_t *iterations) {
    cf_number *const top = w->number, *const end = top + w->vectors, *a;
    const cf_mask asked = on;
    cf_mask gentle = mask_of(0);
    cf_vec total, excess = vec_of(1);
    size_t step;
    set_top(w, &top->rest, (1 - w->beta) * (cf_real)CF_COUNT(w->classes));
    sum_up(w, &top->s);
    total = sum_up(w, &top->x);
    for (step = 1; step <= CF_MAX_ITERATIONS && any_stream(w, on); step++) {
        evaluate(w, fractional, CF_STEP_SHORT > 0 ? mask_not(gentle) : mask_of(1));
        if (step == 1) remember(f, w, on);
        on &= mask_not(take_step(f, w, on, step, &gentle));
        total = sum_up(w, &top->x);
        if (step > *iterations) *iterations = step;
    }
    if (any_stream(w, vec_less(vec_of(f->max_concentration), total)))
        excess = vec_min(f->max_concentration / total, vec_of(1));
    CF_EACH_VECTOR
    for (a = top; a < end; a++) a->x = vec_max(a->x * excess, vec_of(CF_SMALLEST_ALPHA));
    return asked & mask_not(on);
}

#endif
