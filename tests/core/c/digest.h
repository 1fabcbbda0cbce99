/* SPDX-License-Identifier: MIT */
/* A digest of every bit of many results; after invariants.h, which has the precision. */
static uint64_t digest = UINT64_C(0xCBF29CE484222325);

static void add_to_digest(const cf_real *numbers, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) {
        cf_bits bits = 0;
        memcpy(&bits, numbers + i, sizeof bits);
        digest = (digest ^ bits) * UINT64_C(0x100000001B3);
        digest ^= digest >> 29;
    }
}
