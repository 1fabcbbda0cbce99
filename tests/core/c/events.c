/* SPDX-License-Identifier: MIT */
/* The event rule with little memory, and with states from anywhere: whatever the rows, events are in order and the state stays
   one; bytes that were changed are refused, or do no harm. Compile it with sanitizers; it takes the number of streams. The digest
   of all events is the same everywhere. */
#include "cf.h"
#include "draws.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SINGLE
typedef float cf_real;
#define CF_(name) name##_f32
#else
typedef double cf_real;
#define CF_(name) name##_f64
#endif

enum { MOST = 12, ROWS = 400, NODES = 64 };

static uint64_t digest = UINT64_C(14695981039346656037);

static void add_to_digest(const void *memory, size_t bytes) {
    size_t i;
    for (i = 0; i < bytes; i++) digest = (digest ^ ((const unsigned char *)memory)[i]) * UINT64_C(1099511628211);
}

static size_t below(size_t n) { return (size_t)(uniform() * (double)n); }

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

typedef struct {
    CF_(cf_events) rule;
    cf_real enter[MOST + 1], leave[MOST + 1], bias[MOST];
    double min_duration[MOST];
    unsigned char ignore[MOST];
} settings;

static void make_rule(settings *s) {
    CF_(cf_events) *r = &s->rule;
    const int slow = uniform() < 0.6;
    size_t k;
    memset(s, 0, sizeof *s);
    r->classes = 2 + below(MOST - 1);
    r->log = uniform() < 0.3;
    r->floor = (cf_real)1e-3;
    r->min_probability = (cf_real)(uniform() < 0.3 ? 0.4 : 0);
    for (k = 0; k <= r->classes; k++) {
        s->enter[k] = (cf_real)(uniform() < 0.3 ? 0 : 2 * uniform());
        s->leave[k] = (cf_real)(uniform() < 0.7 ? 0 : uniform());
    }
    for (k = 0; k < r->classes; k++) {
        s->bias[k] = (cf_real)(uniform() < 0.7 ? 0 : uniform() - 0.5);
        s->min_duration[k] = slow && uniform() < 0.7 ? 6 * uniform() : 0;
        s->ignore[k] = uniform() < 0.2;
    }
    r->enter = s->enter;
    r->leave = s->leave;
    r->bias = s->bias;
    r->min_duration = s->min_duration;
    r->ignore = s->ignore;
    r->max_gap = uniform() < 0.5 ? (double)INFINITY : 2;
    r->max_delay = uniform() < 0.5 ? (double)INFINITY : 6 + uniform();
    r->max_duration = uniform() < 0.5 ? (double)INFINITY : 3;
    r->merge_gap = uniform() < 0.5 ? -1 : 2 * uniform();
    r->pad_before = uniform() < 0.5 ? 0 : uniform();
    r->pad_after = uniform() < 0.5 ? 0 : uniform();
    r->shift = uniform() < 0.5 ? 0 : uniform();
    REQUIRE(CF_(cf_events_prepare)(r) == CF_OK);
}

static void make_row(const settings *s, cf_real *row) {
    const size_t K = s->rule.classes;
    double sum = 0;
    size_t k;
    for (k = 0; k < K; k++) sum += (double)(row[k] = (cf_real)(-log(uniform() + 1e-12)));
    for (k = 0; k < K; k++) row[k] = (cf_real)((double)row[k] / sum);
    if (uniform() < 0.02)
        for (k = 0; k < K; k++) row[k] = (cf_real)NAN;
}

/* Events in order of time, none empty; the pieces make up the whole. */
static void check_events(const settings *s, const cf_event *events, size_t count, double *end) {
    size_t i, n;
    for (i = 0; i < count; i++) {
        const cf_event *e = &events[i];
        cf_event piece;
        double at = e->start;
        REQUIRE(e->start >= *end && e->end > e->start && e->probability >= 0 && e->probability <= 1);
        REQUIRE(e->label >= 0 && (size_t)e->label < s->rule.classes && !s->ignore[e->label]);
        for (n = 0; CF_(cf_events_piece)(&s->rule, e, n, &piece); n++) {
            REQUIRE(fabs(piece.start - at) < 1e-9 && piece.end - piece.start <= s->rule.max_duration * (1 + 1e-6));
            at = piece.end;
        }
        REQUIRE(at == e->end);
        add_to_digest(e, sizeof *e);
        *end = e->end;
    }
}

/* Each event has the start that was told for it, and no other was told: `open` is the one whose event is to come, or -1e300. */
static void check_starts(const settings *s, void *state, const cf_event *events, size_t count, double *open) {
    cf_event starts[CF_EVENTS_ROOM(NODES) + 1];
    const size_t found = CF_(cf_events_starts)(&s->rule, state, events, count, starts);
    size_t i, next = 0;
    for (i = 0; i < count; i++) {
        REQUIRE(*open == events[i].start || (next < found && starts[next].start == events[i].start));
        if (*open != events[i].start)
            REQUIRE(starts[next].label == events[i].label && starts[next++].end == events[i].end);
        *open = -1e300;
    }
    if (next < found) {
        REQUIRE(*open == -1e300 && starts[next].end == starts[next].start);
        *open = starts[next++].start;
    }
    REQUIRE(next == found && CF_(cf_events_starts)(&s->rule, state, events, count, starts) == 0);
}

/* Changes some bytes. What is still a state can be used. */
static size_t harm(const settings *s, const char *state, size_t bytes, char *copy, char *spare) {
    cf_event events[CF_EVENTS_ROOM(NODES)], event;
    cf_real row[MOST];
    size_t i, count, changes = 1 + below(3);
    double time = CF_(cf_events_last)(state);
    int open, confirmed;
    memcpy(copy, state, bytes);
    for (i = 0; i < changes; i++) copy[below(bytes)] ^= (char)(1 << below(8));
    if (CF_(cf_events_check)(&s->rule, copy, bytes) != CF_OK) return 0;
    CF_(cf_events_current)(&s->rule, copy, spare, &event, &open, &confirmed);
    (void)CF_(cf_events_starts)(&s->rule, copy, events, 0, &event);
    for (i = 0; i < 30; i++) {
        time += uniform();
        make_row(s, row);
        CF_(cf_events_update)(&s->rule, copy, time, row, events, &count);
    }
    CF_(cf_events_finish)(&s->rule, copy, events, &count);
    return 1;
}

/* Rows in one call, with memory enough: those that stop early go on with more. */
static void many_rows(const settings *s) {
    static cf_real probs[ROWS * MOST];
    static double times[ROWS];
    cf_event events[4 * CF_EVENTS_ROOM(NODES)];
    const size_t slots = 2 + below(8); /* they grow, to CF_EVENTS_SLOTS */
    size_t bytes, needed, t, count, taken, done = 0;
    double end = -1e300;
    char *state;
    for (t = 0; t < ROWS; t++) {
        make_row(s, probs + t * s->rule.classes);
        times[t] = (double)t / 8 + 50 * (double)(t > 300);
    }
    for (t = 0, count = 0; t < s->rule.classes; t++) count += s->min_duration[t] > 0;
    bytes = CF_(cf_events_size)(&s->rule, NODES, count > 0 ? slots : 0);
    state = malloc(bytes);
    REQUIRE(CF_(cf_events_start)(&s->rule, state, NODES, slots) == CF_OK);
    while (done < ROWS) {
        REQUIRE(CF_(cf_events_run)(&s->rule, state, ROWS - done, times + done, probs + done * s->rule.classes, events,
                                   sizeof events / sizeof *events, &count, &taken) == CF_OK);
        check_events(s, events, count, &end);
        done += taken;
        needed = CF_(cf_events_needed)(&s->rule, state);
        if (needed != bytes) {
            char *larger = malloc(bytes = needed);
            CF_(cf_events_grow)(&s->rule, state, larger);
            REQUIRE(CF_(cf_events_check)(&s->rule, larger, bytes) == CF_OK);
            free(state);
            state = larger;
        }
    }
    free(state);
}

static size_t stream(void) {
    settings s;
    cf_event events[CF_EVENTS_ROOM(NODES)];
    cf_real row[MOST];
    const size_t nodes = 4 + below(4), slots = 2 + below(6);
    double time = 1000 * uniform(), end = -1e300, open = -1e300;
    size_t bytes, t, count, survived = 0;
    char *state, *copy, *spare;
    make_rule(&s);
    bytes = CF_(cf_events_size)(&s.rule, nodes, slots);
    for (t = 0, count = 0; t < s.rule.classes; t++) count += s.min_duration[t] > 0;
    if (count == 0) bytes = CF_(cf_events_size)(&s.rule, nodes, 0);
    state = malloc(bytes);
    copy = malloc(bytes);
    spare = malloc(bytes);
    REQUIRE(CF_(cf_events_start)(&s.rule, state, nodes, slots) == CF_OK);
    for (t = 0; t < ROWS; t++) {
        make_row(&s, row);
        REQUIRE(CF_(cf_events_update)(&s.rule, state, time, row, events, &count) == CF_OK);
        REQUIRE(count <= CF_EVENTS_ROOM(nodes));
        check_events(&s, events, count, &end);
        check_starts(&s, state, events, count, &open);
        REQUIRE(CF_(cf_events_check)(&s.rule, state, bytes) == CF_OK);
        if (t % 8 == 0) survived += harm(&s, state, bytes, copy, spare);
        time += uniform() < 0.05 ? 0 : uniform() < 0.05 ? 5 * uniform() : 0.25;
    }
    REQUIRE(CF_(cf_events_finish)(&s.rule, state, events, &count) == CF_OK);
    check_events(&s, events, count, &end);
    check_starts(&s, state, events, count, &open);
    REQUIRE(open == -1e300);
    many_rows(&s);
    free(state);
    free(copy);
    free(spare);
    return survived;
}

int main(int argc, char **argv) {
    const long streams = argc > 1 ? atol(argv[1]) : 100;
    size_t survived = 0;
    long i;
    for (i = 0; i < streams; i++) {
        seed = (uint64_t)i * 2 + 1;
        survived += stream();
    }
    printf("%ld streams held, %zu changed states were taken, digest %016llx\n", streams, survived,
           (unsigned long long)digest);
    return 0;
}
