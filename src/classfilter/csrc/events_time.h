/* SPDX-License-Identifier: MIT */
/* Times of events: double, compared with a tolerance; or, with CF_TICKS, whole numbers. A test holds both to the same
   decisions: for whole numbers, the tolerance is more than 0 and less than 1. */
#ifndef CF_EVENTS_TIME_H
#define CF_EVENTS_TIME_H

#include "validate.h"

#ifdef CF_TICKS

#define CF_NEVER_STARTED (-1) /* before all times */

CF_INLINE int is_longer(cf_time length, cf_time limit, cf_time clock) {
    (void)clock;
    return length > limit;
}

/* Whether it is later than the start of a piece of this length. */
CF_INLINE int is_after(cf_time time, cf_time start, cf_time length) {
    (void)length;
    return time > start;
}

CF_INLINE int is_as_long(cf_time length, cf_time limit, cf_time clock) {
    (void)clock;
    return length >= limit;
}

/* What is at this time or before lies more than max_delay before the end. */
CF_INLINE cf_time horizon_of(cf_time max_delay, cf_time end) { return end - max_delay - 1; }

CF_INLINE int is_endless(cf_time limit) { return limit == CF_FOREVER; }
CF_INLINE int is_limit(cf_time limit) { return is_endless(limit) || (limit >= 0 && limit < CF_TICKS_MOST); }
CF_INLINE int is_span(cf_time length) { return length >= 0 && length < CF_TICKS_MOST; }
CF_INLINE int can_follow(cf_time time, cf_time last) { return time >= last && time - last <= INT32_MAX; }
CF_INLINE int is_clock(cf_time time) { return time >= 0 && time < INT64_C(1) << 49; }

/* A time that a row stands for. */
CF_INLINE cf_real as_weight(cf_time time) { return (cf_real)(int32_t)time; }

/* A time that is not negative, rounded once: bits that are too many leave one behind that tells of them. */
static cf_real as_real(cf_time time) {
    cf_real scale = 1;
    for (; time > INT32_MAX; time = (time >> 1) | (time & 1)) scale *= 2;
    return (cf_real)(int32_t)time * scale;
}

/* Where pads of this length meet in a gap. */
CF_INLINE cf_time share_of_gap(cf_time gap, cf_time after, cf_time both) {
    return (cf_time)((uint64_t)gap * (uint64_t)after / (uint64_t)both);
}

#else

#define CF_NEVER_STARTED (-DBL_MAX) /* before all times */

CF_INLINE double magnitude(double x) { return x < 0 ? -x : x; }

/* What a length of time at this time of the clock may be off by. */
CF_INLINE double time_tolerance(double limit, double clock) {
    return limit * CF_EVENTS_SHARE + magnitude(clock) * CF_EVENTS_ULPS;
}

CF_INLINE int is_longer(double length, double limit, double clock) {
    return length > limit + time_tolerance(limit, clock);
}

/* Whether it is later than the start of a piece of this length. */
CF_INLINE int is_after(double time, double start, double length) { return time > start + time_tolerance(length, time); }

CF_INLINE int is_as_long(double length, double limit, double clock) {
    return !(length < limit - time_tolerance(limit, clock));
}

/* What is at this time or before lies more than max_delay before the end. */
CF_INLINE double horizon_of(double max_delay, double end) { return end - max_delay - time_tolerance(max_delay, end); }

CF_INLINE int is_endless(double limit) { return !(limit <= DBL_MAX); }
CF_INLINE int is_limit(double limit) { return limit >= 0; }
CF_INLINE int is_span(double length) { return length >= 0 && length <= 1e30; }
CF_INLINE int can_follow(double time, double last) { return time >= last && time - last <= 1e30; }
CF_INLINE int is_clock(double time) { return time >= -1e300 && time <= 1e300; }

/* A time that a row stands for. */
CF_INLINE cf_real as_weight(double time) { return (cf_real)time; }
CF_INLINE cf_real as_real(double time) { return (cf_real)time; }

/* Where pads of this length meet in a gap. */
CF_INLINE double share_of_gap(double gap, double after, double both) { return gap * (after / both); }

#endif

#endif
