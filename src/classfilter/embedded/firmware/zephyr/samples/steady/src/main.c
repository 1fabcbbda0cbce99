/* SPDX-License-Identifier: MIT */
/* The self-test once, then a prediction every five seconds. */
#include <zephyr/kernel.h>

#include "cf_selftest.h"
#include "steady.h"

static void work(void *a, void *b, void *c) {
    static cf_stream_f32 stream;
    const int differs = cf_selftest(NULL);
    printk("%s (%d)\n", differs == 0 ? "the same bits as in Python" : "other bits than in Python", differs);
    (void)a, (void)b, (void)c;
    cf_start_f32(&stream);
    for (;;) {
        char text[STEADY_TEXT];
        steady_step(&stream, k_uptime_get_32(), text);
        printk("%s\n", text);
        k_msleep(STEADY_PERIOD_MS);
    }
}

/* The main thread has less stack than the self-test of a large filter needs. */
K_THREAD_DEFINE(steady, CF_STACK_BYTES + 1024, work, NULL, NULL, NULL, 5, 0, 0);

int main(void) { return 0; }
