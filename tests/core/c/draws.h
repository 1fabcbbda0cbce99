/* SPDX-License-Identifier: MIT */
/* Numbers drawn at random, the same on every machine. */
#include <stdint.h>

static uint64_t seed = UINT64_C(0x9E3779B97F4A7C15);

static double uniform(void) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 11) / 9007199254740992.0;
}
