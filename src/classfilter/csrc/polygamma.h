/* SPDX-License-Identifier: MIT */
/* The special functions, from +, -, *, / and the bits of IEEE numbers alone. Without branches, so that a
   compiler turns loops over them into vector code; an element's result never depends on its neighbours. */
#ifndef CF_POLYGAMMA_H
#define CF_POLYGAMMA_H

#include "cf_real.h"
#include "coefficients.h"

#ifdef CF_FLOAT
enum { CF_MANTISSA_BITS = 23 };
#define CF_BITS_OF_ONE UINT32_C(0x3F800000)
#define CF_MANTISSA UINT32_C(0x007FFFFF)
#define CF_AWAY 256
#define CF_INTEGER UINT32_C(0x4B000000) /* 2^23: its low mantissa bits count units */
#define CF_LN2_HIGH 6.9314575195e-1f    /* short, so that a product with an exponent is exact */
#define CF_LN2_LOW 1.4286067653e-6f
#define CF_ROUND 12582912.0f /* 1.5 * 2^23 */
#define CF_EXP_MIN (-87.0f)
#else
enum { CF_MANTISSA_BITS = 52 };
#define CF_BITS_OF_ONE UINT64_C(0x3FF0000000000000)
#define CF_MANTISSA UINT64_C(0x000FFFFFFFFFFFFF)
#define CF_AWAY 2048
#define CF_INTEGER UINT64_C(0x4330000000000000)
#define CF_LN2_HIGH 6.93147180369123816490e-1
#define CF_LN2_LOW 1.90821492927058770002e-10
#define CF_ROUND 6755399441055744.0
#define CF_EXP_MIN (-708.0)
#endif

CF_INLINE cf_bits cf_to_bits(cf_real x) {
    union {
        cf_real real;
        cf_bits bits;
    } u;
    u.real = x;
    return u.bits;
}

CF_INLINE cf_real cf_from_bits(cf_bits b) {
    union {
        cf_real real;
        cf_bits bits;
    } u;
    u.bits = b;
    return u.real;
}

/* c[0] + c[1] x + ...: the even and the odd powers by Horner's rule, side by side. The type is that of x. */
#define CF_POLYNOMIAL_OF(type, result, x, ...)                                                                         \
    do {                                                                                                               \
        static const cf_real c_[] = __VA_ARGS__;                                                                       \
        enum { last_ = (int)(sizeof c_ / sizeof c_[0]) - 1 };                                                          \
        type even_ = (type){0} + c_[last_ - last_ % 2], odd_ = (type){0} + c_[last_ - 1 + last_ % 2];                  \
        type x2_ = (x) * (x);                                                                                          \
        int i_;                                                                                                        \
        for (i_ = last_ - last_ % 2 - 2; i_ >= 0; i_ -= 2) even_ = even_ * x2_ + c_[i_];                               \
        for (i_ = last_ - 3 + last_ % 2; i_ >= 1; i_ -= 2) odd_ = odd_ * x2_ + c_[i_];                                 \
        (result) = even_ + (x) * odd_;                                                                                 \
    } while (0)
#define CF_POLYNOMIAL(result, x, ...) CF_POLYNOMIAL_OF(cf_real, result, x, __VA_ARGS__)

/* log(a / b) for normal a, b > 0 below half of the largest. The bits of a number, read as an integer, are about its
   logarithm, so their difference tells which n = 2^k b is nearest to a, within a factor of 1.51. With
   s = (a - n) / (a + n), a - n being exact: k log 2 + 2 atanh s. Accurate relative to its value, however close a and b
   are. The exponent k goes with CF_AWAY added, so that it is positive; shifted into place, that is the sign bit of n. */
CF_INLINE cf_real cf_log_ratio(cf_real a, cf_real b) {
    const cf_bits half = (cf_bits)1 << (CF_MANTISSA_BITS - 1), away = (cf_bits)CF_AWAY << CF_MANTISSA_BITS;
    const cf_bits k = (cf_to_bits(a) - cf_to_bits(b) + away + half) >> CF_MANTISSA_BITS;
    const cf_real minus_n = cf_from_bits(cf_to_bits(b) + (k << CF_MANTISSA_BITS));
    const cf_real exponent = cf_from_bits(k | CF_INTEGER) - (cf_from_bits(CF_INTEGER) + CF_AWAY);
    cf_real s = (a + minus_n) / (a - minus_n), v, p;
    v = s * s;
    s += s;
    CF_POLYNOMIAL(p, v, CF_LOG);
    return exponent * CF_LN2_HIGH + (s + (s * (v * p) + exponent * CF_LN2_LOW));
}

/* exp(x) for x <= 0; zero where the result would be denormal. */
CF_PART cf_real cf_exp_negative(cf_real x) {
    cf_real y = x > CF_EXP_MIN ? x : CF_EXP_MIN;
    cf_real shifted = y * CF_R(1.44269504088896341) + CF_ROUND;
    cf_real k = shifted - CF_ROUND;
    cf_real r = (y - k * CF_LN2_HIGH) - k * CF_LN2_LOW;
    cf_real p, power;
    CF_POLYNOMIAL(p, r, CF_EXP);
    power = cf_from_bits((cf_to_bits(shifted) << CF_MANTISSA_BITS) + CF_BITS_OF_ONE);
    return x > CF_EXP_MIN ? power * (CF_R(1.0) + (r + r * r * p)) : CF_R(0.0);
}

typedef struct {
    cf_real h, rest; /* digamma(x) = log(h) + rest */
    cf_real trigamma, tetragamma;
} cf_polygamma;

/* digamma, trigamma and tetragamma of x > 0, fused: the argument is shifted up by CF_SHIFT, there a polynomial in
   1 / h^2 follows. The shift's fractions go in pairs: x + k and x + CF_SHIFT - 1 - k have one sum, `sum`, and
   the product q + const, so that one division serves them all. */
CF_INLINE cf_polygamma cf_polygamma_of(cf_real x) {
    cf_polygamma out;
    cf_real sum = x + x + (CF_SHIFT - 1), q = x * (x + (CF_SHIFT - 1)), h = x + (CF_SHIFT - CF_R(0.5));
    cf_real inverse, over_h, w, p0, p1, p2, s1, s2, s3; /* sN: the sum of the pairs' 1 / product^N */
#if CF_SHIFT == 6
    cf_real q2 = q + 4, q3 = q + 6, q23 = q2 * q3, product = q * q23, r1, r2, r3;
    inverse = CF_R(1.0) / (product * h);
    over_h = inverse * product;
    inverse *= h;
    r1 = inverse * q23;
    r2 = inverse * (q * q3);
    r3 = inverse * (q * q2);
    s1 = r1 + (r2 + r3);
    s2 = r1 * r1 + (r2 * r2 + r3 * r3);
    s3 = r1 * (r1 * r1) + (r2 * (r2 * r2) + r3 * (r3 * r3));
#elif CF_SHIFT == 4
    cf_real q2 = q + 2, product = q * q2, r1, r2;
    inverse = CF_R(1.0) / (product * h);
    over_h = inverse * product;
    inverse *= h;
    r1 = inverse * q2;
    r2 = inverse * q;
    s1 = r1 + r2;
    s2 = r1 * r1 + r2 * r2;
    s3 = r1 * (r1 * r1) + r2 * (r2 * r2);
#endif
    w = over_h * over_h;
    CF_POLYNOMIAL(p0, w, CF_PSI0);
    CF_POLYNOMIAL(p1, w, CF_PSI1);
    CF_POLYNOMIAL(p2, w, CF_PSI2);
    out.h = h;
    out.rest = w * p0 - sum * s1;
    out.trigamma = (over_h + over_h * (w * p1)) + (sum * sum * s2 - (s1 + s1));
    out.tetragamma = -(w + w * (w * p2)) - 2 * sum * (sum * sum * s3 - 3 * s2);
    return out;
}

#endif
