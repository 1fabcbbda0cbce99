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

#ifdef CF_EVENTS
#define CF_EVENTS_WORDS (CF_EVENTS_BYTES(CF_CLASSES, CF_RULE_STATES, CF_RULE_SLOW, CF_RULE_NODES, CF_RULE_SLOTS) / 8)
#define CF_MOST_EVENTS CF_EVENTS_ROOM(CF_RULE_NODES) /* that one call returns */
#endif

/* All that is remembered of a stream. */
typedef struct {
#ifdef CF_EVENTS
    uint64_t events[CF_EVENTS_WORDS]; /* what is open: segments, and paths through them */
#endif
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
   learns of a call by cf_update_f32. CF_BAD_DT: dt is negative, NaN, or above 1e30. */
cf_status cf_choose_f32(const cf_stream_f32 *stream, float dt, int *source);
#endif

#ifdef CF_EVENTS
/* Events: what cf_update_f32 has returned, at `now` ticks of a clock that may begin again after 2^32. Those that no later row can
   change go to `events`, which has room for CF_MOST_EVENTS, and their number to *count; each is returned once. Starts and
   ends count on where the clock begins again: their last 32 bits are the clock's. CF_BAD_TIME: the clock went back, or 2^31
   ticks have passed. If there is no memory for one more open segment, the oldest is decided early, and has `forced`. */
cf_status cf_decide_f32(cf_stream_f32 *stream, uint32_t now, const float *probs, cf_event *events, size_t *count);

/* The event that goes on at present, as if the stream ended now. 0: there is none; 1: later rows may change its class and its
   start; 2: they cannot. It copies the state, on the stack. */
int cf_current_f32(const cf_stream_f32 *stream, cf_event *event);

/* The stream is over, or has a gap: its last events, CF_MOST_EVENTS at most. Events begin anew; the filter goes on. */
void cf_finish_f32(cf_stream_f32 *stream, cf_event *events, size_t *count);

#ifdef CF_PIECES
/* Piece number i of an event that is longer than max_duration; 0 where there is none. */
int cf_piece_f32(const cf_event *event, size_t i, cf_event *piece);
#endif
#endif

/* The most probable class of a stream: 0 to CF_CLASSES - 1, one of CF_CLASS_... */
int cf_label_f32(const cf_stream_f32 *stream);

#ifdef __cplusplus
}
#endif

#endif
