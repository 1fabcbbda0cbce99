/* SPDX-License-Identifier: MIT */
/* The sticky filter in single precision. */
#define CF_FLOAT
#define cf_sticky_update cf_sticky_update_f32
#define cf_sticky_run cf_sticky_run_f32
#define cf_sticky_backward cf_sticky_backward_f32
#define cf_sticky_prepare cf_sticky_prepare_f32
#define cf_sticky_start cf_sticky_start_f32
#define cf_sticky_transitions cf_sticky_transitions_f32
#include "sticky_impl.h"
