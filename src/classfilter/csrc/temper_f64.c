/* SPDX-License-Identifier: MIT */
/* Temperature in double precision. */
#define cf_temper cf_temper_f64
#include "temper_impl.h"
