/* SPDX-License-Identifier: MIT */
/* What an update of the Dirichlet filter is given, what it does to the weight, and how its result is read. */
#ifndef CF_DIRICHLET_UPDATE_H
#define CF_DIRICHLET_UPDATE_H

#include "dirichlet_search.h"
#ifndef CF_SMALL
#include "table.h"
#endif

#define CF_SMALLEST_WEIGHT CF_R(1e-30)
#define CF_ROUNDING (64 * CF_EPSILON)

/* One update of one stream: what is given, and what becomes of it. */
typedef struct {
    const cf_real *observed;
    cf_real *state, beta, dt;
} cf_update;

/* What an update does to the weight of the state, eta = kept + pull + beta: what a pause leaves of it, what silence adds for
   the prior, and the observation. */
typedef struct {
    cf_real kept, pull, beta, eta;
    int searches; /* alpha moves, and what is remembered bounds it */
} cf_weights;

CF_INLINE cf_weights weigh(const cf_dirichlet *f, const cf_update *update, int seen) {
    const cf_real dt = update->dt;
    const cf_real keep = dt == 1 ? f->gamma : dt == 0 ? 1 : f->gamma > 0 ? cf_exp_negative(dt * f->log_gamma) : 0;
    cf_weights w;
    cf_real memory;
    w.kept = keep * update->state[0];
    w.pull = (1 - keep) * anchor_of(f);
    w.beta = seen ? update->beta : 0;
    memory = w.kept + w.pull;
    w.eta = memory + w.beta;
    w.searches = (seen || w.pull > 0) && memory > CF_EPSILON * w.beta && memory >= CF_SMALLEST_WEIGHT;
    return w;
}

/* An update without a search: only time passed, or nothing is remembered, so nothing bounds alpha, and all there is to know is
   the observation. */
static void update_plainly(const cf_dirichlet *f, const cf_update *update, cf_weights w) {
    const size_t classes = CF_COUNT(f->classes);
    cf_real *const state = update->state, share;
    size_t k;
    state[0] = w.eta;
    if (!(w.beta > 0)) return;
    for (k = 0; k < classes; k++) state[k + 1] = cf_max(update->observed[k], f->floor);
    share = f->max_concentration / cf_sum(classes, state + 1);
    for (k = 1; k <= classes; k++) state[k] = cf_max(share * state[k], CF_SMALLEST_ALPHA);
}

CF_INLINE void set_weights(cf_search *w, cf_vec kept, cf_vec pull, cf_vec beta, cf_vec eta) {
    const cf_mask part = vec_less(vec_of(0), beta) & vec_less(beta, vec_of(1));
    w->kept = kept;
    w->pull = pull;
    w->beta = beta;
    w->old_part = (kept + pull) / eta;
    w->new_part = beta / eta;
    w->c = vec_choose(part, w->old_part, vec_of(1));
    w->share = vec_choose(part, w->new_part, vec_of(0));
}

/* Where no alpha exceeds 1 by more than rounding, there is no mode to speak of: the mean stands in. */
CF_PART void read_alpha(const cf_dirichlet *f, const cf_real *alpha, cf_real *probs) {
    const size_t classes = CF_COUNT(f->classes);
    const cf_real *from = probs;
    cf_real sum = 0;
    size_t k;
    if (!f->mean) {
        for (k = 0; k < classes; k++) probs[k] = cf_max(alpha[k] - 1, 0);
        sum = cf_sum(classes, probs);
    }
    if (!(sum > CF_ROUNDING)) {
        from = alpha;
        sum = cf_sum(classes, alpha);
    }
    for (k = 0; k < classes; k++) probs[k] = from[k] / sum;
}

#ifndef CF_SMALL
/* Row number `place` of the table's order, for a state. */
CF_INLINE cf_update update_at(const cf_table *t, size_t classes, size_t place, cf_real *state) {
    const size_t r = row_at(t, place);
    const cf_update update = {t->observed + r * classes, state, t->beta[r * t->beta_stride], t->dt[r * t->dt_stride]};
    return update;
}

CF_INLINE cf_status check_one(size_t classes, const cf_update *update, int *seen) {
    return check_update(classes, update->observed, is_valid_row(classes, update->observed), update->beta, update->dt,
                        seen);
}

CF_INLINE void read_estimate(const cf_dirichlet *f, const cf_table *t, size_t place, const cf_real *state) {
    cf_real *probs;
    if (t->probs == NULL) return;
    probs = t->probs + row_at(t, place) * f->classes;
    read_alpha(f, state + 1, probs);
}
#endif

#endif
