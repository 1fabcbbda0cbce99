/* The Dirichlet filter's step: forget, then move to the exact mode of the posterior.

   With x the new alpha, X its sum, c = eta after forgetting, m_i = digamma(A) - digamma(alpha_i) of the old alpha,
   b_i = beta x_i + 1 - beta and B their sum, the mode is the root of the gradient
     g_i = c (digamma(X) - digamma(x_i) - m_i) + beta (digamma(B) - digamma(b_i) + log s_i).
   The Hessian is e 11' - diag(d), so a Newton step costs O(K); with the third derivative, which has the same form,
   it becomes a step of third order. Where beta is 1, b = x: the root is that of nu <- c m - log s, eta <- c + 1, and
   half of the special functions are saved. */
#include "cf.h"
#include "special.h"

#ifdef CF_FLOAT
#define TOLERANCE 2e-3f /* relative step after which a step of third order is exact to rounding */
#else
#define TOLERANCE 1e-5
#endif
/* After so many iterations, a step that promises L less than ROUNDING wanders about the mode in rounding errors. */
#define PATIENCE 6
#define ROUNDING (64 * CF_EPSILON)
#define SMALLEST_ALPHA CF_R(1e-6)
#define SMALLEST_WEIGHT CF_R(1e-30)
#define LARGEST_WEIGHT CF_R(1e9)
#define LARGEST_RISE 8  /* of the sum */
#define LARGEST_FALL 64 /* of a class */

/* Where the loader can choose, one library serves old and new processors alike, with the same bits. */
#if defined(__x86_64__) && defined(__GLIBC__) && __GNUC__ >= 12 && !defined(__clang__) && !defined(CF_ONE_TARGET)
#define CF_TARGETS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CF_TARGETS
#endif

/* Views into the scratch memory. Row k < K belongs to class k, row K to the sum over the classes; rows beyond it
   fill the last block and are ignored. */
typedef struct {
    size_t classes, rows;
    cf_real *x, *lag, *first, *second;         /* the new alpha and its polygamma functions */
    cf_real *b, *lag_b, *first_b, *second_b;   /* the same for beta x + 1 - beta */
    cf_real *m, *log_s;                        /* what was remembered, and what is observed */
    cf_real *gradient, *inverse, *bend, *over_x, *newton, *gain, *base, *change, *product, *ratio; /* of a step */
    cf_real *state;
} CF_(work);

CF_INLINE CF_(work) CF_(carve)(size_t classes, size_t rows, cf_real *scratch) {
    CF_(work) w;
    w.classes = classes;
    w.rows = rows;
    w.x = scratch;
    w.lag = scratch + rows;
    w.first = scratch + 2 * rows;
    w.second = scratch + 3 * rows;
    w.b = scratch + 4 * rows;
    w.lag_b = scratch + 5 * rows;
    w.first_b = scratch + 6 * rows;
    w.second_b = scratch + 7 * rows;
    w.m = scratch + 8 * rows;
    w.log_s = scratch + 9 * rows;
    w.gradient = scratch + 10 * rows;
    w.inverse = scratch + 11 * rows;
    w.bend = scratch + 12 * rows;
    w.over_x = scratch + 13 * rows;
    w.newton = scratch + 14 * rows;
    w.gain = scratch + 15 * rows;
    w.base = scratch + 16 * rows;
    w.change = scratch + 17 * rows;
    w.product = scratch + 18 * rows;
    w.ratio = scratch + 19 * rows;
    w.state = scratch + 20 * rows;
    return w;
}

/* A class's number, or 0 in the rows that belong to no class; by a mask, for loops over rows to become vector code. */
#define CF_CLASS(k, value) cf_from_bits(cf_to_bits(value) & (0 - (cf_bits)((cf_bits)(k) < (cf_bits)classes)))

/* Sum over the rows, of which only the classes' are not 0, in an order that depends on nothing else. */
CF_INLINE cf_real CF_(total)(size_t rows, const cf_real *a) {
    cf_real part[4] = {0, 0, 0, 0};
    size_t whole = rows / 4 * 4, k, j;
    for (k = 0; k < whole; k += 4)
        for (j = 0; j < 4; j++) part[j] += a[k + j];
    for (j = 0; j < rows - whole; j++) part[j] += a[whole + j];
    return (part[0] + part[1]) + (part[2] + part[3]);
}

CF_INLINE cf_real CF_(largest)(size_t rows, const cf_real *a) {
    cf_real part[4] = {0, 0, 0, 0};
    size_t whole = rows / 4 * 4, k, j;
    for (k = 0; k < whole; k += 4)
        for (j = 0; j < 4; j++) part[j] = a[k + j] > part[j] ? a[k + j] : part[j];
    for (j = 0; j < rows - whole; j++) part[j] = a[whole + j] > part[j] ? a[whole + j] : part[j];
    part[0] = part[1] > part[0] ? part[1] : part[0];
    part[2] = part[3] > part[2] ? part[3] : part[2];
    return part[2] > part[0] ? part[2] : part[0];
}

/* Completes x, 0 beyond the classes, by its sum and, in the rows that are not used, a harmless number. */
CF_INLINE void CF_(complete)(const CF_(work) *w) {
    const size_t classes = w->classes, rows = w->rows;
    const cf_real sum = CF_(total)(rows, w->x);
    cf_real *restrict x = w->x;
    size_t k;
    for (k = 0; k < rows; k++)
        x[k] = (cf_bits)k < (cf_bits)classes ? x[k] : (cf_bits)k == (cf_bits)classes ? sum : 1;
}

/* Polygamma functions of one half of the rows. `lag` becomes log of the sum's h over the row's, less `rest`, so that
   lag[k] - lag[classes] = digamma(sum) - digamma(row). */
CF_INLINE void CF_(polygammas)(size_t classes, size_t rows, const cf_real *restrict x, cf_real *restrict lag,
                               cf_real *restrict first, cf_real *restrict second) {
    const cf_real top_h = x[classes] + (CF_SHIFT - CF_R(0.5));
    size_t k;
    for (k = 0; k < rows; k++) {
        CF_(cf_polygamma) p = CF_(cf_polygamma_of)(x[k]);
        lag[k] = cf_log_ratio(top_h, p.h) - p.rest;
        first[k] = p.trigamma;
        second[k] = p.tetragamma;
    }
}

CF_INLINE void CF_(evaluate)(const CF_(work) *w, int mixed, cf_real beta) {
    const size_t classes = w->classes, rows = w->rows;
    if (mixed) {
        const cf_real rest = 1 - beta, top_rest = rest * (cf_real)classes;
        const cf_real *restrict x = w->x;
        cf_real *restrict b = w->b;
        size_t k;
        for (k = 0; k < rows; k++) b[k] = beta * x[k] + ((cf_bits)k == (cf_bits)classes ? top_rest : rest);
        CF_(polygammas)(classes, rows, w->b, w->lag_b, w->first_b, w->second_b);
    }
    CF_(polygammas)(classes, rows, w->x, w->lag, w->first, w->second);
}

/* Derivatives of L by class: the first; 1 / the second, which stands alone but for a part that all classes share; and
   the third, likewise. Also the first one's products with the last change, and with 1 / the second. */
CF_INLINE void CF_(derive)(const CF_(work) *w, int mixed, cf_real c, cf_real share, cf_real beta) {
    const size_t classes = w->classes, rows = w->rows;
    const cf_real share2 = share * beta, share3 = share2 * beta, top = w->lag[classes];
    const cf_real top_b = mixed ? w->lag_b[classes] : top;
    const cf_real *restrict x = w->x, *restrict lag = w->lag, *restrict lag_b = mixed ? w->lag_b : w->lag;
    const cf_real *restrict first = w->first, *restrict first_b = mixed ? w->first_b : w->first;
    const cf_real *restrict second = w->second, *restrict second_b = mixed ? w->second_b : w->second;
    const cf_real *restrict m = w->m, *restrict log_s = w->log_s, *restrict change = w->change;
    cf_real *restrict gradient = w->gradient, *restrict inverse = w->inverse, *restrict bend = w->bend;
    cf_real *restrict over_x = w->over_x, *restrict product = w->product, *restrict newton = w->newton;
    cf_real *restrict gain = w->gain;
    size_t k;
    for (k = 0; k < rows; k++) {
        cf_real g = c * ((lag[k] - top) - m[k]) + share * ((lag_b[k] - top_b) + log_s[k]);
        cf_real d = CF_CLASS(k, 1 / (c * first[k] + share2 * first_b[k])), u = c * second[k] + share3 * second_b[k];
        gradient[k] = g;
        inverse[k] = d;
        bend[k] = u;
        over_x[k] = 1 / x[k];
        product[k] = CF_CLASS(k, g * change[k]);
        newton[k] = g * d;
        gain[k] = g * (g * d);
    }
}

/* What the third derivatives add to the sum of the Newton step (g + rise) / d. */
CF_INLINE void CF_(foresee)(const CF_(work) *w, cf_real rise, cf_real top_bend) {
    const size_t rows = w->rows;
    const cf_real *restrict inverse = w->inverse, *restrict bend = w->bend, *restrict gradient = w->gradient;
    const cf_real *restrict x = w->x;
    cf_real *restrict product = w->product, *restrict base = w->base;
    size_t k;
    for (k = 0; k < rows; k++) {
        cf_real step = (gradient[k] + rise) * inverse[k];
        product[k] = (top_bend - bend[k] * (step * step)) * inverse[k];
        base[k] = x[k];
    }
}

/* Takes the step from `base`. With a its first and b its second order, relative to x, x (1 + a + b) for a rise and
   x / (1 - a + a^2 - b) for a fall agree to third order, and stay positive. Leaves the relative change in `ratio`,
   and the gain it promises in `product`. */
CF_INLINE void CF_(move)(const CF_(work) *w, cf_real rise) {
    const size_t classes = w->classes, rows = w->rows;
    const cf_real *restrict inverse = w->inverse, *restrict gradient = w->gradient, *restrict bend = w->bend;
    const cf_real *restrict base = w->base, *restrict over_x = w->over_x;
    cf_real *restrict x = w->x, *restrict change = w->change, *restrict product = w->product;
    cf_real *restrict distance = w->ratio;
    size_t k;
    for (k = 0; k < rows; k++) {
        cf_real old = base[k], step = (gradient[k] + rise) * inverse[k], a = step * over_x[k];
        cf_real b = CF_R(-0.5) * (bend[k] * inverse[k]) * (step * a);
        cf_real up = 1 + a + (b < a ? b : a), down = 1 - a + (a * a - b), ratio, moved;
        down = 1 / (down < LARGEST_FALL ? down : LARGEST_FALL);
        ratio = a > 0 ? up : down;
        moved = CF_CLASS(k, old * ratio - old);
        x[k] = CF_CLASS(k, old * ratio);
        change[k] = moved;
        product[k] = gradient[k] * moved;
        distance[k] = CF_CLASS(k, ratio > 1 ? ratio - 1 : 1 - ratio);
    }
}

/* Goes back half of the last change. */
CF_INLINE void CF_(retreat)(const CF_(work) *w) {
    const size_t classes = w->classes, rows = w->rows;
    const cf_real *restrict base = w->base;
    cf_real *restrict x = w->x, *restrict change = w->change;
    size_t k;
    for (k = 0; k < rows; k++) {
        cf_real half = CF_R(0.5) * change[k];
        change[k] = half;
        x[k] = CF_CLASS(k, base[k] + half);
    }
}

/* Moves x to the mode, from the x at which `evaluate` was last called. `mixed`: beta is
   neither 0 nor 1, so that b is not x. Returns the number of iterations, 0 where
   they were not enough. */
CF_INLINE size_t CF_(climb)(const CF_(work) *w, int mixed, cf_real c, cf_real beta) {
    const size_t classes = w->classes, rows = w->rows;
    const cf_real share = beta / (c + beta); /* L is divided by c + beta, so that c and share sum to 1 */
    cf_real promised = 0, distance, noise;
    size_t iteration, k;
    for (k = 0; k < rows; k++) w->change[k] = 0;
    c = c / (c + beta);

    for (iteration = 1; iteration <= CF_MAX_ITERATIONS; iteration++) {
        CF_(derive)(w, mixed, c, share, beta);
        /* L is concave: it rose if it still rises at the end of the step, or falls there by little of what it rose by
           at the start. Otherwise go back half way. */
        if (CF_(total)(rows, w->product) < CF_R(-0.16) * promised) {
            promised *= CF_R(0.5);
            CF_(retreat)(w);
            CF_(complete)(w);
            if (promised < ROUNDING && iteration >= PATIENCE) return iteration;
        } else {
            const cf_real first_b = mixed ? w->first_b[classes] : w->first[classes];
            const cf_real second_b = mixed ? w->second_b[classes] : w->second[classes];
            cf_real shared = c * w->first[classes] + share * beta * first_b;
            cf_real shared_bend = c * w->second[classes] + share * beta * beta * second_b;
            cf_real space = 1 - shared * CF_(total)(rows, w->inverse), per_space, sum, more, part = 1;
            const cf_real alone = CF_(total)(rows, w->gain);
            per_space = 1 / (space > CF_EPSILON ? space : CF_EPSILON);
            sum = CF_(total)(rows, w->newton) * per_space;
            CF_(foresee)(w, shared * sum, shared_bend * (sum * sum));
            more = CF_(total)(rows, w->product) * (CF_R(0.5) * per_space);
            /* The sum's change is sum / part: sum + more to third order, held back where `more` is no small
               correction, and never beyond a quarter or eight times the sum. */
            if (sum * more < 0) {
                part = 1 - more / sum;
            } else {
                sum += more * more < sum * sum ? more : sum;
            }
            if (sum < CF_R(-0.75) * w->x[classes] * part) {
                sum = CF_R(-0.75) * w->x[classes];
                part = 1;
            } else if (sum > (LARGEST_RISE - 1) * w->x[classes] * part) {
                sum = (LARGEST_RISE - 1) * w->x[classes];
                part = 1;
            }
            CF_(move)(w, shared * shared * sum / (shared * part - CF_R(0.5) * shared_bend * sum));
            promised = CF_(total)(rows, w->product);
            if (!(promised > CF_R(0.5) * alone)) {
                /* Too far for the sum's linear model: hold the sum's digamma, each class then moves uphill. */
                CF_(move)(w, 0);
                promised = CF_(total)(rows, w->product);
            }
            CF_(complete)(w);
            distance = CF_(largest)(rows, w->ratio);
            noise = 16 * CF_EPSILON * w->x[classes]; /* what rounding leaves open of the sum */
            if (distance < TOLERANCE || (distance < noise && distance < CF_R(0.03))) return iteration;
            if (iteration >= PATIENCE && (promised < ROUNDING || distance < noise)) return iteration;
        }
        CF_(evaluate)(w, mixed, beta);
    }
    return 0;
}

/* Checks an observation and leaves log(max(s, floor) / sum) in log_s; *seen is 0 where all of it is NaN. */
CF_INLINE cf_status CF_(take)(const CF_(work) *w, cf_real floor, const cf_real *observed, cf_real beta, cf_real dt,
                              int *seen) {
    const cf_real tolerance = (cf_real)CF_SUM_TOLERANCE, huge = CF_R(1e30);
    const size_t classes = w->classes, rows = w->rows;
    size_t missing = 0, k;
    cf_real *restrict s = w->log_s, sum;
    if (!(beta >= 0 && beta <= 1)) return CF_BAD_BETA;
    if (!(dt >= 0 && dt <= huge)) return CF_BAD_DT;
    for (k = 0; k < classes; k++) {
        if (!(observed[k] >= 0)) {
            if (observed[k] < 0) return CF_PROBS_NEGATIVE;
            missing++;
        } else if (observed[k] > huge) {
            return CF_PROBS_INFINITE;
        }
    }
    if (missing > 0 && missing < classes) return CF_PROBS_SOME_NAN;
    *seen = missing == 0 && beta > 0;
    if (missing > 0) return CF_OK;
    sum = CF_(total)(classes, observed);
    if (!(sum >= 1 - tolerance && sum <= 1 + tolerance)) return CF_PROBS_SUM;
    for (k = 0; k < classes; k++) s[k] = observed[k] > floor ? observed[k] : floor;
    for (k = classes; k < rows; k++) s[k] = 0;
    sum = CF_(total)(rows, s);
    for (k = 0; k < rows; k++) s[k] = cf_log_ratio((cf_bits)k < (cf_bits)classes ? s[k] : sum, sum);
    return CF_OK;
}

/* One step on the state; *iterations is raised to those it took. */
CF_INLINE cf_status CF_(step)(const CF_(cf_dirichlet) *f, const CF_(work) *w, cf_real *state, const cf_real *observed,
                              cf_real beta, cf_real dt, size_t *iterations) {
    const size_t classes = w->classes, rows = w->rows;
    cf_real keep, c, weight, excess;
    int seen = 0, mixed;
    size_t k, taken;
    cf_status status = CF_(take)(w, f->floor, observed, beta, dt, &seen);
    if (status != CF_OK) return status;

    keep = dt == 1 ? f->gamma : dt == 0 ? 1 : f->gamma > 0 ? cf_exp_negative(dt * f->log_gamma) : 0;
    c = keep * state[0];
    weight = seen ? beta : 0;
    if (!seen && !(f->anchor > 0)) {
        state[0] = c;
        return CF_OK;
    }

    for (k = 0; k < classes; k++) w->x[k] = state[k + 1];
    for (k = classes; k < rows; k++) w->x[k] = 0;
    CF_(complete)(w);
    mixed = weight > 0 && weight < 1;
    if (mixed)
        CF_(evaluate)(w, 1, weight);
    else
        CF_(evaluate)(w, 0, weight);
    for (k = 0; k < rows; k++) w->m[k] = w->lag[k] - w->lag[classes];
    if (f->anchor > 0) {
        cf_real pull = (1 - keep) * f->anchor, both = c + pull;
        if (both > 0)
            for (k = 0; k < classes; k++) w->m[k] = (c * w->m[k] + pull * f->prior_nu[k]) / both;
        c = both;
    }

    if (c <= CF_EPSILON * weight || c < SMALLEST_WEIGHT) {
        /* Nothing is remembered, so nothing bounds alpha: all there is to know is the observation. */
        taken = 1;
        if (seen)
            for (k = 0; k < classes; k++) w->x[k] = f->max_concentration * cf_exp_negative(w->log_s[k]);
    } else {
        taken = mixed ? CF_(climb)(w, 1, c, weight) : CF_(climb)(w, 0, c, weight);
        if (taken == 0) return CF_NOT_CONVERGED;
    }
    if (taken > *iterations) *iterations = taken;

    excess = w->x[classes] > f->max_concentration ? f->max_concentration / w->x[classes] : 1;
    state[0] = c + weight;
    for (k = 0; k < classes; k++) {
        cf_real alpha = w->x[k] * excess;
        state[k + 1] = alpha > SMALLEST_ALPHA ? alpha : SMALLEST_ALPHA;
    }
    return CF_OK;
}

/* Where no alpha exceeds 1 by more than rounding, there is no mode to speak of: the mean stands in. */
CF_INLINE void CF_(read_alpha)(const CF_(cf_dirichlet) *f, const cf_real *alpha, cf_real *probs) {
    const size_t classes = f->classes;
    cf_real sum = 0;
    size_t k;
    if (!f->mean) {
        for (k = 0; k < classes; k++) probs[k] = alpha[k] > 1 ? alpha[k] - 1 : 0;
        sum = CF_(total)(classes, probs);
    }
    if (!(sum > ROUNDING)) {
        for (k = 0; k < classes; k++) probs[k] = alpha[k];
        sum = CF_(total)(classes, probs);
    }
    for (k = 0; k < classes; k++) probs[k] /= sum;
}

cf_status CF_(cf_dirichlet_prepare)(CF_(cf_dirichlet) *f, const cf_real *prior, cf_real *prior_nu) {
#ifdef CF_FLOAT
    const cf_real largest = 1e6f;
#else
    const cf_real largest = 1e12;
#endif
    cf_real sum;
    size_t k;
    if (f->classes < 2) return CF_BAD_CLASSES;
    if (!(f->gamma >= 0 && f->gamma <= 1)) return CF_BAD_GAMMA;
    if (!(f->floor >= CF_R(1e-30) && f->floor < 1)) return CF_BAD_FLOOR;
    if (!(f->anchor >= 0 && f->anchor <= LARGEST_WEIGHT)) return CF_BAD_ANCHOR;
    if (!(f->max_concentration >= (cf_real)f->classes && f->max_concentration <= largest)) return CF_BAD_CONCENTRATION;
    for (k = 0; k < f->classes; k++)
        if (!(prior[k] >= SMALLEST_ALPHA && prior[k] <= f->max_concentration)) return CF_BAD_PRIOR;
    sum = CF_(total)(f->classes, prior);
    if (!(sum <= f->max_concentration)) return CF_BAD_PRIOR;
    f->log_gamma = f->gamma > 0 ? cf_log_ratio(f->gamma, 1) : 0;
    f->prior_nu = f->anchor > 0 ? prior_nu : NULL;
    if (f->anchor > 0) {
        CF_(cf_polygamma) top = CF_(cf_polygamma_of)(sum);
        for (k = 0; k < f->classes; k++) {
            CF_(cf_polygamma) one = CF_(cf_polygamma_of)(prior[k]);
            prior_nu[k] = cf_log_ratio(top.h, one.h) + (top.rest - one.rest);
        }
    }
    return CF_OK;
}

cf_status CF_(cf_dirichlet_start)(const CF_(cf_dirichlet) *f, const cf_real *alpha, cf_real eta, cf_real *state) {
    cf_real sum = CF_(total)(f->classes, alpha);
    size_t k;
    if (!(eta >= 0 && eta <= LARGEST_WEIGHT)) return CF_BAD_WEIGHT;
    for (k = 0; k < f->classes; k++)
        if (!(alpha[k] >= SMALLEST_ALPHA && alpha[k] <= f->max_concentration)) return CF_BAD_PRIOR;
    /* an update's own sum may exceed the limit by rounding and by the smallest alphas */
    if (!(sum <= f->max_concentration * (1 + 16 * CF_EPSILON) + (cf_real)f->classes * SMALLEST_ALPHA)) return CF_BAD_PRIOR;
    for (k = 0; k < f->classes; k++) state[k + 1] = alpha[k];
    state[0] = eta;
    return CF_OK;
}

void CF_(cf_dirichlet_read)(const CF_(cf_dirichlet) *f, const cf_real *state, cf_real *probs) {
    CF_(read_alpha)(f, state + 1, probs);
}

void CF_(cf_dirichlet_nu)(const CF_(cf_dirichlet) *f, const cf_real *state, cf_real *nu) {
    CF_(cf_polygamma) top = CF_(cf_polygamma_of)(CF_(total)(f->classes, state + 1));
    size_t k;
    for (k = 0; k < f->classes; k++) {
        CF_(cf_polygamma) one = CF_(cf_polygamma_of)(state[k + 1]);
        nu[k] = state[0] * (cf_log_ratio(top.h, one.h) + (top.rest - one.rest));
    }
}

CF_INLINE cf_status CF_(steps)(const CF_(cf_dirichlet) *f, cf_real *state, size_t steps, const cf_real *observed,
                               const cf_real *beta, size_t beta_stride, const cf_real *dt, size_t dt_stride,
                               cf_real *probs, const CF_(work) w, size_t *row) {
    const size_t classes = w.classes;
    size_t iterations = 0, i, k;
    for (k = 0; k <= classes; k++) w.state[k] = state[k];
    for (k = 0; k < w.rows; k++) w.log_s[k] = 0;
    for (i = 0; i < steps; i++) {
        cf_status status = CF_(step)(f, &w, w.state, observed + i * classes, beta[i * beta_stride], dt[i * dt_stride],
                                     &iterations);
        if (status != CF_OK) {
            *row = i;
            return status;
        }
        if (probs != NULL) CF_(read_alpha)(f, w.state + 1, probs + i * classes);
    }
    for (k = 0; k <= classes; k++) state[k] = w.state[k];
    *row = iterations;
    return CF_OK;
}

CF_TARGETS cf_status CF_(cf_dirichlet_run)(const CF_(cf_dirichlet) *f, cf_real *state, size_t steps,
                                           const cf_real *observed, const cf_real *beta, size_t beta_stride,
                                           const cf_real *dt, size_t dt_stride, cf_real *probs, cf_real *scratch,
                                           size_t *row) {
    const size_t rows = CF_DIRICHLET_ROWS(f->classes);
#if CF_BLOCK > 1
    /* A number of rows that the compiler knows makes straight code of the common case. */
    if (rows == CF_BLOCK)
        return CF_(steps)(f, state, steps, observed, beta, beta_stride, dt, dt_stride, probs,
                          CF_(carve)(f->classes, CF_BLOCK, scratch), row);
#endif
    return CF_(steps)(f, state, steps, observed, beta, beta_stride, dt, dt_stride, probs,
                      CF_(carve)(f->classes, rows, scratch), row);
}

cf_status CF_(cf_dirichlet_update)(const CF_(cf_dirichlet) *f, cf_real *state, const cf_real *observed, cf_real beta,
                                   cf_real dt, cf_real *probs, cf_real *scratch) {
    size_t row;
    return CF_(cf_dirichlet_run)(f, state, 1, observed, &beta, 0, &dt, 0, probs, scratch, &row);
}
