/* SPDX-License-Identifier: MIT */
/* The core as JavaScript calls it: structures stay on this side. A filter is a block of bytes, which is made at one
   address and may be copied away and back to it; the numbers of a call lie where JavaScript puts them. */
#include "cf_real.h"

#define JS_EXPORT __attribute__((visibility("default")))

static void copy(cf_real *to, const cf_real *from, size_t count) {
    size_t i;
    for (i = 0; i < count; i++) to[i] = from[i];
}

/* ---- the Dirichlet filter: the settings, then prior_nu ---- */

typedef struct {
    cf_dirichlet settings;
    cf_real prior_nu[];
} js_dirichlet;

JS_EXPORT size_t dirichlet_size(size_t classes) { return sizeof(js_dirichlet) + classes * sizeof(cf_real); }

JS_EXPORT size_t dirichlet_scratch(size_t classes) { return CF_DIRICHLET_SCRATCH(classes) * sizeof(cf_real); }

JS_EXPORT cf_status dirichlet_prepare(js_dirichlet *filter, size_t classes, const cf_real *prior, cf_real gamma,
                                      cf_real floor, cf_real anchor, cf_real max_concentration, int mean,
                                      cf_real tolerance, int bounded) {
    cf_dirichlet *const settings = &filter->settings;
    settings->classes = classes;
    settings->gamma = gamma;
    settings->floor = floor;
    settings->anchor = anchor;
    settings->max_concentration = max_concentration;
    settings->mean = mean;
    settings->tolerance = tolerance;
    settings->bounded = bounded;
    return cf_dirichlet_prepare(settings, prior, filter->prior_nu);
}

/* `numbers` is eta, then alpha. */
JS_EXPORT cf_status dirichlet_start(const js_dirichlet *filter, const cf_real *numbers, cf_real *state) {
    return cf_dirichlet_start(&filter->settings, numbers + 1, numbers[0], state);
}

JS_EXPORT void dirichlet_read(const js_dirichlet *filter, const cf_real *state, cf_real *probs) {
    cf_dirichlet_read(&filter->settings, state, probs);
}

JS_EXPORT cf_status dirichlet_run(js_dirichlet *filter, cf_real *state, size_t steps, const cf_real *observed,
                                  const cf_real *beta, size_t beta_stride, const cf_real *dt, size_t dt_stride,
                                  cf_real *probs, cf_real *scratch, size_t *row) {
    const cf_table table = {1, NULL, &steps, NULL, state, state, observed, beta, dt, beta_stride, dt_stride, probs};
    return cf_dirichlet_run(&filter->settings, &table, scratch, row, NULL);
}

JS_EXPORT cf_status dirichlet_update(js_dirichlet *filter, cf_real *state, const cf_real *observed, cf_real beta,
                                     cf_real dt, cf_real *probs, cf_real *scratch) {
    size_t row;
    return dirichlet_run(filter, state, 1, observed, &beta, 0, &dt, 0, probs, scratch, &row);
}

/* ---- the sticky filter: the settings, then the table, and with rates those, the modes and the cache ---- */

typedef struct {
    cf_sticky settings;
    cf_real *cache;
    cf_real numbers[];
} js_sticky;

JS_EXPORT size_t sticky_size(size_t classes, int rates) {
    const size_t more = classes * classes + CF_STICKY_MODES(classes) + CF_STICKY_CACHE(classes);
    return sizeof(js_sticky) + (CF_STICKY_TABLE(classes) + (rates ? more : 0)) * sizeof(cf_real);
}

JS_EXPORT size_t sticky_scratch(size_t classes, int rates) {
    return (rates ? CF_STICKY_SCRATCH(classes) : CF_STICKY_SCRATCH_STAY(classes)) * sizeof(cf_real);
}

/* `rates` may be NULL; `prior` becomes the start of a stream, which sums to 1 more exactly. */
JS_EXPORT cf_status sticky_prepare(js_sticky *filter, size_t classes, cf_real *prior, cf_real stay,
                                   const cf_real *rates, cf_real floor) {
    cf_status status;
    cf_real *const kept = filter->numbers + CF_STICKY_TABLE(classes);
    cf_sticky *const settings = &filter->settings;
    settings->classes = classes;
    settings->stay = stay;
    settings->floor = floor;
    settings->rates = NULL;
    filter->cache = NULL;
#ifndef CF_FLOAT
    settings->modes = NULL;
    settings->pairs = 0;
#endif
    if (rates != NULL) {
        copy(kept, rates, classes * classes);
        settings->rates = kept;
        filter->cache = kept + classes * classes + CF_STICKY_MODES(classes);
        filter->cache[0] = -1;
    }
    status = cf_sticky_prepare(settings, prior, filter->numbers);
    if (status == CF_OK) copy(prior, filter->numbers, classes);
    return status;
}

#ifndef CF_FLOAT
/* `numbers` is (2 + 2 K, K): the rows of CF_STICKY_MODES but for those of one time unit, which are computed here. */
JS_EXPORT void sticky_set_modes(js_sticky *filter, const cf_real *numbers, size_t pairs, cf_real *matrix,
                                cf_real *scratch) {
    cf_sticky *const settings = &filter->settings;
    const size_t classes = settings->classes, width = CF_STICKY_ROW(classes), rows = 2 + 2 * classes;
    cf_real *const modes = filter->numbers + CF_STICKY_TABLE(classes) + classes * classes;
    size_t i;
    for (i = 0; i < CF_STICKY_MODES(classes); i++) modes[i] = 0;
    for (i = 0; i < rows; i++) copy(modes + i * width, numbers + i * classes, classes);
    (void)cf_sticky_transitions(settings, 1, matrix, filter->cache, scratch);
    for (i = 0; i < classes; i++) copy(modes + (rows + i) * width, matrix + i * classes, classes);
    settings->modes = modes;
    settings->pairs = pairs;
    filter->cache[0] = -1; /* with modes it keeps something else */
}
#endif

JS_EXPORT cf_status sticky_start(const js_sticky *filter, const cf_real *numbers, cf_real *state) {
    return cf_sticky_start(&filter->settings, numbers, state);
}

JS_EXPORT void sticky_read(const js_sticky *filter, const cf_real *state, cf_real *probs) {
    copy(probs, state, filter->settings.classes);
}

JS_EXPORT cf_status sticky_run(js_sticky *filter, cf_real *state, size_t steps, const cf_real *observed,
                               const cf_real *beta, size_t beta_stride, const cf_real *dt, size_t dt_stride,
                               cf_real *probs, cf_real *scratch, size_t *row) {
    const cf_table table = {1, NULL, &steps, NULL, state, state, observed, beta, dt, beta_stride, dt_stride, probs};
    return cf_sticky_run(&filter->settings, &table, filter->cache, scratch, row);
}

JS_EXPORT cf_status sticky_update(js_sticky *filter, cf_real *state, const cf_real *observed, cf_real beta, cf_real dt,
                                  cf_real *probs, cf_real *scratch) {
    size_t row;
    return sticky_run(filter, state, 1, observed, &beta, 0, &dt, 0, probs, scratch, &row);
}

/* ---- the channel ---- */

JS_EXPORT cf_status channel_apply(size_t classes, const cf_real *log_matrix, const cf_real *log_prior, size_t rows,
                                  const cf_real *observed, cf_real *probs, size_t *row) {
    cf_channel channel;
    cf_status status = CF_OK;
    size_t i;
    channel.classes = classes;
    channel.log_prior = log_prior;
    channel.log_matrix = log_matrix;
    for (i = 0; i < rows && status == CF_OK; i++) {
        *row = i;
        status = cf_channel_apply(&channel, observed + i * classes, probs + i * classes);
    }
    return status;
}

/* ---- temperature ---- */

/* Tempers rows in their place. */
JS_EXPORT cf_status temper(size_t classes, cf_real temperature, size_t rows, cf_real *probs) {
    cf_status status = CF_OK;
    size_t i;
    for (i = 0; i < rows && status == CF_OK; i++, probs += classes)
        status = cf_temper(classes, temperature, probs, probs);
    return status;
}

/* ---- the adaptive policy ---- */

JS_EXPORT size_t adaptive_size(void) { return sizeof(cf_adaptive); }

JS_EXPORT cf_status adaptive_prepare(cf_adaptive *policy, cf_real budget, cf_real weak, cf_real min_gap,
                                     cf_real max_gap, cf_real disagreement, cf_real floor, cf_real horizon, int timed) {
    policy->budget = budget;
    policy->weak = weak;
    policy->min_gap = min_gap;
    policy->max_gap = max_gap;
    policy->disagreement = disagreement;
    policy->floor = floor;
    policy->horizon = horizon;
    policy->timed = timed;
    return cf_adaptive_prepare(policy);
}

JS_EXPORT void adaptive_start(cf_real *state) { cf_adaptive_start(state); }

JS_EXPORT cf_status adaptive_choose(const cf_adaptive *policy, const cf_real *state, size_t classes,
                                    const cf_real *probs, cf_real since, int *strong) {
    return cf_adaptive_choose(policy, state, classes, probs, since, strong);
}

JS_EXPORT cf_status adaptive_called(const cf_adaptive *policy, cf_real *state, int strong, size_t classes,
                                    const cf_real *observed, const cf_real *probs, cf_real dt) {
    return cf_adaptive_called(policy, state, strong, classes, observed, probs, dt);
}

/* ---- the event rule: the settings, then the numbers of each class ---- */

typedef struct {
    cf_events settings;
    double durations[]; /* of each class; then the numbers of the rule's precision, and what is ignored */
} js_events;

JS_EXPORT size_t events_size(size_t classes) {
    const size_t more = classes + 1;
    return sizeof(js_events) + more * (sizeof(double) + 3 * sizeof(cf_real) + 1);
}

#define ONE_MORE(name) +1
#define TAKE_TIME(name) settings->name = *time++;

/* `numbers` are the floor, min_probability and the times; then, K + 1 of each: enter, leave, bias, min_duration, ignore. */
JS_EXPORT cf_status events_prepare(js_events *rule, size_t classes, int log, const double *numbers) {
    cf_events *const settings = &rule->settings;
    const size_t more = classes + 1;
    const double *const of_classes = numbers + 2 CF_EVENTS_TIMES(ONE_MORE);
    const double *time = numbers + 2;
    cf_real *const enter = (cf_real *)(void *)(rule->durations + more), *const leave = enter + more;
    cf_real *const bias = leave + more;
    unsigned char *const ignore = (unsigned char *)(bias + more);
    size_t k;
    for (k = 0; k < more; k++) {
        enter[k] = (cf_real)of_classes[k];
        leave[k] = (cf_real)of_classes[more + k];
        bias[k] = (cf_real)of_classes[2 * more + k];
        rule->durations[k] = of_classes[3 * more + k];
        ignore[k] = of_classes[4 * more + k] != 0;
    }
    settings->classes = classes;
    settings->log = log;
    settings->floor = (cf_real)numbers[0];
    settings->min_probability = (cf_real)numbers[1];
    settings->enter = enter;
    settings->leave = leave;
    settings->bias = bias;
    settings->min_duration = rule->durations;
    settings->ignore = ignore;
    CF_EVENTS_TIMES(TAKE_TIME)
    return cf_events_prepare(settings);
}

/* The bytes of a state. */
JS_EXPORT size_t events_bytes(const js_events *rule, size_t nodes, size_t slots) {
    return cf_events_size(&rule->settings, nodes, slots);
}

JS_EXPORT void events_start(const js_events *rule, void *state, size_t nodes, size_t slots) {
    (void)cf_events_start(&rule->settings, state, nodes, slots);
}

/* The time of the last row. */
JS_EXPORT double events_last(const void *state) { return cf_events_last(state); }

/* The bytes that a state should have before its next row. */
JS_EXPORT size_t events_needed(const js_events *rule, const void *state) {
    return cf_events_needed(&rule->settings, state);
}

JS_EXPORT void events_grow(const js_events *rule, const void *state, void *larger) {
    cf_events_grow(&rule->settings, state, larger);
}

/* Rows until there are no more, or the state must grow, or `room` is full. `counts` are the events, then the rows taken. */
JS_EXPORT cf_status events_run(const js_events *rule, void *state, size_t rows, const double *times,
                               const cf_real *probs, cf_event *events, size_t room, size_t *counts) {
    return cf_events_run(&rule->settings, state, rows, times, probs, events, room, counts, counts + 1);
}

JS_EXPORT void events_finish(const js_events *rule, void *state, cf_event *events, size_t *count) {
    (void)cf_events_finish(&rule->settings, state, events, count);
}

/* Whether an event goes on: 2 where its start is confirmed. */
JS_EXPORT int events_current(const js_events *rule, const void *state, void *copy, cf_event *event) {
    int open, confirmed;
    (void)cf_events_current(&rule->settings, state, copy, event, &open, &confirmed);
    return open ? 1 + confirmed : 0;
}

/* The starts that are final after the events of the call before, in their place. */
JS_EXPORT size_t events_starts(const js_events *rule, void *state, cf_event *events, size_t count) {
    return cf_events_starts(&rule->settings, state, events, count, events);
}

JS_EXPORT int events_piece(const js_events *rule, const cf_event *event, size_t i, cf_event *piece) {
    return cf_events_piece(&rule->settings, event, i, piece);
}
