/* SPDX-License-Identifier: MIT */
/* The adaptive policy: when to call the strong classifier.

   It is called when log(doubt) + log(t) / 4 reaches a threshold. t is the time since its last call, in usual steps, and
   doubt what its answer could take away: that of the filter, less what the last answer left, which the next one will
   hardly do better. The threshold rises with the calls beyond the budget, and falls with those below: fast at first, to
   find its level, and then by 1 / patience a call. */
#include "validate.h"

#define START CF_R(0.3)       /* the first threshold: this doubt, after as many steps as the budget allows a call */
#define USUAL_GAP CF_R(12.0)  /* ... or so many, where the budget is one of time */
#define FORGET CF_R(6.0)      /* after so many steps, half of what the last answer left counts as new */
#define PACE CF_R(1.1)        /* by how much a step changes the usual time from step to step */
#define LOST CF_R(1e-6)   /* share of a time that may be lost to rounding */
#define MOST_STEPS CF_R(1e6)
#define SHORTEST_TIME CF_R(1e-3) /* of t */

/* What a state is made of. */
enum { RAISED, STEP, GAP, SURPRISE, LEFT, DUE };

/* log(doubt) + log(t) / 4. */
static cf_real CF_(eagerness)(cf_real doubt, cf_real t) {
    const cf_real square = doubt * doubt;
    t = t > SHORTEST_TIME ? t : SHORTEST_TIME;
    t = t < MOST_STEPS ? t : MOST_STEPS;
    return CF_R(0.25) * cf_log_ratio(square * square * t, 1);
}

/* How sure the filter is not: 1 less the largest probability; negative where probs is no reading. */
static cf_real CF_(doubt)(size_t classes, const cf_real *probs) {
    cf_real top = 0;
    size_t k;
    if (!CF_(plain)(classes, probs)) return -1;
    for (k = 0; k < classes; k++) top = probs[k] > top ? probs[k] : top;
    return top < 1 ? 1 - top : 0;
}

/* How much an answer denies the class that the reading held for the most probable; of several, the one it denies least. */
static cf_real CF_(denied)(size_t classes, const cf_real *probs, const cf_real *answer) {
    cf_real top = 0, agreed = 0;
    size_t k;
    for (k = 0; k < classes; k++) top = probs[k] > top ? probs[k] : top;
    for (k = 0; k < classes; k++) agreed = probs[k] == top && answer[k] > agreed ? answer[k] : agreed;
    return agreed < 1 ? 1 - agreed : 0;
}

cf_status CF_(cf_adaptive_prepare)(CF_(cf_adaptive) *f) {
    if (!(f->budget > 0 && f->budget <= CF_R(1e30) && (f->timed || f->budget < 1))) return CF_BAD_POLICY;
    if (!(f->weak >= 0 && f->weak <= CF_R(1e30))) return CF_BAD_POLICY;
    if (!(f->shortest >= 1 && f->longest >= f->shortest && f->longest <= MOST_STEPS)) return CF_BAD_POLICY;
    if (!(f->floor >= CF_R(1e-4) && f->floor <= 1)) return CF_BAD_POLICY;
    if (!(f->disagreement >= 0 && f->disagreement <= CF_R(1e3))) return CF_BAD_POLICY;
    if (!(f->patience >= 1 && f->patience <= CF_R(1e6))) return CF_BAD_POLICY;
    f->start = CF_(eagerness)(START, f->timed ? USUAL_GAP : 1 / f->budget);
    /* Beyond these nothing would change: every doubt is enough, or none. */
    f->least = CF_(eagerness)(f->floor, 1) - f->start;
    f->most = CF_(eagerness)(f->floor + 1 + f->disagreement, f->longest) - f->start;
    if (f->least > 0) f->least = 0;
    if (f->most < 0) f->most = 0;
    return CF_OK;
}

void CF_(cf_adaptive_start)(cf_real *state) {
    size_t i;
    for (i = 0; i < CF_ADAPTIVE_STATE; i++) state[i] = 0;
}

cf_status CF_(cf_adaptive_choose)(const CF_(cf_adaptive) *f, const cf_real *state, size_t classes, const cf_real *probs,
                                  cf_real since, int *strong) {
    const cf_real doubt = CF_(doubt)(classes, probs), step = state[STEP], gap = state[GAP];
    cf_real fresh, t;
    if (doubt < 0) return CF_BAD_STATE;
    if (!(since >= 0)) return CF_BAD_DT;
    if (gap >= 1 && gap < f->shortest) {
        *strong = 0;
    } else if (gap < 1 || gap >= f->longest || (step > 0 && since >= f->longest * step * (1 - LOST))) {
        *strong = 1;
    } else if (!(step > 0)) {
        *strong = 0;
    } else {
        t = since / step;
        fresh = doubt - (gap > 1 ? state[LEFT] : doubt) * FORGET / (FORGET + t);
        fresh = fresh > 0 ? fresh : 0;
        *strong = CF_(eagerness)(f->floor + fresh + f->disagreement * state[SURPRISE], t) >=
                  f->start + state[RAISED];
    }
    return CF_OK;
}

/* Follows the median time from step to step; a pause hardly moves it. */
static cf_real CF_(usual)(cf_real step, cf_real dt) {
    if (!(step > 0)) return dt;
    return dt > step * PACE ? step * PACE : dt < step / PACE ? step / PACE : step;
}

cf_status CF_(cf_adaptive_called)(const CF_(cf_adaptive) *f, cf_real *state, int strong, size_t classes,
                                  const cf_real *answer, const cf_real *probs, cf_real dt) {
    const cf_real doubt = CF_(doubt)(classes, probs), gap = state[GAP], step = state[STEP];
    const cf_real pause = f->longest * step; /* no time brings more than this one */
    cf_real allowed, raised;
    int seen = 0;
    cf_status status;
    if (doubt < 0) return CF_BAD_STATE;
    status = CF_(check)(classes, answer, CF_(plain)(classes, answer), 1, dt, &seen);
    if (status != CF_OK) return status;
    if (gap >= 1) { /* the first strong call is no part of the budget, nor what came before it */
        allowed = !f->timed ? f->budget : f->budget * (step > 0 && dt > pause ? pause : dt);
        raised = state[RAISED] + (f->weak + (strong ? 1 : 0) - allowed) / (1 + state[DUE]);
        raised = raised > f->least ? raised : f->least;
        state[RAISED] = raised < f->most ? raised : f->most;
        state[DUE] = state[DUE] + allowed < f->patience - 1 ? state[DUE] + allowed : f->patience - 1;
    }
    if (gap >= 1 && dt > 0) state[STEP] = CF_(usual)(step, dt); /* the first step has no step before it */
    if (gap >= 1 && gap < 2) state[LEFT] = doubt;
    state[SURPRISE] = strong || !seen ? 0 : CF_(denied)(classes, probs, answer);
    state[GAP] = strong ? 1 : gap < 1 ? 0 : gap < MOST_STEPS ? gap + 1 : gap;
    return CF_OK;
}
