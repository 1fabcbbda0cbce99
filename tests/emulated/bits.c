/* SPDX-License-Identifier: MIT */
/* The firmware's self-test on the board. */
#include "board.h"
#include "selftest.h"

int main(void) {
    uint32_t crc;
    const int differs = cf_selftest(&crc);
    board_hex("crc", crc);
    return differs;
}
