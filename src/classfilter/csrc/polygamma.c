/* SPDX-License-Identifier: MIT */
/* The special functions one at a time, for tests and for the curious. */
#include "polygamma.h"

#include "cf.h"

cf_real CF_(cf_log)(cf_real x) { return cf_log_ratio(x, 1); }

cf_real CF_(cf_exp)(cf_real x) { return cf_exp_negative(x); }

cf_real CF_(cf_digamma)(cf_real x) {
    CF_(cf_polygamma) p = CF_(cf_polygamma_of)(x);
    return cf_log_ratio(p.h, 1) + p.rest;
}

cf_real CF_(cf_trigamma)(cf_real x) { return CF_(cf_polygamma_of)(x).trigamma; }
