/* SPDX-License-Identifier: MIT */
/* The channel in double precision. */
#define cf_channel_apply cf_channel_apply_f64
#include "channel_impl.h"
