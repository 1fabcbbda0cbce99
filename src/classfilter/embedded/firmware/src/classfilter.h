/* SPDX-License-Identifier: MIT */
/* The filter that cf_config.h describes, for one row of predictions at a time.

   Classes that exclude each other are one head, and each label of a multi-label filter is a head of two classes, off and
   on, that shows the probability of on. A row has CF_COLUMNS numbers, those of one head after the other: a column for
   each class of a head, and one for a label. CF_CLASS_... are their places.

   No malloc, no libm, no stdio, no globals: a stream is the caller's struct, and an update works on the stack. A failed
   call changes nothing. Results are, bit for bit, those of classfilter in Python with dtype float32. */
#ifndef CLASSFILTER_H
#define CLASSFILTER_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cf_config.h"

#include "core/cf.h"

#ifdef CF_DIRICHLET
#define CF_NUMBERS CF_DIRICHLET_STATE(CF_MOST_CLASSES) /* eta, then alpha */
#else
#define CF_NUMBERS CF_MOST_CLASSES /* the class probabilities */
#endif

#ifdef CF_EVENTS
#define CF_EVENTS_WORDS                                                                                                \
    (CF_EVENTS_BYTES(CF_MOST_CLASSES, CF_RULE_STATES, CF_RULE_SLOW, CF_RULE_NODES, CF_RULE_SLOTS) / 8)
#define CF_MOST_EVENTS CF_EVENTS_ROOM(CF_RULE_NODES) /* that one call returns */
#endif

/* Where there are several heads, functions of one take its number after the stream, one of CF_HEAD_...; of one head alone,
   they have no such argument. */
#if CF_HEADS > 1
#define CF_AND_HEAD , int head
#else
#define CF_AND_HEAD
#endif

/* What the filters of the heads remember; of a head with fewer classes than another, the last numbers are 0. */
typedef struct {
    float state[CF_HEADS][CF_NUMBERS];
#ifdef CF_RATES
    float transition_cache[CF_HEADS][CF_STICKY_CACHE(CF_MOST_CLASSES)]; /* what the last dt does */
#endif
} cf_filters_f32;

/* All that is remembered of a stream. */
typedef struct {
#ifdef CF_EVENTS
    uint64_t events[CF_RULES][CF_EVENTS_WORDS]; /* what is open: segments, and paths through them */
#endif
    cf_filters_f32 filters;
#ifdef CF_POLICY
    float since; /* the last strong call */
#ifdef CF_ADAPTIVE
    float policy[CF_ADAPTIVE_STATE];
#else
    uint32_t gap; /* steps since then; 0 before the first */
#endif
#endif
} cf_stream_f32;

/* Begins a stream, before any row. */
void cf_start_f32(cf_stream_f32 *stream);

/* Takes a row of a source, dt time units after the one before (0 at the first). The columns of a head are the probabilities
   of its classes; that of a label is a score in [0, 1]. All NaN: nothing was seen of this head, for it only time passes. The
   filtered row goes to `probs`, another array, or NULL. CF_PROBS_NEGATIVE, CF_PROBS_SUM: a score is below 0, or above 1.
   CF_BAD_BETA: there is no such source. */
cf_status cf_update_f32(cf_stream_f32 *stream, int source, const float *observed, float dt, float *probs);

#ifdef CF_POLICY
/* Whom to call now, dt time units after the last row: *source becomes CF_STRONG or CF_WEAK. Nothing changes: the policy
   learns of a call by cf_update_f32. CF_BAD_DT: dt is negative, NaN, or above 1e30. */
cf_status cf_choose_f32(const cf_stream_f32 *stream, float dt, int *source);
#endif

#ifdef CF_EVENTS
/* Events of a head: the row that cf_update_f32 has returned, at `now` ticks of a clock that may begin again after 2^32. Those
   that no later row can change go to `events`, which has room for CF_MOST_EVENTS, and their number to *count; each is
   returned once, and its label is one of CF_CLASS_... Starts and ends count on where the clock begins again: their last 32
   bits are the clock's. CF_BAD_TIME: the clock went back, or 2^31 ticks have passed. If there is no memory for one more open
   segment, the oldest is decided early, and has `forced`. A label whose events are ignored has none. */
cf_status cf_decide_f32(cf_stream_f32 *stream CF_AND_HEAD, uint32_t now, const float *probs, cf_event *events,
                        size_t *count);

/* The event of a head that goes on at present, as if the stream ended now. 0: there is none; 1: later rows may change its
   class and its start, or withdraw it; 2: they cannot. It copies the state of the head's events, on the stack. */
int cf_current_f32(const cf_stream_f32 *stream CF_AND_HEAD, cf_event *event);

/* The stream ends, or has a gap: the last events of a head, CF_MOST_EVENTS at most. Its events restart; the filter goes on. */
void cf_finish_f32(cf_stream_f32 *stream CF_AND_HEAD, cf_event *events, size_t *count);

/* The starts of a head's events that no later row changes, each once: what an alarm needs. To be called after each cf_decide_f32
   and cf_finish_f32 with the events that it returned; *starts, which may be `events`, has room for CF_MOST_EVENTS + 1, and their
   number is returned. An event whose end is not known yet has its start as its end, and the probability 0. */
size_t cf_starts_f32(cf_stream_f32 *stream CF_AND_HEAD, const cf_event *events, size_t count, cf_event *starts);

#ifdef CF_PIECES
/* Piece number i of an event that is longer than max_duration; 0 where there is none. */
int cf_piece_f32(const cf_event *event, size_t i, cf_event *piece);
#endif
#endif

/* The most probable class of a head, one of CF_CLASS_...; of a label, -1 where it is not more probable than not. */
int cf_label_f32(const cf_stream_f32 *stream CF_AND_HEAD);

#ifdef __cplusplus
}
#endif

#endif
