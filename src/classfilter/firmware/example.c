/* Answers from a classifier go in, a steady class comes out. Run on a PC: make && ./example */
#include "classfilter.h"

#include <stdio.h>

/* Yours: called where the classifier has an answer. `now` is in the time unit of the configuration. */
static void on_answer(cf_stream_f32 *stream, int source, const float answer[CF_CLASSES], float now) {
    static const char *const names[CF_CLASSES] = CF_CLASS_NAMES;
    static float before;
    static int begun;
    float probs[CF_CLASSES];
    const cf_status status = cf_update_f32(stream, source, answer, begun ? now - before : 0, probs);
    if (status != CF_OK) {
        printf("refused: status %d\n", (int)status); /* the stream is as it was */
        return;
    }
    before = now;
    begun = 1;
    printf("%5.1f  %s  %.3f\n", (double)now, names[cf_label_f32(stream)], (double)probs[cf_label_f32(stream)]);
}

#ifndef ARDUINO
int main(void) {
    cf_stream_f32 stream;
    float answer[CF_CLASSES] = {0};
    int i, k;
    cf_start_f32(&stream);
    for (i = 0; i < 8; i++) {
        for (k = 0; k < CF_CLASSES; k++) answer[k] = (k == (i == 3) ? 0.7f : 0.3f / (CF_CLASSES - 1)); /* one odd answer */
        on_answer(&stream, i % CF_SOURCES, answer, 5 * (float)i);
    }
    return 0;
}
#endif
