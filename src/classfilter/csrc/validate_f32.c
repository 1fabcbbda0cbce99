/* SPDX-License-Identifier: MIT */
/* The check of rows in single precision. */
#define CF_FLOAT
#define cf_check cf_check_f32
#include "validate_impl.h"
