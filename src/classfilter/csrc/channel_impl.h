/* SPDX-License-Identifier: MIT */
/* The channel: a classifier's outputs corrected by its confusions. */
#include "validate.h"

cf_status cf_channel_apply(const cf_channel *c, const cf_real *observed, cf_real *probs) {
    const size_t classes = CF_COUNT(c->classes);
    const cf_real *seen = c->log_matrix;
    cf_real sum, most;
    int missing = 0;
    size_t j, k;
    if (!is_valid_row(classes, observed)) {
        const cf_status status = diagnose_row(classes, observed, &missing);
        for (k = 0; missing && k < classes; k++) probs[k] = observed[k];
        return status;
    }
    sum = cf_sum(classes, observed);
    for (k = 0; k < classes; k++) probs[k] = c->log_prior[k];
    for (j = 0; j < classes; j++) {
        const cf_real weight = observed[j] / sum;
        for (k = 0; k < classes; k++) probs[k] += weight * *seen++;
    }
    most = probs[0];
    for (k = 1; k < classes; k++) most = probs[k] > most ? probs[k] : most;
    for (k = 0; k < classes; k++) probs[k] = cf_exp_negative(probs[k] - most);
    sum = cf_sum(classes, probs);
    for (k = 0; k < classes; k++) probs[k] /= sum;
    return CF_OK;
}
