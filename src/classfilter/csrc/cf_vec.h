/* SPDX-License-Identifier: MIT */
/* Vectors: cf_vec has CF_WIDTH numbers, which go through the same operations; a single one, a plain cf_real, where the build is
   small or the compiler has no such types. What becomes of a number depends on neither. */
#ifndef CF_VEC_H
#define CF_VEC_H

#include "cf_real.h"

#ifdef CF_FLOAT
enum { CF_MANTISSA_BITS = 23 };
#else
enum { CF_MANTISSA_BITS = 52 };
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

#ifdef CF_FLOAT
CF_INLINE cf_real cf_from_signed(cf_bits b) { return (cf_real)(int32_t)b; }
#endif

CF_INLINE cf_real cf_abs(cf_real a) {
#if defined(__GNUC__) && defined(CF_FLOAT)
    return __builtin_fabsf(a);
#else
    return cf_from_bits(cf_to_bits(a) & ~((cf_bits)1 << (8 * sizeof(cf_real) - 1)));
#endif
}

CF_INLINE cf_real cf_max(cf_real a, cf_real b) { return a > b ? a : b; }

#if (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)) && CF_BLOCK % 8 == 0 && !defined(CF_SMALL)
#define CF_VECTORS
#pragma GCC diagnostic ignored "-Wpsabi" /* no vector crosses the border of a library */
#ifdef CF_WIDE
#define CF_VECTOR_BYTES 64
#else
#define CF_VECTOR_BYTES 32
#define CF_ACROSS /* a vector may also hold numbers of one stream */
#endif
enum { CF_WIDTH = (int)(CF_VECTOR_BYTES / sizeof(cf_real)) };
typedef cf_real cf_vec __attribute__((vector_size(CF_VECTOR_BYTES), aligned(sizeof(cf_real)), may_alias));
typedef cf_bits cf_mask __attribute__((vector_size(CF_VECTOR_BYTES), aligned(sizeof(cf_real)), may_alias));
typedef uint64_t cf_quad __attribute__((vector_size(32), may_alias));

CF_INLINE cf_vec vec_of(cf_real x) { return (cf_vec){0} + x; }
CF_INLINE cf_mask vec_to_bits(cf_vec x) { return (cf_mask)x; }
CF_INLINE cf_vec vec_from_bits(cf_mask b) { return (cf_vec)b; }
#ifdef CF_FLOAT
typedef int32_t cf_signed __attribute__((vector_size(CF_VECTOR_BYTES)));
CF_INLINE cf_vec vec_from_signed(cf_mask b) { return __builtin_convertvector((cf_signed)b, cf_vec); }
#endif
/* A mask is all ones where it holds, else zero. */
CF_INLINE cf_mask vec_less(cf_vec a, cf_vec b) { return (cf_mask)(a < b); }
CF_INLINE cf_mask mask_of(int holds) { return (cf_mask){0} - (cf_bits)holds; }
CF_INLINE cf_mask mask_from(const cf_bits *lanes) { return *(const cf_mask *)lanes; }
CF_INLINE cf_mask mask_not(cf_mask m) { return ~m; }
CF_INLINE int mask_at(cf_mask m, size_t lane) { return m[lane] != 0; }
CF_INLINE int mask_any(cf_mask m) {
#ifdef CF_WIDE
    typedef uint64_t quads __attribute__((vector_size(64), may_alias));
    const quads both = (quads)m;
    const cf_quad q = __builtin_shufflevector(both, both, 0, 1, 2, 3) | __builtin_shufflevector(both, both, 4, 5, 6, 7);
#else
    const cf_quad q = (cf_quad)m;
#endif
    return ((q[0] | q[1]) | (q[2] | q[3])) != 0;
}
CF_INLINE cf_vec vec_choose(cf_mask m, cf_vec a, cf_vec b) {
    return vec_from_bits((m & vec_to_bits(a)) | (~m & vec_to_bits(b)));
}
CF_INLINE cf_vec vec_max(cf_vec a, cf_vec b) { return vec_choose(vec_less(b, a), a, b); }
CF_INLINE cf_vec vec_min(cf_vec a, cf_vec b) { return vec_choose(vec_less(a, b), a, b); }
CF_INLINE cf_vec vec_abs(cf_vec a) {
    return vec_from_bits(vec_to_bits(a) & ~((cf_bits)1 << (8 * sizeof(cf_real) - 1)));
}
#ifdef CF_ACROSS
/* The first number, everywhere. */
CF_INLINE cf_vec vec_first(cf_vec a) {
#ifdef CF_FLOAT
    return __builtin_shufflevector(a, a, 0, 0, 0, 0, 0, 0, 0, 0);
#else
    return __builtin_shufflevector(a, a, 0, 0, 0, 0);
#endif
}
#endif
#else
enum { CF_WIDTH = 1 };
typedef cf_real cf_vec;
typedef int cf_mask;

CF_INLINE cf_vec vec_of(cf_real x) { return x; }
CF_INLINE cf_mask vec_less(cf_vec a, cf_vec b) { return a < b; }
CF_INLINE cf_mask mask_of(int holds) { return holds; }
CF_INLINE cf_mask mask_from(const cf_bits *lanes) { return *lanes != 0; }
CF_INLINE cf_mask mask_not(cf_mask m) { return !m; }
CF_INLINE int mask_at(cf_mask m, size_t lane) { return (void)lane, m; }
CF_INLINE int mask_any(cf_mask m) { return m; }
CF_INLINE cf_vec vec_choose(cf_mask m, cf_vec a, cf_vec b) { return m ? a : b; }
CF_INLINE cf_vec vec_max(cf_vec a, cf_vec b) { return a > b ? a : b; }
CF_INLINE cf_vec vec_min(cf_vec a, cf_vec b) { return a < b ? a : b; }
CF_INLINE cf_vec vec_abs(cf_vec a) { return cf_abs(a); }
#endif

#endif
