/* SPDX-License-Identifier: MIT */
/* The sticky filter: the class stays or changes as time passes, then Bayes' rule.

   Work is done on rows of `width` numbers, K rounded up to whole parts of a block; beyond K they are zero. */
#include "sticky_time.h"
#ifndef CF_SMALL
#include "table.h"
#endif

#define CF_SMALLEST_PRIOR CF_R(1e-6)
#define CF_LARGEST_RATE CF_R(1e6)

/* Rows of the table. With CF_SMALL the last one is not read, and firmware does not have it. */
enum { PRIOR, OVER_PRIOR, LEAST };

/* The exponent of a power of two: 2^EXPONENT_BITS holds it, with the bias, in the first bits of its mantissa. */
CF_INLINE cf_real exponent_of(cf_bits power_of_two) {
    enum { EXPONENT_BITS = (int)sizeof(cf_real) * 8 - 1 - CF_MANTISSA_BITS, BIAS = (1 << (EXPONENT_BITS - 1)) - 1 };
    const cf_bits base = (cf_bits)(BIAS + EXPONENT_BITS) << CF_MANTISSA_BITS;
    return cf_from_bits(base + (power_of_two >> EXPONENT_BITS)) - (cf_real)((1 << EXPONENT_BITS) + BIAS);
}

/* s^beta for s from 1e-35 to 1e35 and beta from 0 to 1. With n = 2^e the power of two that is nearest to s by its ratio,
   and t = (s - n) / (s + n), so that |t| < 0.1717:

     log2 s = e + log2((1 + t) / (1 - t)) = e + t CF_LOG2(t^2)
     s^beta = 2^y = 2^round(y) 2^r = 2^round(y) (1 + r CF_EXP2(r)),   y = beta log2 s,   r = y - round(y)

   The relative error is about that of rounding log2 s and y: in float below 8e-7 for s from 1e-3 to 1e3. */
CF_INLINE cf_real power(cf_real s, cf_real beta) {
    static const cf_real of_log[] = CF_LOG2, of_exp[] = CF_EXP2;
    const cf_bits up = (cf_bits)75 << (CF_MANTISSA_BITS - 7); /* in bits: from 1.414, where n changes, to 2 */
    const cf_bits n_bits = (cf_to_bits(s) + up) & ~CF_MANTISSA;
    const cf_real n = cf_from_bits(n_bits), t = (s - n) / (s + n), v = t * t;
    const cf_real e = exponent_of(n_bits);
    const cf_real y = beta * (e + t * cf_polynomial(CF_TERMS_OF(of_log), of_log, v));
    const cf_real shifted = y + CF_ROUND; /* its last bits are those of round(y) */
    const cf_real r = y - (shifted - CF_ROUND), exp2 = 1 + r * cf_polynomial(CF_TERMS_OF(of_exp), of_exp, r);
    return cf_from_bits(cf_to_bits(exp2) + (cf_to_bits(shifted) << CF_MANTISSA_BITS));
}

#ifdef CF_SMALL
/* likelihood^beta; `whole`: beta is 1. Exactly 1 for a beta of 0. */
CF_INLINE cf_real weigh(cf_real likelihood, cf_real beta, int whole) {
#ifdef CF_UNIT_WEIGHTS
    (void)beta;
    return whole ? likelihood : 1;
#else
    return whole ? likelihood : power(likelihood, beta);
#endif
}

/* cf_sticky_update as straight code, for a caller in the same file whose settings are constants. */
CF_INLINE cf_status update_row(const cf_sticky *f, cf_real *state, const cf_real *observed, cf_real beta, cf_real dt,
                               cf_real *transition_cache, cf_real *scratch) {
    const size_t classes = CF_COUNT(f->classes);
    const cf_real *const prior = f->table + PRIOR * classes, *const over_prior = f->table + OVER_PRIOR * classes;
    const cf_real floor = f->floor, *p = state;
    cf_decay decay = {0, 1, 0};
    const int valid = is_valid_row(classes, observed);
    cf_real scale;
    int seen = beta > 0, whole;
    size_t k;
    /* The usual row passes at once: numbers of at least 0 are in the order of their bits. */
    if (!valid || !(beta >= 0 && beta <= 1) || cf_to_bits(dt) > cf_to_bits(CF_R(1e30))) {
        const cf_status status = check_update(classes, observed, valid, beta, dt, &seen);
        if (status != CF_OK) return status;
    }
    if (rates_of(f) == NULL) decay = make_decay(f, dt);
    if (!seen && !(rates_of(f) == NULL ? decay.leave > 0 : dt > 0)) return CF_OK;
    if (rates_of(f) != NULL && dt > 0) {
        pass_time(f, classes, dt, transition_cache, state, scratch);
        p = scratch;
    }
    whole = seen && !is_fractional(beta);
    if (!seen) beta = 0; /* in a row of NaN, every number is the floor */
    for (k = 0; k < classes; k++) {
        const cf_real likelihood = (observed[k] > floor ? observed[k] : floor) * over_prior[k];
        state[k] = (decay.keep * p[k] + decay.leave * prior[k]) * weigh(likelihood, beta, whole);
    }
    scale = 1 / cf_sum(classes, state);
    for (k = 0; k < classes; k++) {
        const cf_real q = state[k] * scale;
        state[k] = q > (cf_real)CF_STICKY_SMALLEST ? q : (cf_real)CF_STICKY_SMALLEST;
    }
    return CF_OK;
}

cf_status cf_sticky_update(const cf_sticky *f, cf_real *state, const cf_real *observed, cf_real beta, cf_real dt,
                           cf_real *transition_cache, cf_real *scratch) {
    return update_row(f, state, observed, beta, dt, transition_cache, scratch);
}
#else
/* Lets time pass, then takes one observation if there is one; p becomes the new estimate. `straight`: the compiler knows
   the width. */
CF_INLINE void advance(const cf_sticky *f, size_t width, int straight, cf_real dt, cf_decay decay,
                       cf_real *transition_cache, const cf_real *likelihood, cf_real *restrict p, cf_real *scratch) {
    const cf_real *restrict prior = f->table + PRIOR * width, *restrict least = f->table + LEAST * width;
    cf_real scale;
    size_t k;
    if (rates_of(f) == NULL) {
        if (!(decay.leave > 0) && likelihood == NULL) return;
        if (likelihood != NULL)
            for (k = 0; k < width; k++) p[k] = (decay.keep * p[k] + decay.leave * prior[k]) * likelihood[k];
        else
            for (k = 0; k < width; k++) p[k] = decay.keep * p[k] + decay.leave * prior[k];
    } else if (dt > 0) {
        if (straight)
            pass_time(f, width, dt, transition_cache, p, scratch);
        else
            pass_time_any(f, dt, transition_cache, p, scratch);
        for (k = 0; k < width; k++) p[k] = likelihood != NULL ? scratch[k] * likelihood[k] : scratch[k];
    } else if (likelihood != NULL) {
        for (k = 0; k < width; k++) p[k] *= likelihood[k];
    } else {
        return;
    }
    scale = 1 / cf_sum(width, p); /* one division: each takes as long as the rest of the loop below */
    for (k = 0; k < width; k++) {
        p[k] *= scale;
        p[k] = p[k] > least[k] ? p[k] : least[k];
    }
}

CF_STRAIGHT CF_NEW_KERNEL void raise_numbers(size_t count, cf_real beta, cf_real *restrict s) {
    size_t i;
    for (i = 0; i < count; i++) s[i] = power(s[i], beta);
}

/* Raises the first `rows` of s to their powers. With one power for all of them it is one loop, which a processor overlaps
   best; the bits are the same. By itself, it calls the newest code there is: see CF_NEW_TARGETS. */
#ifdef CF_SMALL
CF_INLINE
#else
CF_RARE
#endif
void temper(size_t width, size_t rows, const cf_real *powers, cf_real *s) {
    int one = 1;
    size_t i;
    for (i = 1; i < rows; i++) one &= powers[i] == powers[0];
    for (i = 0; i < (one ? 1 : rows); i++) raise_numbers(one ? rows * width : width, powers[i], s + i * width);
}

CF_STRAIGHT CF_KERNEL void make_decays(const cf_sticky *f, const cf_real *restrict time, cf_decay *restrict decays) {
    cf_real kept[CF_BLOCK], left[CF_BLOCK];
    size_t j;
    for (j = 0; j < CF_BLOCK; j++) kept[j] = cf_exp_negative(time[j] * f->log_stay);
    for (j = 0; j < CF_BLOCK; j++) left[j] = -expm1_negative(time[j] * f->log_stay);
    for (j = 0; j < CF_BLOCK; j++) {
        const int whole = time[j] == 1 || !(f->stay > 0);
        decays[j].dt = time[j];
        decays[j].keep = time[j] == 0 ? 1 : whole ? f->stay : kept[j];
        decays[j].leave = time[j] == 0 ? 0 : whole ? 1 - f->stay : left[j];
    }
}

/* make_decay of `count` <= CF_BLOCK rows, side by side where they are not all as the last one, *last. */
CF_INLINE void block_decays(const cf_sticky *f, const cf_table *t, size_t count, const size_t *rows, cf_decay *last,
                            cf_decay *decays) {
    cf_real time[CF_BLOCK];
    int same = 1;
    size_t j;
    for (j = 0; j < CF_BLOCK; j++) {
        time[j] = t->dt[rows[j < count ? j : 0] * t->dt_stride];
        same &= time[j] == last->dt;
    }
    for (j = 0; same && j < CF_BLOCK; j++) decays[j] = *last;
    if (same) return;
    make_decays(f, time, decays);
    *last = decays[count - 1];
}

/* The likelihoods of `count` <= CF_BLOCK rows; NULL where nothing was seen. They do not wait for the state, so they come
   first. In their memory, `all`, those with a weight below 1 come first. */
CF_INLINE cf_status block_likelihoods(const cf_sticky *f, size_t width, const cf_table *t, size_t count,
                                      const size_t *rows, cf_real *all, const cf_real **likelihood, size_t *row) {
    const size_t classes = f->classes;
    const cf_real floor = f->floor, *restrict over_prior = f->table + OVER_PRIOR * width;
    cf_real powers[CF_BLOCK];
    size_t tempered = 0, whole = CF_BLOCK, j, k;
    for (j = 0; j < count; j++) {
        const size_t r = rows[j];
        const cf_real *const input = t->observed + r * classes, weight = t->beta[r * t->beta_stride];
        cf_real *restrict s = all + (weight < 1 ? tempered : whole - 1) * width;
        int seen = 0;
        cf_status status;
        for (k = 0; k < width; k++) s[k] = k < classes ? input[k] : 0;
        status = check_update(classes, input, is_valid_row(width, s), weight, t->dt[r * t->dt_stride], &seen);
        if (status != CF_OK) {
            *row = r;
            return status;
        }
        likelihood[j] = seen ? s : NULL;
        if (!seen) continue;
        for (k = 0; k < width; k++) s[k] = (s[k] > floor ? s[k] : floor) * over_prior[k];
        if (weight < 1)
            powers[tempered++] = weight;
        else
            whole--;
    }
    if (tempered > 0) temper(width, tempered, powers, all);
    return CF_OK;
}

/* Blocks of rows, in the table's order: a block may begin in one stream and end in another. */
CF_INLINE cf_status run_blocks(const cf_sticky *f, size_t width, int straight, cf_cursor *cursor,
                               cf_real *transition_cache, cf_real *scratch, size_t *row) {
    const cf_table *const t = cursor->table;
    const size_t classes = f->classes;
    cf_real *const p = scratch, *const all = scratch + width, *const work = all + CF_BLOCK * width;
    cf_decay decay = make_decay(f, 1), decays[CF_BLOCK] = {{0, 1, 0}};
    cf_lane lane = {NULL, NULL, 0, 0};
    const cf_real *const dt = t->dt;
    cf_real *const probs = t->probs;
    const size_t dt_stride = t->dt_stride;
    size_t total = t->streams, i, j, k;
    if (t->counts != NULL)
        for (total = i = 0; i < t->streams; i++) total += t->counts[i];
    for (i = 0; i < total; i += CF_BLOCK) {
        const size_t count = total - i < CF_BLOCK ? total - i : CF_BLOCK;
        const cf_real *likelihood[CF_BLOCK];
        size_t rows[CF_BLOCK];
        cf_status status;
        for (j = 0; j < count; j++) rows[j] = row_at(t, i + j);
        status = block_likelihoods(f, width, t, count, rows, all, likelihood, row);
        if (status != CF_OK) return status;
        if (rates_of(f) == NULL) block_decays(f, t, count, rows, &decay, decays);
        for (j = 0; j < count;) {
            size_t stop;
            if (lane.left == 0) {
                (void)next_stream(cursor, &lane);
                for (k = 0; k < width; k++) p[k] = k < classes ? lane.from[k] : 0;
            }
            stop = count - j < lane.left ? count : j + lane.left;
            lane.left -= stop - j;
            for (; j < stop; j++) {
                const size_t r = rows[j];
                advance(f, width, straight, dt[r * dt_stride], decays[j], transition_cache, likelihood[j], p, work);
                if (probs != NULL)
                    for (k = 0; k < classes; k++) probs[r * classes + k] = p[k];
            }
            if (lane.left == 0)
                for (k = 0; k < classes; k++) lane.state[k] = p[k];
        }
    }
    return CF_OK;
}

CF_STRAIGHT CF_TARGETS cf_status cf_sticky_run(const cf_sticky *f, const cf_table *t, cf_real *transition_cache,
                                               cf_real *scratch, size_t *row) {
    const size_t width = CF_STICKY_ROW(f->classes);
    cf_cursor cursor = {t, f->classes, 0, 0};
    cf_lane none;
    cf_status status;
    /* A width that the compiler knows makes straight code of the common cases. */
    if (CF_BLOCK > 1 && width == CF_STICKY_PART)
        status = run_blocks(f, CF_STICKY_PART, 1, &cursor, transition_cache, scratch, row);
    else if (CF_BLOCK > 1 && width == 2 * CF_STICKY_PART)
        status = run_blocks(f, 2 * CF_STICKY_PART, 1, &cursor, transition_cache, scratch, row);
    else
        status = run_blocks(f, width, 0, &cursor, transition_cache, scratch, row);
    if (status == CF_OK) (void)next_stream(&cursor, &none); /* what is left has no rows */
    return status;
}

cf_status cf_sticky_update(const cf_sticky *f, cf_real *state, const cf_real *observed, cf_real beta, cf_real dt,
                           cf_real *transition_cache, cf_real *scratch) {
    const cf_table table = {1, NULL, NULL, NULL, state, state, observed, &beta, &dt, 0, 0, NULL};
    size_t row;
    return cf_sticky_run(f, &table, transition_cache, scratch, &row);
}

/* Divides by the sum; no number stays below CF_STICKY_SMALLEST. */
CF_INLINE void normalize_message(size_t width, const cf_real *restrict least, cf_real *restrict row) {
    size_t k;
    normalize_row(width, row);
    for (k = 0; k < width; k++) row[k] = row[k] > least[k] ? row[k] : least[k];
}

static cf_status check_likelihood(size_t classes, const cf_real *likelihood) {
    size_t nans = 0, positive = 0, k;
    for (k = 0; k < classes; k++) {
        nans += likelihood[k] != likelihood[k];
        positive += likelihood[k] > 0;
        if (likelihood[k] < 0 || likelihood[k] > CF_R(1e30)) return CF_BAD_LIKELIHOOD;
    }
    return nans == classes || (nans == 0 && positive > 0) ? CF_OK : CF_BAD_LIKELIHOOD;
}

CF_STRAIGHT CF_TARGETS cf_status cf_sticky_backward(const cf_sticky *f, size_t steps, const cf_real *likelihood,
                                                    const cf_real *dt, size_t dt_stride, cf_real *messages,
                                                    cf_real *transition_cache, cf_real *scratch, size_t *row) {
    const size_t classes = f->classes, width = CF_STICKY_ROW(classes);
    const cf_real *restrict prior = f->table + PRIOR * width, *restrict least = f->table + LEAST * width;
    /* With rates, the first 2 K rows of the scratch memory are for the transitions: those of `last`, transposed. */
    cf_real *const transposed = scratch, *const message = scratch + (rates_of(f) != NULL ? 2 * classes * width : 0);
    cf_real *const product = message + width, last = -1;
    cf_decay decay = make_decay(f, 1);
    size_t i, k, t;
    for (t = 0; t < steps; t++) {
        const cf_real pause = t > 0 ? dt[t * dt_stride] : 0;
        cf_status status = is_valid_dt(pause) ? CF_OK : CF_BAD_DT;
        if (status == CF_OK) status = check_likelihood(classes, likelihood + t * classes);
        if (status != CF_OK) {
            *row = t;
            return status;
        }
    }
    for (k = 0; k < width; k++) message[k] = k < classes ? 1 / (cf_real)classes : 0;
    for (t = steps; t > 0; t--) {
        const cf_real *const seen = likelihood + (t - 1) * classes;
        const cf_real pause = t > 1 ? dt[(t - 1) * dt_stride] : 0;
        cf_real largest = 0, sum = 0;
        for (k = 0; k < width; k++) product[k] = message[k];
        for (k = 0; k < classes; k++) largest = seen[k] > largest ? seen[k] : largest;
        if (largest > 0) /* else NaN: nothing seen */
            for (k = 0; k < classes; k++) product[k] *= seen[k] / largest;
        for (k = 0; k < classes; k++) messages[(t - 1) * classes + k] = message[k];
        normalize_message(width, least, product);
        if (rates_of(f) == NULL) {
            if (decay.dt != pause) decay = make_decay(f, pause);
            for (k = 0; k < classes; k++) sum += prior[k] * product[k];
            for (k = 0; k < classes; k++) message[k] = decay.keep * product[k] + decay.leave * sum;
        } else if (pause > 0 && modes_of(f) != NULL) {
            pass_back_by_modes(f, width, pause, transition_cache, product, message, scratch);
        } else if (pause > 0) {
            if (transition_cache[0] != pause) fill_transition_cache(f, pause, transition_cache, scratch);
            for (i = 0; last != pause && i < classes; i++)
                for (k = 0; k < width; k++)
                    transposed[i * width + k] = k < classes ? transition_cache[1 + k * width + i] : 0;
            last = pause;
            vecmat_any(classes, width, product, transposed, message);
        } else {
            for (k = 0; k < width; k++) message[k] = product[k];
        }
        normalize_message(width, least, message);
    }
    return CF_OK;
}
#endif

cf_status cf_sticky_prepare(cf_sticky *f, const cf_real *prior, cf_real *table) {
    const cf_real tolerance = (cf_real)CF_SUM_TOLERANCE;
    const size_t classes = f->classes, width = CF_STICKY_ROW(classes);
    cf_real sum, fastest = 0;
    size_t i, j;
    if (classes < 2) return CF_BAD_CLASSES;
    if (!(f->stay >= 0 && f->stay <= 1)) return CF_BAD_STAY;
    if (!(f->floor >= CF_R(1e-30) && f->floor < 1)) return CF_BAD_FLOOR;
    for (i = 0; i < classes; i++)
        if (!(prior[i] >= CF_SMALLEST_PRIOR && prior[i] <= 1)) return CF_BAD_CLASS_PRIOR;
    sum = cf_sum(classes, prior);
    if (!(sum >= 1 - tolerance && sum <= 1 + tolerance)) return CF_BAD_CLASS_PRIOR;
    for (i = 0; f->rates != NULL && i < classes; i++) {
        cf_real leave = 0;
        for (j = 0; j < classes; j++) {
            const cf_real rate = i == j ? 0 : f->rates[i * classes + j];
            if (!(rate >= 0 && rate <= CF_LARGEST_RATE)) return CF_BAD_RATES;
            leave += rate;
        }
        fastest = leave > fastest ? leave : fastest;
    }
    for (i = 0; i < width; i++) {
        const int real = i < classes;
        table[PRIOR * width + i] = real ? prior[i] / sum : 0;
        table[OVER_PRIOR * width + i] = real ? 1 / (prior[i] / sum) : 1;
        table[LEAST * width + i] = real ? (cf_real)CF_STICKY_SMALLEST : 0;
    }
    f->log_stay = f->stay > 0 ? cf_log_ratio(f->stay, 1) : 0;
    f->fastest = fastest;
    f->table = table;
    return CF_OK;
}

cf_status cf_sticky_start(const cf_sticky *f, const cf_real *probs, cf_real *state) {
    const cf_real tolerance = CF_R(1e-4), sum = cf_sum(f->classes, probs);
    size_t k;
    for (k = 0; k < f->classes; k++)
        if (!(probs[k] >= 0)) return CF_BAD_STATE;
    if (!(sum >= 1 - tolerance && sum <= 1 + tolerance)) return CF_BAD_STATE;
    for (k = 0; k < f->classes; k++)
        state[k] = probs[k] > (cf_real)CF_STICKY_SMALLEST ? probs[k] : (cf_real)CF_STICKY_SMALLEST;
    return CF_OK;
}

cf_status cf_sticky_transitions(const cf_sticky *f, cf_real dt, cf_real *matrix, cf_real *transition_cache,
                                cf_real *scratch) {
    const size_t classes = f->classes, width = CF_STICKY_ROW(classes);
    size_t i, j;
    if (!is_valid_dt(dt)) return CF_BAD_DT;
    if (f->rates != NULL) {
        if (transition_cache[0] != dt || modes_of(f) != NULL) fill_transition_cache(f, dt, transition_cache, scratch);
        if (modes_of(f) != NULL) transition_cache[0] = -1; /* they keep something else there */
        for (i = 0; i < classes; i++)
            for (j = 0; j < classes; j++) matrix[i * classes + j] = transition_cache[1 + i * width + j];
    } else {
        const cf_decay decay = make_decay(f, dt);
        for (i = 0; i < classes; i++)
            for (j = 0; j < classes; j++)
                matrix[i * classes + j] = (i == j ? decay.keep : 0) + decay.leave * f->table[j];
    }
    return CF_OK;
}
