/* SPDX-License-Identifier: MIT */
/* The event rule: from rows to events, live. */
#ifdef CF_TICKS
#include "events_path.h"
#else
#include "events_check.h"
#endif
#if !defined(CF_SMALL) && !defined(CF_TICKS)
#include "events_quiet.h"
#define CF_MANY_ROWS
#endif

cf_status cf_events_prepare(const cf_events *rule) {
    size_t k;
    if (rule->classes < 2 || rule->classes > CF_EVENTS_MOST) return CF_BAD_CLASSES;
    if (!(rule->floor >= CF_R(1e-30) && rule->floor < 1)) return CF_BAD_FLOOR;
    if (!(rule->min_probability >= 0 && rule->min_probability <= 1)) return CF_BAD_MIN_PROBABILITY;
    if (rule->min_probability > 0 && rule->min_probability < CF_R(1e-30)) return CF_BAD_MIN_PROBABILITY;
    for (k = 0; k < states_of(rule); k++) {
        if (!(rule->enter[k] >= 0 && rule->enter[k] <= CF_R(1e30))) return CF_BAD_COST;
        if (!(rule->leave[k] >= 0 && rule->leave[k] <= CF_R(1e30))) return CF_BAD_COST;
    }
    if (!is_limit(rule->max_gap) || !is_limit(rule->max_delay) || !is_limit(rule->max_duration)) return CF_BAD_DURATION;
    if (!(rule->max_duration > 0) || !(rule->merge_gap < 0 || is_limit(rule->merge_gap))) return CF_BAD_DURATION;
    if (!is_span(rule->pad_before) || !is_span(rule->pad_after) || !is_span(rule->shift)) return CF_BAD_DURATION;
    for (k = 0; k < rule->classes; k++) {
        if (!(rule->bias[k] >= CF_R(-1e6) && rule->bias[k] <= CF_R(1e6))) return CF_BAD_BIAS;
        if (!is_span(rule->min_duration[k])) return CF_BAD_DURATION;
        if (rule->min_duration[k] > rule->max_delay) return CF_BAD_DELAY;
    }
    return CF_OK;
}

size_t cf_events_size(const cf_events *rule, size_t nodes, size_t slots) {
    return size_of_block(rule, slow_of(rule), nodes, slots);
}

/* As it was before the first row. */
static void clear(events_view *s) {
    clear_head(s->head);
    begin_stretch(s, 0);
}

cf_status cf_events_start(const cf_events *rule, void *state, size_t nodes, size_t slots) {
    const size_t slow = slow_of(rule);
    events_view s;
    size_t bytes;
    if (slow == 0) slots = 0;
    if (nodes < CF_EVENTS_NODES || nodes > CF_EVENTS_MOST_NODES || slots > CF_EVENTS_SLOTS || (slow > 0 && slots < 2))
        return CF_BAD_MEMORY;
#ifdef CF_TICKS /* a node counts who refers to it in 16 bits */
    if (slow * slots > CF_EVENTS_MOST) return CF_BAD_MEMORY;
#endif
    bytes = cf_events_size(rule, nodes, slots);
#ifndef CF_TICKS /* where there are too few slots for that */
    if (bytes > UINT32_MAX) return CF_BAD_MEMORY;
#endif
    clear_words(bytes, state);
    lay_out(&s, rule, (char *)state, slow, nodes);
    s.head->magic = CF_EVENTS_MAGIC;
    s.head->bytes = (uint32_t)bytes;
    s.head->states = (events_index)states_of(rule);
    s.head->slow = (events_index)slow;
    s.head->nodes = (events_index)nodes;
    s.head->slots = (events_index)slots;
    clear(&s);
    return CF_OK;
}

CF_INLINE void copy_row(size_t classes, const cf_real *from, cf_real *to) {
#ifdef CF_CLASSES
    typedef struct {
        cf_real p[CF_CLASSES];
    } row;
    (void)classes;
    *(row *)(void *)to = *(const row *)(const void *)from;
#else
    size_t k;
    for (k = 0; k < classes; k++) to[k] = from[k];
#endif
}

#ifndef CF_TICKS
CF_INLINE void clear_gains(events_view *s) {
    int32_t k;
    for (k = 0; k < s->head->states; k++) s->gain[k] = 0;
}
#endif

/* Takes rows while there is room; `last` is the row before them. */
static size_t take_rows(events_view *s, size_t rows, const cf_time *times, const cf_real *probs, size_t room,
                        int patient) {
    events_head *const h = s->head;
    const size_t classes = CF_COUNT(rule_of(s)->classes);
    const cf_real *before = s->last;
    size_t i;
    for (i = 0; i < rows; i++) {
#ifdef CF_MANY_ROWS
        if (rows > 1 && is_quiet(s)) {
            const size_t quiet = pass_quiet_rows(s, rows - i, times + i, probs + i * classes, before);
            i += quiet;
            h->rows = 2;
            if (quiet > 0) before = probs + (i - 1) * classes;
            if (i == rows) break;
        }
#endif
        const cf_time time = times[i], dt = h->rows > 0 ? time - h->last : 0;
        const cf_real *const row = probs + i * classes;
        const int gap = is_longer(dt, rule_of(s)->max_gap, time), seen = row[0] == row[0];
        if (patient && (s->count + CF_EVENTS_ROOM((size_t)nodes_in(s)) > room || needs_nodes(s) || needs_entries(s)))
            break;
        if (h->rows > 0) {
            h->step = gap ? rule_of(s)->max_gap : dt;
            if (h->seen) {
                const cf_time end = gap ? h->last + h->step : time;
                pass(s, before, h->last, h->step, end);
                if (gap || !seen) end_stretch(s, end);
            }
        } else {
            h->reported = time;
            h->started = CF_NEVER_STARTED;
        }
        if (seen && !h->seen) {
            begin_stretch(s, time);
            h->seen = 1;
        }
        if (h->rows < 2) h->rows++;
        h->last = time;
        before = row;
        if (h->held >= 0) settle(s, time);
    }
    if (i > 0) copy_row(classes, before, s->last);
#ifndef CF_TICKS
    clear_gains(s); /* one state has the same bytes, however it was reached */
#endif
    return i;
}

/* Most rows of probabilities: they need no more than this. */
CF_INLINE int is_plain_row(size_t classes, const cf_real *p) {
    cf_real sum = 0;
    cf_bits signs = 0;
    size_t k;
    for (k = 0; k < classes; k++) {
        sum += p[k];
        signs |= cf_to_bits(p[k]);
    }
    return sum > CF_R(0.99) && sum < CF_R(1.01) && !(signs >> (sizeof signs * 8 - 1));
}

#ifdef CF_TICKS
/* A row at which more may happen than that the open segments go on. */
CF_RARE size_t take_any_row(const cf_events *rule, void *state, cf_time time, const cf_real *probs, cf_event *events) {
    events_view s;
    view_state(&s, rule, state);
    s.events = events;
    take_rows(&s, 1, &time, probs, 0, 0);
    note_usual(&s);
    return s.count;
}

CF_RARE size_t confirm_row(const cf_events *rule, void *state, cf_event *events) {
    events_view s;
    view_state(&s, rule, state);
    s.events = events;
    confirm(&s);
    if (s.head->held >= 0) settle(&s, s.head->last);
    note_usual(&s);
    return s.count;
}

/* Whether `agreed` is at the horizon, or before it. */
CF_INLINE int is_due(const events_view *s, cf_time end) {
    return !is_endless(rule_of(s)->max_delay) && end - s->head->agreed > rule_of(s)->max_delay;
}

cf_status cf_events_update(const cf_events *rule, void *state, cf_time time, const cf_real *probs, cf_event *events,
                           size_t *count) {
    const size_t classes = CF_COUNT(rule->classes);
    const events_head *const h = (const events_head *)state;
    int missing;
    *count = 0;
    if (h->rows > 0 ? !can_follow(time, h->last) : !is_clock(time)) return CF_BAD_TIME;
    if (!is_plain_row(classes, probs) && !is_valid_row(classes, probs)) {
        const cf_status status = diagnose_row(classes, probs, &missing);
        if (status != CF_OK) return status;
    }
    *count = take_any_row(rule, state, time, probs, events);
    return CF_OK;
}

/* The same, where it is not a usual row: the first one, or one that comes too late. */
CF_RARE cf_status tick_any_row(const cf_events *rule, void *state, uint32_t now, const cf_real *probs, cf_event *events,
                               size_t *count) {
    const events_head *const h = (const events_head *)state;
    const uint32_t dt = now - (uint32_t)h->last; /* before the first row of all, the last one is at 0 */
    *count = 0;
    if (h->rows > 0 && dt > INT32_MAX) return CF_BAD_TIME;
    *count = take_any_row(rule, state, h->last + dt, probs, events);
    return CF_OK;
}

cf_status cf_events_tick(const cf_events *rule, void *state, uint32_t now, const cf_real *probs, cf_event *events,
                         size_t *count) {
    events_head *const h = (events_head *)state;
    const cf_time max_gap = CF_THE_RULE(rule)->max_gap;
    const uint32_t dt = now - (uint32_t)h->last, most = (uint32_t)(max_gap < INT32_MAX ? max_gap : INT32_MAX);
    const cf_time time = h->last + dt;
    events_view s;
    view_state(&s, rule, state);
    if (!h->usual || dt > most || probs[0] != probs[0] || is_due(&s, time))
        return tick_any_row(rule, state, now, probs, events, count);
    h->step = dt;
    *count = (size_t)pass_plain_row(rule, state, 0);
    h->last = time;
    copy_row(CF_COUNT(rule_of(&s)->classes), probs, s.last);
    if (*count > 0) *count = confirm_row(rule, state, events);
    return CF_OK;
}
#else
static cf_status check_rows(const cf_events *rule, const events_head *h, size_t rows, const cf_time *times,
                            const cf_real *probs, size_t *row) {
    const size_t classes = CF_COUNT(rule->classes);
    cf_time last = h->rows > 0 ? h->last : times[0];
    cf_status status;
    int missing;
    for (*row = 0; *row < rows; ++*row) {
        const cf_real *const p = probs + *row * classes;
        const cf_time time = times[*row];
        if (!can_follow(time, last) || !is_clock(time)) return CF_BAD_TIME;
        if (!is_plain_row(classes, p) && !is_valid_row(classes, p)) {
            status = diagnose_row(classes, p, &missing);
            if (status != CF_OK) return status;
        }
        last = time;
    }
    return CF_OK;
}

cf_status cf_events_run(const cf_events *rule, void *state, size_t rows, const cf_time *times, const cf_real *probs,
                        cf_event *events, size_t room, size_t *count, size_t *taken) {
    events_view s;
    cf_status status;
    *count = *taken = 0;
    if (rows == 0) return CF_OK;
    view_state(&s, rule, state);
    status = check_rows(rule, s.head, rows, times, probs, taken);
    if (status != CF_OK) return status;
    s.events = events;
    *taken = take_rows(&s, rows, times, probs, room, 1);
    *count = s.count;
    return CF_OK;
}

cf_status cf_events_update(const cf_events *rule, void *state, cf_time time, const cf_real *probs, cf_event *events,
                           size_t *count) {
    events_view s;
    cf_status status;
    size_t row;
    *count = 0;
    view_state(&s, rule, state);
    status = check_rows(rule, s.head, 1, &time, probs, &row);
    if (status != CF_OK) return status;
    s.events = events;
    take_rows(&s, 1, &time, probs, 0, 0);
    *count = s.count;
    return CF_OK;
}
#endif

/* The last row stands for as long as the one before it. */
static cf_time end_stream(events_view *s) {
    const events_head *h = s->head;
    const cf_time end = h->last + h->step;
    s->reached = 0;
    if (h->seen) {
        pass(s, s->last, h->last, h->step, end);
        end_stretch(s, end);
    }
    return end;
}

cf_status cf_events_finish(const cf_events *rule, void *state, cf_event *events, size_t *count) {
    events_view s;
    cf_time end, padded;
#ifdef CF_TICKS
    const cf_time last = ((const events_head *)state)->last;
#endif
    view_state(&s, rule, state);
    s.events = events;
    end = end_stream(&s);
    padded = s.head->held_end + rule_of(&s)->pad_after;
    if (s.head->held >= 0) hand_out(&s, padded < end ? padded : end);
    *count = s.count;
    clear(&s);
#ifdef CF_TICKS
    s.head->last = last; /* a clock of 32 bits counts on from here */
#endif
    return CF_OK;
}

cf_status cf_events_current(const cf_events *rule, const void *state, void *copy, cf_event *event, int *open,
                            int *confirmed) {
    events_view s;
    cf_time end, frontier, begin;
    int32_t held, sure = -1;
    copy_words(((const events_head *)state)->bytes, state, copy);
    view_state(&s, rule, copy);
    held = s.head->held;
    begin = s.head->held_begin;
    if (s.head->seen) sure = certain_event(&s, s.head->last, &frontier);
    if (sure >= 0 && sure != held) { /* what the last row stands for is not known: it confirms nothing */
        begin = s.head->decided;
        held = sure;
    }
    end = end_stream(&s);
    *open = s.reached;
    *confirmed = s.reached && s.head->held == held && s.head->held_begin == begin;
    if (s.reached) *event = held_event(&s, end);
    return CF_OK;
}

size_t cf_events_starts(const cf_events *rule, void *state, const cf_event *events, size_t count, cf_event *starts) {
    events_head *const h = (events_head *)state;
    events_view s;
    cf_event open;
    cf_time frontier;
    size_t i, found = 0;
    for (i = 0; i < count; i++)
        if (events[i].start > h->started) {
            starts[found++] = events[i];
            h->started = events[i].start;
        }
    /* An event that is held has its start. What is certain to follow belongs to it, or it would not be held any more. */
    if (h->rows == 0 || (h->held < 0 && !h->seen)) return found;
    s.rule = rule;
    s.head = h;
    open.start = h->held >= 0 ? h->held_start : padded_start(&s, shifted(&s, h->decided));
    if (!(open.start > h->started)) return found;
    view_state(&s, rule, state); /* mostly, it is not needed */
    open.label = h->held >= 0 ? h->held : certain_event(&s, h->last, &frontier);
    if (open.label < 0) return found;
    h->started = open.end = open.start;
    open.probability = 0;
    open.forced = 0;
    starts[found++] = open;
    return found;
}

int cf_events_piece(const cf_events *rule, const cf_event *event, size_t i, cf_event *piece) {
    cf_time length = CF_THE_RULE(rule)->max_duration, start, next;
    *piece = *event;
    if (is_endless(length)) return i == 0;
    while (event->end - event->start > CF_EVENTS_PIECES * length ||
           !is_after(event->end + length, event->end, length)) /* shorter than the clock can tell */
        length *= 2;
    start = event->start + (cf_time)i * length;
    next = event->start + ((cf_time)i + 1) * length;
    if (i > 0 && !is_after(event->end, start, length)) return 0;
    piece->start = start;
    if (is_after(event->end, next, length)) piece->end = next; /* where there is one more piece */
    return 1;
}

void cf_events_memory(const void *state, size_t *nodes, size_t *slots) {
    const events_head *h = (const events_head *)state;
    *nodes = (size_t)h->nodes;
    *slots = (size_t)h->slots;
}

cf_time cf_events_last(const void *state) { return ((const events_head *)state)->last; }

#ifndef CF_TICKS
#include "events_grow.h"
#endif
