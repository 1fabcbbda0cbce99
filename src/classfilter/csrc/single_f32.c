/* SPDX-License-Identifier: MIT */
/* The decision alone in single precision. */
#define CF_FLOAT
#define cf_single_update cf_single_update_f32
#include "single_impl.h"
