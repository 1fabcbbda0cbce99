/* SPDX-License-Identifier: MIT */
/* The Dirichlet filter in double precision. */
#if defined(__GNUC__) && !defined(__clang__)
/* what is worth it is vectors already; a tenth of the time */
#pragma GCC optimize("no-tree-vectorize")
#endif
#define cf_dirichlet_prepare cf_dirichlet_prepare_f64
#define cf_dirichlet_start cf_dirichlet_start_f64
#define cf_dirichlet_read cf_dirichlet_read_f64
#define cf_dirichlet_nu cf_dirichlet_nu_f64
#define cf_dirichlet_update cf_dirichlet_update_f64
#define cf_dirichlet_run cf_dirichlet_run_f64
#define cf_dirichlet_wide cf_dirichlet_wide_f64
#include "dirichlet_impl.h"
#ifndef CF_SMALL
#include "dirichlet_joined_impl.h"
#endif
