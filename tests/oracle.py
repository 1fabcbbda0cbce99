"""An oracle of fifty digits: every rule of `DirichletFilter`, and each mode proved.

A one-dimensional search finds the mode. Write t_i = beta log s_i - gamma nu_i. Given the
total X, Eq. (9) gives each alpha_i = x_i(X) by itself, from G(x_i) = G_total(X) + t_i; what is left
is sum x_i(X) = X. That is solved in floats, or in mpmath where X is huge, and refined in mpmath.
The search itself need not be trusted: L is strictly concave, so that a point where `gradient`
vanishes *is* the mode, and no other point is accepted; where fifty digits are too few for that,
`update` raises ArithmeticError.

`mp` is a separate context: the precision of `mpmath.mp` does not change.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import mpmath

__all__ = ["Oracle", "expected_neg_log", "gradient", "mp", "posterior_mode"]

mp = mpmath.mp.clone()
mp.dps = 50

Real: TypeAlias = Any  # mpf
Vector: TypeAlias = list[Any]

# An eta below this is zero. Then there is no mode: L increases along alpha = c s.
MIN_ETA = mp.mpf("1e-100")


class Oracle:
    """`DirichletFilter` in mpmath; float arguments are exact."""

    def __init__(
        self,
        K: int,
        gamma: float,
        floor: float = 1e-3,
        anchor: float = 0.0,
        prior: Sequence[float] | None = None,
        prior_weight: float = 1.0,
        max_concentration: float = 1e6,
        bounded: bool = True,
    ) -> None:
        self.gamma, self.floor, self.anchor = mp.mpf(gamma), mp.mpf(floor), mp.mpf(anchor)
        self.max_concentration = mp.mpf(max_concentration)
        self.prior: Vector = [mp.mpf(a) for a in ([1.0] * K if prior is None else prior)]
        self.eta: Real = mp.mpf(prior_weight)
        self.alpha: Vector = self.prior
        self.bound: Real = mp.inf
        if bounded and floor:
            smallest = self.floor / (mp.mpf("1.05") + (K - 1) * self.floor)
            self.bound = max(-mp.log(smallest), *expected_neg_log(self.prior))

    @property
    def nu(self) -> Vector:
        return [self.eta * min(e, self.bound) for e in expected_neg_log(self.alpha)]

    def probs(self, estimate: str = "mode") -> Vector:
        peak = [max(a - 1, mp.zero) for a in self.alpha]
        if estimate == "mean" or not any(peak):
            peak = self.alpha
        return [p / mp.fsum(peak) for p in peak]

    def update(self, s: Sequence[float], beta: float = 1.0, dt: float = 1.0) -> None:
        decay = self.gamma ** mp.mpf(dt)
        pull = (1 - decay) * self.anchor
        eta = decay * self.eta + pull
        b = mp.zero if all(v != v for v in s) else mp.mpf(beta)
        # Where eta is small, sum alpha is about b / eta, and as many digits cancel.
        lost = max(0, -int(mp.log10(eta))) if eta > b * MIN_ETA else 0
        with mp.workdps(mp.dps + 2 * lost):
            if b:
                s = [max(mp.mpf(v), self.floor) for v in s]
                s = [v / mp.fsum(s) for v in s]
            if b and eta <= b * MIN_ETA:
                self.alpha = [self.max_concentration * v for v in s]
            elif b or pull:  # otherwise the mode stays
                m = self._bounded(expected_neg_log(self.alpha))
                nu = [decay * self.eta * v for v in m]
                if pull:
                    nu = [
                        n + pull * m for n, m in zip(nu, expected_neg_log(self.prior), strict=True)
                    ]
                self.alpha = posterior_mode(eta, nu, s, b, self.alpha)
        excess = mp.fsum(self.alpha) / self.max_concentration
        if excess > 1:
            self.alpha = [a / excess for a in self.alpha]
        self.eta = eta + b

    def _bounded(self, m: Vector) -> Vector:
        """At most the bound; the others raised alike until a Dirichlet distribution has these m."""
        if max(m) <= self.bound:
            return m
        limit = 1 - len(m) / (2 * self.max_concentration)
        m = [min(v, self.bound) for v in m]
        for _ in m:
            kept = mp.fsum(mp.exp(-v) for v in m if v < self.bound)
            room = limit - mp.exp(-self.bound) * sum(v >= self.bound for v in m)
            if kept <= room:
                break
            shift = mp.log(kept / room) if room > 0 else mp.inf
            m = [min(v + shift, self.bound) if v < self.bound else v for v in m]
        return m


def posterior_mode(eta: Real, nu: Vector, s: Sequence[Real], beta: Real, guess: Vector) -> Vector:
    """The maximum of the log posterior, from any positive guess.

    The gradient in log alpha vanishes to forty digits there, less those of sum alpha, and the next
    Newton step would change no alpha_i by more than 1e-25 of itself.
    """
    t = [beta * mp.log(v) - n if beta else -n for v, n in zip(s, nu, strict=True)]
    x = _first(t, beta, eta, guess)
    for _ in range(20):
        X, slope = mp.fsum(x), gradient(x, eta, nu, s, beta)
        # Newton for x and X at once, in relative steps v_i and V: rise_i v_i - rise V = slope_i
        # and sum x_i v_i = X V.
        rise = _rise(X, beta, len(x) * (1 - beta), eta)
        rises = [_rise(v, beta, 1 - beta, eta) for v in x]
        share = [v / r for v, r in zip(x, rises, strict=True)]
        V = mp.fdot(share, slope) / (X - rise * mp.fsum(share))
        steps = [(rise * V + d) / r for d, r in zip(slope, rises, strict=True)]
        residual = max(abs(v * d) for v, d in zip(x, slope, strict=True))
        if residual < eta * (1 + X / 10**4) / 10**40 and max(map(abs, steps)) < 1e-25:
            return x
        x = [v * (1 + max(d, -0.9)) for v, d in zip(x, steps, strict=True)]
    raise ArithmeticError(f"not the mode: the gradient is {mp.nstr(residual)}")


def gradient(
    alpha: Vector, eta: Real, nu: Vector, s: Sequence[Real], beta: Real, gamma: Real = 1
) -> Vector:
    """The gradient of the log posterior, Eq. (9)."""
    alpha, beta, gamma = [mp.mpf(a) for a in alpha], mp.mpf(beta), mp.mpf(gamma)
    psi, K, X = mp.digamma, len(alpha), mp.fsum(alpha)
    total, total_seen = psi(X), psi(K * (1 - beta) + beta * X)
    return [
        (beta * (total_seen - psi(beta * a + (1 - beta)) + mp.log(v)) if beta else 0)
        + gamma * eta * (total - psi(a))
        - gamma * n
        for a, v, n in zip(alpha, s, nu, strict=True)
    ]


def expected_neg_log(alpha: Vector) -> Vector:
    """E[-log s | alpha] = psi(sum alpha) - psi(alpha_i)."""
    total = mp.digamma(mp.fsum(alpha))
    return [total - mp.digamma(a) for a in alpha]


def _first(t: Vector, b: Real, c: Real, x: Vector) -> Vector:
    """Solve G(x_i) = G_total(X) + t_i with X = sum x, accurately enough to start Newton there."""
    K = len(t)
    q = [mp.exp(v / (b + c)) for v in t]  # if X is large, then x is about X q ...
    D = 1 - mp.fsum(q)
    if D <= 0:
        raise ArithmeticError("no mode: sum alpha has no bound")
    X = (K - 1) / (2 * (b + c) * D)  # ... and X is about this, times 1 + c or c
    X *= 1 + c if b * X > K else c
    if X < 1e10:
        ctx = mpmath.fp
    else:  # floats cannot tell X from sum x
        ctx, x = mp, [max(X * v, a) for v, a in zip(q, x, strict=True)]
    t, x, b, c = [ctx.mpf(v) for v in t], [ctx.mpf(v) for v in x], ctx.mpf(b), ctx.mpf(c)

    def g(x: Real, k: Real) -> Real:
        # psi(x) = psi(1 + x) - 1 / x: mpmath's float digamma is poor near zero.
        z = b * x + k
        seen = b * ctx.digamma(1 + z) - b / z if b else 0
        return seen + c * ctx.digamma(1 + x) - c / x

    def excess(X: Real) -> tuple[Real, Real]:
        """log X - log sum x_i(X), negative below the root."""
        total, follow = g(X, K * (1 - b)), ctx.zero
        for i in range(K):

            def miss(v: Real, target: Real = total + t[i]) -> tuple[Real, Real]:
                return g(v, 1 - b) - target, _rise(v, b, 1 - b, c)

            x[i] = _root(ctx, miss, x[i], ctx.eps)
            follow += x[i] / _rise(x[i], b, 1 - b, c)
        rise = _rise(X, b, K * (1 - b), c)
        return ctx.log(X / ctx.fsum(x)), 1 - rise * follow / ctx.fsum(x)

    _root(ctx, excess, ctx.fsum(x), 1e-6)
    return [mp.mpf(v) for v in x]


def _root(ctx: Any, f: Callable[[Real], tuple[Real, Real]], x: Real, tol: float) -> Real:
    """Where f, negative below its root, is zero: Newton in log x, within a bracket.

    f returns its value and its slope in log x. Ends at the tolerance, or where rounding dominates.
    """
    low, high, last = ctx.zero, ctx.inf, ctx.inf
    for _ in range(1000):
        y, slope = f(x)
        low, high = (x, high) if y < 0 else (low, x)
        step = -y / slope if slope > abs(y) / 4 else -4 * ctx.sign(y)
        new = x * ctx.exp(step)
        if not low < new < high:
            new = ctx.sqrt(low) * ctx.sqrt(high) if low and high < ctx.inf else x
        if new == x or abs(step) <= tol or last / 2 < abs(step) < 1e-4:
            return x
        x, last = new, abs(step)
    raise ArithmeticError("no root in 1000 iterations")


def _rise(x: Real, b: Real, k: Real, c: Real) -> Real:
    """The slope of G_{b, k}(x) in log x."""
    z = b * x + k
    return c * _trigamma(x) + (b * b * x / z * _trigamma(z) if b else 0)


def _trigamma(x: Real) -> Real:
    """x psi'(x), to 1e-15 for small x and more exact for large x: enough for Newton."""
    if x < 16:
        x = float(x)
    y, head = x, 0.0
    while y < 16:
        head += x / y / y
        y += 1
    z = 1 / (y * y)
    tail = 1 / 6 - z * (1 / 30 - z * (1 / 42 - z * (1 / 30 - z * (5 / 66 - z * 691 / 2730))))
    return head + x / y * (1 + 1 / (2 * y) + z * tail)
