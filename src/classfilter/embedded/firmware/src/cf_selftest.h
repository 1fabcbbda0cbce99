/* SPDX-License-Identifier: MIT */
/* Whether this machine gives the bits that Python gave: run it once on a new board or compiler. */
#ifndef CF_SELFTEST_H
#define CF_SELFTEST_H

#ifdef __cplusplus
extern "C" {
#endif

#include <stdint.h>

#include "classfilter.h"

/* Bytes of stack that the self-test needs at most, and so any function of classfilter.h: a stream, a copy of its filters and of
   the events of a head, what an update works on, events, and a few rows. */
#if CF_HEADS == 1 && CF_COLUMNS > 1
#define CF_ROW_NUMBERS CF_COLUMNS
#else
#define CF_ROW_NUMBERS (CF_COLUMNS + CF_MOST_CLASSES)
#endif
#ifdef CF_EVENTS
#define CF_REPORT_BYTES (CF_EVENTS_WORDS * 8 + (CF_MOST_EVENTS + 1) * sizeof(cf_event) + 512)
#else
#define CF_REPORT_BYTES 0
#endif
#define CF_STACK_BYTES                                                                                                 \
    (sizeof(cf_stream_f32) + sizeof(cf_filters_f32) + CF_REPORT_BYTES +                                                \
     sizeof(float) * (CF_SCRATCH + 6 * CF_ROW_NUMBERS) + 512)

/* 0: the same bits. n > 0: row n of those in cf_golden.h is the first that differs. -1: a later row. -2: the made-up inputs
   already differ, so the machine's division is not that of IEEE 754. -3: the events differ. *crc, if not NULL, is that of all results. */
int cf_selftest(uint32_t *crc);

#ifdef __cplusplus
}
#endif

#endif
