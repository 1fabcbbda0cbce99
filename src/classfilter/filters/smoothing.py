"""Smoothing: the class probabilities of each row from the rows before it and after it."""

from __future__ import annotations

from itertools import pairwise
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..support.types import Array, Floats, Ints
from .base import with_options
from .dirichlet import DirichletFilter
from .dirichlet_smoothing import decays, dirichlet_rows, in_two_searches
from .multi_label import MultiLabelFilter
from .runner import StreamRows, StreamRunner
from .sticky import StickyFilter

MAX_OFF = 0.0501
"""How far from 1 the sum of a row may be: what a filter takes, and a little for rounding."""


def likelihoods(s: Array, beta: Array, floor: Any, prior: Floats) -> Floats:
    """Return how probable rows (..., K) are of each class, to the power of their weights (...,).

    It is in double precision, also of rows in single precision. Of a missing row, it is 1 where its
    weight is 0.
    """
    rows = np.fmax(np.asarray(s, np.float64), floor) / prior
    # An exponent for each number: one that NumPy repeats, it may raise to in another way.
    power: Floats = np.power(rows, np.repeat(beta[..., None], rows.shape[-1], axis=-1))
    return power


def sticky_rows(
    f: StickyFilter,
    estimates: Array,
    likelihood: Floats,
    dt: Floats,
    ahead: int | None,
    ends: Ints | None = None,
    rows: Ints | None = None,
) -> Floats:
    """Return some rows, smoothed: p(class | past), `estimates`, by p(rows after | class).

    Rows whose `ahead` rows are all in `likelihood` have the same bits, wherever it ends. `ends`,
    (T,), is where the stream of each row ends in it; by default there is one stream. `rows` are
    those of `estimates`; by default the first ones.
    """
    T = len(likelihood)
    ends = np.full(T, T) if ends is None else ends
    rows = np.arange(len(estimates)) if rows is None else rows
    if ahead is None:
        cuts = [0, *np.unique(ends).tolist()]
        parts = [f._backward(likelihood[i:j], dt[i:j]) for i, j in pairwise(cuts)]
        messages = np.concatenate(parts)[rows]
    else:
        last = np.minimum(rows + ahead + 1, ends[rows])
        messages = f._backward_windows(likelihood, dt, rows, last)
    return _core.smooth_estimates(estimates, messages)


Smoother = DirichletFilter | StickyFilter | MultiLabelFilter


def smooth_one(
    f: Smoother, probs: ArrayLike, beta: ArrayLike, dt: ArrayLike, lag: int | None
) -> Array:
    """Return the smoothed class probabilities of one stream, (T, K); see `classfilter.smooth`."""
    ahead = check_lag(lag)
    if isinstance(f, MultiLabelFilter):
        f.copy().run(probs, beta=beta, dt=dt)  # checks the arguments
        return f._of_each(lambda one, s, w: smooth_one(one, s, w, dt, lag), probs, beta)
    forward = f.copy().run(probs, beta=beta, dt=dt)  # checks the arguments
    T = len(forward)
    if ahead == 0 or T <= 1:
        return forward
    rows, times = np.array(probs, np.float64), np.broadcast_to(np.asarray(dt, np.float64), T)
    weights = np.broadcast_to(np.asarray(beta, np.float64), T)
    head, count, every = smoothed_rows(f), np.array([T]), np.arange(T)
    states = head.start[None].astype(np.float64)
    columns = head.columns(rows, weights, times, states, count)
    ahead = None if ahead is None or ahead >= T - 1 else ahead
    stream = SmoothedGroup(
        ahead=ahead, streams=np.zeros(1, np.intp), rows=slice(None), sizes=count, complete=count,
        targets=every, results=every,
    )  # fmt: skip
    smoothed = head.smooth(columns, times, states, stream).astype(f.dtype)
    return smoothed if f.temperature == 1 else _core.temper(smoothed, f.temperature)


class SmoothedGroup(NamedTuple):
    """Streams that are smoothed with as many later rows: `ahead`, None for all of them.

    Attributes
    ----------
    streams, sizes, complete : ndarray of int (N,)
        Their numbers, how many rows of each are there, and how many of these are complete.
    rows : slice or ndarray of int (T,)
        Their rows among all rows.
    targets, results : ndarray of int (M,)
        The complete ones, and the places of their results.
    """

    ahead: int | None
    streams: Ints
    rows: Any
    sizes: Ints
    complete: Ints
    targets: Ints
    results: Ints


class StickyRows:
    """A head with a sticky filter.

    Its state is that of the filter after the last row. Columns: the likelihood of each class, and
    the filter's estimate.
    """

    gamma, search = 1.0, None

    def __init__(self, filter: Any) -> None:  # noqa: A002
        self.filter, self.double = filter, in_double(untempered(filter))
        self.runner = StreamRunner(untempered(filter))
        self.start = self.runner.start
        self.dtype, self.temperature = filter.dtype, filter.temperature
        self.classes = K = len(filter.classes)
        self.places: Any = slice(K), slice(K, 2 * K)
        self.floor, self.prior = self.double.floor, self.double.prior

    def columns(
        self, probs: Array, weight: Floats, dt: Floats, states: Floats, counts: Ints
    ) -> list[Array]:
        """Return the columns of new rows; the states of streams become those after them."""
        weights = np.where(np.isnan(probs[:, 0]), 0.0, weight)
        estimates = np.empty(probs.shape, self.dtype)
        if len(probs):
            s, beta, steps = (np.ascontiguousarray(x, self.dtype) for x in (probs, weight, dt))
            observed = StreamRows(s, beta, steps, counts=counts)
            before = np.ascontiguousarray(states, self.dtype)
            states[:] = self.runner.run(before, observed, estimates, threads=1)
        return [likelihoods(probs, weights, self.floor, self.prior), estimates]

    def smooth(
        self, columns: list[Array], dt: Floats, _states: Floats, group: SmoothedGroup
    ) -> Array:
        """Return the results of complete rows, without the temperature."""
        likelihood, estimates = columns
        if group.ahead == 0:
            return estimates[group.targets]
        ends = np.repeat(np.cumsum(group.sizes), group.sizes)
        complete = estimates[group.targets]
        return sticky_rows(self.double, complete, likelihood, dt, group.ahead, ends, group.targets)

    def is_valid(self, columns: list[Array]) -> bool:
        """Return whether columns are what rows may have."""
        likelihood, estimates = columns
        valid = ((likelihood >= 0) & (likelihood <= 1e30)).all() and likelihood.any(axis=1).all()
        return bool(valid) and _are_probabilities(estimates)


class DirichletRows:
    """A head with a Dirichlet filter.

    Its state is that in double precision before the first row held. Columns: the weight, what the
    step leaves of a state, and the row.
    """

    def __init__(self, filter: Any) -> None:  # noqa: A002
        self.filter, self.double = filter, in_double(untempered(filter))
        self.dtype, self.temperature = filter.dtype, filter.temperature
        self.classes = K = len(filter.classes)
        self.places: Any = 0, 1, slice(2, 2 + K)
        self.floor, self.prior, self.gamma = 1.0, np.ones(K), filter.gamma
        self.runner = StreamRunner(untempered(filter))
        self.start = self.runner.start

    def search(
        self, state: Floats, dt: Floats, eta: Floats, nu: Floats, probs: Floats, weight: Floats
    ) -> Floats:
        """Return the result of a row, (K,), that the core does not find."""
        result: Floats = in_two_searches(
            self.double, state[None], dt=dt, eta=eta, nu=nu[None], s=probs[None], beta=weight
        )[0]
        return result

    def columns(
        self, probs: Array, weight: Floats, dt: Floats, _states: Floats, _counts: Ints
    ) -> list[Array]:
        """Return the columns of new rows."""
        s, beta, steps = (np.ascontiguousarray(x, self.dtype) for x in (probs, weight, dt))
        _core.check_rows(self.classes, s, beta, steps)
        weights = np.where(np.isnan(probs[:, 0]), 0.0, weight)
        return [weights, decays(self.gamma, dt), np.asarray(probs, np.float64)]

    def smooth(
        self, columns: list[Array], dt: Floats, states: Floats, group: SmoothedGroup
    ) -> Array:
        """Return the results of complete rows; the states become those before the rows left."""
        weight, _, probs = columns
        before = np.ascontiguousarray(states[group.streams])
        if group.ahead == 0:
            estimates = np.empty(probs.shape, self.dtype)
            s, beta, steps = (np.ascontiguousarray(x, self.dtype) for x in (probs, weight, dt))
            rows = StreamRows(s, beta, steps)
            self.runner.run(before.astype(self.dtype), rows, estimates, threads=1)
            return estimates
        smoothed = dirichlet_rows(
            self.double, before, probs, weight, dt, group.ahead, group.sizes, group.complete
        )
        states[group.streams] = before
        return smoothed

    def is_valid(self, columns: list[Array]) -> bool:
        """Return whether columns are what rows may have."""
        weight, left, probs = columns
        valid = ((weight >= 0) & (weight <= 1) & (left >= 0) & (left <= 1)).all()
        return bool(valid) and _are_probabilities(probs[~np.isnan(probs).all(axis=1)])


def smoothed_rows(filter: Any) -> Any:  # noqa: A002
    """Return what smooths the rows of a head with a filter."""
    return (StickyRows if isinstance(filter, StickyFilter) else DirichletRows)(filter)


def _are_probabilities(rows: Floats) -> bool:
    """Return whether all rows are probabilities, as near as a filter takes them."""
    return bool((rows >= 0).all() and (abs(rows.sum(axis=1) - 1) <= MAX_OFF).all())


def can_smooth(filter: Any) -> bool:  # noqa: A002
    """Whether rows can be smoothed by a filter of one head."""
    return isinstance(filter, (DirichletFilter, StickyFilter))


def check_smoother(filter: Any) -> Smoother:  # noqa: A002
    """Return the filter if it can smooth."""
    if isinstance(filter, MultiLabelFilter):
        for one in filter.filters:
            check_smoother(one)
    elif not can_smooth(filter):
        raise TypeError(
            f"filter is a {type(filter).__name__}, which cannot smooth; "
            "give a DirichletFilter or a StickyFilter"
        )
    smoother: Smoother = filter
    return smoother


def check_lag(lag: int | None) -> int | None:
    """Return the number of later rows that are used, None for all."""
    try:
        ahead = None if lag is None else index(lag)
    except TypeError:
        raise TypeError(f"lag is {lag!r}; it must be a whole number of rows, or None") from None
    if ahead is not None and not 0 <= ahead < 1 << 62:
        raise ValueError(f"lag is {ahead}; it must be 0 or more rows, or None for all of them")
    return ahead


def in_double(f: Smoother) -> Any:
    """Return the filter in double precision."""
    return f if f.dtype == np.float64 else _changed(f, dtype=np.float64)


def untempered(f: Any) -> Any:
    """Return the filter without a temperature: results are tempered last."""
    return f if f.temperature == 1 else _changed(f, temperature=1.0)


def _changed(f: Any, **options: Any) -> Any:
    """Return the filter in its state with other options."""
    new = with_options(f, **options)
    new.state = f.state
    return new
