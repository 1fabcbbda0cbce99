/* SPDX-License-Identifier: MIT */
/* The core for this configuration, in one translation unit: compile this file, no option is needed. */

#include "cf_core.h"

#ifdef CF_EVENTS
/* Of a label that has a rule. */
#define CF_RULE_OF(label) (&cf_config_rule[cf_config_rule_of[label]])

static void name_label(int label, cf_event *events, size_t count) {
    size_t i;
    for (i = 0; i < count; i++) events[i].label = label; /* it was class 1, on */
}

cf_status cf_decide_f32(cf_stream_f32 *stream, int label, uint32_t now, float prob, cf_event *events, size_t *count) {
    const int at = cf_config_events_of[label];
    float both[CF_CLASSES];
    cf_status status;
    *count = 0;
    if (at < 0) return CF_OK;
    both[0] = 1 - prob;
    both[1] = prob;
    status = cf_events_tick_f32(CF_RULE_OF(label), stream->events[at], now, both, events, count);
    name_label(label, events, *count);
    return status;
}

int cf_current_f32(const cf_stream_f32 *stream, int label, cf_event *event) {
    const int at = cf_config_events_of[label];
    uint64_t copy[CF_EVENTS_WORDS];
    int open, confirmed;
    if (at < 0) return 0;
    (void)cf_events_current_f32(CF_RULE_OF(label), stream->events[at], copy, event, &open, &confirmed);
    if (open) name_label(label, event, 1);
    return open + confirmed;
}

void cf_finish_f32(cf_stream_f32 *stream, int label, cf_event *events, size_t *count) {
    const int at = cf_config_events_of[label];
    *count = 0;
    if (at < 0) return;
    (void)cf_events_finish_f32(CF_RULE_OF(label), stream->events[at], events, count);
    name_label(label, events, *count);
}

#ifdef CF_PIECES
int cf_piece_f32(const cf_event *event, size_t i, cf_event *piece) {
    return cf_events_piece_f32(CF_RULE_OF(event->label), event, i, piece);
}
#endif
#endif

#define CF_FILTER(label) (&cf_config_filter[cf_config_filter_of[label]])

static float probability(const cf_stream_f32 *stream, int label) {
#if defined(CF_DIRICHLET) || defined(CF_TEMPERED)
    float both[CF_CLASSES];
#ifdef CF_DIRICHLET
    cf_dirichlet_read_f32(CF_FILTER(label), stream->state[label], both);
#else
    both[0] = stream->state[label][0];
    both[1] = stream->state[label][1];
#endif
#ifdef CF_TEMPERED
    (void)cf_temper_f32(CF_CLASSES, cf_config_temperature[cf_config_filter_of[label]], both, both);
#endif
    return both[1];
#else
    return stream->state[label][1];
#endif
}

void cf_start_f32(cf_stream_f32 *stream) {
    int label, i;
    for (label = 0; label < CF_LABELS; label++) {
        for (i = 0; i < CF_NUMBERS; i++) stream->state[label][i] = cf_config_start[cf_config_filter_of[label]][i];
#ifdef CF_RATES
        stream->transition_cache[label][0] = -1;
#endif
#ifdef CF_EVENTS
        if (cf_config_events_of[label] >= 0)
            (void)cf_events_start_f32(CF_RULE_OF(label), stream->events[cf_config_events_of[label]], CF_RULE_NODES,
                                      CF_RULE_SLOTS);
#endif
    }
#ifdef CF_POLICY
    stream->since = 0;
    stream->gap = 0;
#endif
}

#ifdef CF_POLICY
cf_status cf_choose_f32(const cf_stream_f32 *stream, float dt, int *source) {
#ifdef CF_EVERY
    const int strong = stream->gap == 0 || stream->gap >= CF_EVERY;
#else
    const int strong = stream->gap == 0 || stream->since + dt >= CF_SECONDS * (1 - 1e-6f);
#endif
    if (!(dt >= 0 && dt <= 1e30f)) return CF_BAD_DT;
    *source = strong ? CF_STRONG : CF_WEAK;
    return CF_OK;
}
#endif

static cf_status update_label(cf_stream_f32 *stream, int source, int label, float score, float dt) {
    const size_t at = (size_t)source * CF_LABELS + (size_t)label;
    const float *observed;
    float both[CF_CLASSES];
#ifdef CF_CHANNELS
    float corrected[CF_CLASSES];
#endif
    float scratch[CF_SCRATCH];
    both[0] = 1 - score;
    both[1] = score;
    observed = both;
#ifdef CF_CHANNELS
    if (cf_config_channel[at].classes > 0) {
        const cf_status status = cf_channel_apply_f32(&cf_config_channel[at], both, corrected);
        if (status != CF_OK) return status;
        observed = corrected;
    }
#endif
#ifdef CF_DIRICHLET
    return cf_dirichlet_update_f32(CF_FILTER(label), stream->state[label], observed, cf_config_beta[at], dt, NULL,
                                   scratch);
#elif defined(CF_RATES)
    return cf_sticky_update_f32(CF_FILTER(label), stream->state[label], observed, cf_config_beta[at], dt,
                                stream->transition_cache[label], scratch);
#else
    return cf_sticky_update_f32(CF_FILTER(label), stream->state[label], observed, cf_config_beta[at], dt, NULL,
                                scratch);
#endif
}

/* What an update of the filters changes. */
typedef struct {
    float state[CF_LABELS][CF_NUMBERS];
#ifdef CF_RATES
    float transition_cache[CF_LABELS][CF_STICKY_CACHE(CF_CLASSES)];
#endif
} filters;

static void copy_floats(const float *from, size_t count, float *to) {
    size_t i;
    for (i = 0; i < count; i++) to[i] = from[i];
}

static void keep_filters(const cf_stream_f32 *stream, filters *kept) {
    copy_floats(stream->state[0], sizeof kept->state / sizeof(float), kept->state[0]);
#ifdef CF_RATES
    copy_floats(stream->transition_cache[0], sizeof kept->transition_cache / sizeof(float), kept->transition_cache[0]);
#endif
}

static void restore_filters(cf_stream_f32 *stream, const filters *kept) {
    copy_floats(kept->state[0], sizeof kept->state / sizeof(float), stream->state[0]);
#ifdef CF_RATES
    copy_floats(kept->transition_cache[0], sizeof kept->transition_cache / sizeof(float), stream->transition_cache[0]);
#endif
}

cf_status cf_update_f32(cf_stream_f32 *stream, int source, const float *scores, float dt, float *probs) {
    filters before;
    cf_status status = CF_OK;
    int label;
    if (source < 0 || source >= CF_SOURCES) return CF_BAD_BETA;
    keep_filters(stream, &before);
    for (label = 0; label < CF_LABELS && status == CF_OK; label++)
        status = scores[label] < 0   ? CF_PROBS_NEGATIVE
                 : scores[label] > 1 ? CF_PROBS_SUM
                                     : update_label(stream, source, label, scores[label], dt);
    if (status != CF_OK) {
        restore_filters(stream, &before);
        return status;
    }
#ifdef CF_POLICY
    stream->gap = source == CF_STRONG ? 1 : stream->gap > 0 ? stream->gap + 1 : 0;
    stream->since = source == CF_STRONG ? 0 : stream->since + dt;
#endif
    if (probs != NULL)
        for (label = 0; label < CF_LABELS; label++) probs[label] = probability(stream, label);
    return CF_OK;
}

int cf_is_on_f32(const cf_stream_f32 *stream, int label) { return probability(stream, label) > 0.5f; }
