/* SPDX-License-Identifier: MIT */
/* What the self-test needs: a CRC of numbers and events, and made-up numbers. */
#ifndef CF_CHECKSUM_H
#define CF_CHECKSUM_H

#include "classfilter.h"

static uint32_t bits_of(float x) {
    union {
        float real;
        uint32_t bits;
    } u;
    u.real = x;
    return u.bits;
}

static uint32_t add_word(uint32_t crc, uint32_t bits) {
    int i, j;
    for (i = 0; i < 32; i += 8) {
        crc ^= (bits >> i) & 0xFFu;
        for (j = 0; j < 8; j++) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xEDB88320u : 0u);
    }
    return crc;
}

static uint32_t add(uint32_t crc, float x) { return add_word(crc, bits_of(x)); }

#ifdef CF_EVENTS
static uint32_t add_time(uint32_t crc, cf_time time) {
    return add_word(add_word(crc, (uint32_t)time), (uint32_t)(time >> 32));
}

static uint32_t add_event(uint32_t crc, const cf_event *event) {
    crc = add_time(add_time(add_word(crc, (uint32_t)event->label), event->start), event->end);
    return add_word(add(crc, event->probability), (uint32_t)event->forced);
}

static uint32_t add_events(uint32_t crc, const cf_event *events, size_t count) {
    size_t i;
    for (i = 0; i < count; i++) crc = add_event(crc, &events[i]);
    return crc;
}

/* How many starts, and those. */
static uint32_t add_starts(uint32_t crc, const cf_event *starts, size_t count) {
    size_t i;
    crc = add_word(crc, (uint32_t)count);
    for (i = 0; i < count; i++) crc = add_time(add_word(crc, (uint32_t)starts[i].label), starts[i].start);
    return crc;
}

/* The event that goes on, in a row's sum. */
static uint32_t add_current(uint32_t crc, int open, const cf_event *event) {
    crc = add_word(crc, (uint32_t)open);
    if (open == 0) return crc;
    return add(add_time(add_word(crc, (uint32_t)event->label), event->start), event->probability);
}
#endif

static uint32_t next(uint32_t *seed, uint32_t below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 16) % below;
}

#endif
