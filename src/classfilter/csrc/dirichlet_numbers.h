/* SPDX-License-Identifier: MIT */
/* The numbers of a search, and sums over them.

   Number 0 is the sum over the classes, numbers 1 to K are the classes. In firmware, a number is a float, and an array of
   K + 1 of them all there is. On vectors there are two ways to fill the lanes:
     - with streams: lane l belongs to stream l, and each number has a vector;
     - with the numbers of one stream, `across`: vector n holds the numbers from n CF_WIDTH on. What is left over of the last
       one repeats the sum, which is harmless.
   Nothing but the functions below knows which, and no result depends on it. Longer vectors, CF_WIDE, have streams only. */
#ifndef CF_DIRICHLET_NUMBERS_H
#define CF_DIRICHLET_NUMBERS_H

#include "validate.h"

#define CF_SMALLEST_ALPHA CF_R(1e-6)

CF_INLINE cf_real anchor_of(const cf_dirichlet *f) {
#ifdef CF_NO_ANCHOR
    (void)f;
    return 0;
#else
    return f->anchor;
#endif
}

typedef struct {
    cf_vec x;        /* alpha; number 0: its sum, X */
    cf_vec s;        /* what is observed; number 0: its sum */
    cf_vec m;        /* what is remembered: an average of -log s; number 0: 0 */
    cf_vec rest;     /* b = beta x + rest */
    cf_vec drop;     /* log(X + CF_UP_TO_H) - digamma(x): less that of number 0, digamma(X) - digamma(x) */
    cf_vec gradient; /* g; at first only what the observation adds to it */
    cf_vec reach;    /* w = 1 / (f1 x): what a gradient of 1 moves x by, relative to x */
    cf_vec bend;     /* kappa = f2 x / (2 f1): how the step curves */
    cf_vec ratio;    /* y, new over old x; in remember(), exp(-m) or what bounds it */
    cf_vec prior;    /* m of the prior */
    cf_vec term[2];  /* of sums */
#ifdef CF_ACROSS
    cf_mask classes; /* across, the lanes of classes */
#endif
} cf_number;

/* The scratch memory that cf.h asks for has room for them. */
typedef char cf_number_fits[sizeof(cf_number) <= CF_DIRICHLET_MEMBERS * sizeof(cf_vec) ? 1 : -1];

typedef struct {
    size_t classes, vectors; /* K, and the vectors that its numbers take */
    int across;
    cf_number *number;
    cf_vec beta;             /* the weight of what is observed */
    cf_vec old_part, new_part; /* of the posterior: what is remembered, and what is observed; their sum is 1 */
    cf_vec c, share; /* the parts that are taken at x and at b: the same, but 1 and 0 where beta is 0 or 1 */
    cf_vec kept, pull; /* of what is remembered: what was before, and the prior */
} cf_search;

#ifdef CF_ACROSS
CF_INLINE int is_across(const cf_search *w) { return w->across; }

/* Number 0 of what is given for vector 0. */
CF_INLINE cf_vec top_of(const cf_search *w, cf_vec a) { return is_across(w) ? vec_first(a) : a; }
#else
CF_INLINE int is_across(const cf_search *w) { return (void)w, 0; }
CF_INLINE cf_vec top_of(const cf_search *w, cf_vec a) { return (void)w, a; }
#endif

/* Where it holds for all numbers of a stream. */
CF_INLINE cf_mask all_of(const cf_search *w, cf_mask m) { return is_across(w) ? mask_of(!mask_any(mask_not(m))) : m; }

/* Where it holds for any. */
CF_INLINE cf_mask any_of(const cf_search *w, cf_mask m) { return is_across(w) ? mask_of(mask_any(m)) : m; }

/* Number n of a stream, of which `first` is the member in vector 0. */
CF_INLINE cf_real *number_at(const cf_search *w, cf_vec *first, size_t n, size_t lane) {
    const size_t size = sizeof(cf_number) / sizeof(cf_real);
    cf_real *const a = (cf_real *)first;
    return is_across(w) ? a + n / CF_WIDTH * size + n % CF_WIDTH : a + n * size + lane;
}

/* x after a step: moved, in the streams that are `on`. A stream by itself always is. */
CF_INLINE cf_vec where_on(const cf_search *w, cf_mask on, cf_vec moved, cf_vec x) {
    return CF_WIDTH == 1 || is_across(w) ? moved : vec_choose(on, moved, x);
}

/* Whether it holds in any stream; across, it is the same in all lanes. */
CF_INLINE int any_stream(const cf_search *w, cf_mask m) { return is_across(w) ? mask_at(m, 0) : mask_any(m); }

#ifdef CF_ACROSS
/* The lanes of each vector that belong to classes. */
CF_INLINE void mark_classes(const cf_search *w) {
#ifdef CF_FLOAT
    const cf_vec lane = {0, 1, 2, 3, 4, 5, 6, 7};
#else
    const cf_vec lane = {0, 1, 2, 3};
#endif
    size_t n;
    for (n = 0; n < w->vectors; n++) {
        const cf_vec number = lane + (cf_real)(n * CF_WIDTH);
        w->number[n].classes = vec_less(vec_of(0), number) & vec_less(number, vec_of((cf_real)w->classes + 1));
    }
}
#endif

/* Sum over the classes in an order that depends on nothing else: four interleaved partial sums over the numbers. */
CF_PART cf_vec sum_classes(const cf_search *w, const cf_vec *first) {
    const size_t step = sizeof(cf_number) / sizeof(cf_vec), classes = CF_COUNT(w->classes);
    const cf_vec *a = first;
    cf_vec p = vec_of(0), q = p, r = p, s = p;
    size_t n;
#ifdef CF_ACROSS
    if (is_across(w)) {
#ifdef CF_FLOAT
        typedef cf_real half __attribute__((vector_size(16)));
        half sum = {0};
        CF_EACH_VECTOR
        for (n = 0; n < w->vectors; n++, a += step) {
            const cf_vec only = vec_from_bits(vec_to_bits(*a) & w->number[n].classes);
            sum += __builtin_shufflevector(only, only, 0, 1, 2, 3);
            sum += __builtin_shufflevector(only, only, 4, 5, 6, 7);
        }
        sum += __builtin_shufflevector(sum, sum, 1, 0, 3, 2);
        sum += __builtin_shufflevector(sum, sum, 2, 3, 0, 1);
        return __builtin_shufflevector(sum, sum, 0, 0, 0, 0, 0, 0, 0, 0);
#else
        CF_EACH_VECTOR
        for (n = 0; n < w->vectors; n++, a += step) p += vec_from_bits(vec_to_bits(*a) & w->number[n].classes);
        p += __builtin_shufflevector(p, p, 1, 0, 3, 2);
        return p + __builtin_shufflevector(p, p, 2, 3, 0, 1);
#endif
    }
#endif
    for (n = classes, a += step; n >= 4; n -= 4, a += 4 * step) {
        q += a[0];
        r += a[step];
        s += a[2 * step];
        p += a[3 * step];
    }
    if (n > 0) q += a[0];
    if (n > 1) r += a[step];
    if (n > 2) s += a[2 * step];
    return (p + q) + (r + s);
}

/* Sets number 0, and what is left over, of the members of which `first` is the one in vector 0. */
CF_INLINE void set_top(const cf_search *w, cf_vec *first, cf_vec value) {
#ifdef CF_ACROSS
    const size_t step = sizeof(cf_number) / sizeof(cf_vec);
    size_t n;
    if (is_across(w)) {
        CF_EACH_VECTOR
        for (n = 0; n < w->vectors; n++) first[n * step] = vec_choose(w->number[n].classes, first[n * step], value);
        return;
    }
#endif
    (void)w;
    *first = value;
}

CF_INLINE cf_vec sum_up(const cf_search *w, cf_vec *first) {
    const cf_vec sum = sum_classes(w, first);
    set_top(w, first, sum);
    return sum;
}

#endif
