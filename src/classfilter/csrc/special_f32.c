/* SPDX-License-Identifier: MIT */
/* The special functions in single precision. */
#define CF_FLOAT
#define cf_log cf_log_f32
#define cf_exp cf_exp_f32
#define cf_digamma cf_digamma_f32
#define cf_trigamma cf_trigamma_f32
#include "special_impl.h"
