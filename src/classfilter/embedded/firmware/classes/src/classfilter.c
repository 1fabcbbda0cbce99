/* SPDX-License-Identifier: MIT */
/* The core for this configuration, in one translation unit: compile this file, no option is needed. */

#include "cf_core.h"

#ifdef CF_EVENTS
cf_status cf_decide_f32(cf_stream_f32 *stream, uint32_t now, const float *probs, cf_event *events, size_t *count) {
    return cf_events_tick_f32(&cf_config_rule[0], stream->events, now, probs, events, count);
}

int cf_current_f32(const cf_stream_f32 *stream, cf_event *event) {
    uint64_t copy[CF_EVENTS_WORDS];
    int open, confirmed;
    (void)cf_events_current_f32(&cf_config_rule[0], stream->events, copy, event, &open, &confirmed);
    return open + confirmed;
}

void cf_finish_f32(cf_stream_f32 *stream, cf_event *events, size_t *count) {
    (void)cf_events_finish_f32(&cf_config_rule[0], stream->events, events, count);
}

#ifdef CF_PIECES
int cf_piece_f32(const cf_event *event, size_t i, cf_event *piece) {
    return cf_events_piece_f32(&cf_config_rule[0], event, i, piece);
}
#endif
#endif
#ifdef CF_ADAPTIVE
static void read_estimate(const cf_stream_f32 *stream, float *probs) {
#ifdef CF_DIRICHLET
    cf_dirichlet_read_f32(&cf_config_filter, stream->state, probs);
#else
    size_t k;
    for (k = 0; k < CF_CLASSES; k++) probs[k] = stream->state[k];
#endif
#ifdef CF_TEMPERED
    (void)cf_temper_f32(CF_CLASSES, cf_config_temperature[0], probs, probs);
#endif
}
#endif

#ifndef CF_DIRICHLET
/* A row of probabilities, which is copied as one. */
typedef struct {
    float probs[CF_CLASSES];
} cf_row_f32;
#endif

#ifdef CF_POLICY
cf_status cf_choose_f32(const cf_stream_f32 *stream, float dt, int *source) {
    const float since = stream->since + dt;
    int strong;
#ifdef CF_ADAPTIVE
    float estimate[CF_CLASSES];
    cf_status status;
#endif
    if (!(dt >= 0 && dt <= 1e30f)) return CF_BAD_DT;
#ifdef CF_ADAPTIVE
    read_estimate(stream, estimate);
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

void cf_start_f32(cf_stream_f32 *stream) {
    size_t i;
    for (i = 0; i < sizeof stream->state / sizeof stream->state[0]; i++) stream->state[i] = cf_config_start[i];
#ifdef CF_EVENTS
    (void)cf_events_start_f32(&cf_config_rule[0], stream->events, CF_RULE_NODES, CF_RULE_SLOTS);
#endif
#ifdef CF_RATES
    stream->transition_cache[0] = -1;
#endif
#ifdef CF_POLICY
    stream->since = 0;
#ifdef CF_ADAPTIVE
    cf_adaptive_start_f32(stream->policy);
#else
    stream->gap = 0;
#endif
#endif
}

cf_status cf_update_f32(cf_stream_f32 *stream, int source, const float *observed, float dt, float *probs) {
    cf_status status;
#ifdef CF_CHANNELS
    float corrected[CF_CLASSES];
#endif
    float scratch[CF_SCRATCH];
#ifdef CF_ADAPTIVE
    float estimate[CF_CLASSES];
    read_estimate(stream, estimate);
#endif
    if (source < 0 || source >= CF_SOURCES) return CF_BAD_BETA;
#ifdef CF_CHANNELS
    if (cf_config_channel[source].classes > 0) {
        status = cf_channel_apply_f32(&cf_config_channel[source], observed, corrected);
        if (status != CF_OK) return status;
        observed = corrected;
    }
#endif
/* update_row is cf_dirichlet_update_f32 or cf_sticky_update_f32 as straight code; the linker leaves those out. */
#ifdef CF_DIRICHLET
    status = update_row(&cf_config_filter, stream->state, observed, cf_config_beta[source], dt, probs, scratch);
#else
#ifdef CF_RATES
    status = update_row(&cf_config_filter, stream->state, observed, cf_config_beta[source], dt,
                        stream->transition_cache, scratch);
#else
    status = update_row(&cf_config_filter, stream->state, observed, cf_config_beta[source], dt, NULL, scratch);
#endif
    if (status == CF_OK && probs != NULL) *(cf_row_f32 *)probs = *(const cf_row_f32 *)stream->state;
#endif
#ifdef CF_TEMPERED
    if (status == CF_OK && probs != NULL) (void)cf_temper_f32(CF_CLASSES, cf_config_temperature[0], probs, probs);
#endif
#ifdef CF_POLICY
    if (status == CF_OK) { /* what the filter takes, the policy takes */
#ifdef CF_ADAPTIVE
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

int cf_label_f32(const cf_stream_f32 *stream) {
#ifdef CF_DIRICHLET
    const float *const belief = stream->state + 1;
#else
    const float *const belief = stream->state;
#endif
    int label = 0, k;
    for (k = 1; k < CF_CLASSES; k++)
        if (belief[k] > belief[label]) label = k;
    return label;
}
