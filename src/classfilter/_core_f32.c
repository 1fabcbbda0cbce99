/* SPDX-License-Identifier: MIT */
/* The core once more, in single precision. */
#define CF_FLOAT
#include "csrc/policy_adaptive.c"
#include "csrc/channel.c"
#include "csrc/validate.c"
#include "csrc/dirichlet.c"
#include "csrc/single.c"
#include "csrc/polygamma.c"
#include "csrc/sticky.c"
