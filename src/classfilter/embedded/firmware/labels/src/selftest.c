/* SPDX-License-Identifier: MIT */
/* Thousands of made-up scores through the filters, against the results that Python had for them: all by a CRC, the
   first rows in full. Compile with -DCF_SELFTEST_MAIN for a program of its own. */
#include "selftest.h"

#include "checksum.h"
#include "golden.h"

/* One made-up row; the script that makes golden.h has the same. */
static void make_row(uint32_t *seed, int *source, float *dt, float *scores) {
    static const float steps[] = {1, 1, 1, 1, 5, 0, 0, 600};
    const uint32_t kind = next(seed, 16), unseen = next(seed, CF_LABELS), step = next(seed, 8);
    const float none = 0;
    uint32_t i;
    *source = (int)next(seed, CF_SOURCES);
    *dt = step == 6 ? (float)next(seed, 1000) / 16 : steps[step];
    for (i = 0; i < CF_LABELS; i++) {
        uint32_t part = next(seed, 256);
        if (kind == 1) part = part / 128 * 255; /* 0 or 1 */
        scores[i] = (float)part / 255;
        if (kind == 0 || (kind == 2 && i == unseen)) scores[i] = none / none;
    }
}

int cf_selftest(uint32_t *crc) {
    cf_stream_f32 stream;
    uint32_t seed = CF_GOLDEN_SEED, inputs = 0xFFFFFFFFu, outputs = 0xFFFFFFFFu;
    int row, label, differs = 0;
#ifdef CF_EVENTS
    cf_event events[CF_MOST_EVENTS];
    uint32_t now = 0, reported = 0xFFFFFFFFu;
    size_t count, total = 0;
#endif
    cf_start_f32(&stream);
    for (row = 0; row < CF_GOLDEN_ROWS; row++) {
        float scores[CF_LABELS], probs[CF_LABELS] = {0}, dt;
        int source;
        make_row(&seed, &source, &dt, scores);
#ifdef CF_POLICY
        {
            int wanted = -1;
            if (cf_choose_f32(&stream, dt, &wanted) != CF_OK) wanted = -2;
            outputs = add(outputs, (float)wanted);
            if (next(&seed, 4) > 0) source = wanted; /* now and then another one is called */
        }
#endif
        inputs = add(add(inputs, dt), scores[0] >= 0 ? scores[0] : -1);
        if (cf_update_f32(&stream, source, scores, dt, probs) != CF_OK) probs[0] = -1;
        for (label = 0; label < CF_LABELS; label++) {
            if (row < CF_GOLDEN_FULL && differs == 0 && bits_of(probs[label]) != cf_golden[row][label])
                differs = row + 1;
            outputs = add(outputs, probs[label]);
        }
#ifdef CF_EVENTS
        now += (uint32_t)(dt * 16) * CF_GOLDEN_TICKS;
        for (label = 0; label < CF_LABELS; label++) {
            if (cf_decide_f32(&stream, label, now, probs[label], events, &count) != CF_OK) reported = ~reported;
            reported = add_events(add_word(reported, (uint32_t)count), events, count);
            total += count;
            reported = add_current(reported, cf_current_f32(&stream, label, events), events);
        }
#endif
        for (label = 0; label < CF_LABELS; label++) {
            int i;
            for (i = 0; i < CF_NUMBERS; i++) outputs = add(outputs, stream.state[label][i]);
        }
#ifdef CF_POLICY
        outputs = add(outputs, stream.since);
        outputs = add(outputs, (float)stream.gap);
#endif
    }
#ifdef CF_EVENTS
    for (label = 0; label < CF_LABELS; label++) {
        cf_finish_f32(&stream, label, events, &count);
        reported = add_events(reported, events, count);
        total += count;
    }
    if (differs == 0 && (total != CF_GOLDEN_EVENTS || ~reported != CF_GOLDEN_REPORTED)) differs = -3;
#endif
    if (crc != NULL) *crc = ~outputs;
    if (~inputs != CF_GOLDEN_INPUTS) return -2;
    if (differs != 0) return differs;
    return ~outputs == CF_GOLDEN_OUTPUTS ? 0 : -1;
}

#ifdef CF_SELFTEST_MAIN
#include <stdio.h>

int main(void) {
    uint32_t crc;
    const int differs = cf_selftest(&crc);
    printf("%d rows, crc %08lx: %s (%d)\n", CF_GOLDEN_ROWS, (unsigned long)crc,
           differs == 0 ? "the same bits as in Python" : "other bits than in Python", differs);
    return differs != 0;
}
#endif
