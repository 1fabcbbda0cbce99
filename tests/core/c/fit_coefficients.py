"""Print csrc/coefficients.h: near-minimax polynomials of the core's special functions.

    python tests/core/c/fit_coefficients.py > src/classfilter/csrc/coefficients.h

Each polynomial is fitted in 60 digits on the range in which the core uses it, with as many terms
as the precision deserves: by Chebyshev interpolation (mpmath's `chebyfit`), or, where the error
counts less at some places than at others, by Remez' exchange.
"""

from collections.abc import Callable

from mpmath import (
    atanh,
    chebyfit,
    cos,
    exp,
    factorial,
    log,
    lu_solve,
    matrix,
    mp,
    mpf,
    nstr,
    pi,
    polyval,
    psi,
    sqrt,
)

mp.dps = 60
TINY = mpf(10) ** -12  # the functions below are 0/0 at the left end

HEADER = """\
/* SPDX-License-Identifier: MIT */
/* Polynomial coefficients, lowest power first, by tests/core/c/fit_coefficients.py; do not edit.
   With h = x + CF_SHIFT - 1/2 and w = 1 / h^2:
     digamma(x + CF_SHIFT)   = log h + w CF_PSI0(w)
     trigamma(x + CF_SHIFT)  = (1 + w CF_PSI1(w)) / h
     tetragamma(x + CF_SHIFT) = -(1 + w CF_PSI2(w)) / h^2
   The derivatives only set the length of steps, and have as many terms as that needs.
   log((1 + s) / (1 - s)) = s (2 + s^2 CF_LOG(s^2));  exp(r) = 1 + r + r^2 CF_EXP(r).
   log2((1 + t) / (1 - t)) = t CF_LOG2(t^2), with the absolute error of the whole;
   2^r = 1 + r CF_EXP2(r), with the relative error of the whole. */
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
    """(2 atanh(s) / s - 2) / s^2 at s^2 = v."""
    s = sqrt(max(mpf(v), TINY))
    return 2 * (atanh(s) / s - 1) / (s * s)


def exp_rest(r: mpf) -> mpf:
    """(exp(r) - 1 - r) / r^2."""
    r = mpf(r)
    return (exp(r) - 1 - r) / (r * r) if abs(r) > TINY else mpf(1) / 2


def log2_part(v: mpf) -> mpf:
    """log2((1 + t) / (1 - t)) / t at t^2 = v."""
    return (2 + v * log_rest(v)) / log(2)


def exp2_part(r: mpf) -> mpf:
    """(2^r - 1) / r."""
    return (mpf(2) ** r - 1) / r if abs(r) > TINY else log(2)


def minimax(
    function: Callable[[mpf], mpf], weight: Callable[[mpf], mpf], low: mpf, high: mpf, terms: int
) -> tuple[list[mpf], mpf]:
    """Return the polynomial, highest power first, whose largest weighted error is least.

    By Remez' exchange: the error has one size, with changing signs, at some points; then each
    point moves to where the error between two changes of sign is largest.
    """
    grid = [low + (high - low) * i / 2000 for i in range(2001)]
    points = [low + (high - low) * (1 - cos(pi * i / terms)) / 2 for i in range(terms + 1)]
    points = [x if weight(x) > TINY else x + (high - low) / 100 for x in points]
    for _ in range(10):
        rows = [
            [x**j for j in range(terms)] + [(-1) ** i / weight(x)] for i, x in enumerate(points)
        ]
        solution = lu_solve(matrix(rows), matrix([function(x) for x in points]))
        coefficients = [solution[j] for j in reversed(range(terms))]
        largest: list[tuple[mpf, mpf]] = []
        for x in grid:
            error = weight(x) * (function(x) - polyval(coefficients, x))
            if not largest or error * largest[-1][1] < 0:
                largest.append((x, error))
            elif abs(error) > abs(largest[-1][1]):
                largest[-1] = (x, error)
        while len(largest) > terms + 1:
            del largest[0 if abs(largest[0][1]) < abs(largest[-1][1]) else -1]
        points = [x for x, _ in largest]
    return coefficients, max(abs(error) for _, error in largest)


def listed(name: str, coefficients: list[mpf], error: mpf, single: bool) -> str:
    """Return the C line that lists a polynomial, given highest power first."""
    suffix, digits = ("f", 9) if single else ("", 17)
    numbers = ", ".join(
        nstr(c, digits, min_fixed=-1, max_fixed=1) + suffix for c in coefficients[::-1]
    )
    return f"/* error {nstr(error, 2)} */\n#define {name} {{{numbers}}}"


def define(
    name: str, function: Callable[[mpf], mpf], low: mpf, high: mpf, terms: int, single: bool
) -> str:
    """Return the C line that lists a fitted polynomial."""
    coefficients, error = chebyfit(function, [low, high], terms, error=True)
    return listed(name, coefficients, error, single)


if __name__ == "__main__":
    print(HEADER)
    log_end = mpf("0.201") ** 2
    exp_end = log(2) / 2 * mpf("1.001")
    log2_end = mpf("0.1717") ** 2
    exp2_end = mpf("0.5001")
    for single, condition, shift, terms in (
        (True, "#ifdef CF_FLOAT", 4, (3, 2, 1, 3, 5, 3, 5)),
        (False, "#else", 6, (7, 3, 2, 7, 10, 7, 11)),
    ):
        wide = 1 / (mpf(shift) - mpf(1) / 2) ** 2
        print(condition)
        print(f"#define CF_SHIFT {shift}")
        for order in range(3):
            print(define(f"CF_PSI{order}", polygamma(order), mpf(0), wide, terms[order], single))
        print(define("CF_LOG", log_rest, mpf(0), log_end, terms[3], single))
        print(define("CF_EXP", exp_rest, -exp_end, exp_end, terms[4], single))
        log2 = minimax(log2_part, sqrt, mpf(0), log2_end, terms[5])
        print(listed("CF_LOG2", *log2, single))
        exp2 = minimax(exp2_part, lambda r: abs(r) / mpf(2) ** r, -exp2_end, exp2_end, terms[6])
        print(listed("CF_EXP2", *exp2, single))
    print("#endif")
