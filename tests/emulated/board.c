/* SPDX-License-Identifier: MIT */
/* Start, output and clock of a Cortex-M under QEMU: all that a program needs, without a C library. */
#include "board.h"

extern uint32_t data_start, data_end, data_load, bss_start, bss_end, stack_bottom, stack_top;
int main(void);
void reset(void);
static void fault(void);

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    (uintptr_t)&stack_top, (uintptr_t)reset, (uintptr_t)fault, (uintptr_t)fault, (uintptr_t)fault, (uintptr_t)fault,
    (uintptr_t)fault,      (uintptr_t)fault, (uintptr_t)fault, (uintptr_t)fault, (uintptr_t)fault, (uintptr_t)fault,
    (uintptr_t)fault,      (uintptr_t)fault, (uintptr_t)fault, (uintptr_t)fault,
};

static void semihosting(uint32_t operation, const void *argument) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

void board_write(const char *text) { semihosting(0x04, text); }

void board_exit(int code) {
    const uint32_t block[2] = {0x20026, (uint32_t)code}; /* ADP_Stopped_ApplicationExit */
    semihosting(0x20, block);
    for (;;) {}
}

static void fault(void) {
    board_write("fault\n");
    board_exit(70);
}

void board_hex(const char *name, uint32_t value) {
    char text[11] = " 00000000\n";
    int i;
    for (i = 0; i < 8; i++) text[1 + i] = "0123456789abcdef"[(value >> (28 - 4 * i)) & 15];
    board_write(name);
    board_write(text);
}

void board_number(const char *name, uint32_t value) {
    char text[12];
    int i = 11;
    text[i] = 0;
    text[--i] = '\n';
    do {
        text[--i] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    board_write(name);
    board_write(" ");
    board_write(text + i);
}

#define SYST_CSR (*(volatile uint32_t *)0xE000E010)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018)

void board_start(void) {
    SYST_RVR = 0xFFFFFF;
    SYST_CVR = 0;
    SYST_CSR = 5;
}

uint32_t board_ticks(void) { return 0xFFFFFF - SYST_CVR; }

int board_wrapped(void) { return (SYST_CSR >> 16) & 1u; }

#define PATTERN 0xA5A5A5A5u

static uint32_t *here(void) { return (uint32_t *)(uintptr_t)__builtin_frame_address(0); }

/* A margin keeps these functions from painting themselves. */
#define MARGIN 16

__attribute__((noinline)) void board_paint(void) {
    volatile uint32_t *word = here() - MARGIN;
    while (word > &stack_bottom) *--word = PATTERN;
}

__attribute__((noinline)) uint32_t board_stack_used(void) {
    const uint32_t *top = here(), *word = &stack_bottom;
    while (word < top && *word == PATTERN) word++;
    return (uint32_t)((uintptr_t)top - (uintptr_t)word);
}

/* What a compiler calls by itself where loops copy or clear. */
void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int value, size_t n);

__attribute__((weak)) void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    volatile char *t = to;
    const char *f = from;
    while (n-- > 0) *t++ = *f++;
    return to;
}

__attribute__((weak)) void *memset(void *to, int value, size_t n) {
    volatile char *t = to;
    while (n-- > 0) *t++ = (char)value;
    return to;
}

void reset(void) {
    uint32_t *from = &data_load, *to;
#if defined(__ARM_FP)
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* the floating point unit */
    __asm__ volatile("dsb\nisb");
#endif
    for (to = &data_start; to < &data_end;) *to++ = *from++;
    for (to = &bss_start; to < &bss_end;) *to++ = 0;
    board_exit(main());
}
