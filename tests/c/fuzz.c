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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    enum { MOST = 40 };
    static cf_real scratch[CF_DIRICHLET_SCRATCH(MOST)];
    cf_real prior[MOST], prior_nu[MOST], state[MOST + 1], before[MOST + 1], twin[MOST + 1];
    cf_real probs[MOST], again[MOST], observed[MOST];
    source in = {bytes, size};
    CF_(cf_dirichlet) f;
    size_t k;
    memset(&f, 0, sizeof f);
    f.classes = next_byte(&in) % (MOST + 1);
    f.gamma = next_number(&in);
    f.floor = next_byte(&in) < 200 ? CF_R(1e-3) : next_number(&in);
    f.anchor = next_byte(&in) < 128 ? 0 : next_number(&in);
    f.max_concentration = next_byte(&in) < 200 ? CF_R(1e6) : 100 * next_number(&in);
    f.mean = next_byte(&in) & 1;
    for (k = 0; k < f.classes; k++) prior[k] = next_byte(&in) < 250 ? 1 : 10 * next_number(&in);
    if (CF_(cf_dirichlet_prepare)(&f, prior, prior_nu) != CF_OK) return 0;
    if (CF_(cf_dirichlet_start)(&f, prior, next_number(&in), state) != CF_OK) return 0;

    while (in.left > 0) {
        const unsigned kind = next_byte(&in);
        const cf_real beta = kind & 1 ? (cf_real)1 : next_number(&in), dt = kind & 2 ? (cf_real)1 : 1000 * next_number(&in);
        cf_real sum = 0;
        cf_status status;
        size_t row = 0;
        for (k = 0; k < f.classes; k++) {
            observed[k] = kind & 4 ? (cf_real)(k == kind % f.classes) : next_number(&in);
            sum += observed[k];
        }
        if (!(kind & 4) && kind & 8)
            for (k = 0; k < f.classes; k++) observed[k] /= sum; /* NaN where the sum is 0: also an input */
        memcpy(before, state, sizeof state);
        memcpy(twin, state, sizeof state);
        status = CF_(cf_dirichlet_update)(&f, state, observed, beta, dt, probs, scratch);
        memset(scratch, (int)kind, sizeof scratch); /* what it holds between calls does not matter */
        REQUIRE(CF_(cf_dirichlet_run)(&f, twin, 1, observed, &beta, 1, &dt, 1, again, scratch, &row) == status, "status %d",
                (int)status);
        if (status == CF_OK) {
            require_sound(&f, state, probs);
            REQUIRE(memcmp(state, twin, (f.classes + 1) * sizeof *state) == 0, "update and run differ");
            REQUIRE(memcmp(probs, again, f.classes * sizeof *probs) == 0, "update and run differ");
        } else {
            REQUIRE(status != CF_NOT_CONVERGED, "K %zu gamma %g eta %g beta %g", f.classes, (double)f.gamma,
                    (double)state[0], (double)beta);
            REQUIRE(memcmp(state, before, (f.classes + 1) * sizeof *state) == 0, "a failed call changed the state");
        }
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
