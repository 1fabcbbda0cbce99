"""The sticky filter: a hidden Markov model whose class tends to stay."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .. import _core
from ..inputs import positive_duration
from ..support.types import Array, Classes, Duration
from ..support.validation import check_dtype, class_names
from .base import (
    CompiledFilter,
    check_temperature,
    checked_prior,
    decay,
    half_life_of,
    shown_temperature,
)
from .rates import MAX_MODE_ERROR, Modes, generator, modes, stationary, stochastic

MAX_TRANSITION_ERROR = 0.05
"""How far transitions may be from those of a process in continuous time."""

MIN_SHARE = 1e-4
"""With a rarer class, transitions over each time are exponentials."""


class StickyState(NamedTuple):
    """What a `StickyFilter` remembers: K numbers.

    Attributes
    ----------
    probs : ndarray, shape (K,)
        The class probabilities, none below 1e-30.
    """

    probs: Array


class StickyFilter(CompiledFilter, _core.Sticky):
    r"""The forward pass of a hidden Markov model, in continuous time.

    Over the time :math:`dt` the class stays with the probability :math:`\rho^{dt}` and is otherwise
    drawn again from the prior :math:`\pi`; or it changes by a matrix of transitions to the power
    :math:`dt`. An observation of weight :math:`\beta` counts as the likelihood
    :math:`(s_i / \pi_i)^\beta`:

    .. math:: p_i \leftarrow \rho^{dt} p_i + (1 - \rho^{dt}) \pi_i, \qquad
              p_i \leftarrow p_i (s_i / \pi_i)^\beta / \textstyle\sum_j p_j (s_j / \pi_j)^\beta

    Parameters
    ----------
    classes : int or iterable
        The number of classes, or their names.
    stay : float, default 0.99
        Probability :math:`\rho` that the class is not drawn again within a time unit, 0 to 1.
    dwell : float, str or timedelta, optional
        Instead of stay: the mean time in a class, from one change of class to the next, D. A class
        that is drawn again may be the same, so that
        :math:`\rho = \exp(-1 / (D (1 - \sum_i \pi_i^2)))`. With a uniform prior it is the mean time
        in each class; otherwise class i lasts
        :math:`D (1 - \sum_j \pi_j^2) / (1 - \pi_i)` on average, so a frequent class longer. A
        number is in time units; ``"60s"``, ``"5m"`` and timedeltas are for times in seconds, or
        dates.
    prior : array_like, shape (K,), optional
        Frequency of each class, also in the training data of the classifiers; each entry at
        least 1e-6. By default uniform; with transitions, their stationary distribution.
    transitions : array_like, shape (K, K), optional
        Instead of stay: the probability of each class (column) one time unit after each class
        (row). A matrix that no process in continuous time has is replaced by a similar one; the
        property `transitions` holds the matrix in use.
    interval : float, str or timedelta, default 1
        The time that `transitions` cover, as `dwell` is given.
    floor : float, default 1e-3
        Smallest probability of an observation: rows become ``max(s, floor)``, normalised.
    temperature : float, default 1
        The filter returns :math:`p_i^{1 / T}`, normalised: above 1 it is less certain, below 1 more
        so. The most probable class and the state stay the same. From 0.05 to 20.
    dtype : {float64, float32}
        Precision of the arithmetic. float32 gives the same bits as the C core on a
        microcontroller.

    Examples
    --------
    >>> f = StickyFilter(["walk", "sit", "sleep"], stay=0.9)
    >>> f.update([0.7, 0.2, 0.1]).round(3)
    array([0.7, 0.2, 0.1])
    >>> for _ in range(3):
    ...     p = f.update([0.3, 0.6, 0.1], beta=0.5)  # a weak classifier disagrees
    >>> f.label, round(float(p[0]), 3)
    ('walk', 0.48)
    """

    _kind = "sticky"

    def __init__(
        self,
        classes: Classes,
        stay: float | None = None,
        *,
        dwell: Duration | None = None,
        prior: ArrayLike | None = None,
        transitions: ArrayLike | None = None,
        interval: Duration = 1.0,
        floor: float = 1e-3,
        temperature: float = 1.0,
        dtype: DTypeLike = np.float64,
    ) -> None:
        names, dtype = class_names(classes), check_dtype(dtype)
        K = len(names)
        rates, stays = None, 1.0
        if stay is not None and dwell is not None:
            raise ValueError("stay and dwell are both given; give one of them")
        if transitions is None:
            stays = decay(stay, None, "stay", 0.99)
            if dwell is not None:
                shares = checked_prior(np.full(K, 1 / K) if prior is None else prior, dtype, K)
                stays = float(0.5 ** (1.0 / positive_duration("dwell", dwell) / half_lives(shares)))
            options: dict[str, Any] = {"stay": stays}
        elif stay is not None or dwell is not None:
            other = "dwell" if stay is None else "stay"
            raise ValueError(f"transitions and {other} are both given; give one of them")
        else:
            interval = positive_duration("interval", interval)
            matrix = stochastic(transitions, names)
            rates = generator(matrix) / interval
            options = {"transitions": np.array(transitions, np.float64), "interval": interval}
        if prior is None:
            prior = (
                np.full(K, 1 / K) if rates is None else _checked_shares(stationary(rates), names)
            )
        prior = checked_prior(prior, dtype, K)
        options |= {"prior": prior, "floor": floor}
        options |= {"temperature": check_temperature(temperature), "dtype": dtype}
        self._start(options, rates)
        # After the core, which refuses a second __init__: a filter keeps its settings for life.
        self._classes, self._dtype = names, dtype
        self._stay = stays if rates is None else None
        self._options, self._rates = options, rates
        self._modes: Modes | None = None
        self._half_life = half_life_of(stays)
        if rates is not None:
            slowest = np.sort(np.linalg.eigvals(rates).real)[-2]  # the last one is 0
            self._half_life = half_life_of(float(np.exp(slowest)))
            self._require_close(matrix, options["interval"])
            if dtype == np.float64:
                self._use_modes(rates)

    def copy(self) -> StickyFilter:
        """Return an independent filter with the same settings, in the same state."""
        new = type(self).__new__(type(self))
        # What was found from the transitions takes milliseconds to find again.
        new._start(self._options, self._rates)
        new.__dict__.update(self.__dict__)
        if self._modes is not None:
            new._set_modes(np.vstack(self._modes), self._modes.pairs)
        new.state = self.state
        return new

    def _start(self, options: dict[str, Any], rates: Array | None) -> None:
        """Let the core take the options."""
        super().__init__(
            prior=options["prior"],
            stay=options.get("stay", 1.0),
            rates=rates,
            floor=options["floor"],
            temperature=options["temperature"],
            single=options["dtype"] == np.float32,
        )

    def _require_close(self, matrix: Array, interval: float) -> None:
        nearest = self._transitions(interval)
        error = np.abs(nearest - matrix)
        i, j = np.unravel_index(error.argmax(), error.shape)
        if error[i, j] > MAX_TRANSITION_ERROR:
            raise ValueError(
                f"transitions[{i}, {j}] is {matrix[i, j]:.3g}, but the nearest process in "
                f"continuous time has {nearest[i, j]:.3g}: give the transitions of a "
                "shorter time, in which most classes stay"
            )

    def _use_modes(self, rates: Array) -> bool:
        """Let a new dt cost little, where the modes of the rates are as precise as exponentials."""
        # A class that time all but excludes needs the exponential, which is precise relative to
        # each probability; modes are so relative to 1.
        basis = modes(rates) if self._transitions(1e30).min() >= MIN_SHARE else None
        if basis is None:
            return False
        fastest = float(np.abs(np.diag(rates)).max())
        slowest = float(np.abs(basis.decay[basis.decay < 0]).min())
        times = 4.0 ** np.arange(-3, np.ceil(np.log2(fastest / slowest) / 2) + 4) / fastest
        for dt in (*times.tolist(), 1e30):
            if np.abs(basis.transitions(dt) - self._transitions(dt)).max() > MAX_MODE_ERROR:
                return False
        self._set_modes(np.vstack(basis), basis.pairs)
        self._modes = basis
        return True

    @property
    def stay(self) -> float | None:
        """Probability that a time unit does not touch the class; None with transitions."""
        return self._stay

    @property
    def _dwell(self) -> Array:
        """The mean time in each class, (K,): of a class that is drawn again, it may be the same."""
        if self._rates is not None:
            leaves = -np.diag(self._rates)
        else:
            assert self._stay is not None
            leaves = -np.log(self._stay) * (1 - self._options["prior"])
        dwell: Array = 1 / leaves
        return dwell

    @property
    def transitions(self) -> Array:
        """Probability of each class (column) one time unit after each class (row), (K, K)."""
        return self._transitions(1.0)

    @property
    def floor(self) -> float:
        """Smallest probability of an observation."""
        return float(self._options["floor"])

    @property
    def state(self) -> StickyState:
        """All that the filter remembers; assign it to restore."""
        return StickyState(self._state)

    @state.setter
    def state(self, state: tuple[ArrayLike]) -> None:
        (probs,) = state
        self._restore(probs)

    def __repr__(self) -> str:
        dynamics = "transitions=..." if self._stay is None else f"stay={self._stay:.6g}"
        dynamics += shown_temperature(self.temperature)
        return f"{type(self).__name__}({list(self._classes)}, {dynamics})"


def half_lives(prior: Array) -> float:
    """Return the time in which a class is drawn again with probability 1/2, for a dwell of 1.

    Classes change as often as they are drawn again, but for those that are drawn as they were.

    Examples
    --------
    >>> round(half_lives(np.array([0.5, 0.5])), 4)
    0.3466
    """
    shares: list[float] = prior.tolist()
    return math.log(2) * (1.0 - sum(share * share for share in shares))


def _checked_shares(prior: Array, classes: tuple[Any, ...]) -> Array:
    """Return the stationary distribution, if every class has a share of it."""
    for name, p in zip(classes, prior, strict=True):
        if not p >= 1e-6:
            raise ValueError(
                f"transitions leaves {name!r} for good, or nearly so; give the frequency of "
                "each class as prior"
            )
    return prior
