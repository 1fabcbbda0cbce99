/* SPDX-License-Identifier: MIT */
/* The filters of several labels at once that cf_config.h describes, for one row of scores at a time.

   Each label has a filter of two classes, off and on, of its own. No malloc, no libm, no stdio, no globals: a stream is
   the caller's struct, and an update works on the stack, with a copy of it. A failed call changes nothing. Results are,
   bit for bit, those of classfilter in Python with dtype float32. */
#ifndef CLASSFILTER_H
#define CLASSFILTER_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cf_config.h"

#include "core/cf.h"

#ifdef CF_DIRICHLET
#define CF_NUMBERS CF_DIRICHLET_STATE(CF_CLASSES) /* eta, then alpha */
#else
#define CF_NUMBERS CF_CLASSES /* the probabilities of off and on */
#endif

/* All that is remembered of a stream. */
typedef struct {
    float state[CF_LABELS][CF_NUMBERS];
#ifdef CF_RATES
    float transition_cache[CF_LABELS][CF_STICKY_CACHE(CF_CLASSES)]; /* what the last dt does */
#endif
#ifdef CF_POLICY
    float since;  /* the last strong call */
    uint32_t gap; /* steps since then; 0 before the first */
#endif
} cf_stream_f32;

/* Begins a stream, before any scores. */
void cf_start_f32(cf_stream_f32 *stream);

/* Takes the scores of a source, one per label, each in [0, 1], dt time units after those before (0 at the first). NaN: the
   label was not seen, for it only time passes. The probability of each label goes to `probs`, another array, or NULL.
   CF_PROBS_NEGATIVE: a score is below 0 or above 1. CF_BAD_BETA: there is no such source. */
cf_status cf_update_f32(cf_stream_f32 *stream, int source, const float *scores, float dt, float *probs);

#ifdef CF_POLICY
/* Whom to call now, dt time units after the last scores: *source becomes CF_STRONG or CF_WEAK. Nothing changes: the policy
   learns of a call by cf_update_f32. */
cf_status cf_choose_f32(const cf_stream_f32 *stream, float dt, int *source);
#endif

/* Whether a label is on, more probable than not: one of CF_LABEL_..., 0 to CF_LABELS - 1. */
int cf_is_on_f32(const cf_stream_f32 *stream, int label);

#ifdef __cplusplus
}
#endif

#endif
