/* SPDX-License-Identifier: MIT */
/* What must hold after every update, whatever the input. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The precision: with -DSINGLE float, else double. */
#ifdef SINGLE
#define CF_FLOAT
#define CF_(name) name##_f32
#else
#define CF_(name) name##_f64
#endif
#include "cf_real.h"

#ifdef SINGLE
#define SUM_TOLERANCE 1e-5
#else
#define SUM_TOLERANCE 1e-12
#endif

#define REQUIRE(condition, ...)                                                                                        \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                                            \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fprintf(stderr, "\n");                                                                                     \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static CF_UNUSED void require_sound(const CF_(cf_dirichlet) *f, const cf_real *state, const cf_real *probs) {
    double sum = 0, total = 0;
    size_t k;
    REQUIRE(isfinite((double)state[0]) && state[0] >= 0, "eta %g", (double)state[0]);
    for (k = 0; k < f->classes; k++) {
        REQUIRE(isfinite((double)state[k + 1]) && state[k + 1] > 0, "alpha[%zu] %g", k, (double)state[k + 1]);
        REQUIRE(probs[k] >= 0 && probs[k] <= 1 + (cf_real)SUM_TOLERANCE, "probs[%zu] %g", k, (double)probs[k]);
        total += (double)state[k + 1];
        sum += (double)probs[k];
    }
    REQUIRE(fabs(sum - 1) <= SUM_TOLERANCE, "sum of probs off by %g", sum - 1);
    REQUIRE(total <= (double)f->max_concentration * (1 + (double)f->classes * (double)CF_EPSILON) +
                         1e-6 * (double)f->classes,
            "sum of alpha %.17g", total);
}

static CF_UNUSED void require_distribution(size_t classes, const cf_real *probs) {
    double sum = 0;
    size_t k;
    for (k = 0; k < classes; k++) {
        REQUIRE(probs[k] >= (cf_real)CF_STICKY_SMALLEST && probs[k] <= 1 + (cf_real)SUM_TOLERANCE, "probs[%zu] %g", k,
                (double)probs[k]);
        sum += (double)probs[k];
    }
    REQUIRE(fabs(sum - 1) <= SUM_TOLERANCE, "sum of probs off by %g", sum - 1);
}
