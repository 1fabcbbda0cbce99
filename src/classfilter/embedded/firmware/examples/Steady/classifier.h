/* SPDX-License-Identifier: MIT */
/* A stand-in for a classifier, and the steady classes in words. */
#ifndef CLASSIFIER_H
#define CLASSIFIER_H

#include <stdio.h>

#include "classfilter.h"

#if CF_HEADS > 1
#define OF_HEAD(stream) stream, head
#else
#define OF_HEAD(stream) stream
#endif

/* Yours instead: the row that the model of this source returns. Here the fourth row of eight is odd. */
static void classify(int source, float *output) {
    static const unsigned short columns[CF_HEADS] = CF_HEAD_COLUMNS;
    static unsigned calls;
    const int odd = calls++ % 8 == 3;
    int head, k;
    (void)source;
    for (head = 0; head < CF_HEADS; output += columns[head++])
        if (columns[head] == 1) /* a label, of which the first is on */
            *output = (head == 0) == odd ? 0.2f : 0.8f;
        else
            for (k = 0; k < columns[head]; k++) output[k] = k == odd ? 0.7f : 0.3f / (float)(columns[head] - 1);
}

static void describe(const cf_stream_f32 *stream, const float *probs, char *text, size_t size) {
    static const char *const names[CF_COLUMNS] = CF_CLASS_NAMES;
    size_t used = 0;
    int head;
    text[0] = 0;
    for (head = 0; head < CF_HEADS && used < size; head++) {
        const int label = cf_label_f32(OF_HEAD(stream));
        if (label < 0) continue; /* a label that is off */
        used += (size_t)snprintf(text + used, size - used, "%s%s %d %%", used > 0 ? "  " : "", names[label],
                                 (int)(100 * probs[label] + 0.5f));
    }
}

#endif
