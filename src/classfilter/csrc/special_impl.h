/* SPDX-License-Identifier: MIT */
/* The special functions one at a time, for tests and for the curious. */
#include "special.h"

cf_real cf_log(cf_real x) { return cf_log_ratio(x, 1); }

cf_real cf_exp(cf_real x) { return cf_exp_negative(x); }

cf_real cf_digamma(cf_real x) { return -cf_polygamma_of(x, 1).drop; }

cf_real cf_trigamma(cf_real x) { return cf_polygamma_of(x, 1).first; }
