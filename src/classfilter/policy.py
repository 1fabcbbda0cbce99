"""Policies: which classifier to call next.

A policy is asked before each step and told after it. It needs only +, -, *, / and comparisons,
remembers a few numbers, and takes the same decisions wherever it runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

PolicyType = TypeVar("PolicyType", bound="Policy")
Made = TypeVar("Made")
ROUNDING = 1e-9
"""Share of a time that may be lost to rounding."""
START = 0.15
"""The first threshold: this doubt after as many steps as the budget allows one strong call."""
PACE = 1.1
"""By how much a step changes the usual time from step to step."""
LOWEST, HIGHEST = 1e-30, 1e30
"""Bounds of the threshold, which matter only where calls are not those that were chosen."""


class Policy(Protocol):
    """What every policy can do; anything that does it can take a policy's place."""

    state: Any
    """All that the policy remembers, a tuple of numbers; assign it to restore."""

    def choose(self, probs: ArrayLike, since: Mapping[str, float]) -> str:
        """Return the source to call now; nothing changes.

        Parameters
        ----------
        probs : array_like (K,)
            The filter's reading after the step before.
        since : mapping of str to float
            The time since each source was called; infinite, or left out, where it never was.
        """

    def called(self, source: str, answer: ArrayLike, probs: ArrayLike, dt: float) -> None:
        """Take note of a call.

        Parameters
        ----------
        source : str
            Who was called, be it the chosen one or not.
        answer : array_like (K,)
            What it said, as the filter takes it; all NaN if nothing.
        probs : array_like (K,)
            The filter's reading before that answer, as in `choose`.
        dt : float
            The time since the step before.
        """

    def reset(self) -> None:
        """Return to the state before any call."""

    def copy(self: PolicyType) -> PolicyType:
        """Return an independent policy in the same state."""


class PeriodicState(NamedTuple):
    """What a `Periodic` remembers.

    Attributes
    ----------
    gap : int
        Steps from the last strong call to the step that comes; 0 before the first.
    """

    gap: int


class Periodic:
    """The paper's policy: the strong classifier once in a while, the weak one in between.

    Parameters
    ----------
    every : int, optional
        Steps from one strong call to the next; 12 unless `seconds` is given.
    seconds : float, optional
        Instead of `every`: the time units from one strong call to the next, or a little more,
        where no step falls on that time.
    strong, weak : str
        Names of the two sources.

    Examples
    --------
    >>> policy = Periodic(every=3)
    >>> for _ in range(5):
    ...     source = policy.choose([0.5, 0.5], {})
    ...     policy.called(source, [0.9, 0.1], [0.5, 0.5], dt=5.0)
    ...     print(source)
    strong
    weak
    weak
    strong
    weak
    >>> Periodic(seconds=60).choose([0.5, 0.5], {"strong": 55.0, "weak": 5.0})
    'weak'
    """

    def __init__(
        self,
        every: int | None = None,
        *,
        seconds: float | None = None,
        strong: str = "strong",
        weak: str = "weak",
    ) -> None:
        _two_names(strong, weak)
        if every is not None and seconds is not None:
            raise ValueError("every and seconds are both given; give one of them")
        if seconds is not None and not 0 < seconds < math.inf:
            raise ValueError(f"seconds is {seconds!r}; it must be positive and finite")
        if seconds is None:
            every = _steps("every", 12 if every is None else every)
        self.every, self.seconds = every, seconds
        self.strong, self.weak = strong, weak
        self._gap = 0

    def choose(self, probs: ArrayLike, since: Mapping[str, float]) -> str:
        """Return the source to call now; see `Policy.choose`."""
        if self.every is not None:
            due = self._gap == 0 or self._gap >= self.every
        else:
            assert self.seconds is not None
            due = since.get(self.strong, math.inf) >= self.seconds * (1 - ROUNDING)
        return self.strong if due else self.weak

    def called(self, source: str, answer: ArrayLike, probs: ArrayLike, dt: float) -> None:
        """Take note of a call; see `Policy.called`."""
        self._gap = _next_gap(self._gap, source == self.strong)

    @property
    def state(self) -> PeriodicState:
        """All that the policy remembers; assign it to restore."""
        return PeriodicState(self._gap)

    @state.setter
    def state(self, state: tuple[int]) -> None:
        (gap,) = state
        self._gap = _steps("gap", gap, 0)

    def reset(self) -> None:
        """Return to the state before any call."""
        self._gap = 0

    def copy(self: Made) -> Made:
        """Return an independent policy with the same settings, in the same state."""
        return copy(self)

    def __repr__(self) -> str:
        how = f"seconds={self.seconds:g}" if self.every is None else f"every={self.every}"
        return f"{type(self).__name__}({how})"


class AdaptiveState(NamedTuple):
    """What an `Adaptive` remembers.

    Attributes
    ----------
    threshold : float
        What doubt times the steps' worth of time since the last strong call has to reach.
    step : float
        The usual time from step to step; 0 while it is not known.
    gap : int
        Steps from the last strong call to the step that comes; 0 before the first.
    surprise : float
        How much the last weak answer denied what the filter held for true, 0 to 1.
    """

    threshold: float
    step: float
    gap: int
    surprise: float


class Adaptive:
    r"""Call the strong classifier when it is most needed, and keep to a budget.

    The strong one is called when

    .. math:: (\text{floor} + 1 - \max_i p_i + w d)\, t \ge \theta,

    with the filter's reading p, the time t since the last strong call, counted in usual steps, and
    the surprise :math:`d = 1 - s_k`, where s is the last weak answer and k the class that the
    filter held for the most probable before it. A strong call raises the threshold :math:`\theta`
    and a weak call lowers it, so that their shares come to the budget:

    .. math:: \theta \leftarrow \theta (1 - 1 / n)^{1 - 1 / b} \quad\text{or}\quad
              \theta \leftarrow \theta (1 - 1 / n),

    with the budget b and the patience n; both factors are constants. The calls above the budget
    are thus the logarithm of the threshold, up to constants, and stay bounded as it does. The
    first call is strong.

    Parameters
    ----------
    budget : float, default 1/12
        Share of strong calls in the long run; above 0, below 1.
    shortest : int, default 2
        Least steps from one strong call to the next, whatever the doubt.
    longest : int, optional
        Most steps from one strong call to the next, whatever the budget; 5 / budget unless given.
    disagreement : float, default 0.05
        The weight w of the surprise; 0 or more.
    floor : float, default 0.02
        Doubt that always remains, so that a calm stream spends its budget too; above 0.
    patience : float, default 300
        Steps in which the threshold falls to 1/e without a strong call. More lets a calm time save
        for a frantic one; less keeps closer to the budget. Over N steps the share is within about
        ``2 * patience / N`` of the budget, as a part of it: 3.5 % over a day of 5 s steps.
        Where much of the time is pauses, it can be further above.
    strong, weak : str
        Names of the two sources.

    Examples
    --------
    >>> policy = Adaptive(budget=1 / 6)
    >>> for step in range(5):
    ...     probs = [0.98, 0.02] if step < 3 else [0.55, 0.45]  # the filter begins to doubt
    ...     since = {"strong": 5.0 * step if step else float("inf")}
    ...     source = policy.choose(probs, since)
    ...     policy.called(source, [0.9, 0.1], probs, dt=5.0)
    ...     print(source)
    strong
    weak
    weak
    strong
    weak
    """

    def __init__(
        self,
        budget: float = 1 / 12,
        shortest: int = 2,
        longest: int | None = None,
        *,
        disagreement: float = 0.05,
        floor: float = 0.02,
        patience: float = 300.0,
        strong: str = "strong",
        weak: str = "weak",
    ) -> None:
        _two_names(strong, weak)
        if not 0 < budget < 1:
            raise ValueError(
                f"budget is {budget!r}; it is the share of strong calls, above 0 and below 1"
            )
        self.shortest = _steps("shortest", shortest)
        self.longest = _steps("longest", math.ceil(5 / budget) if longest is None else longest)
        if not self.shortest <= 1 / budget <= self.longest:
            raise ValueError(
                f"budget is {budget!r}, one strong call in {1 / budget:.3g} steps, which shortest, "
                f"{self.shortest}, and longest, {self.longest}, do not allow; it must lie between"
            )
        if not 0 <= disagreement < math.inf:
            raise ValueError(f"disagreement is {disagreement!r}; it must be 0 or more, and finite")
        if not 0 < floor <= 1:
            raise ValueError(f"floor is {floor!r}; it must be above 0 and at most 1")
        if not 2 <= patience < math.inf:
            raise ValueError(f"patience is {patience!r}; it must be 2 steps or more, and finite")
        self.budget, self.disagreement = float(budget), float(disagreement)
        self.floor, self.patience = float(floor), float(patience)
        self.strong, self.weak = strong, weak
        self._fall = 1 - 1 / self.patience
        # At the budget, rises and falls cancel: rise ** budget * fall ** (1 - budget) is 1.
        self._rise: float = self._fall ** (1 - 1 / self.budget)
        self._threshold, self._step = START / self.budget, 0.0
        self._gap, self._surprise = 0, 0.0

    def choose(self, probs: ArrayLike, since: Mapping[str, float]) -> str:
        """Return the source to call now; see `Policy.choose`."""
        doubt = self.floor + 1 - _top(probs) + self.disagreement * self._surprise
        if self._gap == 0 or self._gap >= self.longest:
            return self.strong
        if self._gap < self.shortest or self._step == 0:
            return self.weak
        due = doubt * since.get(self.strong, math.inf) >= self._threshold * self._step
        return self.strong if due else self.weak

    def called(self, source: str, answer: ArrayLike, probs: ArrayLike, dt: float) -> None:
        """Take note of a call; see `Policy.called`."""
        held, said = np.asarray(probs), np.asarray(answer)
        top = _top(held)
        if said.shape != held.shape:
            raise ValueError(
                f"answer has shape {said.shape}, but probs {held.shape}; give one entry a class"
            )
        if not 0 <= dt < math.inf:
            raise ValueError(f"dt is {dt!r}; it must be 0 or more, and finite")
        strong = source == self.strong
        moved = self._threshold * (self._rise if strong else self._fall)
        self._threshold = min(max(moved, LOWEST), HIGHEST)
        if self._gap > 0 and dt > 0:  # the first step has no step before it
            self._step = _usual(self._step, dt)
        self._gap = _next_gap(self._gap, strong)
        agreed = float(said[held == top].max())
        self._surprise = 0.0 if strong or math.isnan(agreed) else max(0.0, 1 - agreed)

    @property
    def state(self) -> AdaptiveState:
        """All that the policy remembers; assign it to restore."""
        return AdaptiveState(self._threshold, self._step, self._gap, self._surprise)

    @state.setter
    def state(self, state: tuple[float, float, int, float]) -> None:
        threshold, step, gap, surprise = state
        if not 0 < threshold < math.inf:
            raise ValueError(f"threshold is {threshold!r}; it must be positive and finite")
        if not 0 <= step < math.inf:
            raise ValueError(f"step is {step!r}; it must be 0 or more, and finite")
        if not 0 <= surprise <= 1:
            raise ValueError(f"surprise is {surprise!r}; it must lie in 0 to 1")
        self._gap = _steps("gap", gap, 0)
        self._threshold, self._step = float(threshold), float(step)
        self._surprise = float(surprise)

    def reset(self) -> None:
        """Return to the state before any call."""
        self._threshold = START / self.budget
        self._step, self._gap, self._surprise = 0.0, 0, 0.0

    def copy(self: Made) -> Made:
        """Return an independent policy with the same settings, in the same state."""
        return copy(self)

    def __repr__(self) -> str:
        gaps = f"shortest={self.shortest}, longest={self.longest}"
        return f"{type(self).__name__}(budget={self.budget:.6g}, {gaps})"


def _next_gap(gap: int, strong: bool) -> int:
    """Count the steps since the last strong call; 0 stays until the first."""
    return 1 if strong else gap + 1 if gap else 0


def _usual(step: float, dt: float) -> float:
    """Follow the median time from step to step; a pause hardly moves it."""
    if step == 0:
        return dt
    return step * PACE if dt > step * PACE else step / PACE if dt < step / PACE else step


def _top(probs: ArrayLike) -> float:
    """Return the largest probability."""
    top = float(np.max(np.asarray(probs, np.float64), initial=-1.0))
    if not 0 <= top <= 1 + 1e-6:
        raise ValueError(
            f"probs is {probs!r}; give the filter's reading, probabilities of K classes"
        )
    return top


def _steps(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} is {value!r}; it counts steps and must be {least} or more")
    return int(value)


def _two_names(strong: str, weak: str) -> None:
    if strong == weak:
        raise ValueError(f"strong and weak are both {strong!r}; name two sources")
