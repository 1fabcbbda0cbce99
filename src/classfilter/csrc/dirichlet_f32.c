/* SPDX-License-Identifier: MIT */
/* The Dirichlet filter in single precision. */
#if defined(__GNUC__) && !defined(__clang__)
/* what is worth it is vectors already; a tenth of the time */
#pragma GCC optimize("no-tree-vectorize")
#endif
#define CF_FLOAT
#define cf_dirichlet_prepare cf_dirichlet_prepare_f32
#define cf_dirichlet_start cf_dirichlet_start_f32
#define cf_dirichlet_read cf_dirichlet_read_f32
#define cf_dirichlet_nu cf_dirichlet_nu_f32
#define cf_dirichlet_update cf_dirichlet_update_f32
#define cf_dirichlet_run cf_dirichlet_run_f32
#define cf_dirichlet_wide cf_dirichlet_wide_f32
#include "dirichlet_impl.h"
