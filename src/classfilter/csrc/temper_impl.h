/* SPDX-License-Identifier: MIT */
/* Temperature: probabilities that are less certain, or more, with the same most probable class. */
#include "validate.h"

#define CF_COLDEST CF_R(0.05)
#define CF_HOTTEST CF_R(20.0)

cf_status cf_temper(size_t classes, cf_real temperature, const cf_real *probs, cf_real *tempered) {
    const size_t count = CF_COUNT(classes);
    const cf_real power = 1 / temperature;
    /* What is less than the largest stays so: rounding makes no ties, neither here nor in the division below. */
    const cf_real below = 1 - 2 * CF_EPSILON;
    cf_real most = 0, sum;
    size_t k;
    if (!(temperature >= CF_COLDEST && temperature <= CF_HOTTEST)) return CF_BAD_TEMPERATURE;
    for (k = 0; k < count; k++) {
        if (!(probs[k] >= 0 && probs[k] <= CF_R(1e30))) return CF_BAD_STATE;
        most = probs[k] > most ? probs[k] : most;
    }
    if (!(most >= CF_NORMAL)) return CF_BAD_STATE;
    if (temperature == 1) {
        for (k = 0; k < count; k++) tempered[k] = probs[k];
        return CF_OK;
    }
    for (k = 0; k < count; k++) {
        const cf_real p = probs[k], log = cf_log_ratio(p >= CF_NORMAL ? p : most, most);
        const cf_real q = cf_exp_negative(power * log);
        tempered[k] = p >= CF_NORMAL ? p < most && q > below ? below : q : 0;
    }
    sum = cf_sum(count, tempered);
    for (k = 0; k < count; k++) {
        const cf_real q = tempered[k] / sum;
        tempered[k] = q >= CF_NORMAL ? q : 0;
    }
    return CF_OK;
}
