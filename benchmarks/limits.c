/* SPDX-License-Identifier: MIT */
/* What an update is made of: `limits WHAT COUNT` does WHAT so many times, and prints the nanoseconds of each.

     clock       a cycle: additions that wait for each other
     throughput  the polygamma functions of a vector, of independent vectors
     latency     the same, of the last result
     one, many   a row of six classes at weight 0.5, of one stream and of 960
     rows        no more than making such rows: 0 */
#include "special.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef CF_FLOAT
#define OF(name) name##_f32
#else
#define OF(name) name##_f64
#endif

enum { K = 6, STREAMS = 960 };

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void count_cycles(size_t count) {
    size_t i, x = 0;
    for (i = 0; i < count; i++) __asm__ volatile("add $1, %0" : "+r"(x));
}

static cf_real functions(size_t count, int waits) {
    cf_vec x[8], of[8];
    cf_real sum = 0;
    size_t i, j;
    for (j = 0; j < 8; j++) x[j] = vec_of((cf_real)(1 + j));
    for (i = 0; i < count; i += 8)
        for (j = 0; j < 8; j++) {
            const vec_polygamma p = vec_polygamma_of(waits && j > 0 ? of[j - 1] : x[j], x[7]);
            of[j] = 2 + CF_R(1e-3) * (p.drop + p.first + p.second);
            if (j == 7) x[0] = waits ? of[7] : x[0];
        }
    for (j = 0; j < 8; j++) sum += *(const cf_real *)&of[j];
    return sum;
}

/* Classes that last 40 rows; four predictions in five are right. */
static void fill_rows(size_t count, cf_real *rows) {
    uint64_t seed = 1;
    size_t i, k;
    for (i = 0; i < count; i++) {
        const size_t right = i / 40 * 5 % K;
        size_t best;
        cf_real rest;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        best = (seed >> 33) % 5 > 0 ? right : (seed >> 40) % K;
        rest = (cf_real)(0.02 + 0.08 * (double)(seed >> 48) / 65536);
        for (k = 0; k < K; k++) rows[i * K + k] = k == best ? 1 - (K - 1) * rest : rest;
    }
}

static double filter(size_t count, size_t streams, int filters) {
    const size_t steps = (count + streams - 1) / streams, total = streams * steps;
    static cf_real scratch[CF_DIRICHLET_SCRATCH_MANY(K)], states[STREAMS * (K + 1)];
    cf_real *const rows = malloc(total * K * sizeof *rows), *const probs = malloc(total * K * sizeof *probs);
    cf_real prior[K], half = CF_R(0.5), one = 1;
    OF(cf_dirichlet) f;
    size_t counts[STREAMS], row, i;
    double start;
    memset(&f, 0, sizeof f);
    f.classes = K;
    f.gamma = CF_R(0.95);
    f.floor = CF_R(1e-3);
    f.max_concentration = CF_R(1e6);
    f.bounded = 1;
    for (i = 0; i < K; i++) prior[i] = 1;
    fill_rows(total, rows);
    if (OF(cf_dirichlet_prepare)(&f, prior, NULL) != CF_OK) exit(1);
    for (i = 0; i < streams; i++) {
        counts[i] = steps;
        (void)OF(cf_dirichlet_start)(&f, prior, 1, states + i * (K + 1));
    }
    start = seconds();
    if (filters) {
        const OF(cf_table) table = {streams, NULL, counts, NULL, states, states, rows, &half, &one, 0, 0, probs};
        if (OF(cf_dirichlet_run)(&f, &table, scratch, &row, NULL) != CF_OK) exit(1);
    }
    start = seconds() - start;
    free(rows);
    free(probs);
    return start;
}

int main(int argc, char **argv) {
    const char *const what = argc > 2 ? argv[1] : "";
    const size_t count = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 0;
    const double start = seconds();
    cf_real sum = 0;
    double taken = -1;
    if (strcmp(what, "clock") == 0)
        count_cycles(count);
    else if (strcmp(what, "throughput") == 0 || strcmp(what, "latency") == 0)
        sum = functions(count, what[0] == 'l');
    else if (strcmp(what, "one") == 0 || strcmp(what, "rows") == 0)
        taken = filter(count, 1, what[0] == 'o');
    else if (strcmp(what, "many") == 0)
        taken = filter(count, STREAMS, 1);
    else
        return 2;
    if (taken < 0) taken = seconds() - start + 0 * (double)sum;
    printf("%.4f\n", taken / (double)count * 1e9);
    return 0;
}
