/* SPDX-License-Identifier: MIT */
/* The core for this configuration, in one translation unit: compile this file, no option is needed. */

/* The same bits on every machine: a product and a sum are rounded each. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#ifdef __cplusplus /* which has no such word of its own */
#define restrict __restrict
#endif

#define CF_TABLES
#include "classfilter.h"

#ifdef CF_DIRICHLET
#include "core/dirichlet_f32.h"
#else
#include "core/sticky_f32.h"
#endif
#ifdef CF_CHANNELS
#include "core/channel_f32.h"
#endif
#ifdef CF_TEMPERED
#include "core/temper_f32.h"
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
    (void)dt;
#else
    const int strong = stream->gap == 0 || stream->since + dt >= CF_SECONDS * (1 - 1e-6f);
#endif
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
#ifdef CF_DIRICHLET
    float scratch[CF_DIRICHLET_SCRATCH(CF_CLASSES)];
#elif defined(CF_RATES)
    float scratch[CF_STICKY_SCRATCH(CF_CLASSES)];
#else
    float scratch[CF_STICKY_SCRATCH_STAY(CF_CLASSES)];
#endif
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

cf_status cf_update_f32(cf_stream_f32 *stream, int source, const float *scores, float dt, float *probs) {
    cf_stream_f32 after = *stream;
    int label;
    if (source < 0 || source >= CF_SOURCES) return CF_BAD_BETA;
    for (label = 0; label < CF_LABELS; label++) {
        cf_status status;
        if (scores[label] < 0 || scores[label] > 1) return CF_PROBS_NEGATIVE;
        status = update_label(&after, source, label, scores[label], dt);
        if (status != CF_OK) return status;
    }
#ifdef CF_POLICY
    after.gap = source == CF_STRONG ? 1 : stream->gap > 0 ? stream->gap + 1 : 0;
    after.since = source == CF_STRONG ? 0 : stream->since + dt;
#endif
    *stream = after;
    if (probs != NULL)
        for (label = 0; label < CF_LABELS; label++) probs[label] = probability(stream, label);
    return CF_OK;
}

int cf_is_on_f32(const cf_stream_f32 *stream, int label) { return probability(stream, label) > 0.5f; }
