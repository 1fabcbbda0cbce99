/* SPDX-License-Identifier: MIT */
/* The decision alone against the whole filter, in the same precision: the class of the largest alpha. Prints how many
   decisions were compared; where two alphas are within a millionth of each other, either is right. */
#include "invariants.h"

enum { MOST = 20 };

static uint32_t seed = 1;

static double uniform(void) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) / 16777216.0;
}

static size_t compare(size_t classes, double gamma, size_t steps) {
    static cf_real scratch[CF_DIRICHLET_SCRATCH(MOST)];
    cf_real prior[MOST], state[MOST + 1], nu[MOST] = {0}, row[MOST], probs[MOST];
    CF_(cf_dirichlet) f;
    size_t i, k, compared = 0;
    memset(&f, 0, sizeof f);
    f.classes = classes;
    f.gamma = (cf_real)gamma;
    f.floor = CF_R(1e-3);
    f.max_concentration = CF_R(1e6);
    for (k = 0; k < classes; k++) prior[k] = 1;
    REQUIRE(CF_(cf_dirichlet_prepare)(&f, prior, NULL) == CF_OK, "settings");
    REQUIRE(CF_(cf_dirichlet_start)(&f, prior, 1, state) == CF_OK, "start");
    for (i = 0; i < steps; i++) {
        const cf_real dt = (cf_real)(i % 5 == 4 ? 3 * uniform() : i % 7 == 6 ? 0 : 1);
        size_t decision = classes, best = 0, second;
        double sum = 0;
        for (k = 0; k < classes; k++) sum += (double)(row[k] = (cf_real)(uniform() * uniform() * uniform() + 1e-9));
        for (k = 0; k < classes; k++) row[k] = i % 11 == 10 ? (cf_real)NAN : (cf_real)((double)row[k] / sum);
        REQUIRE(CF_(cf_dirichlet_update)(&f, state, row, 1, dt, probs, scratch) == CF_OK, "update");
        require_sound(&f, state, probs);
        REQUIRE(CF_(cf_single_update)(&f, nu, row, dt, &decision) == CF_OK, "single");
        for (k = 1; k < classes; k++)
            if (state[k + 1] > state[best + 1]) best = k;
        second = best == 0;
        for (k = 0; k < classes; k++)
            if (k != best && state[k + 1] > state[second + 1]) second = k;
        if (state[second + 1] > state[best + 1] * CF_R(0.999999)) continue;
        REQUIRE(decision == best, "K %zu, gamma %g, step %zu: %zu, not %zu", classes, gamma, i, decision, best);
        REQUIRE(nu[decision] == 0, "nu %g", (double)nu[decision]);
        compared++;
    }
    /* what the whole filter refuses, this refuses too, and stays as it is */
    {
        cf_real before[MOST];
        size_t decision = classes;
        memcpy(before, nu, sizeof nu);
        row[0] = -1;
        REQUIRE(CF_(cf_single_update)(&f, nu, row, 1, &decision) == CF_PROBS_NEGATIVE, "negative");
        for (k = 0; k < classes; k++) row[k] = (cf_real)(1.0 / (double)classes);
        REQUIRE(CF_(cf_single_update)(&f, nu, row, -1, &decision) == CF_BAD_DT, "dt");
        REQUIRE(memcmp(before, nu, sizeof nu) == 0 && decision == classes, "a failed call changed something");
    }
    return compared;
}

int main(void) {
    size_t compared = 0;
    (void)require_distribution;
    compared += compare(6, 0.9, 5000);
    compared += compare(2, 0.5, 5000);
    compared += compare(20, 0.99, 5000);
    printf("%zu\n", compared);
    return 0;
}
