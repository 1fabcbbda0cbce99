/* SPDX-License-Identifier: MIT */
/* The sticky filter in double precision. */
#define cf_sticky_update cf_sticky_update_f64
#define cf_sticky_run cf_sticky_run_f64
#define cf_sticky_backward cf_sticky_backward_f64
#define cf_sticky_prepare cf_sticky_prepare_f64
#define cf_sticky_start cf_sticky_start_f64
#define cf_sticky_transitions cf_sticky_transitions_f64
#include "sticky_impl.h"
