/* SPDX-License-Identifier: MIT */
/* The channel in single precision. */
#define CF_FLOAT
#define cf_channel_apply cf_channel_apply_f32
#include "channel_impl.h"
