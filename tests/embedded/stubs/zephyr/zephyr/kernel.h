/* SPDX-License-Identifier: MIT */
/* A stand-in for Zephyr's kernel, with what the sample calls; it ends after forty seconds, which do not pass. */
#ifndef STUB_KERNEL_H
#define STUB_KERNEL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define printk printf

static uint32_t stub_uptime_ms;

static inline uint32_t k_uptime_get_32(void) { return stub_uptime_ms; }

static inline int32_t k_msleep(int32_t ms) {
    stub_uptime_ms += (uint32_t)ms;
    if (stub_uptime_ms >= 40000) exit(0);
    return 0;
}

/* Runs a thread before main, on the stack that it asks for. */
#define K_THREAD_DEFINE(name, bytes, entry, a, b, c, priority, options, delay)                                         \
    _Static_assert((bytes) > 0 && (priority) >= 0 && (options) == 0 && (delay) == 0, "a plain thread");                \
    __attribute__((constructor)) static void name(void) { entry(a, b, c); }

#endif
