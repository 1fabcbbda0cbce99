/* SPDX-License-Identifier: MIT */
/* Rows that the firmware must refuse, with their status and without a change of any byte; and a row that was not seen. It
   returns the number of the line that fails, or prints the bits of the state, after some time without a row. */
#include "classfilter.h"

#include <stdio.h>
#include <string.h>

static float from_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static cf_stream_f32 stream;

/* Whether an update has this status, and changes neither the stream nor the results. */
static int refuses(cf_status expected, int source, const float *row, float dt) {
    const cf_stream_f32 before = stream;
    float probs[CF_COLUMNS], untouched[CF_COLUMNS];
    memset(probs, 0xA5, sizeof probs);
    memcpy(untouched, probs, sizeof probs);
    if (cf_update_f32(&stream, source, row, dt, probs) != expected) return 0;
    return memcmp(&before, &stream, sizeof stream) == 0 && memcmp(probs, untouched, sizeof probs) == 0;
}

#define EXPECT(condition)                                                                                              \
    if (!(condition)) return __LINE__

int main(void) {
    const float nan = from_bits(0x7FC00000u), infinity = from_bits(0x7F800000u);
    const float bad_dt[] = {nan, -nan, infinity, -infinity, 2e30f, -1, -1e-30f};
    float good[CF_COLUMNS], odd[CF_COLUMNS], none[CF_COLUMNS], state[sizeof stream.filters.state / sizeof(float)];
    const size_t columns[CF_HEADS] = CF_HEAD_COLUMNS;
    int is_label[CF_COLUMNS], source;
    size_t i, k;
    memset(&stream, 0, sizeof stream);
    cf_start_f32(&stream);
    for (i = 0, k = 0; i < CF_HEADS; i++) {
        const size_t first = k, end = k + columns[i];
        for (; k < end; k++) {
            good[k] = k == first ? 0.75f : 0.25f / (float)(columns[i] - 1);
            none[k] = nan;
            is_label[k] = columns[i] == 1;
        }
    }
    EXPECT(cf_update_f32(&stream, CF_SOURCES - 1, good, 0, NULL) == CF_OK);
    for (source = 0; source < CF_SOURCES; source++) {
        for (i = 0; i < sizeof bad_dt / sizeof bad_dt[0]; i++) {
            EXPECT(refuses(CF_BAD_DT, source, good, bad_dt[i]));
            EXPECT(refuses(CF_BAD_DT, source, none, bad_dt[i]));
        }
        for (k = 0; k < CF_COLUMNS; k++) {
            memcpy(odd, good, sizeof odd);
            odd[k] = -0.5f;
            EXPECT(refuses(CF_PROBS_NEGATIVE, source, odd, 1));
            odd[k] = -infinity;
            EXPECT(refuses(CF_PROBS_NEGATIVE, source, odd, 1));
            odd[k] = 1.5f;
            EXPECT(refuses(CF_PROBS_SUM, source, odd, 1));
            odd[k] = infinity;
            EXPECT(refuses(is_label[k] ? CF_PROBS_SUM : CF_PROBS_INFINITE, source, odd, 1));
            if (is_label[k]) continue;
            odd[k] = nan;
            EXPECT(refuses(CF_PROBS_SOME_NAN, source, odd, 1));
            memcpy(odd, none, sizeof odd);
            odd[k] = 0.5f;
            EXPECT(refuses(CF_PROBS_SOME_NAN, source, odd, 1));
        }
    }
#ifdef CF_POLICY
    for (i = 0; i < sizeof bad_dt / sizeof bad_dt[0]; i++) {
        source = -7;
        EXPECT(cf_choose_f32(&stream, bad_dt[i], &source) == CF_BAD_DT && source == -7);
    }
    EXPECT(cf_choose_f32(&stream, 1, &source) == CF_OK && (source == CF_STRONG || source == CF_WEAK));
#endif
    EXPECT(refuses(CF_BAD_BETA, -1, good, 1));
    EXPECT(refuses(CF_BAD_BETA, CF_SOURCES, good, 1));
    EXPECT(refuses(CF_BAD_BETA, CF_SOURCES, none, 1));

    memcpy(state, stream.filters.state, sizeof state);
    EXPECT(cf_update_f32(&stream, 0, none, 0, NULL) == CF_OK);
    EXPECT(memcmp(state, stream.filters.state, sizeof state) == 0);
    EXPECT(cf_update_f32(&stream, 0, none, 7, NULL) == CF_OK);
    memcpy(state, stream.filters.state, sizeof state);
    for (i = 0; i < sizeof state / sizeof state[0]; i++) {
        uint32_t bits;
        memcpy(&bits, &state[i], sizeof bits);
        printf("%08lx ", (unsigned long)bits);
    }
    return 0;
}
