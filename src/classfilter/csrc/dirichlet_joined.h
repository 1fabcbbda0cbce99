/* SPDX-License-Identifier: MIT */
/* States of the Dirichlet filter to which more is added than an observation: what was seen after them, in smoothing. */
#ifndef CF_DIRICHLET_JOINED_H
#define CF_DIRICHLET_JOINED_H

#include "cf.h"

/* Rows of several states: `slots` says which of `states` (, classes + 1) each one has, a time dt before it. */
typedef struct {
    size_t count;
    const double *states;
    const size_t *slots;
    const double *dt, *eta, *nu, *observed, *beta;
} cf_joined;

/* Estimates of the rows, (count, classes): dt passes, eta and nu (count, classes) are added to what is left of the state, and the
   row is observed with the weight beta, or nothing where that is 0. found[row] is 1; or 0, and there is no estimate, where
   nothing is added, where the sum has no mode within max_concentration or exceeds the bound, so that it is to be found by itself
   first, or where the search does not end. Needs CF_DIRICHLET_SCRATCH_MANY numbers of scratch memory. Not with CF_SMALL. */
void cf_dirichlet_join_f64(const cf_dirichlet_f64 *settings, const cf_joined *rows, double *probs, unsigned char *found,
                           double *scratch);

/* nu / eta of states: E[-log s_i], bounded as in the filter; (count, classes). Not with CF_SMALL. */
void cf_dirichlet_means_f64(const cf_dirichlet_f64 *settings, size_t count, const double *states, double *means);

#endif
