/* SPDX-License-Identifier: MIT */
/* The self-test once, then a prediction every five seconds. */
#include <zephyr/kernel.h>

#include "selftest.h"
#include "steady.h"

int main(void) {
    static cf_stream_f32 stream;
    const int differs = cf_selftest(NULL);
    printk("%s (%d)\n", differs == 0 ? "the same bits as in Python" : "other bits than in Python", differs);
    cf_start_f32(&stream);
    for (;;) {
        char text[STEADY_TEXT];
        steady_step(&stream, k_uptime_get_32(), text);
        printk("%s\n", text);
        k_msleep(STEADY_PERIOD_MS);
    }
}
