"""Print csrc/coefficients.h: near-minimax polynomials of the core's special functions.

    python tests/core/c/fit_coefficients.py > src/classfilter/csrc/coefficients.h

Each polynomial is fitted in 60 digits by Chebyshev interpolation (mpmath's `chebyfit`) on the
range in which the core uses it, with as many terms as the precision deserves.
"""

from collections.abc import Callable

from mpmath import atanh, chebyfit, exp, factorial, log, mp, mpf, nstr, psi, sqrt

mp.dps = 60
TINY = mpf(10) ** -12  # the functions below are 0/0 at the left end

HEADER = """\
/* SPDX-License-Identifier: MIT */
/* Polynomial coefficients, lowest power first, by tests/core/c/fit_coefficients.py; do not edit.
   With h = x + CF_SHIFT - 1/2 and w = 1 / h^2:
     digamma(x + CF_SHIFT)   = log h + w CF_PSI0(w)
     trigamma(x + CF_SHIFT)  = (1 + w CF_PSI1(w)) / h
     tetragamma(x + CF_SHIFT) = -(1 + w CF_PSI2(w)) / h^2
     pentagamma(x + CF_SHIFT) = 2 (1 + w CF_STEP3(w)) / h^3
   CF_STEP1 and CF_STEP2 are CF_PSI1 and CF_PSI2 with fewer terms, enough for a step that is short.
   log((1 + s) / (1 - s)) = 2 s (1 + s^2 CF_LOG(s^2));  exp(r) = 1 + r + r^2 CF_EXP(r). */
/* clang-format off */
"""


def polygamma(order: int) -> Callable[[mpf], mpf]:
    """Return what the series of the polygamma function leaves beyond its leading term."""

    def rest(w: mpf) -> mpf:
        w = max(mpf(w), TINY)
        h = 1 / sqrt(w)
        z = h + mpf(1) / 2
        if order == 0:
            return (psi(0, z) - log(h)) / w
        return ((-h) ** order / -factorial(order - 1) * psi(order, z) - 1) / w

    return rest


def log_rest(v: mpf) -> mpf:
    """(atanh(s) / s - 1) / s^2 at s^2 = v."""
    s = sqrt(max(mpf(v), TINY))
    return (atanh(s) / s - 1) / (s * s)


def exp_rest(r: mpf) -> mpf:
    """(exp(r) - 1 - r) / r^2."""
    r = mpf(r)
    return (exp(r) - 1 - r) / (r * r) if abs(r) > TINY else mpf(1) / 2


def define(
    name: str, function: Callable[[mpf], mpf], low: mpf, high: mpf, terms: int, single: bool
) -> str:
    """Return the C line that lists a fitted polynomial."""
    coefficients, error = chebyfit(function, [low, high], terms, error=True)
    suffix, digits = ("f", 9) if single else ("", 17)
    listed = ", ".join(
        nstr(c, digits, min_fixed=-1, max_fixed=1) + suffix for c in coefficients[::-1]
    )
    return f"/* error {nstr(error, 2)} */\n#define {name} {{{listed}}}"


if __name__ == "__main__":
    print(HEADER)
    log_end = mpf("0.201") ** 2
    exp_end = log(2) / 2 * mpf("1.001")
    for single, condition, shift, terms in (
        (True, "#ifdef CF_FLOAT", 4, (3, 3, 2, 3, 5)),
        (False, "#else", 6, (7, 8, 5, 7, 10)),
    ):
        wide = 1 / (mpf(shift) - mpf(1) / 2) ** 2
        print(condition)
        print(f"#define CF_SHIFT {shift}")
        for order in range(3):
            print(define(f"CF_PSI{order}", polygamma(order), mpf(0), wide, terms[order], single))
        for order in range(1, 1 if single else 4):
            print(define(f"CF_STEP{order}", polygamma(order), mpf(0), wide, 5 - order, single))
        print(define("CF_LOG", log_rest, mpf(0), log_end, terms[3], single))
        print(define("CF_EXP", exp_rest, -exp_end, exp_end, terms[4], single))
    print("#endif")
