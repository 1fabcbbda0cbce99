/* SPDX-License-Identifier: MIT */
/* The firmware's self-test on the board, within the stack that its header promises. */
#include "board.h"
#include "cf_selftest.h"

int main(void) {
    uint32_t crc;
    int differs;
    board_paint();
    differs = cf_selftest(&crc);
    board_number("stack", board_stack_used());
    board_number("promised", CF_STACK_BYTES);
    board_hex("crc", crc);
    return differs;
}
