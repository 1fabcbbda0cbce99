/* SPDX-License-Identifier: MIT */
/* The event rule in single precision. */
#define CF_FLOAT
#define cf_events_prepare cf_events_prepare_f32
#define cf_events_size cf_events_size_f32
#define cf_events_start cf_events_start_f32
#define cf_events_update cf_events_update_f32
#define cf_events_tick cf_events_tick_f32
#define cf_events_run cf_events_run_f32
#define cf_events_finish cf_events_finish_f32
#define cf_events_current cf_events_current_f32
#define cf_events_starts cf_events_starts_f32
#define cf_events_piece cf_events_piece_f32
#define cf_events_memory cf_events_memory_f32
#define cf_events_needed cf_events_needed_f32
#define cf_events_last cf_events_last_f32
#define cf_events_grow cf_events_grow_f32
#define cf_events_check cf_events_check_f32
#include "events_impl.h"
