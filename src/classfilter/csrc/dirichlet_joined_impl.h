/* SPDX-License-Identifier: MIT */
/* The search for the mode of a state with something added to it, after dirichlet_impl.h: a row in each lane. */
#include "dirichlet_joined.h"

/* After evaluate() at the alpha of the states, of which `before` is left: m becomes that of the sum, to which the caller put all
   else into `prior`. Returns where the search may start from it. */
CF_INLINE cf_mask add_means(const cf_dirichlet *f, cf_search *w, cf_vec before) {
    cf_number *const top = w->number, *const end = top + w->vectors, *a;
    const cf_mask whole = mask_not(vec_less(vec_of(0), w->beta) & vec_less(w->beta, vec_of(1)));
    const cf_vec bound = vec_of(f->bounded ? f->bound : CF_UNBOUNDED), sum = top->s, top_drop = top->drop;
    cf_mask within = mask_of(1);
    for (a = top + 1; a < end; a++) {
        const cf_vec m = (before * vec_min(a->drop - top_drop, bound) + a->prior) / w->kept;
        within &= vec_less(m, bound);
        a->ratio = vec_rare_exp(vec_max(vec_min(-m, vec_of(0)), vec_of(CF_EXP_MIN)));
        a->m = vec_choose(whole, w->old_part * m - w->new_part * vec_rare_log_ratio(a->s, sum), m);
        a->gradient -= w->c * a->m;
        a->term[0] = a->gradient * a->term[1];
    }
    /* the less space there is below 1, the larger is the sum of alpha */
    return within & vec_less(sum_classes(w, &top->ratio), vec_of(1 - 2 * (cf_real)w->classes / f->max_concentration));
}

CF_INLINE cf_mask search_joined(const cf_dirichlet *f, cf_search *w, cf_vec before, int fractional, cf_mask on) {
    cf_number *const top = w->number, *const end = top + w->vectors, *a;
    cf_mask asked = on, gentle;
    cf_vec total;
    size_t step;
    set_top(w, &top->rest, (1 - w->beta) * (cf_real)w->classes);
    (void)sum_up(w, &top->s);
    total = sum_up(w, &top->x);
    for (step = 1; step <= CF_MAX_ITERATIONS && mask_any(on); step++) {
        evaluate(w, fractional, mask_of(1));
        if (step == 1) asked = on &= add_means(f, w, before);
        on &= mask_not(take_step(f, w, on, step, &gentle));
        total = sum_up(w, &top->x);
    }
    for (a = top; a < end; a++)
        a->x = vec_max(a->x * vec_min(f->max_concentration / total, vec_of(1)), vec_of(CF_SMALLEST_ALPHA));
    return asked & mask_not(on);
}

/* Where adding eta counts, and what is there is enough for the search of an update. */
CF_INLINE int is_more(double before, double eta, double beta) {
    const double sum = before + eta;
    return sum > before && sum >= CF_SMALLEST_WEIGHT && sum > CF_EPSILON * beta;
}

CF_KERNEL void join_rows(const cf_dirichlet_f64 *f, const cf_joined *rows, double *probs, unsigned char *found,
                         double *scratch) {
    const size_t classes = f->classes;
    cf_number *const number = (cf_number *)(void *)scratch;
    cf_real *const alpha = scratch + CF_WIDTH * CF_DIRICHLET_MEMBERS * CF_DIRICHLET_NUMBERS(classes);
    cf_real before[CF_WIDTH], sum[CF_WIDTH], beta[CF_WIDTH];
    cf_bits more[CF_WIDTH];
    size_t first, l, n;
    for (first = 0; first < rows->count; first += CF_WIDTH) {
        const size_t count = rows->count - first < CF_WIDTH ? rows->count - first : CF_WIDTH;
        int fractional = 0;
        cf_mask good;
        cf_search w;
        for (l = 0; l < CF_WIDTH; l++) { /* lanes to spare repeat the last row */
            const size_t r = first + (l < count ? l : count - 1);
            const double *const observed = rows->observed + r * classes, *const nu = rows->nu + r * classes;
            /* not written: nothing is observed yet */
            cf_real *const state = (cf_real *)rows->states + rows->slots[r] * (classes + 1);
            const cf_update pause = {observed, state, 0, rows->dt[r]};
            const cf_weights left = weigh(f, &pause, 0);
            before[l] = left.kept;
            sum[l] = left.eta + rows->eta[r];
            beta[l] = rows->beta[r];
            more[l] = 0 - (cf_bits)is_more(left.eta, rows->eta[r], beta[l]);
            fractional |= is_fractional(beta[l]);
            for (n = 1; n <= classes; n++) {
                const cf_real of_prior = left.pull > 0 ? left.pull * f->prior_nu[n - 1] : 0;
                ((cf_real *)&number[n].x)[l] = state[n];
                ((cf_real *)&number[n].prior)[l] = of_prior + nu[n - 1];
                ((cf_real *)&number[n].s)[l] = cf_max(beta[l] > 0 ? observed[n - 1] : 1, f->floor);
            }
        }
        w.classes = classes;
        w.vectors = classes + 1;
        w.across = 0;
        w.number = number;
        set_weights(&w, *(const cf_vec *)sum, vec_of(0), *(const cf_vec *)beta,
                    *(const cf_vec *)sum + *(const cf_vec *)beta);
        for (n = 0; n <= classes; n++) {
            number[n].m = vec_of(0);
            number[n].rest = 1 - w.beta;
        }
        good = search_joined(f, &w, *(const cf_vec *)before, fractional, mask_from(more));
        for (l = 0; l < count; l++) {
            found[first + l] = (unsigned char)mask_at(good, l);
            for (n = 1; n <= classes; n++) alpha[n - 1] = ((const cf_real *)&number[n].x)[l];
            if (mask_at(good, l)) read_alpha(f, alpha, probs + (first + l) * classes);
        }
    }
}

#ifdef CF_WIDE_LANES
/* The same on vectors of 64 bytes. */
void cf_dirichlet_join_wide(const cf_dirichlet_f64 *f, const cf_joined *rows, double *probs, unsigned char *found,
                            double *scratch);
#endif

#ifdef CF_WIDE
void cf_dirichlet_join_wide(const cf_dirichlet_f64 *f, const cf_joined *rows, double *probs, unsigned char *found,
                            double *scratch) {
    join_rows(f, rows, probs, found, scratch);
}
#else
void cf_dirichlet_join_f64(const cf_dirichlet_f64 *f, const cf_joined *rows, double *probs, unsigned char *found,
                           double *scratch) {
#ifdef CF_WIDE_LANES
    if (CF_HAS_WIDE) {
        cf_dirichlet_join_wide(f, rows, probs, found, scratch);
        return;
    }
#endif
    join_rows(f, rows, probs, found, scratch);
}

CF_TARGETS void cf_dirichlet_means_f64(const cf_dirichlet_f64 *f, size_t count, const double *states, double *means) {
    const size_t classes = f->classes;
    const cf_vec bound = vec_of(f->bounded ? f->bound : CF_UNBOUNDED);
    size_t first, l, k;
    for (first = 0; first < count; first += CF_WIDTH) {
        const size_t here = count - first < CF_WIDTH ? count - first : CF_WIDTH;
        cf_real sums[CF_WIDTH], lane[CF_WIDTH];
        const double *alpha[CF_WIDTH];
        cf_vec total, of_total;
        for (l = 0; l < CF_WIDTH; l++) {
            alpha[l] = states + (first + (l < here ? l : here - 1)) * (classes + 1) + 1;
            sums[l] = cf_sum(classes, alpha[l]);
        }
        total = *(const cf_vec *)sums;
        of_total = vec_polygamma_of(total, total).drop;
        for (k = 0; k < classes; k++) {
            for (l = 0; l < CF_WIDTH; l++) lane[l] = alpha[l][k];
            *(cf_vec *)lane = vec_min(vec_polygamma_of(*(const cf_vec *)lane, total).drop - of_total, bound);
            for (l = 0; l < here; l++) means[(first + l) * classes + k] = lane[l];
        }
    }
}
#endif
