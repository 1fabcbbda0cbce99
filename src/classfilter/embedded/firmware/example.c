/* SPDX-License-Identifier: MIT */
/* Answers from a classifier go in, a steady class comes out. Run on a PC: make && ./example */
#include "classfilter.h"

#include <stdio.h>

/* Yours: called where the classifier has an output. The time unit of this configuration is the second. */
static void on_output(cf_stream_f32 *stream, int source, const float output[CF_CLASSES], uint32_t now_ms) {
    static const char *const names[CF_CLASSES] = CF_CLASS_NAMES;
    static uint32_t before_ms;
    static int begun;
    const float dt = begun ? (float)(now_ms - before_ms) / 1000 : 0;
    float probs[CF_CLASSES];
    const cf_status status = cf_update_f32(stream, source, output, dt, probs);
    if (status != CF_OK) {
        printf("refused: status %d\n", (int)status); /* the stream is as it was */
        return;
    }
    before_ms = now_ms;
    begun = 1;
    printf("%5.1f s  %s  %.3f\n", now_ms / 1000.0, names[cf_label_f32(stream)], (double)probs[cf_label_f32(stream)]);
}

#ifndef ARDUINO
int main(void) {
    cf_stream_f32 stream;
    float output[CF_CLASSES] = {0};
    int i, k;
    cf_start_f32(&stream);
    for (i = 0; i < 8; i++) {
        int source = i % CF_SOURCES;
#ifdef CF_POLICY
        (void)cf_choose_f32(&stream, i > 0 ? 5 : 0, &source); /* whom to call, 5 s after the last output */
#endif
        for (k = 0; k < CF_CLASSES; k++)
            output[k] = (k == (i == 3) ? 0.7f : 0.3f / (CF_CLASSES - 1)); /* one odd output */
        on_output(&stream, source, output, 5000u * (uint32_t)i);
    }
    return 0;
}
#endif
