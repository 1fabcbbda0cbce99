/* SPDX-License-Identifier: MIT */
/* The firmware's self-test as a program of another processor's Linux, without a C library. */
#include <stddef.h>

#include "cf_selftest.h"

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int value, size_t n);
void _start(void);

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    volatile char *t = to;
    const char *f = from;
    while (n-- > 0) *t++ = *f++;
    return to;
}

void *memset(void *to, int value, size_t n) {
    volatile char *t = to;
    while (n-- > 0) *t++ = (char)value;
    return to;
}

void _start(void) {
    const long code = cf_selftest(NULL);
#if defined(__aarch64__)
    register long x0 __asm__("x0") = code;
    register long x8 __asm__("x8") = 93;
    __asm__ volatile("svc 0" : : "r"(x0), "r"(x8));
#elif defined(__riscv)
    register long a0 __asm__("a0") = code;
    register long a7 __asm__("a7") = 93;
    __asm__ volatile("ecall" : : "r"(a0), "r"(a7));
#endif
    for (;;) {}
}
