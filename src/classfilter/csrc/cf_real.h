/* SPDX-License-Identifier: MIT */
/* One source, two precisions. Compile with -DCF_FLOAT for float; the default is double.
   CF_(name) gives a function its precision: CF_(cf_log) is cf_log_f32 or cf_log_f64.
   This header may be included again after CF_FLOAT has changed. */
#include <float.h>
#include <stddef.h>
#include <stdint.h>

#undef cf_real
#undef cf_bits
#undef CF_
#undef CF_R
#undef CF_EPSILON

#ifdef CF_FLOAT
#define cf_real float
#define cf_bits uint32_t
#define CF_(name) name##_f32
#define CF_R(literal) literal##f
#define CF_EPSILON FLT_EPSILON
#else
#define cf_real double
#define cf_bits uint64_t
#define CF_(name) name##_f64
#define CF_R(literal) literal
#define CF_EPSILON DBL_EPSILON
#endif

/* The same bits on every machine need every operation rounded to its own type. */
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "classfilter needs FLT_EVAL_METHOD 0 (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif
#if defined(__FAST_MATH__)
#error "classfilter must not be compiled with -ffast-math: it changes the bits"
#endif
