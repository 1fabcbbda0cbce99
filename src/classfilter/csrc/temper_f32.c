/* SPDX-License-Identifier: MIT */
/* Temperature in single precision. */
#define CF_FLOAT
#define cf_temper cf_temper_f32
#include "temper_impl.h"
