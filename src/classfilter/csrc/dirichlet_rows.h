/* SPDX-License-Identifier: MIT */
/* Where the numbers of a search lie, and sums over them.

   Numbers lie in rows of `lanes`, one lane a stream: number k of lane l is [k * lanes + l]. `lanes` is a constant where
   these functions are called, 1 or CF_LANES, and what a lane computes does not depend on their number. */
#ifndef CF_DIRICHLET_ROWS_H
#define CF_DIRICHLET_ROWS_H

#include "validate.h"

/* A small build has one lane, and knows it everywhere. */
CF_INLINE size_t known_lanes(size_t given) {
#ifdef CF_SMALL
    (void)given;
    return 1;
#else
    return given;
#endif
}

/* Views into the scratch memory. Row k < K belongs to class k, row K to the sum over the classes; rows beyond it
   fill the last block and are ignored. */
typedef struct {
    size_t classes, rows;
    cf_real *x, *digamma_diff, *first, *second;       /* the new alpha and its polygamma functions */
    cf_real *b, *digamma_diff_b, *first_b, *second_b; /* the same for beta x + 1 - beta */
    cf_real *m, *log_s;                      /* what was remembered, and what is observed */
    cf_real *gradient, *inverse, *third_derivative, *over_x, *newton, *gain, *base, *change, *product,
        *ratio; /* of a step */
    cf_real *state;
} cf_workspace;

CF_INLINE cf_workspace make_workspace(size_t classes, size_t rows, size_t given_lanes, cf_real *scratch) {
    const size_t lanes = known_lanes(given_lanes), size = rows * lanes;
    cf_workspace w;
    w.classes = classes;
    w.rows = rows;
    w.x = scratch;
    w.digamma_diff = scratch + size;
    w.first = scratch + 2 * size;
    w.second = scratch + 3 * size;
    w.b = scratch + 4 * size;
    w.digamma_diff_b = scratch + 5 * size;
    w.first_b = scratch + 6 * size;
    w.second_b = scratch + 7 * size;
    w.m = scratch + 8 * size;
    w.log_s = scratch + 9 * size;
    w.gradient = scratch + 10 * size;
    w.inverse = scratch + 11 * size;
    w.third_derivative = scratch + 12 * size;
    w.over_x = scratch + 13 * size;
    w.newton = scratch + 14 * size;
    w.gain = scratch + 15 * size;
    w.base = scratch + 16 * size;
    w.change = scratch + 17 * size;
    w.product = scratch + 18 * size;
    w.ratio = scratch + 19 * size;
    w.state = scratch + 20 * size;
    return w;
}

/* In a small build, the views are made again in each function: they are but distances from the first, which the
   compiler knows where the program says how many classes there are, by CF_CLASSES. `own` is memory for them. */
CF_INLINE const cf_workspace *views_of(const cf_workspace *w, cf_workspace *own) {
#ifdef CF_SMALL
    const size_t classes = CF_COUNT(w->classes);
    *own = make_workspace(classes, CF_DIRICHLET_ROWS(classes), 1, w->x);
    return own;
#else
    (void)own;
    return w;
#endif
}

/* Where lanes go separate ways, each number is chosen, not each way, so that the loops become vector code. */
CF_INLINE cf_real choose(size_t lanes, int in_mask, cf_real value, cf_real other) {
    return lanes == 1 || in_mask ? value : other;
}

/* Before a loop over numbers of which none depends on another. */
#if defined(__GNUC__) && !defined(__clang__)
#define CF_INDEPENDENT _Pragma("GCC ivdep")
#else
#define CF_INDEPENDENT
#endif

/* The rows to go through where only the classes' numbers count: a full last block is quicker, but not without vector
   registers. */
CF_INLINE size_t class_rows(size_t rows) { return CF_BLOCK > 1 ? rows : rows - 1; }

/* A number of row k, or 0 where the row belongs to no class. */
CF_INLINE cf_real class_only(cf_bits classes, cf_bits k, cf_real value) {
    return cf_from_bits(cf_to_bits(value) & (0 - (cf_bits)(k < classes)));
}

/* Sum over the classes' rows of each lane, in an order that depends on nothing else: four interleaved partial sums. */
CF_INLINE void sum_rows_inline(size_t classes, size_t rows, size_t given_lanes, const cf_real *a, cf_real *sum) {
    const size_t lanes = known_lanes(given_lanes);
    const size_t whole = rows / 4 * 4, width = 4 * lanes;
    cf_real part[4 * CF_LANES] = {0};
    size_t k, l;
#if CF_BLOCK == 1
    if (lanes == 1) {
        *sum = cf_sum(classes, a);
        return;
    }
#endif
    for (k = 0; k < whole; k += 4)
        for (l = 0; l < width; l++) part[l] += class_only((cf_bits)classes, (cf_bits)(k + l / lanes), a[k * lanes + l]);
    for (l = 0; l < (rows - whole) * lanes; l++)
        part[l] += class_only((cf_bits)classes, (cf_bits)(whole + l / lanes), a[whole * lanes + l]);
    for (l = 0; l < lanes; l++) sum[l] = (part[l] + part[lanes + l]) + (part[2 * lanes + l] + part[3 * lanes + l]);
}

/* For several streams it is one function, not straight code wherever it is needed. So are
   fill_sum and take_step. */
#ifndef CF_SMALL
CF_KERNEL void sum_rows_many(size_t classes, size_t rows, const cf_real *a, cf_real *sum) {
    sum_rows_inline(classes, rows, CF_LANES, a, sum);
}
#endif

CF_INLINE void sum_rows(size_t classes, size_t rows, size_t lanes, const cf_real *a, cf_real *sum) {
#ifndef CF_SMALL
    if (lanes > 1) {
        sum_rows_many(classes, rows, a, sum);
        return;
    }
#endif
    sum_rows_inline(classes, rows, lanes, a, sum);
}

CF_PART void max_rows(size_t classes, size_t rows, size_t given_lanes, const cf_real *a, cf_real *most) {
    const size_t lanes = known_lanes(given_lanes);
    const size_t whole = rows / 4 * 4, width = 4 * lanes;
    cf_real part[4 * CF_LANES] = {0}, value;
    size_t k, l;
#if CF_BLOCK == 1
    if (lanes == 1) {
        for (*most = 0, k = 0; k < classes; k++) *most = a[k] > *most ? a[k] : *most;
        return;
    }
#endif
    for (k = 0; k < whole; k += 4)
        for (l = 0; l < width; l++) {
            value = class_only((cf_bits)classes, (cf_bits)(k + l / lanes), a[k * lanes + l]);
            part[l] = value > part[l] ? value : part[l];
        }
    for (l = 0; l < (rows - whole) * lanes; l++) {
        value = class_only((cf_bits)classes, (cf_bits)(whole + l / lanes), a[whole * lanes + l]);
        part[l] = value > part[l] ? value : part[l];
    }
    for (l = 0; l < lanes; l++) {
        const cf_real even = part[l] > part[2 * lanes + l] ? part[l] : part[2 * lanes + l];
        const cf_real odd = part[lanes + l] > part[3 * lanes + l] ? part[lanes + l] : part[3 * lanes + l];
        most[l] = even > odd ? even : odd;
    }
}

/* Completes x by its sum and, in the rows that are not used, a harmless number. */
CF_PART void fill_sum_inline(const cf_workspace *w, size_t given_lanes) {
    const size_t lanes = known_lanes(given_lanes);
    cf_workspace own;
    const cf_workspace *const v = views_of(w, &own);
    const size_t classes = v->classes, rows = v->rows;
    cf_real *restrict x = v->x, sum[CF_LANES];
    size_t k, l;
    sum_rows_inline(classes, rows, lanes, x, sum);
    for (k = 0; k < rows; k++)
        for (l = 0; l < lanes; l++)
            x[k * lanes + l] = (cf_bits)k < (cf_bits)classes    ? x[k * lanes + l]
                               : (cf_bits)k == (cf_bits)classes ? sum[l]
                                                                : 1;
}

#ifndef CF_SMALL
CF_KERNEL void fill_sum_many(const cf_workspace *w) { fill_sum_inline(w, CF_LANES); }
#endif

CF_INLINE void fill_sum(const cf_workspace *w, size_t lanes) {
#ifndef CF_SMALL
    if (lanes > 1) {
        fill_sum_many(w);
        return;
    }
#endif
    fill_sum_inline(w, lanes);
}

#endif
