/* SPDX-License-Identifier: MIT */
/* Fuzz target: bytes become settings and a stream of updates; whatever they are, the contract of cf.h must hold.

   With clang: -fsanitize=fuzzer,address,undefined. Otherwise compile with -DSTANDALONE: the program then feeds itself
   the number of random inputs that it is given. */
#include "bytes.h"
#include "invariants.h"

#include <stdint.h>

#ifdef SINGLE
#define TRANSITION_TOLERANCE 1e-4
#else
#define TRANSITION_TOLERANCE 1e-10
#endif

/* Mostly sensible numbers in [0, 1], sometimes an edge, sometimes any bits at all. */
static cf_real next_number(source *in) {
    static const double edges[] = {0, 1, 0.5, 1e-3, 1e-30, 5e-324, 1e300, -1, -0.0, 1e-7, 0.999999, 2};
    const unsigned kind = next_byte(in);
    if (kind < 200) return (cf_real)((next_byte(in) * 256 + next_byte(in)) / 65535.0);
    if (kind < 240) return (cf_real)edges[kind % (sizeof edges / sizeof *edges)];
    if (kind < 244) return (cf_real)NAN;
    if (kind < 246) return (cf_real)INFINITY;
    {
        uint8_t raw[sizeof(cf_real)];
        cf_real value;
        size_t i;
        for (i = 0; i < sizeof raw; i++) raw[i] = (uint8_t)next_byte(in);
        memcpy(&value, raw, sizeof value);
        return value;
    }
}

enum { MOST = 40, STREAMS = 20, ROWS = 60 };

typedef struct {
    cf_real beta, dt, observed[MOST];
} row;

static row next_row(source *in, size_t classes) {
    const unsigned kind = next_byte(in);
    cf_real sum = 0;
    size_t k;
    row made;
    made.beta = kind & 1 ? (cf_real)1 : next_number(in);
    made.dt = kind & 2 ? (cf_real)1 : 1000 * next_number(in);
    for (k = 0; k < classes; k++) {
        made.observed[k] = kind & 4 ? (cf_real)(k == kind % classes) : next_number(in);
        sum += made.observed[k];
    }
    if (!(kind & 4) && kind & 8)
        for (k = 0; k < classes; k++) made.observed[k] /= sum; /* NaN where the sum is 0: also an input */
    return made;
}

/* Settings and a first state; 0 where they are not valid. */
static int next_dirichlet(source *in, CF_(cf_dirichlet) *f, cf_real *prior_nu, cf_real *state) {
    cf_real prior[MOST];
    size_t k;
    memset(f, 0, sizeof *f);
    f->classes = next_byte(in) % (MOST + 1);
    f->gamma = next_number(in);
    f->floor = next_byte(in) < 200 ? CF_R(1e-3) : next_number(in);
    f->anchor = next_byte(in) < 128 ? 0 : next_number(in);
    f->max_concentration = next_byte(in) < 200 ? CF_R(1e6) : 100 * next_number(in);
    f->mean = next_byte(in) & 1;
    f->bounded = next_byte(in) < 200;
    f->tolerance = next_byte(in) < 200 ? 0 : CF_R(0.1) * next_number(in);
    for (k = 0; k < f->classes; k++) prior[k] = next_byte(in) < 250 ? 1 : 10 * next_number(in);
    return CF_(cf_dirichlet_prepare)(f, prior, prior_nu) == CF_OK &&
           CF_(cf_dirichlet_start)(f, prior, next_number(in), state) == CF_OK;
}

/* A state that the filter reached is read, and taken back, as it is. */
static void require_own_state(const CF_(cf_dirichlet) *f, const cf_real *state, const cf_real *probs) {
    cf_real restored[MOST + 1], numbers[MOST];
    size_t k;
    CF_(cf_dirichlet_read)(f, state, numbers);
    REQUIRE(memcmp(numbers, probs, f->classes * sizeof *probs) == 0, "read and update differ");
    CF_(cf_dirichlet_nu)(f, state, numbers);
    for (k = 0; k < f->classes; k++)
        REQUIRE(numbers[k] >= 0 && numbers[k] < (cf_real)INFINITY, "nu %g", (double)numbers[k]);
    if (state[0] > CF_R(1e9)) return; /* more than it may start with */
    for (k = 0; k < f->classes; k++)
        if (state[k + 1] > f->max_concentration) return; /* by rounding; require_sound has the limit */
    REQUIRE(CF_(cf_dirichlet_start)(f, state + 1, state[0], restored) == CF_OK, "its own state is refused");
    REQUIRE(memcmp(restored, state, (f->classes + 1) * sizeof *state) == 0, "its own state is changed");
}

static void fuzz_dirichlet(source in) {
    static cf_real scratch[CF_DIRICHLET_SCRATCH(MOST)];
    cf_real prior_nu[MOST], state[MOST + 1], before[MOST + 1], twin[MOST + 1];
    cf_real probs[MOST], again[MOST];
    CF_(cf_dirichlet) f;
    if (!next_dirichlet(&in, &f, prior_nu, state)) return;

    while (in.left > 0) {
        const row r = next_row(&in, f.classes);
        const CF_(cf_table) table = {1, NULL, NULL, NULL, twin, twin, r.observed, &r.beta, &r.dt, 1, 1, again};
        cf_status status;
        size_t number = 0;
        memcpy(before, state, sizeof state);
        memcpy(twin, state, sizeof state);
        status = CF_(cf_dirichlet_update)(&f, state, r.observed, r.beta, r.dt, probs, scratch);
        memset(scratch, (int)in.left, sizeof scratch); /* what it holds between calls does not matter */
        REQUIRE(CF_(cf_dirichlet_run)(&f, &table, scratch, &number, NULL) == status, "status %d", (int)status);
        REQUIRE(CF_(cf_check)(f.classes, 1, r.observed, &r.beta, 0, &r.dt, 0, &number) == status, "check and update");
        if (status == CF_OK) {
            require_sound(&f, state, probs);
            require_own_state(&f, state, probs);
            REQUIRE(memcmp(state, twin, (f.classes + 1) * sizeof *state) == 0, "update and run differ");
            REQUIRE(memcmp(probs, again, f.classes * sizeof *probs) == 0, "update and run differ");
        } else {
            REQUIRE(status != CF_NOT_CONVERGED, "K %zu gamma %g eta %g beta %g", f.classes, (double)f.gamma,
                    (double)state[0], (double)r.beta);
            REQUIRE(memcmp(state, before, (f.classes + 1) * sizeof *state) == 0, "a failed call changed the state");
        }
    }
}

/* Rows for some of many streams, in any order. */
typedef struct {
    size_t rows, streams, slots[STREAMS], counts[STREAMS], order[ROWS];
    int all, one_each, in_order;
    cf_real beta[ROWS], dt[ROWS], observed[ROWS * MOST];
} batch;

static batch next_batch(source *in, size_t classes) {
    batch b;
    const unsigned kind = next_byte(in);
    size_t i, left, slot = next_byte(in) % STREAMS, place = 0;
    const size_t step = kind & 8 ? 7 : 11; /* neither divides STREAMS: no stream comes twice */
    b.all = (kind & 1) != 0;
    b.one_each = (kind & 2) != 0;
    b.in_order = (kind & 4) != 0;
    b.streams = next_byte(in) % (STREAMS + 1);
    b.rows = b.one_each ? b.streams : b.streams == 0 ? 0 : next_byte(in) % (ROWS + 1);
    for (i = 0, left = b.rows; i < b.streams; i++) {
        b.slots[i] = slot;
        slot = (slot + step) % STREAMS;
        b.counts[i] = b.one_each ? 1 : i + 1 == b.streams ? left : next_byte(in) % (left + 1);
        left -= b.counts[i];
    }
    if (b.rows > 0) place = next_byte(in) % b.rows;
    for (i = 0; i < b.rows; i++) {
        const row r = next_row(in, classes);
        b.order[i] = kind & 16 ? b.rows - 1 - place : place;
        place = (place + 1) % b.rows;
        b.beta[i] = r.beta;
        b.dt[i] = r.dt;
        memcpy(b.observed + i * classes, r.observed, classes * sizeof *r.observed);
    }
    return b;
}

static CF_(cf_table) table_of(const batch *b, const cf_real *states, cf_real *after, cf_real *probs) {
    const CF_(cf_table) table = {b->streams,
                                 b->all ? NULL : b->slots,
                                 b->one_each ? NULL : b->counts,
                                 b->in_order ? NULL : b->order,
                                 states,
                                 after,
                                 b->observed,
                                 b->beta,
                                 b->dt,
                                 1,
                                 1,
                                 probs};
    return table;
}

/* The first invalid row, in the order of the table; where all are valid, `rows`. */
static size_t first_invalid(const batch *b, size_t classes, cf_status *status) {
    size_t i, number = 0;
    for (*status = CF_OK, i = 0; i < b->rows; i++) {
        const size_t r = b->in_order ? i : b->order[i];
        *status = CF_(cf_check)(classes, 1, b->observed + r * classes, b->beta + r, 0, b->dt + r, 0, &number);
        if (*status != CF_OK) return r;
    }
    return b->rows;
}

static void fuzz_dirichlet_streams(source in) {
    static cf_real scratch[CF_DIRICHLET_SCRATCH(MOST)], lanes[CF_DIRICHLET_SCRATCH_MANY(MOST)];
    static cf_real states[STREAMS * (MOST + 1)], before[STREAMS * (MOST + 1)], after[STREAMS * (MOST + 1)];
    static cf_real probs[ROWS * MOST];
    cf_real prior_nu[MOST], start[MOST + 1], again[MOST];
    CF_(cf_dirichlet) f;
    size_t i, j, size;
    if (!next_dirichlet(&in, &f, prior_nu, start)) return;
    size = f.classes + 1;
    for (i = 0; i < STREAMS; i++) memcpy(states + i * size, start, size * sizeof *start);
    while (in.left > 0) {
        const batch b = next_batch(&in, f.classes);
        const CF_(cf_table) table = table_of(&b, states, after, probs);
        size_t number = b.rows, place = 0;
        cf_status checked;
        const size_t failed = first_invalid(&b, f.classes, &checked);
        cf_status status;
        memcpy(before, states, sizeof states);
        status = CF_(cf_dirichlet_run)(&f, &table, lanes, &number, NULL);
        memset(lanes, (int)in.left, sizeof lanes);
        REQUIRE(memcmp(states, before, sizeof states) == 0, "the states changed");
        REQUIRE(status == checked && number == failed, "status %d, checked %d", (int)status, (int)checked);
        if (status != CF_OK) continue;
        for (i = 0; i < b.streams; i++) {
            cf_real *const twin = states + (b.all ? i : b.slots[i]) * size;
            for (j = 0; j < b.counts[i]; j++, place++) {
                const size_t r = b.in_order ? place : b.order[place];
                REQUIRE(CF_(cf_dirichlet_update)(&f, twin, b.observed + r * f.classes, b.beta[r], b.dt[r], again,
                                                 scratch) == CF_OK,
                        "one by one");
                REQUIRE(memcmp(again, probs + r * f.classes, f.classes * sizeof *again) == 0, "estimates differ");
                require_sound(&f, twin, again);
            }
            REQUIRE(memcmp(after + i * size, twin, size * sizeof *twin) == 0, "many and one by one differ");
        }
    }
}

/* Two equal rows: the message of the last is flat, that of the first a distribution, in the input's place too. */
static void fuzz_backward(const CF_(cf_sticky) *f, const row *r, cf_real *transition_cache, cf_real *scratch) {
    cf_real likelihood[2 * MOST], messages[2 * MOST];
    const size_t size = f->classes * sizeof *likelihood;
    size_t number = 2;
    cf_status status;
    memcpy(likelihood, r->observed, size);
    memcpy(likelihood + f->classes, r->observed, size);
    status = CF_(cf_sticky_backward)(f, 2, likelihood, &r->dt, 0, messages, transition_cache, scratch, &number);
    if (status != CF_OK) {
        REQUIRE(number < 2, "row %d", (int)number);
        return;
    }
    require_distribution(f->classes, messages);
    REQUIRE(messages[f->classes] == messages[2 * f->classes - 1], "the last message");
    transition_cache[0] = -1;
    REQUIRE(CF_(cf_sticky_backward)(f, 2, likelihood, &r->dt, 0, likelihood, transition_cache, scratch, &number) ==
                CF_OK,
            "in place");
    REQUIRE(memcmp(likelihood, messages, 2 * size) == 0, "in place, other messages");
}

/* Settings and a first state; 0 where they are not valid. */
static int next_sticky(source *in, CF_(cf_sticky) *f, cf_real *table, cf_real *rates, cf_real *state) {
    cf_real prior[MOST], sum = 0;
    size_t k;
    memset(f, 0, sizeof *f);
    f->classes = next_byte(in) % (MOST + 1);
    f->stay = next_number(in);
    f->floor = next_byte(in) < 200 ? CF_R(1e-3) : next_number(in);
    for (k = 0; k < f->classes; k++) sum += prior[k] = next_byte(in) < 200 ? 1 : next_number(in);
    for (k = 0; k < f->classes; k++) prior[k] /= sum;
    if (next_byte(in) & 1) {
        for (k = 0; k < f->classes * f->classes; k++)
            rates[k] = next_byte(in) < 254 ? CF_R(0.01) * (cf_real)next_byte(in) : next_number(in);
        f->rates = rates;
    }
    if (CF_(cf_sticky_prepare)(f, prior, table) != CF_OK) return 0;
    REQUIRE(CF_(cf_sticky_start)(f, table, state) == CF_OK, "start");
    return 1;
}

/* Each row of the transitions over a time is a distribution. */
static void fuzz_transitions(const CF_(cf_sticky) *f, cf_real dt, cf_real *transition_cache, cf_real *scratch) {
    static cf_real matrix[MOST * MOST];
    size_t i, k;
    if (CF_(cf_sticky_transitions)(f, dt, matrix, transition_cache, scratch) != CF_OK) return;
    for (i = 0; i < f->classes; i++) {
        double sum = 0;
        for (k = 0; k < f->classes; k++) {
            const double p = (double)matrix[i * f->classes + k];
            REQUIRE(p >= 0 && p <= 1 + TRANSITION_TOLERANCE, "transition %g, dt %g", p, (double)dt);
            sum += p;
        }
        REQUIRE(fabs(sum - 1) <= TRANSITION_TOLERANCE, "transitions off by %g, dt %g", sum - 1, (double)dt);
    }
}

static void fuzz_sticky(source in) {
    static cf_real scratch[CF_STICKY_SCRATCH(MOST)], transition_cache[CF_STICKY_CACHE(MOST)],
        other[CF_STICKY_CACHE(MOST)];
    static cf_real rates[MOST * MOST];
    cf_real table[CF_STICKY_TABLE(MOST)], state[MOST], before[MOST], twin[MOST], probs[MOST];
    CF_(cf_sticky) f;
    if (!next_sticky(&in, &f, table, rates, state)) return;
    transition_cache[0] = -1;

    while (in.left > 0) {
        const row r = next_row(&in, f.classes);
        const CF_(cf_table) table = {1, NULL, NULL, NULL, twin, twin, r.observed, &r.beta, &r.dt, 1, 1, probs};
        cf_status status;
        size_t number = 0;
        memcpy(before, state, sizeof state);
        memcpy(twin, state, sizeof state);
        status = CF_(cf_sticky_update)(&f, state, r.observed, r.beta, r.dt, transition_cache, scratch);
        memset(scratch, (int)in.left, sizeof scratch); /* what it holds between calls does not matter */
        other[0] = -1;                                 /* nor what was remembered of the last dt */
        REQUIRE(CF_(cf_sticky_run)(&f, &table, other, scratch, &number) == status, "status %d", (int)status);
        if (status == CF_OK) {
            require_distribution(f.classes, state);
            REQUIRE(memcmp(state, twin, f.classes * sizeof *state) == 0, "update and run differ");
            REQUIRE(memcmp(state, probs, f.classes * sizeof *state) == 0, "reading and state differ");
            REQUIRE(CF_(cf_sticky_start)(&f, state, twin) == CF_OK, "its own state is refused");
        } else {
            REQUIRE(memcmp(state, before, f.classes * sizeof *state) == 0, "a failed call changed the state");
        }
        REQUIRE(CF_(cf_check)(f.classes, 1, r.observed, &r.beta, 0, &r.dt, 0, &number) == status, "check and update");
        fuzz_backward(&f, &r, other, scratch);
        fuzz_transitions(&f, r.dt, other, scratch);
    }
}

static void fuzz_sticky_streams(source in) {
    static cf_real scratch[CF_STICKY_SCRATCH(MOST)], cache[CF_STICKY_CACHE(MOST)], other[CF_STICKY_CACHE(MOST)];
    static cf_real rates[MOST * MOST], states[STREAMS * MOST], before[STREAMS * MOST], after[STREAMS * MOST];
    static cf_real probs[ROWS * MOST];
    cf_real table_[CF_STICKY_TABLE(MOST)], start[MOST];
    CF_(cf_sticky) f;
    size_t i, j;
    if (!next_sticky(&in, &f, table_, rates, start)) return;
    for (i = 0; i < STREAMS; i++) memcpy(states + i * f.classes, start, f.classes * sizeof *start);
    cache[0] = other[0] = -1;
    while (in.left > 0) {
        const batch b = next_batch(&in, f.classes);
        const CF_(cf_table) table = table_of(&b, states, after, probs);
        size_t number = b.rows, place = 0;
        cf_status checked;
        const size_t failed = first_invalid(&b, f.classes, &checked);
        cf_status status;
        memcpy(before, states, sizeof states);
        status = CF_(cf_sticky_run)(&f, &table, cache, scratch, &number);
        REQUIRE(memcmp(states, before, sizeof states) == 0, "the states changed");
        REQUIRE(status == checked && number == failed, "status %d, checked %d", (int)status, (int)checked);
        if (status != CF_OK) continue;
        for (i = 0; i < b.streams; i++) {
            cf_real *const twin = states + (b.all ? i : b.slots[i]) * f.classes;
            for (j = 0; j < b.counts[i]; j++, place++) {
                const size_t r = b.in_order ? place : b.order[place];
                REQUIRE(CF_(cf_sticky_update)(&f, twin, b.observed + r * f.classes, b.beta[r], b.dt[r], other,
                                              scratch) == CF_OK,
                        "one by one");
                REQUIRE(memcmp(twin, probs + r * f.classes, f.classes * sizeof *twin) == 0, "estimates differ");
                require_distribution(f.classes, twin);
            }
            REQUIRE(memcmp(after + i * f.classes, twin, f.classes * sizeof *twin) == 0, "many and one by one differ");
        }
    }
}

/* A channel of any confusions, as logarithms from -30 to 0: what it returns is an observation. */
static void fuzz_channel(source in) {
    static cf_real log_matrix[MOST * MOST];
    cf_real log_prior[MOST], probs[MOST];
    CF_(cf_channel) f;
    size_t k, number = 0;
    const cf_real one = 1;
    f.classes = 2 + next_byte(&in) % (MOST - 1);
    f.log_prior = log_prior;
    f.log_matrix = log_matrix;
    for (k = 0; k < f.classes; k++) log_prior[k] = (cf_real)next_byte(&in) * CF_R(-0.1);
    for (k = 0; k < f.classes * f.classes; k++) log_matrix[k] = (cf_real)next_byte(&in) * CF_R(-0.1);
    while (in.left > 0) {
        const row r = next_row(&in, f.classes);
        const cf_status status = CF_(cf_channel_apply)(&f, r.observed, probs);
        REQUIRE(CF_(cf_check)(f.classes, 1, r.observed, &one, 0, &one, 0, &number) == status, "status %d", (int)status);
        if (status != CF_OK) continue;
        REQUIRE(CF_(cf_check)(f.classes, 1, probs, &one, 0, &one, 0, &number) == CF_OK, "not an observation");
        REQUIRE(isnan((double)probs[0]) == isnan((double)r.observed[0]), "missing");
        if (!isnan((double)probs[0])) {
            double sum = 0;
            for (k = 0; k < f.classes; k++) sum += (double)probs[k];
            REQUIRE(fabs(sum - 1) <= SUM_TOLERANCE, "sum of probs off by %g", sum - 1);
        }
    }
}

static void fuzz_adaptive(source in) {
    const size_t classes = 1 + next_byte(&in) % MOST;
    cf_real state[CF_ADAPTIVE_STATE], before[CF_ADAPTIVE_STATE];
    CF_(cf_adaptive) f;
    memset(&f, 0, sizeof f);
    f.timed = (int)(next_byte(&in) & 1);
    f.budget = next_number(&in);
    f.weak = next_number(&in);
    f.min_gap = (cf_real)(next_byte(&in) % 4);
    f.max_gap = (cf_real)next_byte(&in);
    f.disagreement = next_number(&in);
    f.floor = next_byte(&in) < 200 ? CF_R(0.02) : next_number(&in);
    f.horizon = 1 + 100 * next_number(&in);
    if (CF_(cf_adaptive_prepare)(&f) != CF_OK) return;
    CF_(cf_adaptive_start)(state);
    while (in.left > 0) {
        const row reading = next_row(&in, classes), answer = next_row(&in, classes);
        int strong = -1;
        cf_status status =
            CF_(cf_adaptive_choose)(&f, state, classes, reading.observed, 1000 * next_number(&in), &strong);
        if (status == CF_OK) {
            REQUIRE(strong == 0 || strong == 1, "strong %d", strong);
            REQUIRE(strong || (state[2] >= 1 && state[2] < f.max_gap), "gap %g", (double)state[2]);
            REQUIRE(!strong || state[2] < 1 || state[2] >= f.min_gap, "gap %g", (double)state[2]);
        } else {
            REQUIRE(strong == -1, "a failed call chose");
        }
        memcpy(before, state, sizeof state);
        strong = next_byte(&in) < 200 ? strong == 1 : (int)(next_byte(&in) & 1);
        status = CF_(cf_adaptive_called)(&f, state, strong, classes, answer.observed, reading.observed, answer.dt);
        if (status != CF_OK) {
            REQUIRE(memcmp(state, before, sizeof state) == 0, "a failed call changed the state");
            continue;
        }
        REQUIRE(state[0] >= f.least && state[0] <= f.most, "raised %g", (double)state[0]);
        REQUIRE(state[1] >= 0 && state[1] <= CF_R(1.1e30), "step %g", (double)state[1]);
        REQUIRE(state[2] == (cf_real)(strong ? 1 : before[2] < 1 ? 0 : before[2] + 1), "gap %g", (double)state[2]);
        REQUIRE(state[3] >= 0 && state[3] <= 1 && state[4] >= 0 && state[4] <= 1, "surprise %g", (double)state[3]);
        REQUIRE(state[5] >= 0 && state[5] <= f.horizon, "due %g", (double)state[5]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    source in = {bytes, size};
    switch (next_byte(&in) % 6) {
    case 0: fuzz_dirichlet(in); break;
    case 1: fuzz_sticky(in); break;
    case 2: fuzz_adaptive(in); break;
    case 3: fuzz_dirichlet_streams(in); break;
    case 4: fuzz_sticky_streams(in); break;
    default: fuzz_channel(in);
    }
    return 0;
}

#ifdef STANDALONE
int main(int argc, char **argv) {
    uint64_t random = 0x9E3779B97F4A7C15u;
    long inputs = argc > 1 ? atol(argv[1]) : 1000, i;
    for (i = 0; i < inputs; i++) {
        uint8_t bytes[4096];
        size_t size, k;
        random = random * 6364136223846793005u + 1442695040888963407u;
        size = 64 + (size_t)(random >> 52);
        for (k = 0; k < size && k < sizeof bytes; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bytes[k] = (uint8_t)(random >> 56);
        }
        LLVMFuzzerTestOneInput(bytes, k);
    }
    printf("%ld inputs held\n", inputs);
    return 0;
}
#endif
