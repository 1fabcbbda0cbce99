/* SPDX-License-Identifier: MIT */
/* What every filter asks of an observation. */
#ifndef CF_VALIDATE_H
#define CF_VALIDATE_H

#include "special.h"

CF_INLINE int is_fractional(cf_real beta) {
#ifdef CF_UNIT_WEIGHTS
    (void)beta;
    return 0;
#else
    return beta > 0 && beta < 1;
#endif
}

/* Whether time can pass like this from one row to the next. */
CF_INLINE int is_valid_dt(cf_real dt) { return dt >= 0 && dt <= CF_R(1e30); }

/* Sum in an order that depends on nothing else: four interleaved partial sums. Zeros at the end do not change it. */
CF_PART cf_real cf_sum(size_t n, const cf_real *a) {
#if CF_BLOCK == 1 /* the same, without memory for the parts */
    cf_real p = 0, q = 0, r = 0, s = 0;
    size_t left = CF_COUNT(n);
#ifdef CF_CLASSES /* without adding the first four to zeros, which changes no more than the sign of a zero */
    if (left >= 4) {
        p = a[0];
        q = a[1];
        r = a[2];
        s = a[3];
        a += 4;
        left -= 4;
    }
#endif
    for (; left >= 4; left -= 4, a += 4) {
        p += a[0];
        q += a[1];
        r += a[2];
        s += a[3];
    }
    if (left > 0) p += a[0];
    if (left > 1) q += a[1];
    if (left > 2) r += a[2];
    return (p + q) + (r + s);
#else
    cf_real part[4] = {0};
    size_t k, l;
    for (k = 0; k + 4 <= n; k += 4)
        for (l = 0; l < 4; l++) part[l] += a[k + l];
    for (l = 0; k + l < n; l++) part[l] += a[k + l];
    return (part[0] + part[1]) + (part[2] + part[3]);
#endif
}

/* What is wrong with a row that is not simply a row of probabilities; *missing: it is all NaN. */
static cf_status diagnose_row(size_t classes, const cf_real *observed, int *missing) {
    size_t nans = 0, k;
    for (k = 0; k < classes; k++) {
        if (observed[k] < 0) return CF_PROBS_NEGATIVE;
        if (observed[k] > CF_R(1e30)) return CF_PROBS_INFINITE;
        if (!(observed[k] >= 0)) nans++;
    }
    *missing = nans == classes;
    return *missing ? CF_OK : nans > 0 ? CF_PROBS_SOME_NAN : CF_PROBS_SUM;
}

/* Whether a row holds probabilities. Zeros at its end do not matter. */
CF_PART int is_valid_row(size_t n, const cf_real *row) {
    const size_t count = CF_BLOCK == 1 ? CF_COUNT(n) : n;
    const cf_bits least = cf_to_bits(1 - (cf_real)CF_SUM_TOLERANCE), most = cf_to_bits(1 + (cf_real)CF_SUM_TOLERANCE);
    cf_bits signs = 0;
    size_t k;
    /* numbers above 0 are in the order of their bits; those below it, and NaN, come after them */
    if (cf_to_bits(cf_sum(n, row)) - least > most - least) return 0;
    for (k = 0; k + 2 <= count; k += 2) signs |= cf_to_bits(row[k]) | cf_to_bits(row[k + 1]);
    if (k < count) signs |= cf_to_bits(row[k]);
    if (signs >> (sizeof signs * 8 - 1)) /* a minus: a number below zero, or only -0 */
        for (k = 0; k < count; k++)
            if (!(row[k] >= 0)) return 0;
    return 1;
}

/* Checks an update of a row that is valid or not; *seen tells whether there is anything to observe. */
CF_PART cf_status check_update(size_t classes, const cf_real *observed, int is_valid, cf_real beta, cf_real dt,
                               int *seen) {
    int missing = 0;
    cf_status status = CF_OK;
    if (!(beta >= 0 && beta <= 1)) return CF_BAD_BETA;
    if (!is_valid_dt(dt)) return CF_BAD_DT;
    if (!is_valid) status = diagnose_row(classes, observed, &missing);
    *seen = !missing && beta > 0;
    return status;
}

#endif
