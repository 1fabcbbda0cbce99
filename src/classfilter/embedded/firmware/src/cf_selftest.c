/* SPDX-License-Identifier: MIT */
/* Thousands of made-up rows through the filter, against the results that Python had for them: all by a CRC, the
   first rows in full. Compile with -DCF_SELFTEST_MAIN for a program of its own. */
#include "cf_selftest.h"

#include "cf_checksum.h"
#include "cf_golden.h"

#if CF_HEADS > 1
#define OF_HEAD(stream) stream, head
#else
#define OF_HEAD(stream) stream
#endif

/* The columns of one head: a column alone is the score of a label. */
static void make_head(uint32_t *seed, uint32_t kind, uint32_t chosen, uint32_t columns, float *observed) {
    uint32_t parts[CF_MOST_CLASSES], total = 0, k;
    for (k = 0; k < columns; k++) {
        parts[k] = next(seed, 256);
        if (columns == 1) {
            if (kind == 1) parts[k] = parts[k] / 128 * 255; /* 0 or 1 */
            total = 255;
            continue;
        }
        if (kind == 1) parts[k] = 0;                         /* sure of a class: the rest are zeros */
        if (kind > 3) parts[k] = parts[k] * parts[k] / 1024; /* rather sure */
        if (k == chosen % columns) parts[k] += 64;
        total += parts[k];
    }
    for (k = 0; k < columns; k++) observed[k] = (float)parts[k] / (float)total;
}

/* One made-up row; the script that makes cf_golden.h has the same. */
static void make_row(uint32_t *seed, int *source, float *dt, float *observed) {
    static const float steps[] = {1, 1, 1, 1, 5, 0, 0, 600};
    static const unsigned short columns_of[CF_HEADS] = CF_HEAD_COLUMNS;
    const uint32_t kind = next(seed, 16), chosen = next(seed, CF_COLUMNS), step = next(seed, 8);
    const float none = 0;
    uint32_t column = 0, k;
    int head;
    *source = (int)next(seed, CF_SOURCES);
    *dt = step == 6 ? (float)next(seed, 1000) / 16 : steps[step];
    for (head = 0; head < CF_HEADS; head++) {
        const uint32_t columns = columns_of[head];
        const int alone = CF_HEADS == 1 && columns > 1;
        make_head(seed, kind, chosen, columns, observed + column);
        if (kind == 0 || (kind == 2 && !alone && chosen - column < columns)) /* nothing seen */
            for (k = 0; k < columns; k++) observed[column + k] = none / none;
        column += columns;
    }
}

int cf_selftest(uint32_t *crc) {
    cf_stream_f32 stream;
    uint32_t seed = CF_GOLDEN_SEED, inputs = 0xFFFFFFFFu, outputs = 0xFFFFFFFFu;
    int row, head, differs = 0;
    size_t k;
#ifdef CF_EVENTS
    cf_event events[CF_MOST_EVENTS + 1];
    uint32_t now = 0, reported = 0xFFFFFFFFu;
    size_t count, total = 0;
#endif
    cf_start_f32(&stream);
    for (row = 0; row < CF_GOLDEN_ROWS; row++) {
        float observed[CF_COLUMNS], probs[CF_COLUMNS] = {0}, dt;
        int source;
        make_row(&seed, &source, &dt, observed);
#ifdef CF_POLICY
        {
            int wanted = -1;
            if (cf_choose_f32(&stream, dt, &wanted) != CF_OK) wanted = -2;
            outputs = add(outputs, (float)wanted);
            if (next(&seed, 4) > 0) source = wanted; /* now and then another one is called */
        }
#endif
        inputs = add(add(inputs, dt), observed[0] >= 0 ? observed[0] : -1);
        if (cf_update_f32(&stream, source, observed, dt, probs) != CF_OK) probs[0] = -1;
        for (k = 0; k < CF_COLUMNS; k++) {
            if (row < CF_GOLDEN_FULL && differs == 0 && bits_of(probs[k]) != cf_golden[row][k]) differs = row + 1;
            outputs = add(outputs, probs[k]);
        }
#ifdef CF_EVENTS
        now += (uint32_t)(dt * 16) * CF_GOLDEN_TICKS;
        for (head = 0; head < CF_HEADS; head++) {
            if (cf_decide_f32(OF_HEAD(&stream), now, probs, events, &count) != CF_OK) reported = ~reported;
            reported = add_events(add_word(reported, (uint32_t)count), events, count);
            total += count;
            reported = add_starts(reported, events, cf_starts_f32(OF_HEAD(&stream), events, count, events));
            reported = add_current(reported, cf_current_f32(OF_HEAD(&stream), events), events);
        }
#endif
        for (head = 0; head < CF_HEADS; head++)
            for (k = 0; k < CF_NUMBERS; k++) outputs = add(outputs, stream.filters.state[head][k]);
#ifdef CF_POLICY
        outputs = add(outputs, stream.since);
#ifdef CF_ADAPTIVE
        for (k = 0; k < CF_ADAPTIVE_STATE; k++) outputs = add(outputs, stream.policy[k]);
#else
        outputs = add(outputs, (float)stream.gap);
#endif
#endif
    }
#ifdef CF_EVENTS
    for (head = 0; head < CF_HEADS; head++) {
        cf_finish_f32(OF_HEAD(&stream), events, &count);
        reported = add_events(reported, events, count);
        total += count;
        reported = add_starts(reported, events, cf_starts_f32(OF_HEAD(&stream), events, count, events));
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
