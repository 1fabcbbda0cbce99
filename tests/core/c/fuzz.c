/* SPDX-License-Identifier: MIT */
/* Fuzz target: bytes become settings and a stream of updates; whatever they are, the contract of cf.h must hold.

   With clang: -fsanitize=fuzzer,address,undefined. Otherwise compile with -DSTANDALONE: the program then feeds itself
   the number of random inputs that it is given. */
#include "invariants.h"

#include <stdint.h>

typedef struct {
    const uint8_t *bytes;
    size_t left;
} source;

static unsigned next_byte(source *in) {
    if (in->left == 0) return 0;
    in->left--;
    return *in->bytes++;
}

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

enum { MOST = 40 };

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

static void fuzz_dirichlet(source in) {
    static cf_real scratch[CF_DIRICHLET_SCRATCH(MOST)];
    cf_real prior[MOST], prior_nu[MOST], state[MOST + 1], before[MOST + 1], twin[MOST + 1];
    cf_real probs[MOST], again[MOST];
    CF_(cf_dirichlet) f;
    size_t k;
    memset(&f, 0, sizeof f);
    f.classes = next_byte(&in) % (MOST + 1);
    f.gamma = next_number(&in);
    f.floor = next_byte(&in) < 200 ? CF_R(1e-3) : next_number(&in);
    f.anchor = next_byte(&in) < 128 ? 0 : next_number(&in);
    f.max_concentration = next_byte(&in) < 200 ? CF_R(1e6) : 100 * next_number(&in);
    f.mean = next_byte(&in) & 1;
    f.bounded = next_byte(&in) < 200;
    f.tolerance = next_byte(&in) < 200 ? 0 : CF_R(0.1) * next_number(&in);
    for (k = 0; k < f.classes; k++) prior[k] = next_byte(&in) < 250 ? 1 : 10 * next_number(&in);
    if (CF_(cf_dirichlet_prepare)(&f, prior, prior_nu) != CF_OK) return;
    if (CF_(cf_dirichlet_start)(&f, prior, next_number(&in), state) != CF_OK) return;

    while (in.left > 0) {
        const row r = next_row(&in, f.classes);
        cf_status status;
        size_t number = 0;
        memcpy(before, state, sizeof state);
        memcpy(twin, state, sizeof state);
        status = CF_(cf_dirichlet_update)(&f, state, r.observed, r.beta, r.dt, probs, scratch);
        memset(scratch, (int)in.left, sizeof scratch); /* what it holds between calls does not matter */
        REQUIRE(CF_(cf_dirichlet_run)(&f, twin, 1, r.observed, &r.beta, 1, &r.dt, 1, again, scratch, &number, NULL) ==
                    status,
                "status %d", (int)status);
        if (status == CF_OK) {
            require_sound(&f, state, probs);
            REQUIRE(memcmp(state, twin, (f.classes + 1) * sizeof *state) == 0, "update and run differ");
            REQUIRE(memcmp(probs, again, f.classes * sizeof *probs) == 0, "update and run differ");
        } else {
            REQUIRE(status != CF_NOT_CONVERGED, "K %zu gamma %g eta %g beta %g", f.classes, (double)f.gamma,
                    (double)state[0], (double)r.beta);
            REQUIRE(memcmp(state, before, (f.classes + 1) * sizeof *state) == 0, "a failed call changed the state");
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

static void fuzz_sticky(source in) {
    static cf_real scratch[CF_STICKY_SCRATCH(MOST)], transition_cache[CF_STICKY_CACHE(MOST)],
        other[CF_STICKY_CACHE(MOST)];
    static cf_real rates[MOST * MOST];
    cf_real prior[MOST], table[CF_STICKY_TABLE(MOST)], state[MOST], before[MOST], twin[MOST], probs[MOST], sum = 0;
    CF_(cf_sticky) f;
    size_t k;
    memset(&f, 0, sizeof f);
    f.classes = next_byte(&in) % (MOST + 1);
    f.stay = next_number(&in);
    f.floor = next_byte(&in) < 200 ? CF_R(1e-3) : next_number(&in);
    for (k = 0; k < f.classes; k++) sum += prior[k] = next_byte(&in) < 200 ? 1 : next_number(&in);
    for (k = 0; k < f.classes; k++) prior[k] /= sum;
    if (next_byte(&in) & 1) {
        for (k = 0; k < f.classes * f.classes; k++)
            rates[k] = next_byte(&in) < 254 ? CF_R(0.01) * (cf_real)next_byte(&in) : next_number(&in);
        f.rates = rates;
    }
    if (CF_(cf_sticky_prepare)(&f, prior, table) != CF_OK) return;
    REQUIRE(CF_(cf_sticky_start)(&f, table, state) == CF_OK, "start");
    transition_cache[0] = -1;

    while (in.left > 0) {
        const row r = next_row(&in, f.classes);
        cf_status status;
        size_t number = 0;
        memcpy(before, state, sizeof state);
        memcpy(twin, state, sizeof state);
        status = CF_(cf_sticky_update)(&f, state, r.observed, r.beta, r.dt, transition_cache, scratch);
        memset(scratch, (int)in.left, sizeof scratch); /* what it holds between calls does not matter */
        other[0] = -1;                                 /* nor what was remembered of the last dt */
        REQUIRE(CF_(cf_sticky_run)(&f, twin, 1, r.observed, &r.beta, 1, &r.dt, 1, probs, other, scratch, &number) ==
                    status,
                "status %d", (int)status);
        if (status == CF_OK) {
            require_distribution(f.classes, state);
            REQUIRE(memcmp(state, twin, f.classes * sizeof *state) == 0, "update and run differ");
            REQUIRE(memcmp(state, probs, f.classes * sizeof *state) == 0, "reading and state differ");
        } else {
            REQUIRE(memcmp(state, before, f.classes * sizeof *state) == 0, "a failed call changed the state");
        }
        fuzz_backward(&f, &r, other, scratch);
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
    switch (next_byte(&in) % 3) {
    case 0: fuzz_dirichlet(in); break;
    case 1: fuzz_sticky(in); break;
    default: fuzz_adaptive(in);
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
