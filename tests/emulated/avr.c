/* SPDX-License-Identifier: MIT */
/* The firmware's self-test on an AVR: 16-bit int, no floating point unit. Its result goes to the serial port. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

#include "cf_selftest.h"

static void put(char letter) {
    while ((UCSR0A & (1 << UDRE0)) == 0) {}
    UDR0 = (uint8_t)letter;
}

int main(void) {
    const char *text = cf_selftest(0) == 0 ? "same bits\n" : "other bits\n";
    UCSR0B = 1 << TXEN0;
    while (*text != 0) put(*text++);
    cli(); /* asleep without interrupts, the simulator ends */
    sleep_enable();
    sleep_cpu();
    return 0;
}
