/* SPDX-License-Identifier: MIT */
/* Hostile settings, rows, weights and times at random: every update must succeed, and leave a distribution and a state
   that is finite. Arguments: the number of updates, and a seed. */
#include "draws.h"
#include "invariants.h"

enum { MOST = 64, STEPS = 100, STREAMS = 24 };
#define ANY(choices) ((choices)[below(sizeof(choices) / sizeof *(choices))])

static size_t updates, most_iterations, settings;
static cf_real scratch[CF_DIRICHLET_SCRATCH_MANY(MOST)];

static size_t below(size_t n) { return (size_t)(uniform() * (double)n); }

static cf_real next_beta(void) {
    static const double edges[] = {0, 1, 5e-324, 1e-300, 1e-30, 1e-7, 0.1, 0.5, 0.999999, 0.99999999};
    return (cf_real)(uniform() < 0.3 ? uniform() : ANY(edges));
}

static cf_real next_dt(void) {
    static const double edges[] = {0, 1, 1, 1, 1e-300, 0.5, 2, 1000, 9.9e29};
    return (cf_real)(uniform() < 0.3 ? 10 * uniform() : ANY(edges));
}

/* One class, all alike, nearly one class, nothing, off 1 by nearly the tolerance, or anything. */
static void next_row(size_t classes, cf_real *row) {
    const size_t kind = below(7), one = below(classes);
    const double scale = kind == 4 ? 0.951 + 0.098 * uniform() : 1;
    double weight[MOST], sum = 0;
    size_t k;
    for (k = 0; k < classes; k++) {
        const double u = uniform();
        weight[k] = kind == 0 ? k == one : kind == 1 ? 1 : kind == 2 ? (k == one ? 1 : 1e-310 * u) : u * u * u + 1e-12;
        sum += weight[k];
    }
    for (k = 0; k < classes; k++) row[k] = kind == 3 ? (cf_real)NAN : (cf_real)(scale * weight[k] / sum);
}

static size_t next_classes(void) { return uniform() < 0.05 ? MOST : 2 + below(9); }

static void hostile_dirichlet(int many) {
    static const double gammas[] = {0, 1e-300, 1e-9, 0.5, 0.9, 0.999999, 1},
                        floors[] = {1e-30, 1e-10, 1e-3, 0.1, 0.999};
    static const double anchors[] = {0, 0, 1e-9, 1, 1e6}, weights[] = {1e-30, 1e-6, 1, 1e6, 1e9};
    static const double tolerances[] = {0, 0, 1e-3, 0.1};
    static cf_real prior[MOST], prior_nu[MOST], states[STREAMS * (MOST + 1)], after[STREAMS * (MOST + 1)];
    static cf_real rows[STREAMS * MOST], probs[STREAMS * MOST], beta[STREAMS], dt[STREAMS];
    const double kind = uniform();
    const size_t streams = many ? 1 + below(STREAMS) : 1;
    CF_(cf_dirichlet) f;
    size_t i, j, k, size, iterations = 0, row = 0;
    memset(&f, 0, sizeof f);
    f.classes = next_classes();
    f.gamma = (cf_real)ANY(gammas);
    f.floor = (cf_real)ANY(floors);
    f.anchor = (cf_real)ANY(anchors);
    f.max_concentration = uniform() < 0.3 ? (cf_real)(60 * f.classes) : CF_R(1e6);
    f.mean = (int)below(2);
    f.tolerance = (cf_real)ANY(tolerances);
    f.bounded = uniform() < 0.8;
    for (k = 0; k < f.classes; k++) prior[k] = (cf_real)(kind < 0.4 ? 1 : kind < 0.6 ? 1e-6 : 0.1 + 50 * uniform());
    REQUIRE(CF_(cf_dirichlet_prepare)(&f, prior, prior_nu) == CF_OK, "settings");
    size = f.classes + 1;
    for (j = 0; j < streams; j++)
        REQUIRE(CF_(cf_dirichlet_start)(&f, prior, (cf_real)ANY(weights), states + j * size) == CF_OK, "start");
    for (i = 0; i < STEPS; i++) {
        const CF_(cf_table) table = {streams, NULL, NULL, NULL, states, after, rows, beta, dt, 1, 1, probs};
        cf_status status;
        for (j = 0; j < streams; j++) {
            next_row(f.classes, rows + j * f.classes);
            beta[j] = next_beta();
            dt[j] = next_dt();
        }
        status = CF_(cf_dirichlet_run)(&f, &table, scratch, &row, &iterations);
        REQUIRE(status == CF_OK, "%s: K %zu, gamma %g, floor %g, step %zu", cf_strerror(status), f.classes,
                (double)f.gamma, (double)f.floor, i);
        memcpy(states, after, streams * size * sizeof *states);
        for (j = 0; j < streams; j++) require_sound(&f, states + j * size, probs + j * f.classes);
        if (iterations > most_iterations) most_iterations = iterations;
    }
    updates += STEPS * streams;
    settings++;
}

static void hostile_sticky(int many) {
    static const double stays[] = {0, 1e-300, 0.5, 0.99, 0.999999, 1}, floors[] = {1e-30, 1e-3, 0.5};
    static const double fastest[] = {1e-9, 0.01, 1, 1e3};
    static cf_real prior[MOST], table[CF_STICKY_TABLE(MOST)], rates[MOST * MOST], cache[CF_STICKY_CACHE(MOST)];
    static cf_real states[STREAMS * MOST], after[STREAMS * MOST];
    static cf_real rows[STREAMS * MOST], probs[STREAMS * MOST], work[CF_STICKY_SCRATCH(MOST)];
    const size_t streams = many ? 1 + below(STREAMS) : 1;
    const double fast = ANY(fastest);
    double sum = 0;
    CF_(cf_sticky) f;
    cf_real beta[STREAMS], dt[STREAMS];
    size_t i, j, k, row = 0;
    memset(&f, 0, sizeof f);
    f.classes = next_classes();
    f.stay = (cf_real)ANY(stays);
    f.floor = (cf_real)ANY(floors);
    if (uniform() < 0.2 && f.classes < 8) f.rates = rates;
    for (k = 0; k < f.classes * f.classes; k++) rates[k] = (cf_real)(fast * uniform() * uniform());
    for (k = 0; k < f.classes; k++) sum += prior[k] = (cf_real)(uniform() < 0.1 ? 1e-4 : uniform() + 0.01);
    for (k = 0; k < f.classes; k++) prior[k] /= (cf_real)sum;
    REQUIRE(CF_(cf_sticky_prepare)(&f, prior, table) == CF_OK, "settings");
    for (j = 0; j < streams; j++) REQUIRE(CF_(cf_sticky_start)(&f, table, states + j * f.classes) == CF_OK, "start");
    cache[0] = -1;
    for (i = 0; i < STEPS; i++) {
        const CF_(cf_table) table = {streams, NULL, NULL, NULL, states, after, rows, beta, dt, 1, 1, probs};
        cf_status status;
        for (j = 0; j < streams; j++) {
            next_row(f.classes, rows + j * f.classes);
            beta[j] = next_beta();
            dt[j] = next_dt();
        }
        status = CF_(cf_sticky_run)(&f, &table, cache, work, &row);
        REQUIRE(status == CF_OK, "%s: K %zu, stay %g, step %zu", cf_strerror(status), f.classes, (double)f.stay, i);
        memcpy(states, after, streams * f.classes * sizeof *states);
        for (j = 0; j < streams; j++) require_distribution(f.classes, states + j * f.classes);
    }
    updates += STEPS * streams;
    settings++;
}

int main(int argc, char **argv) {
    const size_t wanted = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
    seed = (argc > 2 ? strtoull(argv[2], NULL, 10) : 0) * 0x9E3779B97F4A7C15u + 1;
    while (updates < wanted) {
        const double kind = uniform();
        if (kind < 0.7)
            hostile_dirichlet(kind < 0.2);
        else
            hostile_sticky(kind < 0.8);
    }
    printf("%zu updates, %zu settings, at most %zu iterations\n", updates, settings, most_iterations);
    return 0;
}
