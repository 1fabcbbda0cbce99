/* SPDX-License-Identifier: MIT */
/* A stand-in for a classifier, and the steady class in words. */
#ifndef CLASSIFIER_H
#define CLASSIFIER_H

#include <stdio.h>

#include "classfilter.h"

#define CLASSIFIER_OUTPUTS CF_CLASSES

/* Yours instead: the probabilities that the model of this source returns. Here the fourth output of eight is odd. */
static void classify(int source, float *output) {
    static unsigned calls;
    const int odd = calls++ % 8 == 3;
    int k;
    (void)source;
    for (k = 0; k < CF_CLASSES; k++) output[k] = k == odd ? 0.7f : 0.3f / (CF_CLASSES - 1);
}

static void describe(const cf_stream_f32 *stream, const float *probs, char *text, size_t size) {
    static const char *const names[CF_CLASSES] = CF_CLASS_NAMES;
    const int label = cf_label_f32(stream);
    snprintf(text, size, "%s %d %%", names[label], (int)(100 * probs[label] + 0.5f));
}

#endif
