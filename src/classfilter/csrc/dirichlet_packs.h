/* SPDX-License-Identifier: MIT */
/* Packs: four doubles that go through the same operations, on vector registers; a single one where the compiler has no
   such types or the build is small. What becomes of a number depends on neither. */
#ifndef CF_DIRICHLET_PACKS_H
#define CF_DIRICHLET_PACKS_H

#include "polygamma.h"

#if (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)) && CF_BLOCK % 4 == 0 && !defined(CF_SMALL)
#pragma GCC diagnostic ignored "-Wpsabi" /* no pack crosses the border of a library */
enum { CF_PACK = 4 };
#define CF_PACK_PART CF_INLINE
typedef double cf_pack __attribute__((vector_size(32), aligned(8), may_alias));
typedef uint64_t cf_pack_bits __attribute__((vector_size(32), aligned(8), may_alias));

CF_INLINE cf_pack_bits pack_to_bits(cf_pack x) { return (cf_pack_bits)x; }
CF_INLINE cf_pack pack_from_bits(cf_pack_bits b) { return (cf_pack)b; }
/* All ones where it holds, else zero; as every mask. */
CF_INLINE cf_pack_bits pack_less(cf_pack a, cf_pack b) { return (cf_pack_bits)(a < b); }
CF_INLINE cf_pack pack_choose(cf_pack_bits mask, cf_pack a, cf_pack b) {
    return pack_from_bits((mask & pack_to_bits(a)) | (~mask & pack_to_bits(b)));
}
CF_INLINE uint64_t pack_any(cf_pack_bits mask) { return (mask[0] | mask[1]) | (mask[2] | mask[3]); }
CF_INLINE uint64_t pack_all(cf_pack_bits mask) { return (mask[0] & mask[1]) & (mask[2] & mask[3]); }
CF_INLINE cf_pack pack_first(cf_pack a) { return __builtin_shufflevector(a, a, 0, 0, 0, 0); }
CF_INLINE cf_pack pack_sum(cf_pack a) {
    const cf_pack pairs = a + __builtin_shufflevector(a, a, 1, 0, 3, 2);
    return pairs + __builtin_shufflevector(pairs, pairs, 2, 3, 0, 1);
}
CF_INLINE cf_pack pack_lane_numbers(void) {
    const cf_pack numbers = {0, 1, 2, 3};
    return numbers;
}
#else
enum { CF_PACK = 1 };
#define CF_PACK_PART static CF_UNUSED /* in memory once */
typedef double cf_pack;
typedef uint64_t cf_pack_bits;

CF_INLINE cf_pack_bits pack_to_bits(cf_pack x) { return cf_to_bits(x); }
CF_INLINE cf_pack pack_from_bits(cf_pack_bits b) { return cf_from_bits(b); }
CF_INLINE cf_pack_bits pack_less(cf_pack a, cf_pack b) { return 0 - (uint64_t)(a < b); }
CF_INLINE cf_pack pack_choose(cf_pack_bits mask, cf_pack a, cf_pack b) { return mask ? a : b; }
CF_INLINE uint64_t pack_any(cf_pack_bits mask) { return mask; }
CF_INLINE uint64_t pack_all(cf_pack_bits mask) { return mask; }
CF_INLINE cf_pack pack_first(cf_pack a) { return a; }
CF_INLINE cf_pack pack_sum(cf_pack a) { return a; }
CF_INLINE cf_pack pack_lane_numbers(void) { return 0; }
#endif

CF_INLINE cf_pack pack_of(double x) { return (cf_pack){0} + x; }
CF_INLINE cf_pack_bits pack_bits_of(uint64_t x) { return (cf_pack_bits){0} + x; }
CF_INLINE cf_pack pack_max(cf_pack a, cf_pack b) { return pack_choose(pack_less(b, a), a, b); }
CF_INLINE cf_pack pack_min(cf_pack a, cf_pack b) { return pack_choose(pack_less(a, b), a, b); }
CF_INLINE cf_pack pack_abs(cf_pack a) { return pack_from_bits(pack_to_bits(a) & (UINT64_MAX >> 1)); }

/* cf_log_ratio of each lane. */
CF_PACK_PART cf_pack pack_log_ratio(cf_pack a, cf_pack b) {
    const uint64_t half = (uint64_t)1 << (CF_MANTISSA_BITS - 1), away = (uint64_t)CF_AWAY << CF_MANTISSA_BITS;
    const cf_pack_bits k = (pack_to_bits(a) - pack_to_bits(b) + (away + half)) >> CF_MANTISSA_BITS;
    const cf_pack minus_n = pack_from_bits(pack_to_bits(b) + (k << CF_MANTISSA_BITS));
    const cf_pack exponent = pack_from_bits(k | CF_INTEGER) - (cf_from_bits(CF_INTEGER) + CF_AWAY);
    cf_pack s = (a + minus_n) / (a - minus_n), v, p;
    v = s * s;
    s += s;
    CF_POLYNOMIAL_OF(cf_pack, p, v, CF_LOG);
    return exponent * CF_LN2_HIGH + (s + (s * (v * p) + exponent * CF_LN2_LOW));
}

/* exp(x) of each lane, for x <= 0; the least normal number where the result would be smaller. */
CF_PACK_PART cf_pack pack_exp_negative(cf_pack x) {
    const cf_pack y = pack_max(x, pack_of(CF_EXP_MIN));
    const cf_pack shifted = y * 1.44269504088896341 + CF_ROUND, k = shifted - CF_ROUND;
    const cf_pack r = (y - k * CF_LN2_HIGH) - k * CF_LN2_LOW;
    cf_pack p;
    CF_POLYNOMIAL_OF(cf_pack, p, r, CF_EXP);
    return pack_from_bits((pack_to_bits(shifted) << CF_MANTISSA_BITS) + CF_BITS_OF_ONE) * (1 + (r + r * r * p));
}

typedef struct {
    cf_pack h, rest; /* digamma(x) = log(h) + rest */
    cf_pack first, second, third;
} cf_pack_polygamma;

/* cf_polygamma_of of each lane, and the third derivative of digamma. */
CF_PACK_PART cf_pack_polygamma pack_polygamma(cf_pack x) {
    cf_pack_polygamma out;
    const cf_pack sum = x + x + 5, q1 = x * (x + 5), h = x + 5.5, q2 = q1 + 4, q3 = q1 + 6, q23 = q2 * q3;
    const cf_pack product = q1 * q23, inverse = 1 / (product * h), over_h = inverse * product, each = inverse * h;
    const cf_pack r1 = each * q23, r2 = each * (q1 * q3), r3 = each * (q1 * q2);
    const cf_pack a1 = r1 * r1, a2 = r2 * r2, a3 = r3 * r3;
    const cf_pack s1 = r1 + (r2 + r3), s2 = a1 + (a2 + a3), s3 = r1 * a1 + (r2 * a2 + r3 * a3);
    const cf_pack s4 = a1 * a1 + (a2 * a2 + a3 * a3), w = over_h * over_h, sum2 = sum * sum;
    cf_pack p0, p1, p2, p3;
    CF_POLYNOMIAL_OF(cf_pack, p0, w, CF_PSI0);
    CF_POLYNOMIAL_OF(cf_pack, p1, w, CF_STEP1);
    CF_POLYNOMIAL_OF(cf_pack, p2, w, CF_STEP2);
    CF_POLYNOMIAL_OF(cf_pack, p3, w, CF_STEP3);
    out.h = h;
    out.rest = w * p0 - sum * s1;
    out.first = (over_h + over_h * (w * p1)) + (sum2 * s2 - (s1 + s1));
    out.second = -(w + w * (w * p2)) - 2 * sum * (sum2 * s3 - 3 * s2);
    out.third = (over_h + over_h) * (w + w * (w * p3)) + 6 * (sum2 * (sum2 * s4 - 4 * s3) + 2 * s2);
    return out;
}

#endif
