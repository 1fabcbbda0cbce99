/* SPDX-License-Identifier: MIT */
/* The special functions of a cf_num: special.h includes this text once for a number and once for a vector. They need only
   +, -, *, / and the bits of IEEE numbers, and have no branches, so that what becomes of a number does not depend on its
   neighbours. */

/* c[0] + c[1] x + ... by Horner's rule; in double, where there are many terms, the even and the odd powers side by side. */
CF_INLINE cf_num cf_polynomial(int terms, const cf_real *c, cf_num x) {
    cf_num sum = cf_num_of(c[terms - 1]);
    int i;
#ifdef CF_FLOAT
    CF_UNROLL
    for (i = terms - 2; i >= 0; i--) sum = sum * x + c[i];
    return sum;
#else
    const cf_num x2 = x * x;
    cf_num other = cf_num_of(c[terms - 2]);
    for (i = terms - 3; i >= 0; i -= 2) sum = sum * x2 + c[i];
    for (i = terms - 4; i >= 0; i -= 2) other = other * x2 + c[i];
    return terms % 2 ? sum + x * other : other + x * sum;
#endif
}

/* log(a / b) for normal a, b > 0 below half of the largest. The bits of a number, read as an integer, are about its
   logarithm, so their difference tells which n = 2^k b is nearest to a, within a factor of 1.51. With
   s = (a - n) / (a + n), a - n being exact:

     log(a / b) = k log 2 + s (2 + s^2 CF_LOG(s^2))

   Accurate relative to its value, however close a and b are. */
CF_INLINE cf_num cf_log_ratio(cf_num a, cf_num b) {
    static const cf_real coefficients[] = CF_LOG;
    const cf_num_bits apart = cf_num_to_bits(a) - cf_num_to_bits(b) + ((cf_bits)1 << (CF_MANTISSA_BITS - 1));
#ifdef CF_FLOAT
    const cf_num_bits exponent = apart & ~CF_MANTISSA; /* k, in place */
    const cf_num n = cf_num_from_bits(cf_num_to_bits(b) + exponent), k = cf_num_from_signed(exponent);
#else
    /* Few processors shift or convert signed 64-bit numbers in vectors, so k goes with CF_AWAY added: it is positive then and,
       shifted into place, the sign bit of n. */
    const cf_num_bits away = (apart + ((cf_bits)CF_AWAY << CF_MANTISSA_BITS)) >> CF_MANTISSA_BITS;
    const cf_num n = -cf_num_from_bits(cf_num_to_bits(b) + (away << CF_MANTISSA_BITS));
    const cf_num k = cf_num_from_bits(away | CF_INTEGER) - (cf_from_bits(CF_INTEGER) + CF_AWAY);
#endif
    const cf_num s = (a - n) / (a + n), v = s * s;
    return s * (2 + v * cf_polynomial(CF_TERMS_OF(coefficients), coefficients, v)) + k * CF_LN2_OF_K;
}

/* exp(x) for CF_EXP_MIN <= x <= 0, as 2^k (1 + r + r^2 CF_EXP(r)) with x = k log 2 + r. */
CF_INLINE cf_num cf_exp_bounded(cf_num x) {
    static const cf_real coefficients[] = CF_EXP;
    const cf_num shifted = x * CF_R(1.44269504088896341) + CF_ROUND, k = shifted - CF_ROUND;
    const cf_num r = (x - k * CF_LN2_HIGH) - k * CF_LN2_LOW;
    const cf_num rest = r * r * cf_polynomial(CF_TERMS_OF(coefficients), coefficients, r);
    return cf_num_from_bits((cf_num_to_bits(shifted) << CF_MANTISSA_BITS) + CF_BITS_OF_ONE) * (1 + (r + rest));
}

typedef struct {
    cf_num drop; /* log(top) - digamma(x) */
    cf_num first; /* trigamma(x) */
    cf_num second; /* -tetragamma(x) */
} cf_polygamma;

/* The polygamma functions of x > 0, and a top > 0 to compare with. The argument is shifted up by CF_SHIFT; with h = x + CF_SHIFT -
   1/2, polynomials in 1 / h^2 follow. The fractions of the shift go in pairs, a = x + k and b = x + CF_SHIFT - 1 - k, which have one
   sum, a + b. With r = 1 / (a b) and d = (a - b)^2,

     1/a + 1/b = (a + b) r     1/a^2 + 1/b^2 = r (2 + d r)     1/a^3 + 1/b^3 = (a + b) r^2 (1 + d r)

   without cancellation, and one division serves them all. Derivatives only set the length of steps: they have fewer digits. */
CF_INLINE cf_polygamma cf_polygamma_of(cf_num x, cf_num top) {
    static const cf_real of_digamma[] = CF_PSI0, of_first[] = CF_PSI1, of_second[] = CF_PSI2;
    const cf_num last = x + (CF_SHIFT - 1), sum = x + last, q1 = x * last, h = x + CF_UP_TO_H;
    cf_num over_h, w, s1, s2, s3; /* sums over the pairs: of r, of r (2 + d r), of r^2 (1 + d r) */
    cf_polygamma out;
#if CF_SHIFT == 4
    const cf_num q2 = q1 + 2, product = q1 * q2, inverse = 1 / (product * h), each = inverse * h;
    const cf_num r1 = each * q2, r2 = each * q1, dr1 = 9 * r1;
    s1 = r1 + r2;
    s2 = r1 * (2 + dr1) + r2 * (2 + r2);
    s3 = r1 * r1 * (1 + dr1) + r2 * r2 * (1 + r2);
#else
    const cf_num q2 = q1 + 4, q3 = q1 + 6, q23 = q2 * q3, product = q1 * q23;
    const cf_num inverse = 1 / (product * h), each = inverse * h;
    const cf_num r1 = each * q23, r2 = each * (q1 * q3), r3 = each * (q1 * q2), dr1 = 25 * r1, dr2 = 9 * r2;
    s1 = r1 + (r2 + r3);
    s2 = r1 * (2 + dr1) + (r2 * (2 + dr2) + r3 * (2 + r3));
    s3 = r1 * r1 * (1 + dr1) + (r2 * r2 * (1 + dr2) + r3 * r3 * (1 + r3));
#endif
    over_h = inverse * product;
    w = over_h * over_h;
    out.drop = cf_log_ratio(top, h) - (w * cf_polynomial(CF_TERMS_OF(of_digamma), of_digamma, w) - sum * s1);
    out.first = (over_h + over_h * (w * cf_polynomial(CF_TERMS_OF(of_first), of_first, w))) + s2;
    out.second = (w + w * (w * cf_polynomial(CF_TERMS_OF(of_second), of_second, w))) + (sum + sum) * s3;
    return out;
}
