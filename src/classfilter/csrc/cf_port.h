/* SPDX-License-Identifier: MIT */
/* The build switches. None changes a bit of the results; define them for the whole build, or not at all.

   CF_SMALL        for microcontrollers: little code and memory, without the functions of several rows or streams.
   CF_CLASSES      the number of classes, where a program has only one: shorter code.
   CF_UNIT_WEIGHTS every weight is 0 or 1: what fractional weights need is left out.
   CF_NO_RATES     no sticky filter has rates: what they need is left out.
   CF_TICKS        times of events are whole ticks of a clock, so that no arithmetic is double; one row at a time.
   CF_RULE         with CF_TICKS, the only event rule of a program, a constant: what it does not use is left out. Then CF_RULE_STATES,
                   CF_RULE_SLOW, CF_RULE_NODES and CF_RULE_SLOTS are the numbers that the size of its state follows from.
   CF_ONE_TARGET   code for one processor only, not for several of which the loader chooses.
   CF_WIDE_LANES   with CF_ONE_TARGET, vectors of 64 bytes for many streams.
   CF_BLOCK        numbers of scratch memory are rounded up to a multiple of this, so that vector registers fill.
   CF_NO_ANCHOR    no Dirichlet filter has an anchor: what it needs is left out. */
#ifndef CF_PORT_H
#define CF_PORT_H

#include <stddef.h>
#include <stdint.h> /* which also says whether the library is glibc */

#if defined(CF_SMALL) && !defined(CF_BLOCK)
#define CF_BLOCK 1
#endif
#ifndef CF_BLOCK
#define CF_BLOCK 8
#endif

/* CF_INLINE makes straight code. CF_PART does so too where speed counts; with CF_SMALL it makes a function, which is in
   memory once. */
#if defined(__GNUC__)
#define CF_UNUSED __attribute__((unused))
#define CF_INLINE static inline __attribute__((always_inline, unused))
#else
#define CF_UNUSED
#define CF_INLINE static inline
#endif
#if defined(__GNUC__) && defined(CF_SMALL)
#define CF_PART static __attribute__((noinline, unused))
#else
#define CF_PART CF_INLINE
#endif

/* A function that is rarely called, and what is rarely so: they stay out of the way of the rest. */
#if defined(__GNUC__)
#define CF_RARE static __attribute__((noinline, unused))
#define CF_RARELY(condition) __builtin_expect(condition, 0)
#else
#define CF_RARE static
#define CF_RARELY(condition) (condition)
#endif

#ifdef CF_CLASSES
#define CF_COUNT(classes) ((void)(classes), (size_t)CF_CLASSES)
#else
#define CF_COUNT(classes) (classes)
#endif

/* Where the loader can choose, one library serves old and new processors alike, with the same bits. CF_NEW_TARGETS are for
   what gains by the registers of the newest; gcc gives a function with CF_TARGETS the older code of what it calls.
   CF_WIDE is defined in files with vectors of 64 bytes, for the newest alone. */
#if defined(__x86_64__) && defined(__GLIBC__) && __GNUC__ >= 12 && !defined(__clang__) && !defined(CF_ONE_TARGET) &&   \
    !defined(CF_SMALL)
#define CF_WIDE_LANES
#define CF_HAS_WIDE __builtin_cpu_supports("x86-64-v4")
#ifdef CF_WIDE
#pragma GCC target("arch=x86-64-v4")
#else
#define CF_TARGETS __attribute__((target_clones("arch=x86-64-v3", "default")))
#define CF_NEW_TARGETS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#else
#define CF_HAS_WIDE 1
#endif
#ifndef CF_TARGETS
#define CF_TARGETS
#define CF_NEW_TARGETS
#endif

/* A function of its own, for each of those processors. */
#if defined(__GNUC__)
#define CF_KERNEL CF_TARGETS static __attribute__((noinline, unused))
#define CF_NEW_KERNEL CF_NEW_TARGETS static __attribute__((noinline, unused))
#else
#define CF_KERNEL static
#define CF_NEW_KERNEL static
#endif

/* Before a short loop that becomes straight code even where code is to be short. */
#if defined(__clang__)
#define CF_UNROLL _Pragma("unroll")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define CF_UNROLL _Pragma("GCC unroll 8")
#else
#define CF_UNROLL
#endif

/* Before a loop over the vectors of a stream: of up to seven classes in double precision, there are two. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(CF_SMALL)
#define CF_EACH_VECTOR _Pragma("GCC unroll 2")
#else
#define CF_EACH_VECTOR
#endif

/* Before a function whose short loops should become straight code. -O3 everywhere compiles three times as long, and makes
   other functions slower. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(CF_SMALL)
#define CF_STRAIGHT __attribute__((optimize("O3")))
#else
#define CF_STRAIGHT
#endif

#endif
