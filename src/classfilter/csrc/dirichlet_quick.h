/* SPDX-License-Identifier: MIT */
/* The quick search for the mode, in double precision: steps of fourth order from the old alpha, of which two mostly do.
   Where they do not, nothing is changed, and the search of dirichlet_mode.h takes the update.

   With dirichlet_mode.h's gradient g, divided by c + beta, and with
     f_n = c digamma^(n)(x) + share beta^n digamma^(n)(b),  a = f_2 / (2 f_1),  q = 2 a - f_3 / (3 f_2),
   a rise of the sum's digamma by sigma moves a number by
     delta = v (1 - a v + a q v^2 - ...),  v = (g + sigma) / f_1.
   sigma is such that the classes' changes add up to the sum's, which is the same series at g = 0. Both equations are
   solved to fourth order, by fractions that stay sane far away.

   Number 0 is the sum; 1 to K are the classes. `across`: the lanes of a pack are numbers of one stream, and those that
   are left over repeat the sum. Otherwise each lane is a stream, and each number has a pack. */
#ifndef CF_DIRICHLET_QUICK_H
#define CF_DIRICHLET_QUICK_H

#include "dirichlet_packs.h"
#include "dirichlet_rows.h"

#define CF_QUICK_NEAR 1.5e-3 /* a step below this, relative to x, leaves an error below 1e-10 */
#define CF_QUICK_NEAR_LARGE 1e-4 /* where the sum, of which it leaves an error in proportion, is not CF_QUICK_LARGE */
#define CF_QUICK_LARGE 4096
#define CF_QUICK_SUM 2e6 /* above it rounding decides when to stop, which the other search weighs */
#define CF_QUICK_MEMORY 1e-9 /* below it, what is remembered hardly bounds alpha */
#define CF_QUICK_STEPS 5

/* Before a loop over the packs: of one stream of up to seven classes, there are two. */
#if defined(__GNUC__) && !defined(__clang__)
#define CF_EACH_PACK _Pragma("GCC unroll 2")
#else
#define CF_EACH_PACK
#endif

typedef struct {
    size_t classes, packs;
    cf_pack *x, *m, *log_s, *prior;
    cf_pack *more; /* b = beta x + more */
    cf_pack *sign; /* 1 for a class, -1 for the sum, 0 for what is left over */
    cf_pack *digamma_diff, *gradient; /* gradient: at first only what the observation adds to it */
    cf_pack *inverse, *a, *q, *term[4]; /* inverse: of f_1 */
    cf_pack c, share, beta, kept, pull;
} cf_quick;

CF_INLINE cf_quick make_quick(size_t classes, size_t packs, double *scratch) {
    cf_pack *const rows = (cf_pack *)scratch;
    cf_quick w;
    size_t i;
    w.classes = classes;
    w.packs = packs;
    w.x = rows;
    w.m = rows + packs;
    w.log_s = rows + 2 * packs;
    w.prior = rows + 3 * packs;
    w.more = rows + 4 * packs;
    w.sign = rows + 5 * packs;
    w.digamma_diff = rows + 6 * packs;
    w.gradient = rows + 7 * packs;
    w.inverse = rows + 8 * packs;
    w.a = rows + 9 * packs;
    w.q = rows + 10 * packs;
    for (i = 0; i < 4; i++) w.term[i] = rows + (11 + i) * packs;
    w.c = w.share = w.beta = w.kept = w.pull = pack_of(0);
    return w;
}

CF_INLINE cf_pack number_zero(int across, cf_pack numbers) { return across ? pack_first(numbers) : numbers; }

/* One thing for the classes, another for all else. */
CF_INLINE cf_pack choose_class(int across, const cf_quick *w, size_t n, cf_pack of_class, cf_pack of_other) {
    if (!across) return n == 0 ? of_other : of_class;
    return pack_choose(pack_less(pack_of(0), w->sign[n]), of_class, of_other);
}

/* The sum of all numbers, in an order that depends on nothing else: four interleaved partial sums. */
CF_PACK_PART cf_pack sum_numbers(int across, size_t packs, const cf_pack *a) {
    cf_pack p = pack_of(0), q = p, r = p, s = p;
    size_t n = 0;
    if (across) {
        CF_EACH_PACK
        for (n = 0; n < packs; n++) p += a[n];
        return pack_sum(p);
    }
    for (; n + 4 <= packs; n += 4) {
        p += a[n];
        q += a[n + 1];
        r += a[n + 2];
        s += a[n + 3];
    }
    if (n < packs) p += a[n];
    if (n + 1 < packs) q += a[n + 1];
    if (n + 2 < packs) r += a[n + 2];
    return (p + q) + (r + s);
}

/* Gives every number that is no class's the sum of the classes', which it returns. */
CF_PACK_PART cf_pack fill_numbers(int across, const cf_quick *w, cf_pack *a) {
    cf_pack sum;
    size_t n;
    if (!across) {
        a[0] = pack_of(0);
        a[0] = sum_numbers(across, w->packs, a);
        return a[0];
    }
    CF_EACH_PACK
    for (n = 0; n < w->packs; n++) w->term[0][n] = choose_class(across, w, n, a[n], pack_of(0));
    sum = sum_numbers(across, w->packs, w->term[0]);
    CF_EACH_PACK
    for (n = 0; n < w->packs; n++) a[n] = choose_class(across, w, n, a[n], sum);
    return sum;
}

/* digamma(sum) - digamma of each number at x and at b, and what f_1, f_2 and f_3 make of a step. */
CF_INLINE void evaluate_numbers(int across, const cf_quick *w, int fractional) {
    const cf_pack c = w->c, share2 = w->share * w->beta, share3 = share2 * w->beta, share4 = share3 * w->beta;
    cf_pack top_h = pack_of(0), top_rest = top_h, top_h_b = top_h, top_rest_b = top_h;
    size_t n;
    CF_EACH_PACK
    for (n = 0; n < w->packs; n++) {
        const cf_pack_polygamma p = pack_polygamma(w->x[n]);
        cf_pack_polygamma p_b = p;
        cf_pack digamma_diff, digamma_diff_b, inverse, second, third, a;
        if (fractional) p_b = pack_polygamma(w->beta * w->x[n] + w->more[n]);
        if (n == 0) {
            top_h = number_zero(across, p.h);
            top_rest = number_zero(across, p.rest);
            top_h_b = number_zero(across, p_b.h);
            top_rest_b = number_zero(across, p_b.rest);
        }
        digamma_diff = pack_log_ratio(top_h, p.h) + (top_rest - p.rest);
        digamma_diff_b = digamma_diff;
        if (fractional) digamma_diff_b = pack_log_ratio(top_h_b, p_b.h) + (top_rest_b - p_b.rest);
        inverse = 1 / (c * p.first + share2 * p_b.first);
        second = c * p.second + share3 * p_b.second;
        third = c * p.third + share4 * p_b.third;
        a = 0.5 * second * inverse;
        w->digamma_diff[n] = digamma_diff;
        w->gradient[n] = w->share * (digamma_diff_b + w->log_s[n]);
        w->inverse[n] = inverse;
        w->a[n] = a;
        w->q[n] = (a + a) - third / (3 * second);
    }
}

/* What is remembered: m of the old alpha, within the bound and drawn to the prior. Returns the lanes where the bound
   leaves others as they are; see dirichlet_bound.h. */
CF_INLINE cf_pack_bits remember(int across, const cf_dirichlet *f, const cf_quick *w) {
    const cf_pack bound = pack_of(f->bound), limit = pack_of(1 - 0.5 * (double)w->classes / f->max_concentration);
    cf_pack most = pack_of(0);
    cf_pack_bits beyond;
    size_t n;
    CF_EACH_PACK
    for (n = 0; n < w->packs; n++) {
        w->m[n] = w->digamma_diff[n];
        most = pack_max(most, w->m[n]);
    }
    beyond = pack_less(bound, most);
    if (!f->bounded) beyond = pack_bits_of(0);
    if (across) beyond = pack_bits_of(pack_any(beyond));
    if (pack_any(beyond)) {
        CF_EACH_PACK
        for (n = 0; n < w->packs; n++) {
            w->m[n] = pack_choose(beyond, pack_min(w->m[n], bound), w->m[n]);
            w->term[0][n] = choose_class(across, w, n, pack_exp_negative(-w->m[n]), pack_of(0));
        }
        beyond &= pack_less(limit, sum_numbers(across, w->packs, w->term[0]));
    }
    for (n = 0; f->anchor > 0 && n < w->packs; n++)
        w->m[n] = (w->kept * w->m[n] + w->pull * w->prior[n]) / (w->kept + w->pull);
    return ~beyond;
}

/* Takes a step in the lanes that are `on`; returns in which it was the last. `total` is the sum. */
CF_INLINE cf_pack_bits take_quick_step(int across, const cf_dirichlet *f, const cf_quick *w, cf_pack total,
                                       cf_pack_bits on) {
    const cf_pack small = pack_of(CF_QUICK_NEAR > f->tolerance ? CF_QUICK_NEAR : f->tolerance);
    const cf_pack large = pack_of(CF_QUICK_NEAR_LARGE > f->tolerance ? CF_QUICK_NEAR_LARGE : f->tolerance);
    const cf_pack near = pack_choose(pack_less(total, pack_of(CF_QUICK_LARGE)), small, large);
    cf_pack_bits last = ~pack_bits_of(0);
    cf_pack c0, over_c1, k2, k3, rho, sigma;
    size_t n;
    CF_EACH_PACK
    for (n = 0; n < w->packs; n++) {
        const cf_pack g = w->c * (w->digamma_diff[n] - w->m[n]) + w->gradient[n];
        const cf_pack inverse = w->inverse[n], a = w->a[n], q = w->q[n], v = g * inverse, av = a * v, qv = q * v;
        const cf_pack signed_inverse = w->sign[n] * inverse, squared = signed_inverse * inverse;
        /* a short step may be two long ones that cancel: g's own, and the sum's */
        last &= pack_less(pack_abs(v), 2 * near * w->x[n]);
        w->gradient[n] = g;
        w->term[0][n] = signed_inverse * (g * (1 - av + av * qv));
        w->term[1][n] = signed_inverse * (1 - (av + av) + 3 * (av * qv));
        w->term[2][n] = squared * (a * (3 * qv - 1));
        w->term[3][n] = squared * (inverse * (a * q));
    }
    c0 = sum_numbers(across, w->packs, w->term[0]);
    over_c1 = 1 / sum_numbers(across, w->packs, w->term[1]);
    k2 = sum_numbers(across, w->packs, w->term[2]) * over_c1;
    k3 = sum_numbers(across, w->packs, w->term[3]) * over_c1;
    rho = -(c0 * over_c1);
    last &= pack_less(pack_abs(rho) * number_zero(across, w->inverse[0]), 2 * near * total);
    sigma = rho / pack_max(1 + rho * (k2 + rho * (k3 - k2 * k2)), pack_of(0.25));
    CF_EACH_PACK
    for (n = 0; n < w->packs; n++) {
        const cf_pack x = w->x[n], q = w->q[n], v = (w->gradient[n] + sigma) * w->inverse[n];
        const cf_pack delta = v * (1 + (q - w->a[n]) * v) / pack_max(1 + q * v, pack_of(0.03));
        const cf_pack moved = pack_max(pack_min(x + delta, 2 * x), 0.25 * x);
        last &= pack_less(pack_abs(delta), near * x);
        w->x[n] = across ? moved : pack_choose(on, moved, x);
    }
    if (across) last = pack_bits_of(pack_all(last));
    return last & on;
}

/* Fills w->sign and w->more. */
CF_INLINE void name_numbers(int across, const cf_quick *w) {
    const cf_pack rest = 1 - w->beta, all_rest = rest * (double)w->classes;
    size_t n;
    CF_EACH_PACK
    for (n = 0; n < w->packs; n++) {
        cf_pack number = pack_of((double)n), of_class;
        if (across) number = (double)CF_PACK * number + pack_lane_numbers();
        of_class = pack_choose(pack_less(number, pack_of((double)w->classes + 1)), pack_of(1), pack_of(0));
        w->sign[n] = pack_choose(pack_less(number, pack_of(1)), pack_of(-1), of_class);
        w->more[n] = choose_class(across, w, n, rest, all_rest);
    }
}

/* Searches in the lanes that are `on`; returns where it was successful. */
CF_INLINE cf_pack_bits search_quickly(int across, const cf_dirichlet *f, const cf_quick *w, int fractional,
                                      cf_pack_bits on, cf_pack *total, size_t *iterations) {
    cf_pack_bits good = on;
    size_t step;
    for (step = 1; step <= CF_QUICK_STEPS && pack_any(on); step++) {
        if (CF_PACK == 1)
            evaluate_numbers(across, w, fractional);
        else if (fractional) /* straight code, which the compiler can interleave */
            evaluate_numbers(across, w, 1);
        else
            evaluate_numbers(across, w, 0);
        if (step == 1) good &= remember(across, f, w);
        on &= good & ~take_quick_step(across, f, w, *total, on);
        *total = fill_numbers(across, w, w->x);
        if (step > *iterations) *iterations = step;
    }
    return good & ~on;
}

/* From the old alpha in w->x and the observation in w->log_s to the new alpha in w->x, in the lanes that are `on`;
   returns where it was successful. */
CF_INLINE cf_pack_bits update_numbers(int across, const cf_dirichlet *f, const cf_quick *w, int fractional,
                                      cf_pack_bits on, size_t *iterations) {
    const cf_pack most = pack_of(f->max_concentration);
    cf_pack_bits good;
    cf_pack total, sum, excess;
    size_t n;
    name_numbers(across, w);
    total = fill_numbers(across, w, w->x);
    on &= pack_less(total, pack_of(CF_QUICK_SUM));
    if (!pack_any(on)) return on;
    CF_EACH_PACK
    for (n = 0; n < w->packs; n++) w->log_s[n] = pack_max(w->log_s[n], pack_of(f->floor));
    sum = fill_numbers(across, w, w->log_s);
    CF_EACH_PACK
    for (n = 0; n < w->packs; n++) w->log_s[n] = pack_log_ratio(w->log_s[n], sum);
    good = search_quickly(across, f, w, fractional, on, &total, iterations);
    excess = pack_choose(pack_less(most, total), most / total, pack_of(1));
    CF_EACH_PACK
    for (n = 0; n < w->packs; n++) w->x[n] = pack_max(w->x[n] * excess, pack_of(CF_SMALLEST_ALPHA));
    return good;
}

/* Updates one stream, whose state has room for whole packs; returns whether it could. */
CF_INLINE int update_one_quickly(const cf_dirichlet *f, cf_quick w, const cf_update *update, int seen,
                                 size_t *iterations) {
    const int across = CF_PACK > 1;
    const double beta = seen ? update->beta : 0, keep = kept_share(f, update->dt), pull = (1 - keep) * f->anchor;
    const double kept = keep * update->state[0], memory = kept + pull, eta = memory + beta;
    const double *const observed = seen ? update->observed : update->state + 1; /* unseen, any positive number serves */
    cf_pack *const state = (cf_pack *)update->state;
    size_t n, k;
    if (!(memory > CF_QUICK_MEMORY) || !(seen || pull > 0)) return 0;
    w.c = pack_of(memory / eta);
    w.share = pack_of(beta / eta);
    w.beta = pack_of(beta);
    w.kept = pack_of(kept);
    w.pull = pack_of(pull);
    CF_EACH_PACK
    for (n = 0; n < w.packs; n++) w.x[n] = state[n];
    for (k = 0; k < w.classes; k++) ((double *)w.log_s)[k + 1] = observed[k];
    if (f->anchor > 0) {
        for (n = 0; n < w.packs; n++) w.prior[n] = pack_of(0);
        for (k = 0; k < w.classes; k++) ((double *)w.prior)[k + 1] = f->prior_nu[k];
    }
    if (!pack_any(update_numbers(across, f, &w, is_fractional(beta), ~pack_bits_of(0), iterations))) return 0;
    CF_EACH_PACK
    for (n = 0; n < w.packs; n++) state[n] = choose_class(across, &w, n, w.x[n], pack_of(eta));
    return 1;
}

/* The same for CF_PACK streams, with room for a number a class; returns a bit for each that it could update. */
CF_INLINE unsigned update_pack_quickly(const cf_dirichlet *f, cf_quick w, const cf_update *updates, const int *seen,
                                       size_t *iterations) {
    double beta[CF_PACK], kept[CF_PACK], pull[CF_PACK], eta[CF_PACK], able[CF_PACK];
    const size_t classes = w.classes;
    size_t l, k;
    unsigned done = 0;
    int fractional = 0;
    cf_pack_bits good;
    for (l = 0; l < CF_PACK; l++) {
        const cf_update *const update = updates + l;
        const double *const observed = seen[l] ? update->observed : update->state + 1;
        const double keep = kept_share(f, update->dt);
        beta[l] = seen[l] ? update->beta : 0;
        pull[l] = (1 - keep) * f->anchor;
        kept[l] = keep * update->state[0];
        eta[l] = kept[l] + pull[l] + beta[l];
        able[l] = (seen[l] || pull[l] > 0) && kept[l] + pull[l] > CF_QUICK_MEMORY ? 1 : 0;
        fractional |= is_fractional(beta[l]);
        for (k = 0; k < classes; k++) {
            ((double *)w.x)[(k + 1) * CF_PACK + l] = update->state[k + 1];
            ((double *)w.log_s)[(k + 1) * CF_PACK + l] = observed[k];
        }
    }
    w.beta = *(const cf_pack *)beta;
    w.kept = *(const cf_pack *)kept;
    w.pull = *(const cf_pack *)pull;
    w.c = (w.kept + w.pull) / *(const cf_pack *)eta;
    w.share = w.beta / *(const cf_pack *)eta;
    if (f->anchor > 0)
        for (k = 0; k <= classes; k++) w.prior[k] = pack_of(k == 0 ? 0 : f->prior_nu[k - 1]);
    good = update_numbers(0, f, &w, fractional, pack_less(pack_of(0), *(const cf_pack *)able), iterations);
    for (l = 0; l < CF_PACK; l++) {
        if (!((const uint64_t *)&good)[l]) continue;
        done |= 1u << l;
        updates[l].state[0] = eta[l];
        for (k = 1; k <= classes; k++) updates[l].state[k] = ((const double *)w.x)[k * CF_PACK + l];
    }
    return done;
}

#endif
