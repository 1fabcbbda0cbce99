/* SPDX-License-Identifier: MIT */
/* The adaptive policy in double precision. */
#define cf_adaptive_prepare cf_adaptive_prepare_f64
#define cf_adaptive_start cf_adaptive_start_f64
#define cf_adaptive_choose cf_adaptive_choose_f64
#define cf_adaptive_called cf_adaptive_called_f64
#include "policy_adaptive_impl.h"
