/* SPDX-License-Identifier: MIT */
/* Scores of several labels go in, the labels that are on come out. Run on a PC: make && ./example */
#include "classfilter.h"

#include <stdio.h>

/* Yours: called where the classifier has scores. The time unit of this configuration is the second. */
static void on_scores(cf_stream_f32 *stream, int source, const float scores[CF_LABELS], uint32_t now_ms) {
    static const char *const names[CF_LABELS] = CF_LABEL_NAMES;
    static uint32_t before_ms;
    static int begun;
    const float dt = begun ? (float)(now_ms - before_ms) / 1000 : 0;
    float probs[CF_LABELS];
    const cf_status status = cf_update_f32(stream, source, scores, dt, probs);
    int label;
    if (status != CF_OK) {
        printf("refused: status %d\n", (int)status); /* the stream is as it was */
        return;
    }
    before_ms = now_ms;
    begun = 1;
    printf("%5.1f s", now_ms / 1000.0);
    for (label = 0; label < CF_LABELS; label++)
        printf("  %s %.3f%s", names[label], (double)probs[label], cf_is_on_f32(stream, label) ? " on" : "");
    printf("\n");
}

#ifndef ARDUINO
int main(void) {
    cf_stream_f32 stream;
    float scores[CF_LABELS] = {0};
    int i, label;
    cf_start_f32(&stream);
    for (i = 0; i < 8; i++) {
        int source = i % CF_SOURCES;
#ifdef CF_POLICY
        (void)cf_choose_f32(&stream, i > 0 ? 5 : 0, &source); /* whom to call, 5 s after the last scores */
#endif
        for (label = 0; label < CF_LABELS; label++)
            scores[label] = (label == 0) == (i == 3) ? 0.2f : 0.8f; /* the first is on, with one odd score */
        on_scores(&stream, source, scores, 5000u * (uint32_t)i);
    }
    return 0;
}
#endif
