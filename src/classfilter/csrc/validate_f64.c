/* SPDX-License-Identifier: MIT */
/* The check of rows in double precision. */
#define cf_check cf_check_f64
#include "validate_impl.h"
