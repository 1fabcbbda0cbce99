/* SPDX-License-Identifier: MIT */
/* The filter that cf_config.h describes, for one classifier output at a time.

   No malloc, no libm, no stdio, no globals: a stream is the caller's struct, and an update works on the stack. A failed
   call changes nothing. Results are, bit for bit, those of classfilter in Python with dtype float32. */
#ifndef CLASSFILTER_H
#define CLASSFILTER_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cf_config.h"

#include "core/cf.h"

/* All that is remembered of a stream. */
typedef struct {
#ifdef CF_DIRICHLET
    float state[CF_DIRICHLET_STATE(CF_CLASSES)]; /* eta, then alpha */
#else
    float state[CF_CLASSES]; /* the class probabilities */
#endif
#ifdef CF_RATES
    float transition_cache[CF_STICKY_CACHE(CF_CLASSES)]; /* what the last dt does */
#endif
#ifdef CF_POLICY
    float since; /* the last strong call */
#ifdef CF_ADAPTIVE
    float policy[CF_ADAPTIVE_STATE];
#else
    uint32_t gap; /* steps since then; 0 before the first */
#endif
#endif
} cf_stream_f32;

/* Begins a stream, before any output. */
void cf_start_f32(cf_stream_f32 *stream);

/* Takes the output of a source, CF_CLASSES probabilities, dt time units after the one before (0 at the first). All NaN:
   nothing was seen, only time passes. The class probabilities go to `probs`, another array, or NULL. CF_BAD_BETA: there is
   no such source. */
cf_status cf_update_f32(cf_stream_f32 *stream, int source, const float *observed, float dt, float *probs);

#ifdef CF_POLICY
/* Whom to call now, dt time units after the last output: *source becomes CF_STRONG or CF_WEAK. Nothing changes: the policy
   learns of a call by cf_update_f32. */
cf_status cf_choose_f32(const cf_stream_f32 *stream, float dt, int *source);
#endif

/* The most probable class of a stream: 0 to CF_CLASSES - 1, one of CF_CLASS_... */
int cf_label_f32(const cf_stream_f32 *stream);

#ifdef __cplusplus
}
#endif

#endif
