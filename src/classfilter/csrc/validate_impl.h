/* SPDX-License-Identifier: MIT */
#include "validate.h"

cf_status cf_check(size_t classes, size_t rows, const cf_real *observed, const cf_real *beta, size_t beta_stride,
                   const cf_real *dt, size_t dt_stride, size_t *row) {
    size_t i;
    int seen;
    for (i = 0; i < rows; i++) {
        const cf_real *const input = observed + i * classes;
        cf_status status =
            check_update(classes, input, is_valid_row(classes, input), beta[i * beta_stride], dt[i * dt_stride], &seen);
        if (status != CF_OK) {
            *row = i;
            return status;
        }
    }
    return CF_OK;
}
