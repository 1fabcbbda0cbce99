/* SPDX-License-Identifier: MIT */
/* Fuzz target: bytes become a rule for events and rows, in little memory; whatever they are, the contract of cf.h must hold.
   With -DCF_TICKS, times are ticks. The rest is as in fuzz.c. */
#include "bytes.h"
#include "cf.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(SINGLE) || defined(CF_TICKS)
typedef float cf_real;
#define CF_(name) name##_f32
#else
typedef double cf_real;
#define CF_(name) name##_f64
#endif

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { MOST = 6, NODES = 12, SLOTS = 8, PIECES = 1000 };

static void next_bytes(source *in, void *to, size_t size) {
    size_t i;
    for (i = 0; i < size; i++) ((uint8_t *)to)[i] = (uint8_t)next_byte(in);
}

/* Mostly a number in [0, 1], sometimes an edge, sometimes any bits at all. */
static double next_number(source *in) {
    static const double edges[] = {0, 1, 0.5, 1e-3, 1e-30, 5e-324, 1e30, -1, -0.0, 1e9, 0.1, 2, 1e300};
    const unsigned kind = next_byte(in);
    double value;
    if (kind < 200) return next_byte(in) / 255.0;
    if (kind < 240) return edges[kind % (sizeof edges / sizeof *edges)];
    if (kind < 244) return (double)NAN;
    if (kind < 248) return (double)INFINITY;
    next_bytes(in, &value, sizeof value);
    return value;
}

static cf_real next_real(source *in) {
    const double value = next_number(in);
    return sizeof(cf_real) < sizeof value && fabs(value) > 3e38 ? (cf_real)INFINITY : (cf_real)value;
}

#ifdef CF_TICKS
static const cf_time NEVER = CF_FOREVER, BEFORE = INT64_MIN;
static cf_time after(cf_time time, cf_time step) { return (cf_time)((uint64_t)time + (uint64_t)step); }
static cf_time next_time(source *in) {
    const unsigned kind = next_byte(in);
    cf_time value;
    if (kind < 220) return kind % 12;
    if (kind < 230) return CF_TICKS_MOST - 1 + kind % 3;
    if (kind < 240) return -(cf_time)(kind % 3);
    next_bytes(in, &value, sizeof value);
    return value;
}
#else
static const cf_time NEVER = (cf_time)INFINITY, BEFORE = -(cf_time)INFINITY;
static cf_time after(cf_time time, cf_time step) { return time + step; }
static cf_time next_time(source *in) { return next_byte(in) < 240 ? (next_byte(in) % 48) / 8.0 : next_number(in); }
#endif

typedef struct {
    CF_(cf_events) rule;
    cf_real enter[MOST + 1], leave[MOST + 1], bias[MOST];
    cf_time min_duration[MOST];
    unsigned char ignore[MOST];
    size_t slow;
} settings;

static int next_rule(source *in, settings *s) {
    CF_(cf_events) *const r = &s->rule;
    const unsigned kind = next_byte(in), more = next_byte(in);
    size_t k;
    memset(s, 0, sizeof *s);
    r->classes = next_byte(in) % (MOST + 1);
    r->log = kind & 1;
    r->floor = kind & 2 ? (cf_real)1e-3 : next_real(in);
    r->min_probability = kind & 4 ? 0 : next_real(in);
    for (k = 0; k <= MOST; k++) s->enter[k] = kind & 8 ? (cf_real)0.5 : next_real(in);
    for (k = 0; k <= MOST; k++) s->leave[k] = kind & 16 ? 0 : next_real(in);
    for (k = 0; k < MOST; k++) s->bias[k] = kind & 32 ? 0 : next_real(in);
    for (k = 0; k < MOST; k++) s->min_duration[k] = kind & 64 ? 0 : next_time(in);
    for (k = 0; k < MOST; k++) s->ignore[k] = kind & 128 ? 0 : next_byte(in) & 1;
    r->enter = s->enter;
    r->leave = s->leave;
    r->bias = s->bias;
    r->min_duration = s->min_duration;
    r->ignore = s->ignore;
    r->max_gap = more & 1 ? NEVER : next_time(in);
    r->max_delay = more & 2 ? NEVER : next_time(in);
    r->max_duration = more & 4 ? NEVER : next_time(in);
    r->merge_gap = more & 8 ? -1 : next_time(in);
    r->pad_before = more & 16 ? 0 : next_time(in);
    r->pad_after = more & 32 ? 0 : next_time(in);
    r->shift = more & 64 ? 0 : next_time(in);
    if (CF_(cf_events_prepare)(r) != CF_OK) return 0;
    for (k = 0; k < r->classes; k++) s->slow += s->min_duration[k] > 0;
    return 1;
}

static void next_row(source *in, size_t classes, cf_real *row) {
    const unsigned kind = next_byte(in);
    cf_real sum = 0;
    size_t k;
    for (k = 0; k < classes; k++) {
        row[k] = kind < 80    ? (cf_real)(k == kind % classes)
                 : kind < 200 ? (cf_real)(1 + next_byte(in))
                 : kind < 215 ? (cf_real)NAN
                              : next_real(in);
        sum += row[k];
    }
    for (k = 0; kind >= 80 && kind < 200 && k < classes; k++) row[k] /= sum;
}

/* Events in order of time, none empty; the pieces make up the whole. */
static void check_events(const settings *s, const cf_event *events, size_t count, cf_time *end) {
    size_t i, n;
    for (i = 0; i < count; i++) {
        const cf_event *e = &events[i];
        cf_event piece;
        cf_time at = e->start;
        REQUIRE(e->start >= *end && e->end > e->start);
        REQUIRE(e->probability >= 0 && e->probability <= 1 + 1e-5);
        REQUIRE(e->label >= 0 && (size_t)e->label < s->rule.classes && !s->ignore[e->label]);
        for (n = 0; n < PIECES && CF_(cf_events_piece)(&s->rule, e, n, &piece); n++) {
            REQUIRE(piece.start >= at && piece.end >= piece.start && piece.end <= e->end);
            at = piece.end;
        }
        REQUIRE(n == PIECES || at == e->end);
        *end = e->end;
    }
}

#ifndef CF_TICKS
/* The row by way of `run`, and the state with some bytes changed: refused, or usable. */
static void take_otherwise(const settings *s, source *in, const void *before, const void *state, size_t bytes,
                           cf_time time, const cf_real *row, const cf_event *events, size_t count, cf_status status) {
    cf_event found[CF_EVENTS_ROOM(NODES)], event;
    char *const twin = malloc(bytes), *const spare = malloc(bytes);
    size_t number = 0, taken = 0, nodes, slots, i;
    const size_t needed = CF_(cf_events_needed)(&s->rule, before);
    int open, confirmed;
    REQUIRE(CF_(cf_events_check)(&s->rule, state, bytes) == CF_OK);
    memcpy(twin, before, bytes);
    if (needed > bytes) {
        char *const larger = malloc(needed);
        CF_(cf_events_grow)(&s->rule, before, larger);
        REQUIRE(CF_(cf_events_check)(&s->rule, larger, needed) == CF_OK);
        free(larger);
    } else {
        const cf_status by_run =
            CF_(cf_events_run)(&s->rule, twin, 1, &time, row, found, CF_EVENTS_ROOM(NODES), &number, &taken);
        REQUIRE(by_run == status);
        if (status == CF_OK && taken == 1) {
            REQUIRE(number == count && memcmp(twin, state, bytes) == 0);
            for (i = 0; i < count; i++) REQUIRE(memcmp(&found[i], &events[i], sizeof event) == 0);
        }
    }
    if (next_byte(in) < 128) {
        memcpy(twin, state, bytes);
        for (i = 0; i < 3; i++) twin[(next_byte(in) * 256 + next_byte(in)) % bytes] ^= (char)next_byte(in);
        if (CF_(cf_events_check)(&s->rule, twin, bytes) == CF_OK) {
            CF_(cf_events_memory)(twin, &nodes, &slots);
            if (nodes <= NODES) {
                CF_(cf_events_current)(&s->rule, twin, spare, &event, &open, &confirmed);
                CF_(cf_events_update)(&s->rule, twin, time, row, found, &number);
                CF_(cf_events_finish)(&s->rule, twin, found, &number);
            }
        }
    }
    free(twin);
    free(spare);
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    source in = {data, size};
    settings s;
    cf_event events[CF_EVENTS_ROOM(NODES)], event;
    cf_real row[MOST];
    size_t nodes, slots, bytes, count;
    cf_time time = 0, end = BEFORE;
    char *state, *before, *copy;
    int open, confirmed;
    if (!next_rule(&in, &s)) return 0;
    nodes = CF_EVENTS_NODES + next_byte(&in) % (NODES - CF_EVENTS_NODES + 1);
    slots = s.slow > 0 ? 2 + next_byte(&in) % (SLOTS - 1) : 0;
    bytes = CF_(cf_events_size)(&s.rule, nodes, slots);
    state = malloc(bytes);
    before = malloc(bytes);
    copy = malloc(bytes);
    REQUIRE(CF_(cf_events_start)(&s.rule, state, nodes, slots) == CF_OK);
    while (in.left > 0) {
        const unsigned kind = next_byte(&in);
        cf_status status;
        const cf_time at = kind < 250 ? after(time, next_time(&in)) : next_time(&in);
        next_row(&in, s.rule.classes, row);
        memcpy(before, state, bytes);
        status = CF_(cf_events_update)(&s.rule, state, at, row, events, &count);
        if (status == CF_OK) {
            time = at;
            REQUIRE(count <= CF_EVENTS_ROOM(nodes));
            check_events(&s, events, count, &end);
        } else
            REQUIRE(memcmp(before, state, bytes) == 0);
#ifndef CF_TICKS
        take_otherwise(&s, &in, before, state, bytes, at, row, events, count, status);
#endif
        memcpy(before, state, bytes);
        REQUIRE(CF_(cf_events_current)(&s.rule, state, copy, &event, &open, &confirmed) == CF_OK);
        REQUIRE(memcmp(before, state, bytes) == 0);
        if (open) REQUIRE(event.start >= end && event.end >= event.start);
        if (kind == 249) {
            REQUIRE(CF_(cf_events_finish)(&s.rule, state, events, &count) == CF_OK);
            REQUIRE(count <= CF_EVENTS_ROOM(nodes));
            check_events(&s, events, count, &end);
            end = BEFORE;
        }
    }
    REQUIRE(CF_(cf_events_finish)(&s.rule, state, events, &count) == CF_OK);
    REQUIRE(count <= CF_EVENTS_ROOM(nodes));
    check_events(&s, events, count, &end);
    free(state);
    free(before);
    free(copy);
    return 0;
}
