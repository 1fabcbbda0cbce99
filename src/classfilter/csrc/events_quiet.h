/* SPDX-License-Identifier: MIT */
/* Rows of a few classes at which nothing happens, as most: no best path comes from another segment than before, and the lead
   stays. The formulas are those of pass_row and follow_lead, in their order, on vectors of CF_QUIET classes of which the last
   may be unused; a test holds both to the same bits. */
#ifndef CF_EVENTS_QUIET_H
#define CF_EVENTS_QUIET_H

#include "events_path.h"

enum { CF_QUIET = 8 };

typedef struct {
    uint64_t start[CF_QUIET], before[CF_QUIET]; /* the bits of doubles: masked stores of doubles are slow */
    cf_real value[CF_QUIET], mass[CF_QUIET], rest[CF_QUIET];
    cf_real entered[CF_QUIET]; /* -enter */
    cf_real limit[CF_QUIET]; /* below it, the best path comes from another segment */
    cf_real leave[CF_QUIET]; /* so much for the lead itself that it is not above itself */
    cf_real bias[CF_QUIET], row[CF_QUIET], gain[CF_QUIET];
} events_quiet;

CF_INLINE uint64_t bits_of_time(double x) {
    union {
        double real;
        uint64_t bits;
    } u;
    u.real = x;
    return u.bits;
}

CF_INLINE double time_of_bits(uint64_t b) {
    union {
        double real;
        uint64_t bits;
    } u;
    u.bits = b;
    return u.real;
}

static void load_quiet(const events_view *s, events_quiet *q) {
    const int32_t states = s->head->states, classes = (int32_t)CF_COUNT(s->rule->classes), lead = s->head->lead;
    int32_t k;
    for (k = 0; k < CF_QUIET; k++) {
        const int used = k < states, other = used && (*s->parent[k] != *s->self[lead] || *s->self[k] >= 0);
        q->start[k] = used ? bits_of_time(*s->start[k]) : 0;
        q->before[k] = used ? bits_of_time(*s->before[k]) : 0;
        q->value[k] = used ? *s->value[k] : 0;
        q->mass[k] = used ? *s->mass[k] : 0;
        q->rest[k] = used && CF_RESTS ? *s->rest[k] : 0;
        q->entered[k] = used ? -s->rule->enter[k] : 0;
        q->limit[k] = other ? -s->rule->enter[k] : 2 * CF_EVENTS_NEVER;
        q->leave[k] = used && k != lead ? s->rule->leave[k] : -CF_EVENTS_NEVER;
        q->bias[k] = k < classes ? s->rule->bias[k] : 0;
        q->row[k] = 0;
    }
}

static void store_quiet(const events_view *s, const events_quiet *q) {
    int32_t k;
    for (k = 0; k < s->head->states; k++) {
        *s->start[k] = time_of_bits(q->start[k]);
        *s->before[k] = time_of_bits(q->before[k]);
        *s->value[k] = q->value[k];
        *s->mass[k] = q->mass[k];
        if (CF_RESTS) *s->rest[k] = q->rest[k];
    }
}

/* One row p at `time`; returns whether the lead may be another one then. */
CF_INLINE int pass_quiet_row(events_quiet *restrict q, const cf_events *rule, int32_t lead, const cf_real *restrict p,
                             double time, cf_real w) {
    const double sum_before = (double)(CF_RESTS ? q->mass[lead] + q->rest[lead] : q->mass[lead]);
    const uint64_t now = bits_of_time(time), before = bits_of_time(sum_before);
    const cf_real leave = rule->leave[lead], floor = rule->floor;
    cf_real top, ahead;
    cf_bits above = 0;
    int k;
    if (rule->log) {
        for (k = 0; k < CF_QUIET; k++) q->gain[k] = w * (cf_log_ratio(p[k] > floor ? p[k] : floor, 1) - q->bias[k]);
        top = q->value[lead] + q->gain[lead] - leave;
        ahead = q->value[lead] + q->gain[lead] - top - leave;
    } else {
        const cf_real gain = w * (p[lead] - rule->bias[lead]);
        for (k = 0; k < CF_QUIET; k++) q->gain[k] = w * (p[k] - q->bias[k]);
        top = q->value[lead] + gain - leave;
        ahead = q->value[lead] + gain - top - leave;
    }
    for (k = 0; k < CF_QUIET; k++) {
        const uint64_t change = 0 - (uint64_t)(q->value[k] < q->entered[k]);
        q->start[k] = (now & change) | (q->start[k] & ~change);
        q->before[k] = (before & change) | (q->before[k] & ~change);
    }
    for (k = 0; k < CF_QUIET; k++) {
        const int change = q->value[k] < q->entered[k];
        const cf_real old = change ? 0 : q->mass[k], y = w * p[k], sum = old + y, part = sum - old;
        q->mass[k] = sum;
        if (CF_RESTS) q->rest[k] = (change ? 0 : q->rest[k]) + ((old - (sum - part)) + (y - part));
        q->value[k] = (change ? q->entered[k] : q->value[k]) + q->gain[k] - top;
        above |= q->value[k] - q->leave[k] >= ahead;
    }
    return above != 0;
}

/* Takes rows, the first of which follows the row `last`, and returns how many; the next one needs more. */
CF_KERNEL size_t pass_quiet_rows(events_view *s, size_t rows, const double *times, const cf_real *probs,
                                 const cf_real *last) {
    events_head *const h = s->head;
    const cf_events *const rule = s->rule;
    const size_t classes = CF_COUNT(rule->classes);
    events_quiet q;
    double before = h->last;
    size_t i, k;
    int above = 0;
    load_quiet(s, &q);
    for (i = 0; i < rows && !above; i++) {
        const double time = times[i], dt = time - before;
        const double horizon = time - rule->max_delay - time_tolerance(rule->max_delay, time);
        const cf_real *const row = probs + i * classes;
        cf_bits other = 0;
        for (k = 0; k < CF_QUIET; k++) other |= q.value[k] < q.limit[k];
        if (other || is_longer(dt, rule->max_gap, time) || row[0] != row[0] || h->agreed <= horizon) break;
        if (i > 0 && (i - 1) * classes + CF_QUIET <= rows * classes) { /* what follows the row goes to unused classes */
            above = pass_quiet_row(&q, rule, h->lead, last, before, (cf_real)dt);
        } else {
            for (k = 0; k < classes; k++) q.row[k] = last[k];
            above = pass_quiet_row(&q, rule, h->lead, q.row, before, (cf_real)dt);
        }
        h->step = dt;
        before = time;
        last = row;
    }
    store_quiet(s, &q);
    h->last = before;
    if (above) find_lead(s);
    return i;
}

CF_INLINE int is_quiet(const events_view *s) {
    return s->head->seen && s->head->slow == 0 && s->head->held < 0 && s->head->states <= CF_QUIET &&
           !(s->rule->min_probability > 0) && *s->self[s->head->lead] >= 0;
}

#endif
