/* SPDX-License-Identifier: MIT */
/* The decision alone in double precision. */
#define cf_single_update cf_single_update_f64
#include "single_impl.h"
