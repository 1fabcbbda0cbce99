"""Policies: which classifier to call next.

A policy chooses a source before each step, and is updated after it. Its state is a few numbers, and
it takes the same decisions wherever it runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import _core
from .inputs import positive_duration
from .support.types import Duration
from .support.validation import check_dtype

TIME_ROUNDING = 1e-9
"""The share of a duration that rounding may lose."""


__all__ = ["Adaptive", "AdaptiveState", "Periodic", "PeriodicState", "Policy"]
__dir__ = __all__.copy  # completion shows these only


class Policy(Protocol):
    """What every policy can do; anything that does it can take a policy's place."""

    state: Any
    """The state, a tuple of numbers; assign it to restore."""

    def choose(self, probs: ArrayLike, since: Mapping[str, float]) -> str:
        """Return the source to call now; nothing changes.

        Parameters
        ----------
        probs : array_like (K,)
            The filter's estimate after the step before.
        since : mapping of str to float
            The time since the last call of each source; infinite, or left out, if there was none.
        """

    def called(self, source: str, observation: ArrayLike, probs: ArrayLike, dt: float) -> None:
        """Take note of a call.

        Parameters
        ----------
        source : str
            The source that was called, whether it was the chosen one or not.
        observation : array_like (K,)
            Its output, as the filter takes it; all NaN if there was none.
        probs : array_like (K,)
            The filter's estimate before that observation, as in `choose`.
        dt : float
            The time since the step before.
        """

    def reset(self) -> None:
        """Return to the state before any call."""

    def copy(self) -> Self:
        """Return an independent policy in the same state."""


class PeriodicState(NamedTuple):
    """The state of a `Periodic`.

    Attributes
    ----------
    steps_since_strong : int
        Steps from the last strong call to the step that comes; 0 before the first.
    """

    steps_since_strong: int


class Periodic:
    """The paper's policy: the strong classifier at regular intervals, the weak one in between.

    Parameters
    ----------
    every : int, optional
        Steps from one strong call to the next; 12 unless `seconds` is given.
    seconds : float, str or timedelta, optional
        Instead of `every`: the time from one strong call to the next, or a little more if no step
        falls on that time: time units, ``"60s"`` or a timedelta.
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

    _kind = "periodic"

    def __init__(
        self,
        every: int | None = None,
        *,
        seconds: Duration | None = None,
        strong: str = "strong",
        weak: str = "weak",
    ) -> None:
        _require_two(strong, weak)
        if every is not None and seconds is not None:
            raise ValueError("every and seconds are both given; give one of them")
        if seconds is None:
            every = _steps("every", 12 if every is None else every)
        self.every = every
        self.seconds = None if seconds is None else positive_duration("seconds", seconds)
        self.strong, self.weak = strong, weak
        self._steps_since_strong = 0

    def choose(self, probs: ArrayLike, since: Mapping[str, float]) -> str:
        """Return the source to call now; see `Policy.choose`."""
        if self.every is not None:
            due = self._steps_since_strong == 0 or self._steps_since_strong >= self.every
        else:
            assert self.seconds is not None
            due = since.get(self.strong, math.inf) >= self.seconds * (1 - TIME_ROUNDING)
        return self.strong if due else self.weak

    def called(self, source: str, observation: ArrayLike, probs: ArrayLike, dt: float) -> None:
        """Take note of a call; see `Policy.called`."""
        steps = self._steps_since_strong
        self._steps_since_strong = 1 if source == self.strong else steps + (steps > 0)

    @property
    def state(self) -> PeriodicState:
        """The state; assign it to restore."""
        return PeriodicState(self._steps_since_strong)

    @state.setter
    def state(self, state: tuple[int]) -> None:
        (steps_since_strong,) = state
        self._steps_since_strong = _steps("steps_since_strong", steps_since_strong, 0)

    @property
    def _options(self) -> dict[str, Any]:
        """The arguments that make the same policy."""
        return {key: getattr(self, key) for key in ("every", "seconds", "strong", "weak")}

    def reset(self) -> None:
        """Return to the state before any call."""
        self._steps_since_strong = 0

    def copy(self) -> Self:
        """Return an independent policy with the same settings, in the same state."""
        return copy(self)

    def __repr__(self) -> str:
        how = f"seconds={self.seconds:g}" if self.every is None else f"every={self.every}"
        return f"{type(self).__name__}({how})"


class AdaptiveState(NamedTuple):
    """The state of an `Adaptive`.

    Attributes
    ----------
    threshold_offset : float
        By how much the threshold has been raised so far, as a logarithm.
    step : float
        The usual time from step to step; 0 while it is unknown.
    steps_since_strong : int
        Steps from the last strong call to the step that comes; 0 before the first.
    disagreement : float
        How much the last weak prediction contradicted the filter's class, 0 to 1.
    residual_uncertainty : float
        The filter's uncertainty just after the last strong prediction, 0 to 1; known one step
        later.
    accrued_budget : float
        Strong calls that the budget has allowed so far, up to the horizon.
    """

    threshold_offset: float
    step: float
    steps_since_strong: int
    disagreement: float
    residual_uncertainty: float
    accrued_budget: float


class Adaptive(_core.Adaptive):
    r"""Call the strong classifier when it is most informative, and keep to a budget.

    It is called when the query score reaches the threshold :math:`\theta`,

    .. math:: \log(\text{floor} + [u - u_0 \tfrac{6}{6 + t}]_+ + w d) + \tfrac14 \log t
              \ge \theta

    with the filter's uncertainty :math:`u = 1 - \max_i p_i`, the residual uncertainty :math:`u_0`
    just after the last strong prediction, the time t since then, in usual steps, and the
    disagreement :math:`d = 1 - s_k`, where s is the last weak prediction and k the most probable
    class of the filter before it. Neighbouring predictions share their errors, so the uncertainty
    that one strong prediction leaves is hardly removed by the next: only the uncertainty that is
    new since then counts. A strong call raises the threshold and a weak call lowers it, so that the
    share of strong calls meets the budget. The first call is strong. The C core computes all this.

    Parameters
    ----------
    budget : float, default 1/12
        Share of strong calls in the long run, above 0 and below 1; with `cost`, the cost per time
        unit.
    min_gap : int, default 2
        Minimum of steps from one strong call to the next, whatever the uncertainty.
    max_gap : int, optional
        Maximum of steps from one strong call to the next, or the time of as many usual steps,
        whatever the budget: so the first call after a long pause is strong. By default five times
        what the budget allows; 60 with `cost`.
    cost : mapping of str to float, optional
        The cost of a call of each source. Time beyond `max_gap` steps is a pause and saves nothing.
    disagreement : float, default 0.05
        The weight w of the disagreement; 0 or more.
    floor : float, default 0.02
        Uncertainty that always remains, so that a calm stream spends its budget too; 1e-4 to 1.
    horizon : float, default 12
        So many strong calls beyond the budget raise the threshold by a factor of e; at the start,
        fewer do. A long one lets a calm time save for a frantic one, a short one keeps closer to
        the budget; it is missed by at most about twice as many calls, in a stream of any length.
    strong, weak : str
        Names of the two sources.
    dtype : {float64, float32}
        Precision of the arithmetic; with float32, the decisions are those on a microcontroller.

    Examples
    --------
    >>> policy = Adaptive(budget=1 / 6)
    >>> for step in range(5):
    ...     probs = [0.98, 0.02] if step < 3 else [0.55, 0.45]  # the filter becomes unsure
    ...     since = {"strong": 5.0 * step if step else float("inf")}
    ...     source = policy.choose(probs, since)
    ...     policy.called(source, [0.9, 0.1], probs, dt=5.0)
    ...     print(source)
    strong
    weak
    weak
    strong
    weak

    At most 2 units of energy per second, where a strong call costs 40 and a weak one 1:

    >>> Adaptive(budget=2.0, cost={"weak": 1.0, "strong": 40.0})
    Adaptive(budget=2, min_gap=2, max_gap=60, cost={'weak': 1.0, 'strong': 40.0})
    """

    _kind = "adaptive"

    def __init__(
        self,
        budget: float = 1 / 12,
        min_gap: int = 2,
        max_gap: int | None = None,
        *,
        cost: Mapping[str, float] | None = None,
        disagreement: float = 0.05,
        floor: float = 0.02,
        horizon: float = 12.0,
        strong: str = "strong",
        weak: str = "weak",
        dtype: DTypeLike = np.float64,
    ) -> None:
        _require_two(strong, weak)
        self.min_gap = _steps("min_gap", min_gap)
        self.cost = None if cost is None else _costs(cost, strong, weak)
        if self.cost is None:
            self.max_gap = self._default_max_gap(budget, max_gap)
            unit, weak_cost = 1.0, 0.0
        else:
            if not 0 < budget < math.inf:
                raise ValueError(
                    f"budget is {budget!r}; it is the cost per time unit, above 0 and finite"
                )
            self.max_gap = _steps("max_gap", 60 if max_gap is None else max_gap)
            unit, weak_cost = self.cost[strong] - self.cost[weak], self.cost[weak]
        _within("max_gap", self.max_gap, self.min_gap, 1e6)
        _within("disagreement", disagreement, 0.0, 1e3)
        _within("floor", floor, 1e-4, 1.0)
        _within("horizon", horizon, 1.0, 1e6)
        self.budget, self.disagreement = float(budget), float(disagreement)
        self.floor, self.horizon = float(floor), float(horizon)
        self.strong, self.weak, self.dtype = strong, weak, check_dtype(dtype)
        super().__init__(
            budget=self.budget / unit,
            weak=weak_cost / unit,
            min_gap=self.min_gap,
            max_gap=self.max_gap,
            disagreement=self.disagreement,
            floor=self.floor,
            horizon=self.horizon,
            timed=self.cost is not None,
            single=self.dtype == np.float32,
        )

    def _default_max_gap(self, budget: float, max_gap: int | None) -> int:
        """Return the maximum of steps from one strong call to the next; the budget must fit it."""
        if not 0 < budget < 1:
            raise ValueError(
                f"budget is {budget!r}; it is the share of strong calls, above 0 and below 1 (with "
                "cost, it may be more)"
            )
        steps = _steps("max_gap", math.ceil(5 / budget) if max_gap is None else max_gap)
        if not self.min_gap <= 1 / budget <= steps:
            raise ValueError(
                f"budget is {budget!r}, one strong call in {1 / budget:.3g} steps; that number "
                f"must lie between min_gap, {self.min_gap}, and max_gap, {steps}"
            )
        return steps

    def choose(self, probs: ArrayLike, since: Mapping[str, float]) -> str:
        """Return the source to call now; see `Policy.choose`."""
        return self.strong if self._choose(probs, since.get(self.strong, math.inf)) else self.weak

    def called(self, source: str, observation: ArrayLike, probs: ArrayLike, dt: float) -> None:
        """Take note of a call; see `Policy.called`."""
        self._called(source == self.strong, observation, probs, dt)

    @property
    def state(self) -> AdaptiveState:
        """The state; assign it to restore."""
        threshold_offset, step, steps_since_strong, *rest = self._numbers()
        return AdaptiveState(threshold_offset, step, int(steps_since_strong), *rest)

    @state.setter
    def state(self, state: tuple[float, float, int, float, float, float]) -> None:
        values = AdaptiveState(*state)
        for name, low, high in (
            ("threshold_offset", -1e3, 1e3),
            ("step", 0.0, 1e30),
            ("disagreement", 0.0, 1.0),
            ("residual_uncertainty", 0.0, 1.0),
            ("accrued_budget", 0.0, self.horizon),
        ):
            _within(name, getattr(values, name), low, high)
        steps = _steps("steps_since_strong", values.steps_since_strong, 0)
        self._restore(*values._replace(steps_since_strong=steps))

    @property
    def _options(self) -> dict[str, Any]:
        """The arguments that make the same policy."""
        keys = ("budget", "min_gap", "max_gap", "cost", "disagreement", "floor", "horizon")
        return {key: getattr(self, key) for key in (*keys, "strong", "weak", "dtype")}

    def copy(self) -> Self:
        """Return an independent policy with the same settings, in the same state."""
        new = type(self)(**self._options)
        new.state = self.state
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._options), (), tuple(self.state)

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __repr__(self) -> str:
        gaps = f"min_gap={self.min_gap}, max_gap={self.max_gap}"
        costs = "" if self.cost is None else f", cost={self.cost}"
        return f"{type(self).__name__}(budget={self.budget:.6g}, {gaps}{costs})"


def _steps(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} is {value!r}; it counts steps and must be {least} or more")
    return int(value)


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} is {value!r}; it must lie in {low:g} to {high:g}")


def _costs(cost: Mapping[str, float], strong: str, weak: str) -> dict[str, float]:
    if set(cost) != {strong, weak}:
        raise ValueError(f"cost names {list(cost)}; name {strong!r} and {weak!r}")
    if not 0 <= cost[weak] < cost[strong] < math.inf:
        rule = f"a call of {strong!r} must cost more than one of {weak!r}, and that 0 or more"
        raise ValueError(f"cost is {dict(cost)}; {rule}")
    return {name: float(value) for name, value in cost.items()}


def _require_two(strong: str, weak: str) -> None:
    if strong == weak:
        raise ValueError(f"strong and weak are both {strong!r}; name two sources")
