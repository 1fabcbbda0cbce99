/* SPDX-License-Identifier: MIT */
/* The special functions of numbers, cf_..., and of vectors, vec_...: one text, special_of.h. */
#ifndef CF_SPECIAL_H
#define CF_SPECIAL_H

#include "cf_vec.h"
#include "coefficients.h"

#ifdef CF_FLOAT
#define CF_BITS_OF_ONE UINT32_C(0x3F800000)
#define CF_MANTISSA UINT32_C(0x007FFFFF)
#define CF_LN2_OF_K 8.26295822e-8f   /* log 2, for a k of 2^23 */
#define CF_LN2_HIGH 6.9314575195e-1f /* short, so that a product with an exponent is exact */
#define CF_LN2_LOW 1.4286067653e-6f
#define CF_ROUND 12582912.0f /* 1.5 * 2^23 */
#define CF_EXP_MIN (-87.0f)
#else
#define CF_BITS_OF_ONE UINT64_C(0x3FF0000000000000)
#define CF_MANTISSA UINT64_C(0x000FFFFFFFFFFFFF)
#define CF_AWAY 2048
#define CF_INTEGER UINT64_C(0x4330000000000000) /* 2^52: its low mantissa bits count units */
#define CF_LN2_OF_K 0.693147180559945309417
#define CF_LN2_HIGH 6.93147180369123816490e-1
#define CF_LN2_LOW 1.90821492927058770002e-10
#define CF_ROUND 6755399441055744.0
#define CF_EXP_MIN (-708.0)
#endif
#define CF_UP_TO_H (CF_SHIFT - CF_R(0.5)) /* from x to h, where the series of its digamma begin */
#define CF_TERMS_OF(coefficients) ((int)(sizeof(coefficients) / sizeof(coefficients)[0]))

#define cf_num cf_real
#define cf_num_of(x) (x)
#define cf_num_bits cf_bits
#define cf_num_to_bits cf_to_bits
#define cf_num_from_bits cf_from_bits
#define cf_num_from_signed cf_from_signed
#include "special_of.h"
#undef cf_num
#undef cf_num_of
#undef cf_num_bits
#undef cf_num_to_bits
#undef cf_num_from_bits
#undef cf_num_from_signed

#ifdef CF_VECTORS
#define cf_num cf_vec
#define cf_num_of vec_of
#define cf_num_bits cf_mask
#define cf_num_to_bits vec_to_bits
#define cf_num_from_bits vec_from_bits
#define cf_num_from_signed vec_from_signed
#define cf_polynomial vec_polynomial
#define cf_log_ratio vec_log_ratio
#define cf_exp_bounded vec_exp_bounded
#define cf_polygamma vec_polygamma
#define cf_polygamma_of vec_polygamma_of
#include "special_of.h"
#undef cf_polynomial
#undef cf_log_ratio
#undef cf_exp_bounded
#undef cf_polygamma
#undef cf_polygamma_of
#else
#define vec_log_ratio cf_log_ratio
#define vec_exp_bounded cf_exp_bounded
#define vec_polygamma cf_polygamma
#define vec_polygamma_of cf_polygamma_of
#endif

/* The same where they are seldom called: in a small build, in memory once. */
#ifdef CF_SMALL
CF_PART cf_real vec_rare_log_ratio(cf_real a, cf_real b) { return cf_log_ratio(a, b); }
CF_PART cf_real vec_rare_exp(cf_real x) { return cf_exp_bounded(x); }
#define cf_rare_log_ratio vec_rare_log_ratio
#define cf_rare_exp vec_rare_exp
#else
#define vec_rare_log_ratio vec_log_ratio
#define vec_rare_exp vec_exp_bounded
#define cf_rare_log_ratio cf_log_ratio
#define cf_rare_exp cf_exp_bounded
#endif

/* exp(x) for x <= 0; zero where the result would be denormal. */
CF_INLINE cf_real cf_exp_negative(cf_real x) { return x > CF_EXP_MIN ? cf_rare_exp(x) : CF_R(0.0); }

#endif
