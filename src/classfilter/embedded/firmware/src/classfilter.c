/* SPDX-License-Identifier: MIT */
/* The core for this configuration, in one translation unit: compile this file, no option is needed. */

#include "cf_core.h"

/* With one head this is a constant, and so is all that the tables have of it. */
#if CF_HEADS > 1
#define CF_HEAD head
#else
#define CF_HEAD 0
#endif
#define CF_FILTER(head) (&cf_config_filter[cf_config_filter_of[head]])

#ifdef CF_EVENTS
/* Of a head that has a rule. */
#define CF_RULE_OF(head) (&cf_config_rule[cf_config_rule_of[head]])

/* The rule has numbered the classes of the head; of a label, off is the first, and is not reported. */
static void name_columns(int head, cf_event *events, size_t count) {
    const int first = cf_config_column[head] - cf_config_is_label[head];
    size_t i;
    for (i = 0; i < count; i++) events[i].label += first;
}

cf_status cf_decide_f32(cf_stream_f32 *stream CF_AND_HEAD, uint32_t now, const float *probs, cf_event *events,
                        size_t *count) {
    const int at = cf_config_events_of[CF_HEAD];
    float pair[2];
    cf_status status;
    if (at < 0) {
        *count = 0;
        return CF_OK;
    }
    probs += cf_config_column[CF_HEAD];
    if (cf_config_is_label[CF_HEAD]) {
        pair[0] = 1 - *probs;
        pair[1] = *probs;
        probs = pair;
    }
    status = cf_events_tick_f32(CF_RULE_OF(CF_HEAD), stream->events[at], now, probs, events, count);
    name_columns(CF_HEAD, events, *count);
    return status;
}

int cf_current_f32(const cf_stream_f32 *stream CF_AND_HEAD, cf_event *event) {
    const int at = cf_config_events_of[CF_HEAD];
    uint64_t copy[CF_EVENTS_WORDS];
    int open, confirmed;
    if (at < 0) return 0;
    (void)cf_events_current_f32(CF_RULE_OF(CF_HEAD), stream->events[at], copy, event, &open, &confirmed);
    if (open) name_columns(CF_HEAD, event, 1);
    return open + confirmed;
}

void cf_finish_f32(cf_stream_f32 *stream CF_AND_HEAD, cf_event *events, size_t *count) {
    const int at = cf_config_events_of[CF_HEAD];
    *count = 0;
    if (at < 0) return;
    (void)cf_events_finish_f32(CF_RULE_OF(CF_HEAD), stream->events[at], events, count);
    name_columns(CF_HEAD, events, *count);
}

size_t cf_starts_f32(cf_stream_f32 *stream CF_AND_HEAD, const cf_event *events, size_t count, cf_event *starts) {
    const int at = cf_config_events_of[CF_HEAD];
    cf_event *last;
    if (at < 0) return 0;
    count = cf_events_starts_f32(CF_RULE_OF(CF_HEAD), stream->events[at], events, count, starts);
    last = starts + count - 1; /* the others have the names of their events */
    if (count > 0 && last->end == last->start) name_columns(CF_HEAD, last, 1);
    return count;
}

#ifdef CF_PIECES
int cf_piece_f32(const cf_event *event, size_t i, cf_event *piece) {
    return cf_events_piece_f32(&cf_config_rule[0], event, i, piece); /* all heads have the same max_duration */
}
#endif
#endif

#ifdef CF_CLASSES
/* The probabilities of a head, which are copied as one. */
typedef struct {
    float probs[CF_CLASSES];
} cf_probs_f32;
#endif

/* A Dirichlet filter alone writes its estimate as it updates; all others are read when no head can fail any more. */
#if defined(CF_DIRICHLET) && CF_HEADS == 1
#define CF_AT_ONCE !cf_config_is_label[0]
#else
#define CF_AT_ONCE 0
#endif

CF_INLINE void temper_head(int head, float *probs) {
#ifdef CF_TEMPERED
    (void)cf_temper_f32(CF_FILTER(head)->classes, cf_config_temperature[cf_config_filter_of[head]], probs, probs);
#else
    (void)head, (void)probs;
#endif
}

/* The probabilities of a head, off and on of a label. */
CF_INLINE void read_head(const cf_stream_f32 *stream, int head, float *probs) {
    const float *const state = stream->filters.state[head];
#ifdef CF_DIRICHLET
    read_alpha(CF_FILTER(head), state + 1, probs);
#elif defined(CF_CLASSES)
    *(cf_probs_f32 *)probs = *(const cf_probs_f32 *)state;
#else
    size_t k;
    for (k = 0; k < CF_FILTER(head)->classes; k++) probs[k] = state[k];
#endif
    temper_head(head, probs);
}

static float probability_of_on(const cf_stream_f32 *stream, int head) {
    float pair[CF_MOST_CLASSES];
    read_head(stream, head, pair);
    return pair[1];
}

/* The columns of a head: a label has that of on alone. */
static void show_head(const cf_stream_f32 *stream, int head, float *probs) {
    float *const columns = probs + cf_config_column[head];
    if (cf_config_is_label[head])
        *columns = probability_of_on(stream, head);
    else if (CF_AT_ONCE)
        temper_head(head, columns);
    else
        read_head(stream, head, columns);
}

void cf_start_f32(cf_stream_f32 *stream) {
    size_t i;
    int head;
    for (head = 0; head < CF_HEADS; head++) {
        const float *const start = cf_config_start[cf_config_filter_of[head]];
        const size_t numbers = CF_FILTER(head)->classes + (CF_NUMBERS - CF_MOST_CLASSES);
        for (i = 0; i < CF_NUMBERS; i++) stream->filters.state[head][i] = i < numbers ? start[i] : 0;
#ifdef CF_RATES
        stream->filters.transition_cache[head][0] = -1;
#endif
#ifdef CF_EVENTS
        if (cf_config_events_of[head] >= 0)
            (void)cf_events_start_f32(CF_RULE_OF(head), stream->events[cf_config_events_of[head]], CF_RULE_NODES,
                                      CF_RULE_SLOTS);
#endif
    }
#ifdef CF_POLICY
    stream->since = 0;
#ifdef CF_ADAPTIVE
    cf_adaptive_start_f32(stream->policy);
#else
    stream->gap = 0;
#endif
#endif
}

#ifdef CF_POLICY
cf_status cf_choose_f32(const cf_stream_f32 *stream, float dt, int *source) {
    const float since = stream->since + dt;
    int strong;
#ifdef CF_ADAPTIVE
    float estimate[CF_CLASSES];
    cf_status status;
#endif
    if (!is_valid_dt(dt)) return CF_BAD_DT;
#ifdef CF_ADAPTIVE
    read_head(stream, 0, estimate);
    status = cf_adaptive_choose_f32(&cf_config_policy, stream->policy, CF_CLASSES, estimate, since, &strong);
    if (status != CF_OK) return status;
#elif defined(CF_EVERY)
    (void)since;
    strong = stream->gap == 0 || stream->gap >= CF_EVERY;
#else
    strong = stream->gap == 0 || since >= CF_SECONDS * (1 - 1e-6f);
#endif
    *source = strong ? CF_STRONG : CF_WEAK;
    return CF_OK;
}
#endif

/* Updates the filter of a head with its columns. Where the source has a channel, it takes what is `corrected`. */
CF_INLINE cf_status update_head(cf_filters_f32 *filters, int source, int head, const float *row, float dt,
                                float *corrected, float *probs) {
    const size_t at = (size_t)source * CF_HEADS + (size_t)head;
    float pair[2], scratch[CF_SCRATCH];
    if (cf_config_is_label[head]) {
        if (*row < 0) return CF_PROBS_NEGATIVE;
        if (*row > 1) return CF_PROBS_SUM;
        pair[0] = 1 - *row;
        pair[1] = *row;
        row = pair;
    }
#ifdef CF_CHANNELS
    if (cf_config_channel[at].classes > 0) {
        const cf_status status = cf_channel_apply_f32(&cf_config_channel[at], row, corrected);
        if (status != CF_OK) return status;
        row = corrected;
    }
#else
    (void)corrected;
#endif
    /* cf_dirichlet_update_f32 or cf_sticky_update_f32 as straight code, which the linker leaves out. */
#ifdef CF_DIRICHLET
    return update_row(CF_FILTER(head), filters->state[head], row, cf_config_beta[at], dt, CF_AT_ONCE ? probs : NULL,
                      scratch);
#else
    (void)probs;
#ifdef CF_RATES
    return update_row(CF_FILTER(head), filters->state[head], row, cf_config_beta[at], dt,
                      filters->transition_cache[head], scratch);
#else
    return update_row(CF_FILTER(head), filters->state[head], row, cf_config_beta[at], dt, NULL, scratch);
#endif
#endif
}

cf_status cf_update_f32(cf_stream_f32 *stream, int source, const float *observed, float dt, float *probs) {
    float corrected[CF_MOST_CLASSES];
    cf_status status;
    int head;
#ifdef CF_ADAPTIVE
    float estimate[CF_CLASSES];
    read_head(stream, 0, estimate);
#endif
    if (source < 0 || source >= CF_SOURCES) return CF_BAD_BETA;
    if (CF_HEADS == 1) { /* alone, it changes nothing where it fails */
        status = update_head(&stream->filters, source, 0, observed, dt, corrected, probs);
    } else {
        const cf_filters_f32 before = stream->filters;
        for (status = CF_OK, head = 0; head < CF_HEADS && status == CF_OK; head++)
            status =
                update_head(&stream->filters, source, head, observed + cf_config_column[head], dt, corrected, probs);
        if (status != CF_OK) stream->filters = before;
    }
    if (status == CF_OK && probs != NULL) {
        show_head(stream, 0, probs);
        for (head = 1; head < CF_HEADS; head++) show_head(stream, head, probs);
    }
#ifdef CF_POLICY
    if (status == CF_OK) { /* what the filter takes, the policy takes */
#ifdef CF_ADAPTIVE
#ifdef CF_CHANNELS
        if (cf_config_channel[source].classes > 0) observed = corrected;
#endif
        status = cf_adaptive_called_f32(&cf_config_policy, stream->policy, source == CF_STRONG, CF_CLASSES, observed,
                                        estimate, dt);
#else
        stream->gap = source == CF_STRONG ? 1 : stream->gap > 0 ? stream->gap + 1 : 0;
#endif
        stream->since = source == CF_STRONG ? 0 : stream->since + dt;
    }
#endif
    return status;
}

int cf_label_f32(const cf_stream_f32 *stream CF_AND_HEAD) {
    const float *const belief = stream->filters.state[CF_HEAD] + (CF_NUMBERS - CF_MOST_CLASSES);
    const int column = cf_config_column[CF_HEAD], classes = (int)CF_FILTER(CF_HEAD)->classes;
    int label = 0, k;
    if (cf_config_is_label[CF_HEAD]) return probability_of_on(stream, CF_HEAD) > 0.5f ? column : -1;
    for (k = 1; k < classes; k++)
        if (belief[k] > belief[label]) label = k;
    return column + label;
}
