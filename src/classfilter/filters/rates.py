"""Continuous-time Markov chains: rates from the transitions of one time unit, and back.

The rates G of a chain give the transitions exp(G dt) over the time dt. So G is the logarithm of the
transitions of one time unit, if that has no negative rate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..support.types import Floats

MIN_EIGENVALUE = 1e-9
"""Eigenvalues below it are 0: the class is forgotten within the time unit."""
MAX_MODE_ERROR = 1e-13
"""How far transitions from modes may be from those of the exponential; a probability."""
MAX_CONDITION = 1e4
"""How much a basis of eigenvectors may amplify rounding errors."""


class Modes(NamedTuple):
    r"""Rates as :math:`G = V \Lambda V^{-1}` in real numbers.

    Complex eigenvalues come first, in pairs :math:`a \mp ib`; their columns of :math:`V` are the
    real and the imaginary part of the eigenvector of :math:`a + ib`.
    """

    decay: Floats
    rotation: Floats
    basis: Floats
    inverse: Floats

    @property
    def pairs(self) -> int:
        """How many pairs of complex eigenvalues there are."""
        return int(np.count_nonzero(self.rotation)) // 2

    def transitions(self, dt: float) -> Floats:
        """Return the transitions over a time, shape (K, K)."""
        scale = np.exp(self.decay * dt)
        middle = np.diag(scale * np.cos(self.rotation * dt))
        for k in range(0, 2 * self.pairs, 2):
            middle[k, k + 1] = scale[k] * np.sin(self.rotation[k + 1] * dt)
            middle[k + 1, k] = -middle[k, k + 1]
        product: Floats = self.basis @ middle @ self.inverse
        return product


def stochastic(matrix: ArrayLike, classes: tuple[Any, ...]) -> Floats:
    """Return a matrix of transitions, checked, with every row divided by its sum.

    Examples
    --------
    >>> stochastic([[1, 0], [0.25, 0.75]], ("a", "b"))
    array([[1.  , 0.  ],
           [0.25, 0.75]])
    """
    transitions = np.array(matrix, np.float64)
    K = len(classes)
    if transitions.shape != (K, K):
        raise ValueError(
            f"transitions has shape {transitions.shape}; it must have one row and one column per "
            f"class, shape ({K}, {K})"
        )
    for i, row in enumerate(transitions):
        for j, p in enumerate(row):
            if not 0 <= p < np.inf:
                raise ValueError(
                    f"transitions[{i}, {j}] is {p}; a probability must be finite and not negative"
                )
        if abs(row.sum() - 1) > 1e-3:
            raise ValueError(
                f"transitions[{i}] sums to {row.sum()}; each row must sum to 1: it holds the "
                f"probabilities of the classes one time unit after {classes[i]!r}"
            )
    normalised: Floats = transitions / transitions.sum(axis=1, keepdims=True)
    return normalised


def generator(transitions: Floats) -> Floats:
    r"""Return the rates :math:`G` with :math:`e^G` the transitions, shape (K, K).

    :math:`G` is the principal logarithm. Where that has negative rates, they are set to 0 and the
    diagonal follows, so that the rows sum to 0: then :math:`e^G` is close to the transitions, not
    equal to them, because no process in continuous time has them.

    Examples
    --------
    >>> generator(np.array([[0.5, 0.5], [0.0, 1.0]])).round(4) + 0.0
    array([[-0.6931,  0.6931],
           [ 0.    ,  0.    ]])
    """
    for value in np.linalg.eigvals(transitions):
        if value.real < MIN_EIGENVALUE and abs(value.imag) < MIN_EIGENVALUE:
            raise ValueError(
                f"transitions has the eigenvalue {value.real:.3g}; no process in continuous time "
                "does: give the transitions of a shorter time, in which most classes stay"
            )
    rates = _logarithm(transitions)
    np.fill_diagonal(rates, 0.0)
    rates = np.maximum(rates, 0.0)
    np.fill_diagonal(rates, -rates.sum(axis=1))
    return rates


def stationary(rates: Floats) -> Floats:
    """Return the stationary distribution of the rates.

    Examples
    --------
    >>> stationary(np.array([[-1.0, 1.0], [3.0, -3.0]]))
    array([0.75, 0.25])
    """
    left, sizes, _ = np.linalg.svd(rates)
    if not sizes[-2] > 1e-12 * sizes[0]:
        raise ValueError(
            "transitions has more than one stationary distribution; give the one to use as prior"
        )
    shares: Floats = left[:, -1] / left[:, -1].sum()
    return shares


def modes(rates: Floats) -> Modes | None:
    """Return the rates' modes; None where they have no basis of eigenvectors to compute with.

    Examples
    --------
    >>> modes(np.array([[-1.0, 1.0], [3.0, -3.0]])).decay
    array([ 0., -4.])
    >>> modes(np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, 0.0]])) is None
    True
    """
    values, vectors = np.linalg.eig(rates)
    if np.linalg.cond(vectors, 1) > MAX_CONDITION:
        return None
    first, real = np.flatnonzero(values.imag > 0), np.flatnonzero(values.imag == 0)
    turning = 2 * len(first)
    basis = _to_real(vectors[:, np.concatenate([np.repeat(first, 2), real])], turning)
    # One step of Newton's iteration: eig is precise relative to the fastest rate, and slow modes,
    # over a long time, need more.
    vectors = _to_complex(basis, turning)
    blocks = np.linalg.solve(vectors, _to_complex(_derivative(rates, basis), turning))
    values = np.diag(blocks).copy()
    gaps = values[None, :] - values[:, None]
    distinct = np.abs(gaps) > 1e-9 * np.abs(values).max()
    change = np.where(distinct, blocks / np.where(distinct, gaps, 1.0), 0.0)
    basis = _to_real(vectors + vectors @ change, turning)
    values[np.abs(values).argmin()] = 0.0
    rotation = np.where(np.arange(len(values)) < turning, -values.imag, 0.0)
    if (values.real > 0).any():
        return None
    inverse = np.linalg.inv(basis).astype(np.float64)
    return Modes(values.real.copy(), rotation, basis, inverse)


def _to_complex(basis: Floats, turning: int) -> NDArray[np.complex128]:
    """Return conjugate columns from pairs of a real and an imaginary part."""
    vectors = basis.astype(complex)
    vectors[:, :turning:2] += 1j * basis[:, 1:turning:2]
    vectors[:, 1:turning:2] = vectors[:, :turning:2].conj()
    return vectors


def _to_real(vectors: NDArray[Any], turning: int) -> Floats:
    """Return pairs of a real and an imaginary part from conjugate columns."""
    basis: Floats = vectors.real.copy()
    basis[:, 1:turning:2] = vectors.imag[:, :turning:2]
    return basis


def _derivative(rates: Floats, basis: Floats) -> Floats:
    r"""Return rates @ basis as if in twice the precision.

    In slow modes fast rates cancel: :math:`\sum_j g_{ij} (v_j - v_i)`, of any diagonal.
    """
    total, rest = np.zeros_like(basis), np.zeros_like(basis)
    for j, v in enumerate(basis):
        rate = np.where(np.arange(len(rates)) == j, 0.0, rates[:, j])[:, None]
        difference, lost = _exact_sum(v, -basis)
        product, error = _exact_product(rate, difference)
        total, carry = _exact_sum(total, product)
        rest += carry + error + rate * lost
    return total + rest


def _exact_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a sum and its rounding error (Knuth)."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def _exact_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a product and its rounding error (Dekker)."""
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    product = a * b
    error = a_high * b_high - product + a_high * b_low + a_low * b_high + a_low * b_low
    return product, error


def _halves(x: Floats) -> tuple[Floats, Floats]:
    shifted = 134217729.0 * x
    high = shifted - (shifted - x)
    return high, x - high


def _logarithm(matrix: Floats) -> Floats:
    """Return the principal logarithm, also of matrices without a basis of eigenvectors.

    The logarithm of a root near I times the root's degree. With X = root - I it is the integral of
    X (I + t X)^-1 over t from 0 to 1.
    """
    identity = np.eye(len(matrix))
    root, degree = matrix, 1
    while np.abs(root - identity).sum(axis=1).max() > 0.25:
        root, degree = _square_root(root), 2 * degree
    X = root - identity
    total = np.zeros_like(X)
    for node, weight in zip(*np.polynomial.legendre.leggauss(12), strict=True):
        total += weight / 2 * np.linalg.solve(identity + (node + 1) / 2 * X, X)
    return degree * total


def _square_root(matrix: Floats) -> Floats:
    """Return the principal square root, by the iteration of Denman and Beavers."""
    root, inverse = matrix, np.eye(len(matrix))
    for _ in range(60):
        step = (root + np.linalg.inv(inverse)) / 2
        inverse = (inverse + np.linalg.inv(root)) / 2
        change = np.abs(step - root).max()
        root = step
        if change < 1e-15:
            break
    return root


def exponential(rates: Floats) -> Floats:
    """Return the transitions of one time unit from rates, shape (K, K).

    Examples
    --------
    >>> exponential(np.array([[-0.6931, 0.6931], [0.0, 0.0]])).round(4)
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    # Uniformization keeps every term positive: exp(rates) = e^-q exp(q I + rates), halved often
    # enough that twenty terms of the series are exact, then squared back.
    largest = float(np.abs(np.diag(rates)).max())
    halvings = max(0, int(np.ceil(np.log2(largest))) + 1) if largest > 0 else 0
    q = largest / 2**halvings
    positive = rates / 2**halvings + q * np.eye(len(rates))
    total, term = np.eye(len(rates)), np.eye(len(rates))
    for n in range(1, 21):
        term = term @ positive / n
        total = total + term
    total *= np.exp(-q)
    for _ in range(halvings):
        total = total @ total
    normalised: Floats = total / total.sum(axis=1, keepdims=True)
    return normalised
