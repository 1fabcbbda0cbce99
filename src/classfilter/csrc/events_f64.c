/* SPDX-License-Identifier: MIT */
/* The event rule in double precision. */
#define cf_events_prepare cf_events_prepare_f64
#define cf_events_size cf_events_size_f64
#define cf_events_start cf_events_start_f64
#define cf_events_update cf_events_update_f64
#define cf_events_tick cf_events_tick_f64
#define cf_events_run cf_events_run_f64
#define cf_events_finish cf_events_finish_f64
#define cf_events_current cf_events_current_f64
#define cf_events_starts cf_events_starts_f64
#define cf_events_piece cf_events_piece_f64
#define cf_events_memory cf_events_memory_f64
#define cf_events_needed cf_events_needed_f64
#define cf_events_last cf_events_last_f64
#define cf_events_grow cf_events_grow_f64
#define cf_events_check cf_events_check_f64
#include "events_impl.h"
