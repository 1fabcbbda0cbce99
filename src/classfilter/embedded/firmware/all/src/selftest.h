/* SPDX-License-Identifier: MIT */
/* Whether this machine gives the bits that Python gave: run it once on a new board or compiler. */
#ifndef CF_SELFTEST_H
#define CF_SELFTEST_H

#ifdef __cplusplus
extern "C" {
#endif

#include <stdint.h>

/* 0: the same bits. n > 0: row n of those in golden.h is the first that differs. -1: a later row. -2: the made-up inputs
   already differ, so the machine's division is not that of IEEE 754. -3: the events differ. *crc, if not NULL, is that of all results. */
int cf_selftest(uint32_t *crc);

#ifdef __cplusplus
}
#endif

#endif
