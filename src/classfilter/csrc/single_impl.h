/* SPDX-License-Identifier: MIT */
/* The decision alone, where every weight is 1. */
#include "validate.h"

cf_status cf_single_update(const cf_dirichlet *f, cf_real *nu, const cf_real *observed, cf_real dt, size_t *decision) {
    const size_t classes = CF_COUNT(f->classes);
    const cf_real floor = f->floor;
    cf_real keep = dt == 1 ? f->gamma : dt == 0 ? 1 : 0, least;
    int seen = 0;
    size_t k;
    const cf_status status = check_update(classes, observed, is_valid_row(classes, observed), 1, dt, &seen);
    if (status != CF_OK) return status;
    if (dt != 1 && dt != 0 && f->gamma > 0) keep = cf_exp_negative(dt * f->log_gamma);
    *decision = 0;
    for (k = 0; k < classes; k++) {
        nu[k] *= keep;
        if (seen) nu[k] -= cf_log_ratio(observed[k] > floor ? observed[k] : floor, 1);
        if (nu[k] < nu[*decision]) *decision = k;
    }
    least = nu[*decision];
    for (k = 0; k < classes; k++) nu[k] -= least;
    return CF_OK;
}
