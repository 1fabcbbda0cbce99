/* The core for this configuration, in one translation unit: compile this file, no option is needed. */

/* The same bits on every machine: a product and a sum are rounded each. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#define CF_TABLES
#include "classfilter.h"

#ifdef CF_DIRICHLET
#include "core/dirichlet.c"
#else
#include "core/sticky.c"
#endif
#ifdef CF_CHANNELS
#include "core/channel.c"
#endif

void cf_start_f32(cf_stream_f32 *stream) {
    size_t i;
    for (i = 0; i < sizeof stream->state / sizeof stream->state[0]; i++) stream->state[i] = cf_config_start[i];
#ifdef CF_RATES
    stream->passage[0] = -1;
#endif
}

cf_status cf_update_f32(cf_stream_f32 *stream, int source, const float *observed, float dt, float *probs) {
    cf_status status;
#ifdef CF_CHANNELS
    float right[CF_CLASSES];
#endif
#ifdef CF_DIRICHLET
    float scratch[CF_DIRICHLET_SCRATCH(CF_CLASSES)];
#elif defined(CF_RATES)
    float scratch[CF_STICKY_SCRATCH(CF_CLASSES)];
#else
    float scratch[CF_STICKY_SCRATCH_STAY(CF_CLASSES)];
#endif
    if (source < 0 || source >= CF_SOURCES) return CF_BAD_BETA;
#ifdef CF_CHANNELS
    if (cf_config_channel[source].classes > 0) {
        status = cf_channel_apply_f32(&cf_config_channel[source], observed, right);
        if (status != CF_OK) return status;
        observed = right;
    }
#endif
#ifdef CF_DIRICHLET
    status = cf_dirichlet_update_f32(&cf_config_filter, stream->state, observed, cf_config_beta[source], dt, probs, scratch);
#else
#ifdef CF_RATES
    status = cf_sticky_update_f32(&cf_config_filter, stream->state, observed, cf_config_beta[source], dt, stream->passage,
                                  scratch);
#else
    status = cf_sticky_update_f32(&cf_config_filter, stream->state, observed, cf_config_beta[source], dt, NULL, scratch);
#endif
    if (status == CF_OK && probs != NULL) {
        size_t k;
        for (k = 0; k < CF_CLASSES; k++) probs[k] = stream->state[k];
    }
#endif
    return status;
}

int cf_label_f32(const cf_stream_f32 *stream) {
#ifdef CF_DIRICHLET
    const float *const certain = stream->state + 1;
#else
    const float *const certain = stream->state;
#endif
    int label = 0, k;
    for (k = 1; k < CF_CLASSES; k++)
        if (certain[k] > certain[label]) label = k;
    return label;
}
