/* SPDX-License-Identifier: MIT */
/* The adaptive policy in single precision. */
#define CF_FLOAT
#define cf_adaptive_prepare cf_adaptive_prepare_f32
#define cf_adaptive_start cf_adaptive_start_f32
#define cf_adaptive_choose cf_adaptive_choose_f32
#define cf_adaptive_called cf_adaptive_called_f32
#include "policy_adaptive_impl.h"
