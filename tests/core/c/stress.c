/* SPDX-License-Identifier: MIT */
/* Ten million updates that try to break the filters; prints what they took, and a digest of every bit of the results,
   which must be the same for every compiler, option and processor. The argument divides the numbers of updates. */
#include "invariants.h"

enum { MOST = 1000 };

static uint64_t seed = 0x9E3779B97F4A7C15u, digest = 0xCBF29CE484222325u;
static size_t updates, most_iterations;
static cf_real scratch[CF_DIRICHLET_SCRATCH(MOST)];

static double uniform(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static void add_to_digest(const cf_real *numbers, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) {
        cf_bits bits = 0;
        memcpy(&bits, numbers + i, sizeof bits);
        digest = (digest ^ bits) * 0x100000001B3u;
        digest ^= digest >> 29;
    }
}

typedef enum { EQUAL, ALTERNATING, RANDOM, SPARSE, DENORMAL } rows;

static void fill(rows kind, size_t classes, size_t step, cf_real *row) {
    double weight[MOST], sum = 0;
    size_t k;
    for (k = 0; k < classes; k++) {
        switch (kind) {
        case EQUAL: weight[k] = (double)(k + 1); break;
        case ALTERNATING: weight[k] = k == step % 2; break;
        case RANDOM: weight[k] = uniform() * uniform() * uniform(); break;
        case SPARSE: weight[k] = uniform() < 0.3 ? uniform() : 0; break;
        case DENORMAL: weight[k] = k == 0 ? 1 : 1e-310 * uniform(); break;
        }
        sum += weight[k];
    }
    for (k = 0; k < classes; k++) row[k] = (cf_real)(sum > 0 ? weight[k] / sum : 1.0 / (double)classes);
}

static void stress(rows kind, size_t classes, double gamma, double beta, double anchor, size_t steps) {
    static cf_real prior[MOST], prior_nu[MOST], state[MOST + 1], row[MOST], probs[MOST];
    CF_(cf_dirichlet) f;
    size_t i, k, iterations = 0;
    memset(&f, 0, sizeof f);
    f.classes = classes;
    f.gamma = (cf_real)gamma;
    f.floor = CF_R(1e-3);
    f.anchor = (cf_real)anchor;
    f.max_concentration = CF_R(1e6);
    f.bounded = beta < 1; /* at weight 1 it changes nothing */
    for (k = 0; k < classes; k++) prior[k] = 1;
    REQUIRE(CF_(cf_dirichlet_prepare)(&f, prior, prior_nu) == CF_OK, "settings");
    REQUIRE(CF_(cf_dirichlet_start)(&f, prior, 1, state) == CF_OK, "start");
    for (i = 0; i < steps; i++) {
        const cf_real weight = (cf_real)(beta < 0 ? uniform() : beta),
                      dt = (cf_real)(kind == SPARSE ? 3 * uniform() : 1);
        cf_status status;
        fill(kind, classes, i, row);
#ifdef CF_SMALL
        status = CF_(cf_dirichlet_update)(&f, state, row, weight, dt, probs, scratch);
#else
        size_t failed = 0;
        status = CF_(cf_dirichlet_run)(&f, state, 1, row, &weight, 0, &dt, 0, probs, scratch, &failed, &iterations);
#endif
        REQUIRE(status == CF_OK, "%s: kind %d, K %zu, gamma %g, step %zu", cf_strerror(status), (int)kind, classes,
                gamma, i);
        require_sound(&f, state, probs);
        add_to_digest(probs, classes);
        if (iterations > most_iterations) most_iterations = iterations;
    }
    add_to_digest(state, classes + 1);
    updates += steps;
}

/* `rates` 0: it stays with probability gamma, else rates up to `rates`. */
static void stress_sticky(rows kind, size_t classes, double gamma, double beta, double rates, size_t steps) {
    enum { FEW = 40 };
    static cf_real matrix[FEW * FEW], table[CF_STICKY_TABLE(FEW)], transition_cache[CF_STICKY_CACHE(FEW)];
    static cf_real prior[FEW], state[FEW], row[FEW], work[CF_STICKY_SCRATCH(FEW)];
    CF_(cf_sticky) f;
    size_t i, k;
    double sum = 0;
    memset(&f, 0, sizeof f);
    f.classes = classes;
    f.stay = (cf_real)gamma;
    f.floor = CF_R(1e-3);
    f.rates = rates > 0 ? matrix : NULL;
    for (k = 0; k < classes * classes; k++) matrix[k] = (cf_real)(rates * uniform() * uniform());
    for (k = 0; k < classes; k++) sum += (double)(prior[k] = (cf_real)(0.1 + uniform()));
    for (k = 0; k < classes; k++) prior[k] /= (cf_real)sum;
    transition_cache[0] = -1;
    REQUIRE(CF_(cf_sticky_prepare)(&f, prior, table) == CF_OK, "settings");
    REQUIRE(CF_(cf_sticky_start)(&f, table, state) == CF_OK, "start");
    for (i = 0; i < steps; i++) {
        const cf_real weight = (cf_real)(beta < 0 ? uniform() : beta),
                      dt = (cf_real)(kind == SPARSE ? 30 * uniform() : 1);
        cf_status status;
        fill(kind, classes, i, row);
        status = CF_(cf_sticky_update)(&f, state, row, weight, dt, transition_cache, work);
        REQUIRE(status == CF_OK, "%s: kind %d, K %zu, step %zu", cf_strerror(status), (int)kind, classes, i);
        require_distribution(classes, state);
        add_to_digest(state, classes);
    }
    updates += steps;
}

/* Readings that come and go between sure and torn; the policy is obeyed, save now and then. */
static void stress_adaptive(rows kind, size_t classes, double budget, int timed, size_t steps) {
    static cf_real probs[MOST], answer[MOST], state[CF_ADAPTIVE_STATE];
    CF_(cf_adaptive) f = {0, CF_R(0.025), 2, 60, CF_R(0.05), CF_R(0.02), 12, 0, 0, 0, 0};
    cf_real since = 0;
    size_t i;
    f.budget = (cf_real)budget;
    f.timed = timed;
    REQUIRE(CF_(cf_adaptive_prepare)(&f) == CF_OK, "settings");
    CF_(cf_adaptive_start)(state);
    for (i = 0; i < steps; i++) {
        const cf_real dt = (cf_real)(uniform() < 0.001 ? 3600 : kind == SPARSE ? 30 * uniform() : 5);
        int strong = 0;
        since += dt;
        fill(i % 1000 < 500 ? kind : ALTERNATING, classes, i / 50, probs);
        fill(RANDOM, classes, i, answer);
        REQUIRE(CF_(cf_adaptive_choose)(&f, state, classes, probs, since, &strong) == CF_OK, "choose, step %zu", i);
        if (uniform() < 0.01) strong = !strong;
        REQUIRE(CF_(cf_adaptive_called)(&f, state, strong, classes, answer, probs, dt) == CF_OK, "called, step %zu", i);
        if (strong) since = 0;
        add_to_digest(state, CF_ADAPTIVE_STATE);
    }
    updates += steps;
}

int main(int argc, char **argv) {
    const size_t part = argc > 1 ? (size_t)atol(argv[1]) : 1;
    static const double gammas[] = {0.01, 0.3, 0.9, 0.99, 0.999999};
    size_t g;
    stress(EQUAL, 6, 0.9, 0.5, 0, 1000000 / part);
    stress(ALTERNATING, 3, 0.9, 1, 0, 500000 / part);
    stress(ALTERNATING, 2, 0.999999, 0.5, 0, 500000 / part);
    for (g = 0; g < sizeof gammas / sizeof *gammas; g++) {
        stress(RANDOM, 2, gammas[g], -1, 0, 500000 / part);
        stress(RANDOM, 6, gammas[g], -1, 0, 500000 / part);
        stress(RANDOM, 3, gammas[g], 1, 0.1, 200000 / part);
        stress(SPARSE, 4, gammas[g], -1, 0.5, 200000 / part);
        stress(SPARSE, 6, gammas[g], 0.1, 0, 200000 / part);
        stress(DENORMAL, 5, gammas[g], 0.5, 0, 100000 / part);
        stress(RANDOM, 20, gammas[g], -1, 0, 20000 / part);
        stress(RANDOM, 1000, gammas[g], -1, 0.2, 400 / part);
        stress_sticky(RANDOM, 6, gammas[g], -1, 0, 200000 / part);
        stress_sticky(SPARSE, 6, gammas[g], 1, 0, 200000 / part);
        stress_sticky(DENORMAL, 13, gammas[g], 0.5, 0, 100000 / part);
        stress_sticky(RANDOM, 6, 1, 1, 1 - gammas[g], 200000 / part);
        stress_sticky(SPARSE, 5, 1, -1, 1 - gammas[g], 10000 / part);
        stress_sticky(SPARSE, 39, 1, -1, 1 - gammas[g], 200 / part);
    }
    stress_adaptive(RANDOM, 6, 1.0 / 12, 0, 200000 / part);
    stress_adaptive(SPARSE, 3, 0.05, 1, 200000 / part);
    printf("%zu updates, at most %zu iterations each, digest %016llx\n", updates, most_iterations,
           (unsigned long long)digest);
    return 0;
}
