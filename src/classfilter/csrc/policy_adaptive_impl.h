/* SPDX-License-Identifier: MIT */
/* The adaptive policy: when to call the strong classifier.

   It is called when log(uncertainty) + log(t) / 4 reaches a threshold. t is the time since its last call, in median steps, and
   uncertainty what its output could take away: that of the filter, less what remained after the last output, since the
   next one will hardly do better. The threshold rises with the calls beyond the budget, and falls with those below: fast at first, to
   find its level, and then by 1 / horizon a call. */
#include "validate.h"

#define CF_START CF_R(0.3) /* the first threshold: this uncertainty, after as many steps as the budget allows a call */
#define CF_MEDIAN_GAP CF_R(12.0) /* ... or so many, where the budget is one of time */
#define CF_FORGET CF_R(6.0) /* after so many steps, half of what remained after the last output counts as new */
#define CF_PACE CF_R(1.1) /* by how much a step changes the median time from step to step */
#define CF_LOST CF_R(1e-6) /* share of a time that may be lost to rounding */
#define CF_MOST_STEPS CF_R(1e6)
#define CF_SHORTEST_TIME CF_R(1e-3) /* of t */

/* What a state is made of. */
enum {
    CF_THRESHOLD_OFFSET,
    CF_MEDIAN_STEP,
    CF_STEPS_SINCE_STRONG,
    CF_DISAGREEMENT,
    CF_RESIDUAL_UNCERTAINTY,
    CF_ACCRUED_BUDGET
};

/* log(uncertainty) + log(t) / 4. */
static cf_real query_score(cf_real uncertainty, cf_real t) {
    const cf_real square = uncertainty * uncertainty;
    t = t > CF_SHORTEST_TIME ? t : CF_SHORTEST_TIME;
    t = t < CF_MOST_STEPS ? t : CF_MOST_STEPS;
    return CF_R(0.25) * cf_log_ratio(square * square * t, 1);
}

/* How sure the filter is not: 1 less the largest probability; negative where probs is no estimate. */
static cf_real uncertainty_of(size_t classes, const cf_real *probs) {
    cf_real top = 0;
    size_t k;
    if (!is_valid_row(classes, probs)) return -1;
    for (k = 0; k < classes; k++) top = probs[k] > top ? probs[k] : top;
    return top < 1 ? 1 - top : 0;
}

/* 1 less the observed probability of the estimate's most probable class; of several such classes, the largest. */
static cf_real disagreement_of(size_t classes, const cf_real *probs, const cf_real *observed) {
    cf_real top = 0, agreed = 0;
    size_t k;
    for (k = 0; k < classes; k++) top = probs[k] > top ? probs[k] : top;
    for (k = 0; k < classes; k++) agreed = probs[k] == top && observed[k] > agreed ? observed[k] : agreed;
    return agreed < 1 ? 1 - agreed : 0;
}

cf_status cf_adaptive_prepare(cf_adaptive *f) {
    if (!(f->budget > 0 && f->budget <= CF_R(1e30) && (f->timed || f->budget < 1))) return CF_BAD_POLICY;
    if (!(f->weak >= 0 && f->weak <= CF_R(1e30))) return CF_BAD_POLICY;
    if (!(f->min_gap >= 1 && f->max_gap >= f->min_gap && f->max_gap <= CF_MOST_STEPS)) return CF_BAD_POLICY;
    if (!(f->floor >= CF_R(1e-4) && f->floor <= 1)) return CF_BAD_POLICY;
    if (!(f->disagreement >= 0 && f->disagreement <= CF_R(1e3))) return CF_BAD_POLICY;
    if (!(f->horizon >= 1 && f->horizon <= CF_R(1e6))) return CF_BAD_POLICY;
    f->start = query_score(CF_START, f->timed ? CF_MEDIAN_GAP : 1 / f->budget);
    /* Beyond these nothing would change: every uncertainty is enough, or none. */
    f->least = query_score(f->floor, 1) - f->start;
    f->most = query_score(f->floor + 1 + f->disagreement, f->max_gap) - f->start;
    if (f->least > 0) f->least = 0;
    if (f->most < 0) f->most = 0;
    return CF_OK;
}

void cf_adaptive_start(cf_real *state) {
    size_t i;
    for (i = 0; i < CF_ADAPTIVE_STATE; i++) state[i] = 0;
}

cf_status cf_adaptive_choose(const cf_adaptive *f, const cf_real *state, size_t classes, const cf_real *probs,
                             cf_real since, int *strong) {
    const cf_real uncertainty = uncertainty_of(classes, probs), step = state[CF_MEDIAN_STEP],
                  gap = state[CF_STEPS_SINCE_STRONG];
    cf_real fresh, t;
    if (uncertainty < 0) return CF_BAD_STATE;
    if (!(since >= 0)) return CF_BAD_DT;
    if (gap >= 1 && gap < f->min_gap) {
        *strong = 0;
    } else if (gap < 1 || gap >= f->max_gap || (step > 0 && since >= f->max_gap * step * (1 - CF_LOST))) {
        *strong = 1;
    } else if (!(step > 0)) {
        *strong = 0;
    } else {
        t = since / step;
        fresh = uncertainty - (gap > 1 ? state[CF_RESIDUAL_UNCERTAINTY] : uncertainty) * CF_FORGET / (CF_FORGET + t);
        fresh = fresh > 0 ? fresh : 0;
        *strong = query_score(f->floor + fresh + f->disagreement * state[CF_DISAGREEMENT], t) >=
                  f->start + state[CF_THRESHOLD_OFFSET];
    }
    return CF_OK;
}

/* Follows the median time from step to step; a long gap hardly moves it. */
static cf_real follow_median(cf_real step, cf_real dt) {
    if (!(step > 0)) return dt;
    return dt > step * CF_PACE ? step * CF_PACE : dt < step / CF_PACE ? step / CF_PACE : step;
}

cf_status cf_adaptive_called(const cf_adaptive *f, cf_real *state, int strong, size_t classes, const cf_real *observed,
                             const cf_real *probs, cf_real dt) {
    const cf_real uncertainty = uncertainty_of(classes, probs), gap = state[CF_STEPS_SINCE_STRONG],
                  step = state[CF_MEDIAN_STEP];
    const cf_real pause = f->max_gap * step; /* no time brings more than this one */
    cf_real allowed, offset;
    int seen = 0;
    cf_status status;
    if (uncertainty < 0) return CF_BAD_STATE;
    status = check_update(classes, observed, is_valid_row(classes, observed), 1, dt, &seen);
    if (status != CF_OK) return status;
    if (gap >= 1) { /* the first strong call is no part of the budget, nor what came before it */
        allowed = !f->timed ? f->budget : f->budget * (step > 0 && dt > pause ? pause : dt);
        offset = state[CF_THRESHOLD_OFFSET] + (f->weak + (strong ? 1 : 0) - allowed) / (1 + state[CF_ACCRUED_BUDGET]);
        offset = offset > f->least ? offset : f->least;
        state[CF_THRESHOLD_OFFSET] = offset < f->most ? offset : f->most;
        state[CF_ACCRUED_BUDGET] =
            state[CF_ACCRUED_BUDGET] + allowed < f->horizon - 1 ? state[CF_ACCRUED_BUDGET] + allowed : f->horizon - 1;
    }
    if (gap >= 1 && dt > 0) state[CF_MEDIAN_STEP] = follow_median(step, dt); /* the first step has no step before it */
    if (gap >= 1 && gap < 2) state[CF_RESIDUAL_UNCERTAINTY] = uncertainty;
    state[CF_DISAGREEMENT] = strong || !seen ? 0 : disagreement_of(classes, probs, observed);
    state[CF_STEPS_SINCE_STRONG] = strong ? 1 : gap < 1 ? 0 : gap < CF_MOST_STEPS ? gap + 1 : gap;
    return CF_OK;
}
