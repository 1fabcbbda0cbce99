/* SPDX-License-Identifier: MIT */
/* Instructions an update, and the stack it takes: over a usual stream, rows.h, and over one that is as hard as can be. */
#include "board.h"
#include "classfilter.h"
#include "rows.h"

#define PER_TICK(ticks) (((ticks) * 5u + 8u) / 16u) /* 3.2 ticks an instruction */

static cf_stream_f32 stream;
static float probs[CF_CLASSES];

typedef struct {
    uint32_t sum, most, count;
} cost;

static uint32_t idle;
static int wrapped;

static void add(cost *c, uint32_t ticks) {
    const uint32_t instructions = PER_TICK(ticks - idle);
    wrapped |= board_wrapped();
    c->sum += instructions;
    c->count++;
    if (instructions > c->most) c->most = instructions;
}

static void tell(const char *name, const cost *c) {
    board_write(name);
    board_number(" mean", c->sum / c->count);
    board_write(name);
    board_number(" most", c->most);
}

#ifdef CF_POLICY
static cost choice;
#endif

#ifdef CF_EVENTS
static cost usual_events, hard_events, *of_events = &usual_events;
static cf_event events[CF_MOST_EVENTS];
static uint32_t now, reported;

/* What cf_update_f32 has returned, to the rule. */
static cf_status decide(cost *c, float dt) {
    uint32_t from;
    size_t count;
    cf_status status;
    now += (uint32_t)(dt * CF_TICKS_PER_UNIT);
    board_start();
    from = board_ticks();
    status = cf_decide_f32(&stream, now, probs, events, &count);
    add(c, board_ticks() - from);
    reported += (uint32_t)count;
    return status;
}
#endif

static cf_status one(cost *c, int source, const float *observed, float dt) {
    uint32_t from;
    cf_status status;
#ifdef CF_POLICY
    board_start();
    from = board_ticks();
    status = cf_choose_f32(&stream, dt, &source); /* it is obeyed */
    add(&choice, board_ticks() - from);
    if (status != CF_OK) return status;
#endif
    board_start();
    from = board_ticks();
    status = cf_update_f32(&stream, source, observed, dt, probs);
    add(c, board_ticks() - from);
#ifdef CF_EVENTS
    if (status == CF_OK) status = decide(of_events, dt);
#endif
    return status;
}

/* What people do today, as the same kind of function. */
#define WINDOW 5
static float average[CF_CLASSES], ring[WINDOW][CF_CLASSES];
static int at;

__attribute__((noinline)) static void ema(const float *observed, float keep) {
    int k;
    for (k = 0; k < CF_CLASSES; k++) average[k] = keep * average[k] + (1 - keep) * observed[k];
}

__attribute__((noinline)) static void window(const float *observed) {
    int k, i;
    for (k = 0; k < CF_CLASSES; k++) {
        float sum = 0;
        ring[at][k] = observed[k];
        for (i = 0; i < WINDOW; i++) sum += ring[i][k];
        average[k] = sum / WINDOW;
    }
    at = (at + 1) % WINDOW;
}

int main(void) {
    cost usual = {0, 0, 0}, hard = {0, 0, 0}, others[2] = {{0, 0, 0}, {0, 0, 0}};
    uint32_t seed = 1, from;
    int i, k;
    board_start();
    from = board_ticks();
    idle = board_ticks() - from;

    cf_start_f32(&stream);
#ifdef LIMIT
    (void)one(&usual, sources[0], rows[0], 1);
    board_number("limit", usual.most);
    return wrapped ? 4 : 0;
#endif
    board_paint();
    for (i = 0; i < ROWS; i++)
        if (one(&usual, sources[i], rows[i], 1) != CF_OK) return 1;
    tell("usual", &usual);
#ifdef CF_EVENTS
    {
        cost present = {0, 0, 0};
        board_start();
        from = board_ticks();
        (void)cf_current_f32(&stream, events);
        add(&present, board_ticks() - from);
        tell("events", &usual_events);
        tell("present", &present);
        board_number("reported", reported);
        of_events = &hard_events;
    }
#endif

    /* Sure of one class for long, then of another; noughts; long and odd pauses. */
    cf_start_f32(&stream);
    for (i = 0; i < HARD; i++) {
        float row[CF_CLASSES];
        uint32_t kind, class;
        seed = seed * 1664525u + 1013904223u;
        kind = (seed >> 16) % 8;
        class = kind == 0 ? (seed >> 20) % CF_CLASSES : (uint32_t)(i / 97) % CF_CLASSES;
        for (k = 0; k < CF_CLASSES; k++) row[k] = kind == 1 ? 1.0f / CF_CLASSES : (float)((uint32_t)k == class);
        if (one(&hard, (int)(kind % CF_SOURCES), row, kind == 2 ? 33.3f : kind == 3 ? 0.37f : 1) != CF_OK) return 2;
    }
    tell("hard", &hard);
#ifdef CF_EVENTS
    tell("hard events", &hard_events);
    board_number("events bytes", sizeof stream.events);
#endif
    board_number("stack", board_stack_used());
#ifdef CF_POLICY
    tell("choice", &choice);
#endif

    for (i = 0; i < ROWS; i++) {
        board_start();
        from = board_ticks();
        ema(rows[i], 0.95f);
        add(&others[0], board_ticks() - from);
        from = board_ticks();
        window(rows[i]);
        add(&others[1], board_ticks() - from);
    }
    tell("ema", &others[0]);
    tell("window", &others[1]);
    board_number("state", sizeof stream);
    return wrapped ? 4 : 0;
}
