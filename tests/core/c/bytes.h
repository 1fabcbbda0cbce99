/* SPDX-License-Identifier: MIT */
/* The bytes that a fuzzer gives, one after the other; zeros follow them. */
#ifndef BYTES_H
#define BYTES_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *bytes;
    size_t left;
} source;

static unsigned next_byte(source *in) {
    if (in->left == 0) return 0;
    in->left--;
    return *in->bytes++;
}

#endif
