/* SPDX-License-Identifier: MIT */
/* The special functions in double precision. */
#define cf_log cf_log_f64
#define cf_exp cf_exp_f64
#define cf_digamma cf_digamma_f64
#define cf_trigamma cf_trigamma_f64
#include "special_impl.h"
