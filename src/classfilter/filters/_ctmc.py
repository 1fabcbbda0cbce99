"""From the transitions of one time unit to rates of change, which give those of any time.

The rates G of a process in continuous time make exp(G dt) of the time dt. So G is the logarithm of
the transitions of one time unit, if that has no negative rate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Floats

SMALLEST = 1e-9  # eigenvalues below this are 0: the class is forgotten within the time unit


def stochastic(matrix: ArrayLike, classes: tuple[Any, ...]) -> Floats:
    """Return a matrix of transitions with each row's sum exactly 1, or say what is wrong with it.

    Examples
    --------
    >>> stochastic([[1, 0], [0.25, 0.75]], ("a", "b"))
    array([[1.  , 0.  ],
           [0.25, 0.75]])
    """
    found = np.array(matrix, np.float64)
    K = len(classes)
    if found.shape != (K, K):
        raise ValueError(
            f"transitions has shape {found.shape}; it must have one row and one column a class, "
            f"shape ({K}, {K})"
        )
    for i, row in enumerate(found):
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
    normalised: Floats = found / found.sum(axis=1, keepdims=True)
    return normalised


def generator(transitions: Floats) -> Floats:
    r"""Return the rates :math:`G` with :math:`e^G` the transitions, shape (K, K).

    :math:`G` is the principal logarithm. Where that has negative rates, they are set to 0 and the
    diagonal follows, so that the rows sum to 0: then :math:`e^G` is near the transitions, not equal
    to them, for no process in continuous time has them.

    Examples
    --------
    >>> generator(np.array([[0.5, 0.5], [0.0, 1.0]])).round(4) + 0.0
    array([[-0.6931,  0.6931],
           [ 0.    ,  0.    ]])
    """
    for value in np.linalg.eigvals(transitions):
        if value.real < SMALLEST and abs(value.imag) < SMALLEST:
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
    """Return the distribution that the rates leave as it is.

    Examples
    --------
    >>> stationary(np.array([[-1.0, 1.0], [3.0, -3.0]]))
    array([0.75, 0.25])
    """
    left, sizes, _ = np.linalg.svd(rates)
    if not sizes[-2] > 1e-12 * sizes[0]:
        raise ValueError(
            "transitions leaves more than one distribution as it is; say by prior which to use"
        )
    found: Floats = left[:, -1] / left[:, -1].sum()
    return found


def _logarithm(matrix: Floats) -> Floats:
    """Return the principal logarithm, also of matrices that have no basis of eigenvectors.

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
    """Return the transitions of one time unit that rates make, shape (K, K).

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
    found, term = np.eye(len(rates)), np.eye(len(rates))
    for n in range(1, 21):
        term = term @ positive / n
        found = found + term
    found *= np.exp(-q)
    for _ in range(halvings):
        found = found @ found
    normalised: Floats = found / found.sum(axis=1, keepdims=True)
    return normalised
