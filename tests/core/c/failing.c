/* SPDX-License-Identifier: MIT */
/* With a CF_MAX_ITERATIONS so low that some searches fail: a run over many streams fails where a loop over their rows
   does, names that row, and changes none of the states. */
#include "draws.h"
#include "invariants.h"

enum { K = 5, STREAMS = 37, ROWS = 90, SIZE = K + 1 };

static void next_row(cf_real *row) {
    double sum = 0, weight[K];
    size_t k;
    for (k = 0; k < K; k++) sum += weight[k] = uniform() * uniform();
    for (k = 0; k < K; k++) row[k] = (cf_real)(weight[k] / sum);
}

/* The first row that fails, in the order of the table; at the end of a loop without a failure, ROWS. */
static size_t first_failure(const CF_(cf_dirichlet) *f, const CF_(cf_table) *t, cf_real *scratch, cf_status *status) {
    size_t i, j, place = 0;
    for (i = 0; i < t->streams; i++) {
        cf_real state[SIZE];
        memcpy(state, t->states + i * SIZE, sizeof state);
        for (j = 0; j < t->counts[i]; j++, place++) {
            const size_t r = t->order[place];
            *status = CF_(cf_dirichlet_update)(f, state, t->observed + r * K, t->beta[r], t->dt[r], NULL, scratch);
            if (*status != CF_OK) return r;
        }
    }
    return ROWS;
}

int main(void) {
    static cf_real scratch[CF_DIRICHLET_SCRATCH_MANY(K)], states[STREAMS * SIZE], before[STREAMS * SIZE];
    static cf_real after[STREAMS * SIZE], observed[ROWS * K], beta[ROWS], dt[ROWS], probs[ROWS * K];
    static size_t counts[STREAMS], order[ROWS];
    const CF_(cf_table) many = {STREAMS, NULL, counts, order, states, after, observed, beta, dt, 1, 1, probs};
    const size_t all = ROWS;
    const CF_(cf_table) one = {1, NULL, &all, order, states, states, observed, beta, dt, 1, 1, probs};
    cf_real prior[K], prior_nu[K];
    size_t trial, i, failures[2] = {0, 0};
    CF_(cf_dirichlet) f;
    memset(&f, 0, sizeof f);
    f.classes = K;
    f.gamma = CF_R(0.9);
    f.floor = CF_R(1e-3);
    f.max_concentration = CF_R(1e6);
    for (i = 0; i < K; i++) prior[i] = 1;
    REQUIRE(CF_(cf_dirichlet_prepare)(&f, prior, prior_nu) == CF_OK, "settings");
    for (trial = 0; trial < 2000; trial++) {
        /* hard rows, of which a search needs more iterations, are few */
        const double hard = uniform() < 0.2 ? 0 : 0.03;
        size_t left = ROWS, r;
        int single;
        for (i = 0; i < STREAMS; i++) {
            counts[i] = i + 1 == STREAMS ? left : (size_t)(uniform() * 6);
            counts[i] = counts[i] < left ? counts[i] : left;
            left -= counts[i];
            REQUIRE(CF_(cf_dirichlet_start)(&f, prior, 1, states + i * SIZE) == CF_OK, "start");
        }
        for (r = 0; r < ROWS; r++) {
            next_row(observed + r * K);
            beta[r] = 0;
            if (uniform() < hard) beta[r] = CF_R(0.3);
            dt[r] = (cf_real)(uniform() < 0.5 ? 1 : 250 * uniform());
            order[r] = (r * 7 + trial) % ROWS; /* a permutation: ROWS is no multiple of 7 */
        }
        memcpy(before, states, sizeof states);
        for (single = 0; single < 2; single++) {
            const CF_(cf_table) *const table = single ? &one : &many;
            cf_status expected = CF_OK, status;
            const size_t failed = first_failure(&f, table, scratch, &expected);
            size_t row = ROWS;
            status = CF_(cf_dirichlet_run)(&f, table, scratch, &row, NULL);
            REQUIRE(status == expected && row == failed, "status %d at row %zu, not %d at %zu", (int)status, row,
                    (int)expected, failed);
            if (status == CF_OK) {
                memcpy(states, before, sizeof states);
                continue;
            }
            REQUIRE(status == CF_NOT_CONVERGED, "status %d", (int)status);
            REQUIRE(memcmp(states, before, sizeof states) == 0, "a failed run changed the states");
            failures[single]++;
        }
    }
    printf("%zu %zu\n", failures[0], failures[1]);
    return 0;
}
