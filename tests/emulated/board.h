/* SPDX-License-Identifier: MIT */
/* What a program may ask of the emulated board. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

void board_write(const char *text);           /* on the host's terminal, by semihosting */
void board_number(const char *name, uint32_t value); /* "name value\n" */
void board_hex(const char *name, uint32_t value);    /* "name 0123abcd\n" */
void board_exit(int code);

/* Ticks since board_start, exact where QEMU counts instructions: 3.2 each, with 128 ns an instruction at 25 MHz. After
   2^24 ticks, 5 million instructions, it begins again, and board_wrapped tells so. */
void board_start(void);
uint32_t board_ticks(void);
int board_wrapped(void);

/* Fills the unused stack with a pattern, and tells how many bytes below the caller were used since. */
void board_paint(void);
uint32_t board_stack_used(void);

#endif
