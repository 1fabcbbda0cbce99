/* SPDX-License-Identifier: MIT */
/* One update each of millions of random states, most of which no stream leads to: how many searches fail, how many steps
   the others take, and a digest of every bit of the results.

     states [states of each kind, 100000 without] [seed]

   A kind is a number of classes, 2, 3, 6 or 20, with a bounded memory or not. Prints the states whose search fails. With 0
   states, the steps of a usual stream instead: six classes that last 40 rows, predictions of which four in five are right. */
#include "invariants.h"

#include "digest.h"
#include "draws.h"

enum { MOST = 20 };

static size_t counts[CF_MAX_ITERATIONS + 1], searches, failures;

/* A number between 10^from and 10^to, each power as likely as any other. */
static double power(double from, double to) { return pow(10, from + (to - from) * uniform()); }

/* Alphas of one size, or of every size, with a sum within the limit. */
static void fill_alpha(size_t classes, double limit, cf_real *alpha) {
    const double middle = power(-6, 6), spread = uniform() < 0.5 ? 3 * uniform() : 12;
    double sum = 0;
    size_t k;
    for (k = 0; k < classes; k++) {
        const double a = middle * power(-spread, spread);
        alpha[k] = (cf_real)(a < 1e-6 ? 1e-6 : a > 1e6 ? 1e6 : a);
        sum += (double)alpha[k];
    }
    if (sum > limit)
        for (k = 0; k < classes; k++) {
            const double a = (double)alpha[k] * (limit / sum) * (1 - 1e-6);
            alpha[k] = (cf_real)(a < 1e-6 ? 1e-6 : a);
        }
}

/* Probabilities from nearly equal to nearly certain. */
static void fill_row(size_t classes, cf_real *row) {
    const double sharp = power(-1, 2);
    double weight[MOST], sum = 0;
    size_t k;
    for (k = 0; k < classes; k++) sum += weight[k] = pow(uniform(), sharp) + 1e-300;
    for (k = 0; k < classes; k++) row[k] = (cf_real)(weight[k] / sum);
}

static void update(size_t classes, int bounded) {
    static cf_real scratch[CF_DIRICHLET_SCRATCH(MOST)];
    cf_real prior[MOST], prior_nu[MOST], state[MOST + 1], row[MOST], probs[MOST], beta, dt, eta;
    CF_(cf_dirichlet) f;
    CF_(cf_table) table = {1, NULL, NULL, NULL, state, state, row, &beta, &dt, 0, 0, probs};
    cf_status status;
    size_t k, failed = 0, steps = 0;
    memset(&f, 0, sizeof f);
    f.classes = classes;
    f.bounded = bounded;
    f.mean = 1;
    f.gamma = CF_R(0.9);
    f.floor = (cf_real)power(-29, -1);
    f.anchor = (cf_real)(uniform() < 0.1 ? power(-3, 1) : 0);
    f.max_concentration = (cf_real)(uniform() < 0.5 ? 1e6 : power(3, 6));
    for (k = 0; k < classes; k++) prior[k] = 1;
    REQUIRE(CF_(cf_dirichlet_prepare)(&f, prior, prior_nu) == CF_OK, "settings");
    fill_alpha(classes, (double)f.max_concentration, state + 1);
    eta = (cf_real)power(-9, 2);
    fill_row(classes, row);
    beta = (cf_real)(uniform() < 0.2 ? 1 : power(-8, 0));
    dt = (cf_real)(uniform() < 0.7 ? 1 : power(-3, 2));
    REQUIRE(CF_(cf_dirichlet_start)(&f, state + 1, eta, state) == CF_OK, "start");
    status = CF_(cf_dirichlet_run)(&f, &table, scratch, &failed, &steps);
    if (status == CF_NOT_CONVERGED) {
        failures++;
        printf("failed: floor %.9g, anchor %.9g, limit %.9g, beta %.17g, dt %.17g, eta %.17g, alpha", (double)f.floor,
               (double)f.anchor, (double)f.max_concentration, (double)beta, (double)dt, (double)eta);
        for (k = 0; k < classes; k++) printf(" %.17g", (double)state[k + 1]);
        printf(", row");
        for (k = 0; k < classes; k++) printf(" %.17g", (double)row[k]);
        printf("\n");
        return;
    }
    REQUIRE(status == CF_OK, "%s", cf_strerror(status));
    require_sound(&f, state, probs);
    counts[steps]++;
    searches += steps > 0;
    add_to_digest(state, classes + 1);
}

static void follow_usual_stream(cf_real beta) {
    enum { K = 6, ROWS = 100000 };
    static cf_real scratch[CF_DIRICHLET_SCRATCH(K)];
    const cf_real dt = 1;
    cf_real prior[K], prior_nu[K], state[K + 1], row[K], probs[K];
    CF_(cf_dirichlet) f;
    const CF_(cf_table) table = {1, NULL, NULL, NULL, state, state, row, &beta, &dt, 0, 0, probs};
    size_t i, k, failed = 0, steps = 0, label = 0, predicted;
    memset(&f, 0, sizeof f);
    memset(counts, 0, sizeof counts);
    f.classes = K;
    f.bounded = 1;
    f.gamma = CF_R(0.95);
    f.floor = CF_R(1e-3);
    f.max_concentration = CF_R(1e6);
    for (k = 0; k < K; k++) prior[k] = 1;
    REQUIRE(CF_(cf_dirichlet_prepare)(&f, prior, prior_nu) == CF_OK, "settings");
    REQUIRE(CF_(cf_dirichlet_start)(&f, prior, 1, state) == CF_OK, "start");
    for (i = 0; i < ROWS; i++) {
        double sum = 0;
        if (uniform() < 1.0 / 40) label = (label + 2) % K;
        predicted = uniform() < 0.2 ? (size_t)(K * uniform()) : label;
        for (k = 0; k < K; k++) sum += (double)(row[k] = (cf_real)(-log(1 - uniform()) * (k == predicted ? 14 : 1)));
        for (k = 0; k < K; k++) row[k] /= (cf_real)sum;
        REQUIRE(CF_(cf_dirichlet_run)(&f, &table, scratch, &failed, &steps) == CF_OK, "row %zu", i);
        counts[steps]++;
    }
    printf("weight %g:", (double)beta);
    for (i = 1; i <= CF_MAX_ITERATIONS; i++)
        if (counts[i] > 0) printf(" %zu steps %.2f %%,", i, 100.0 * (double)counts[i] / ROWS);
    printf(" of %d rows\n", (int)ROWS);
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {2, 3, 6, 20};
    const size_t states = argc > 1 ? (size_t)atol(argv[1]) : 100000;
    double mean = 0;
    size_t i, kind;
    if (states == 0) {
        follow_usual_stream(1);
        follow_usual_stream(CF_R(0.5));
        follow_usual_stream(CF_R(0.05));
        return 0;
    }
    seed = 0x9E3779B97F4A7C15u * (argc > 2 ? (uint64_t)atol(argv[2]) + 1 : 1);
    for (kind = 0; kind < 8; kind++)
        for (i = 0; i < states; i++) update(sizes[kind / 2], kind % 2 == 0);
    for (i = 1; i <= CF_MAX_ITERATIONS; i++) mean += (double)(i * counts[i]);
    printf("%zu states, %zu searches, %zu failed, %.2f steps on average, digest %016llx\n", 8 * states, searches,
           failures, mean / (double)searches, (unsigned long long)digest);
    for (i = 1; i <= CF_MAX_ITERATIONS; i++)
        if (counts[i] > 0) printf("%2zu steps %zu\n", i, counts[i]);
    return 0;
}
