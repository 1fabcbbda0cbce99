/* SPDX-License-Identifier: MIT */
/* Ten million updates that try to break the filters; prints what they took, and a digest of every bit of the results,
   which must be the same for every compiler, option and processor. The argument divides the numbers of updates. */
#include "dirichlet_joined.h"
#include "invariants.h"

#include "digest.h"
#include "draws.h"

enum { MOST = 1000 };

static size_t updates, most_iterations;
static cf_real scratch[CF_DIRICHLET_SCRATCH(MOST)];

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
        const CF_(cf_table) table = {1, NULL, NULL, NULL, state, state, row, &weight, &dt, 0, 0, probs};
        size_t failed = 0;
        status = CF_(cf_dirichlet_run)(&f, &table, scratch, &failed, &iterations);
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

#ifndef CF_SMALL
/* The backward pass over random likelihoods and times, some rows missing; and, in double precision, a chain that goes
   round its three classes, whose modes are known, there and back against the exponential of its rates. */
static void stress_backward(size_t classes, double rates, size_t steps) {
    enum { FEW = 40, ROWS = 20 };
    static cf_real matrix[FEW * FEW], table[CF_STICKY_TABLE(FEW)], transition_cache[CF_STICKY_CACHE(FEW)];
    static cf_real prior[FEW], rows_[ROWS * FEW], dt[ROWS], messages[ROWS * FEW], work[CF_STICKY_SCRATCH(FEW)];
    CF_(cf_sticky) f;
    size_t i, k, number = 0;
    memset(&f, 0, sizeof f);
    f.classes = classes;
    f.stay = CF_R(0.9);
    f.floor = CF_R(1e-3);
    f.rates = rates > 0 ? matrix : NULL;
    for (k = 0; k < classes * classes; k++) matrix[k] = (cf_real)(rates * uniform() * uniform());
    for (k = 0; k < classes; k++) prior[k] = 1 / (cf_real)classes;
    transition_cache[0] = -1;
    REQUIRE(CF_(cf_sticky_prepare)(&f, prior, table) == CF_OK, "settings");
    for (i = 0; i < steps; i += ROWS) {
        for (k = 0; k < ROWS; k++) {
            fill(uniform() < 0.5 ? RANDOM : SPARSE, classes, i, rows_ + k * classes);
            if (uniform() < 0.1) {
                size_t j;
                for (j = 0; j < classes; j++) rows_[k * classes + j] = (cf_real)NAN;
            }
            dt[k] = (cf_real)(uniform() < 0.5 ? 1 : 30 * uniform());
        }
        REQUIRE(CF_(cf_sticky_backward)(&f, ROWS, rows_, dt, 1, messages, transition_cache, work, &number) == CF_OK,
                "backward, step %zu", i);
        for (k = 0; k < ROWS; k++) require_distribution(classes, messages + k * classes);
        add_to_digest(messages, ROWS * classes);
    }
    updates += steps;
}

/* Many streams at a time; in double precision, each also joined with what another one remembers. */
static void stress_lanes(size_t classes, double beta, size_t steps) {
    enum { FEW = 40, STREAMS = 45 };
    static cf_real work[CF_DIRICHLET_SCRATCH_MANY(FEW)], prior[FEW], prior_nu[FEW], states[STREAMS * (FEW + 1)];
    static cf_real after[STREAMS * (FEW + 1)], observed[STREAMS * FEW], probs[STREAMS * FEW], beta_[STREAMS],
        dt[STREAMS];
    CF_(cf_dirichlet) f;
    size_t i, k, failed = 0;
    memset(&f, 0, sizeof f);
    f.classes = classes;
    f.gamma = CF_R(0.9);
    f.floor = CF_R(1e-3);
    f.anchor = beta < 0 ? CF_R(0.1) : 0;
    f.max_concentration = CF_R(1e6);
    f.bounded = 1;
    for (k = 0; k < classes; k++) prior[k] = 1;
    REQUIRE(CF_(cf_dirichlet_prepare)(&f, prior, prior_nu) == CF_OK, "settings");
    for (k = 0; k < STREAMS; k++)
        REQUIRE(CF_(cf_dirichlet_start)(&f, prior, 1, states + k * (classes + 1)) == CF_OK, "start");
    for (i = 0; i < steps; i += STREAMS) {
        const size_t streams = 1 + (size_t)(uniform() * STREAMS);
        const CF_(cf_table) table = {streams, NULL, NULL, NULL, states, after, observed, beta_, dt, 1, 1, probs};
        for (k = 0; k < streams; k++) {
            fill(uniform() < 0.5 ? RANDOM : SPARSE, classes, i, observed + k * classes);
            beta_[k] = (cf_real)(beta < 0 ? (uniform() < 0.2 ? 0 : uniform()) : beta);
            dt[k] = (cf_real)(uniform() < 0.5 ? 1 : 3 * uniform());
        }
        REQUIRE(CF_(cf_dirichlet_run)(&f, &table, work, &failed, NULL) == CF_OK, "row %zu", failed);
        add_to_digest(probs, streams * classes);
#ifndef CF_FLOAT
        {
            static double eta[STREAMS], nu[STREAMS * FEW];
            unsigned char found[STREAMS];
            size_t slots[STREAMS];
            const cf_joined joined = {streams, states, slots, dt, eta, nu, observed, beta_};
            for (k = 0; k < streams; k++) {
                slots[k] = k;
                eta[k] = after[(streams - 1 - k) * (classes + 1)];
            }
            cf_dirichlet_means_f64(&f, streams, after, nu);
            for (k = 0; k < streams * classes; k++) nu[k] *= eta[k / classes];
            cf_dirichlet_join_f64(&f, &joined, probs, found, work);
            for (k = 0; k < streams; k++) {
                const double is_found = found[k];
                add_to_digest(&is_found, 1);
                if (found[k]) add_to_digest(probs + k * classes, classes);
            }
        }
#endif
        memcpy(states, after, streams * (classes + 1) * sizeof *states);
    }
    updates += steps;
}

static void stress_modes(size_t steps) {
#ifdef CF_FLOAT
    (void)steps;
#else
    enum { K = 3, WIDTH = CF_STICKY_ROW(K) };
    static const double h = 0.86602540378443864676, rate = 0.3, prior[K] = {0.25, 0.25, 0.5};
    static const double to[K][K] = {{1, 0, 1}, {-0.5, 1, 1}, {-0.5, -1, 1}};
    static double rates[K * K], modes[CF_STICKY_MODES(K)], table[CF_STICKY_TABLE(K)], unit[K * K];
    static double cache[CF_STICKY_CACHE(K)], other_cache[CF_STICKY_CACHE(K)], work[CF_STICKY_SCRATCH(K)];
    double state[K], other[K], row[K], rows_[2 * K], messages[2 * K], expected[2 * K];
    cf_sticky_f64 f, g;
    size_t i, k, l, number = 0;
    memset(&f, 0, sizeof f);
    f.classes = K;
    f.floor = 1e-3;
    f.rates = rates;
    for (k = 0; k < K; k++) rates[k * K + (k + 1) % K] = rate;
    cache[0] = other_cache[0] = -1;
    REQUIRE(cf_sticky_prepare_f64(&f, prior, table) == CF_OK, "settings");
    REQUIRE(cf_sticky_transitions_f64(&f, 1, unit, cache, work) == CF_OK, "one time unit");
    g = f;
    modes[0] = modes[1] = -1.5 * rate;
    modes[WIDTH] = -h * rate;
    modes[WIDTH + 1] = h * rate;
    for (k = 0; k < K; k++)
        for (l = 0; l < K; l++) {
            modes[(2 + k) * WIDTH + l] = to[k][l] * (l == 1 ? h : 1);
            modes[(2 + K + l) * WIDTH + k] = to[k][l] * (l == 1 ? h * 2 / 3 : l == 0 ? 2.0 / 3 : 1.0 / 3);
            modes[(2 + 2 * K + k) * WIDTH + l] = unit[k * K + l];
        }
    g.modes = modes;
    g.pairs = 1;
    cache[0] = -1;
    REQUIRE(cf_sticky_start_f64(&f, prior, state) == CF_OK, "start");
    memcpy(other, state, sizeof state);
    for (i = 0; i < steps; i++) {
        const double dt = uniform() < 0.2 ? 1 : uniform() < 0.1 ? 1e6 * uniform() : 10 * uniform();
        fill(RANDOM, K, i, row);
        REQUIRE(cf_sticky_update_f64(&g, state, row, 0.3, dt, cache, work) == CF_OK, "modes, step %zu", i);
        REQUIRE(cf_sticky_update_f64(&f, other, row, 0.3, dt, other_cache, work) == CF_OK, "rates, step %zu", i);
        memcpy(rows_, row, sizeof row);
        memcpy(rows_ + K, row, sizeof row);
        REQUIRE(cf_sticky_backward_f64(&g, 2, rows_, &dt, 0, messages, cache, work, &number) == CF_OK, "back");
        REQUIRE(cf_sticky_backward_f64(&f, 2, rows_, &dt, 0, expected, other_cache, work, &number) == CF_OK, "back");
        for (k = 0; k < K; k++) {
            REQUIRE(fabs(state[k] - other[k]) < 1e-13, "modes off by %g, dt %g", state[k] - other[k], dt);
            REQUIRE(fabs(messages[k] - expected[k]) < 1e-13, "messages off by %g, dt %g", messages[k] - expected[k],
                    dt);
        }
        add_to_digest(state, K);
        add_to_digest(messages, K);
    }
    updates += steps;
#endif
}
#endif

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
    uint64_t everywhere;
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
    everywhere = digest;
#ifndef CF_SMALL
    stress_backward(6, 0, 200000 / part);
    stress_backward(5, 0.1, 20000 / part);
    stress_backward(39, 0.01, 400 / part);
    stress_modes(200000 / part);
    stress_lanes(6, -1, 400000 / part);
    stress_lanes(3, 0.5, 200000 / part);
    stress_lanes(20, 1, 20000 / part);
#endif
    printf("%zu updates, at most %zu iterations each, digest with the backward pass %016llx, without %016llx\n",
           updates, most_iterations, (unsigned long long)digest, (unsigned long long)everywhere);
    return 0;
}
