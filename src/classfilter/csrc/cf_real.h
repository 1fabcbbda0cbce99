/* SPDX-License-Identifier: MIT */
/* One source, two precisions: float where CF_FLOAT is defined, else double. A translation unit has one of them; the
   files *_f32.c and *_f64.c choose it, and name what the text of *_impl.h defines. */
#ifndef CF_REAL_H
#define CF_REAL_H

#include "cf.h"

#include <float.h>
#include <stdint.h>

#ifdef CF_FLOAT
typedef float cf_real;
typedef uint32_t cf_bits;
typedef cf_table_f32 cf_table;
typedef cf_dirichlet_f32 cf_dirichlet;
typedef cf_channel_f32 cf_channel;
typedef cf_sticky_f32 cf_sticky;
typedef cf_adaptive_f32 cf_adaptive;
typedef cf_events_f32 cf_events;
#define CF_R(literal) literal##f
#define CF_EPSILON FLT_EPSILON
#define CF_NORMAL FLT_MIN /* the smallest number with all its digits */
#else
typedef double cf_real;
typedef uint64_t cf_bits;
typedef cf_table_f64 cf_table;
typedef cf_dirichlet_f64 cf_dirichlet;
typedef cf_channel_f64 cf_channel;
typedef cf_sticky_f64 cf_sticky;
typedef cf_adaptive_f64 cf_adaptive;
typedef cf_events_f64 cf_events;
#define CF_R(literal) literal
#define CF_EPSILON DBL_EPSILON
#define CF_NORMAL DBL_MIN
#endif

/* The same bits on every machine need every operation rounded to its own type. */
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "classfilter needs FLT_EVAL_METHOD 0 (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error "classfilter must not be compiled with -ffast-math: it changes the bits"
#endif
/* Some compilers define it always, as 0 or 1. */
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "classfilter must not be compiled with -ffinite-math-only: NaN means that nothing was observed"
#endif

#endif
