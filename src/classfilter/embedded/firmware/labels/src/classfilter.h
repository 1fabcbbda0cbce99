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

#ifdef CF_EVENTS
#define CF_EVENTS_WORDS (CF_EVENTS_BYTES(CF_CLASSES, CF_RULE_STATES, CF_RULE_SLOW, CF_RULE_NODES, CF_RULE_SLOTS) / 8)
#define CF_MOST_EVENTS CF_EVENTS_ROOM(CF_RULE_NODES) /* that one call returns */
#endif

/* All that is remembered of a stream. */
typedef struct {
#ifdef CF_EVENTS
    uint64_t events[CF_RULES][CF_EVENTS_WORDS]; /* what is open: segments, and paths through them */
#endif
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
   CF_PROBS_NEGATIVE, CF_PROBS_SUM: a score is below 0, or above 1. CF_BAD_BETA: there is no such source. */
cf_status cf_update_f32(cf_stream_f32 *stream, int source, const float *scores, float dt, float *probs);

#ifdef CF_POLICY
/* Whom to call now, dt time units after the last scores: *source becomes CF_STRONG or CF_WEAK. Nothing changes: the policy
   learns of a call by cf_update_f32. CF_BAD_DT: dt is negative, NaN, or above 1e30. */
cf_status cf_choose_f32(const cf_stream_f32 *stream, float dt, int *source);
#endif

#ifdef CF_EVENTS
/* Events of one label: its probability as cf_update_f32 has returned it, at `now` ticks of a clock that may begin again after 2^32. Those
   that no later row can change go to `events`, which has room for CF_MOST_EVENTS, and their number to *count; each is returned
   once. Starts and ends count on where the clock begins again: their last 32 bits are the clock's. CF_BAD_TIME: the clock
   went back, or 2^31 ticks have passed. If there is no memory for one more open segment, the oldest is decided early, and
   has `forced`. A label whose events are ignored has none. */
cf_status cf_decide_f32(cf_stream_f32 *stream, int label, uint32_t now, float prob, cf_event *events, size_t *count);

/* The event of a label that goes on at present, as if the stream ended now. 0: there is none; 1: later rows may change its
   start, or withdraw it; 2: they cannot. It copies the label's state, on the stack. */
int cf_current_f32(const cf_stream_f32 *stream, int label, cf_event *event);

/* The stream is over, or has a gap: the last events of a label, CF_MOST_EVENTS at most. Its events begin anew; the filter goes on. */
void cf_finish_f32(cf_stream_f32 *stream, int label, cf_event *events, size_t *count);

#ifdef CF_PIECES
/* Piece number i of an event that is longer than max_duration; 0 where there is none. */
int cf_piece_f32(const cf_event *event, size_t i, cf_event *piece);
#endif
#endif

/* Whether a label is on, more probable than not: one of CF_LABEL_..., 0 to CF_LABELS - 1. */
int cf_is_on_f32(const cf_stream_f32 *stream, int label);

#ifdef __cplusplus
}
#endif

#endif
