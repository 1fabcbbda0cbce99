/* SPDX-License-Identifier: MIT */
/* The Dirichlet filter in double precision: many streams, on vectors of 64 bytes. */
#if defined(__GNUC__) && !defined(__clang__)
/* what is worth it is vectors already; others cost a tenth of the speed */
#pragma GCC optimize("no-tree-vectorize")
#endif
#define CF_WIDE
#include "cf_port.h"

#ifdef CF_WIDE_LANES
#define cf_dirichlet_wide cf_dirichlet_wide_f64
#include "dirichlet_lanes.h"

#include "dirichlet_joined_impl.h"
#else
typedef int cf_no_wide_lanes; /* C has no empty files */
#endif
