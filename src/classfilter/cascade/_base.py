"""What live loops share: sources, who is called, what is taken of an answer, and what is kept."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _checkpoint as checkpoint
from .._channel import Channel, correct_source
from .._settings import from_builtin, to_builtin
from .._typing import NUMBER, Array, Floats, Weights
from .._validation import factorize, row_weights
from ..filters._base import Filter
from ..policy import Policy
from ._source import Source, parse_output

LOG = logging.getLogger("classfilter")
FEW = 3
"""So many faults of a source are logged; from then on those whose count is a power of two."""


class Step(NamedTuple):
    """What came of one step.

    Attributes
    ----------
    time : float
        When.
    source : str or None
        Whose answer the filter took; None if nothing came, and only time passed.
    probs : ndarray (K,)
        The filter's reading.
    label : object
        The most probable class.
    called : tuple of str
        The sources that were called.
    cost : float
        What those calls cost.
    """

    time: float
    source: str | None
    probs: Array
    label: Any
    called: tuple[str, ...]
    cost: float


class CascadeState(NamedTuple):
    """What a live loop remembers.

    Attributes
    ----------
    filter, policy : tuple
        The state of the filter, and that of the policy.
    time : float or None
        That of the last step; None before the first.
    last : dict of str to float
        When each source was called last; without those that never were.
    """

    filter: Any
    policy: Any
    time: float | None
    last: dict[str, float]


class BaseCascade:
    """The common part of `Cascade` and `AsyncCascade`; see there."""

    def __init__(
        self,
        filter: Filter,  # noqa: A002
        sources: Mapping[str, Source],
        policy: Policy | None = None,
        beta: Weights = 1.0,
        *,
        channel: Mapping[str, Channel | None] | None = None,
        window: Mapping[str, int] | None = None,
        cost: Mapping[str, float] | None = None,
    ) -> None:
        if not sources:
            raise ValueError("sources is empty; give a callable for each source")
        for name, call in sources.items():
            if not callable(call):
                raise TypeError(f"sources[{name!r}] is {short(call)}; give a callable")
        names = list(sources)
        if policy is None:
            if len(names) > 1:
                raise ValueError(
                    f"policy is missing, but sources has {names}; give one, such as "
                    "policy.Periodic(every=12)"
                )
            policy = _Only(names[0])
        self._sources = dict(sources)
        weights = row_weights(factorize(names), beta).tolist()
        self._weights = dict(zip(names, weights, strict=True))
        self._window = _sizes(window or {}, names)
        if cost is None:
            found = getattr(policy, "cost", None)
            prices = dict(found) if isinstance(found, Mapping) else {}
        else:
            prices = dict(cost)
            _require_known("cost", prices, names)
        self._cost = {name: _price(name, prices.get(name, 0.0)) for name in names}
        self._nothing: Floats = np.full(len(filter.classes), np.nan)
        self._nothing.flags.writeable = False
        self._channel = {
            name: c for name, c in (channel or {}).items() if c is not None and name in sources
        }
        for name in self._channel:
            correct_source(self._channel, name, self._nothing[None])
        self.filter, self.policy = filter.copy(), policy.copy()
        """Its own; they can be looked at."""
        self.reset()

    @property
    def calls(self) -> dict[str, int]:
        """How often each source was called."""
        return dict(self._calls)

    @property
    def errors(self) -> dict[str, int]:
        """How often each source failed, or gave an answer that cannot be used."""
        return dict(self._errors)

    @property
    def total_cost(self) -> float:
        """What all calls cost."""
        return self._total_cost

    def reset(self) -> None:
        """Return to the start: no data, no calls, no faults."""
        self._forget()
        self.filter.reset()
        self.policy.reset()
        self._time: float | None = None
        self._last: dict[str, float] = {}
        self._calls, self._errors = (dict.fromkeys(self._sources, 0) for _ in range(2))
        self._total_cost = 0.0
        self._shape: tuple[int, ...] | None = None

    @property
    def state(self) -> CascadeState:
        """All that the next step depends on; assign it to restore. Counts are no part of it."""
        return CascadeState(self.filter.state, self.policy.state, self._time, dict(self._last))

    @state.setter
    def state(self, state: tuple[Any, Any, float | None, Mapping[str, float]]) -> None:
        of_filter, of_policy, time, last = state
        times = {} if time is None else {"time": time}
        for what, at in (times | {f"last[{name!r}]": at for name, at in last.items()}).items():
            if not _is_number(at) or not math.isfinite(at):
                raise ValueError(f"{what} is {at!r}; it must be a finite number")
        _require_known("last", last, list(self._sources))
        self._forget()
        before = self.filter.state
        self.filter.state = of_filter
        try:
            self.policy.state = of_policy
        except BaseException:
            self.filter.state = before
            raise
        self._time = None if time is None else float(time)
        self._last = {name: float(at) for name, at in last.items()}

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to a file, which appears complete or not at all; see `restore`."""
        of_filter, of_policy, time, last = self.state
        settings = checkpoint.policy_settings(self.policy)
        kept = {"settings": settings, "state": to_builtin(of_policy), "last": last}
        at = math.nan if time is None else time
        stream = checkpoint.Saved(None, at, [], to_builtin(of_filter), kept)
        columns = tuple(str(name) for name in self.filter.classes)
        found = checkpoint.Checkpoint(checkpoint.settings(self.filter), columns, [stream])
        checkpoint.write(Path(path), found)

    def restore(self, path: str | PathLike[str]) -> None:
        """Take the state from a file of `save`, or say why that cannot be.

        The filter and the policy must have the settings of those that the file was made with.
        """
        path = Path(path)
        found = checkpoint.read(path)
        checkpoint.require_same(path, found.filter, checkpoint.settings(self.filter), "filter")
        if len(found.streams) != 1:
            raise ValueError(f"{path} has {len(found.streams)} streams; give the file of one")
        (stream,) = found.streams
        fresh = self.policy.copy()
        fresh.reset()
        of_policy, last = fresh.state, {}
        if stream.policy is not None:
            here, there = checkpoint.policy_settings(self.policy), stream.policy["settings"]
            checkpoint.require_same(path, there, here, "policy")
            of_policy = from_builtin(stream.policy["state"], of_policy)
            last = stream.policy["last"]
        of_filter = from_builtin(stream.state, self.filter.state)
        time = None if math.isnan(stream.time) else stream.time
        self.state = CascadeState(of_filter, of_policy, time, last)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.filter!r}, {list(self._sources)}, {self.policy!r})"

    def _forget(self) -> None:
        """Let go of what is kept beside the state; or refuse, if it may not change now."""

    def _moment(self, dt: float, time: float | None) -> tuple[float, float]:
        """Return the time of a step and the time since the step before, or refuse them."""
        if time is None:
            if not _is_number(dt) or not 0 <= dt < math.inf:
                raise ValueError(f"dt is {dt!r}; it must be a number, 0 or more, and finite")
            return (self._time or 0.0) + float(dt), float(dt)
        if not _is_number(time) or not math.isfinite(time):
            raise ValueError(f"time is {time!r}; it must be a finite number")
        now = float(time)
        before = now if self._time is None else self._time
        if now < before:
            raise ValueError(
                f"time is {now!r}, before {before!r}, that of the step before; give the steps in "
                "order of time"
            )
        return now, now - before

    def _samples(self, window: ArrayLike) -> Array:
        """Return what a step was given, (n, ...), or refuse it."""
        try:
            samples = np.asarray(window)
        except ValueError as error:
            raise ValueError(f"window is no array: {error}; give samples of one shape") from None
        if samples.ndim == 0 or samples.dtype.kind not in "biufc":
            raise ValueError(
                f"window is {short(window)}; give the newest samples, numbers of shape (n, ...)"
            )
        if len(samples) and self._shape not in (None, samples.shape[1:]):
            raise ValueError(
                f"window has samples of shape {samples.shape[1:]}, but in the step before they had "
                f"{self._shape}; give the same channels in each step"
            )
        return samples

    def _who(self, now: float, rows: int, busy: Collection[str] = ()) -> str | None:
        """Return whom to call: the policy's choice, or who can stand in for it; None if nobody."""
        since = {name: now - self._last.get(name, -math.inf) for name in self._sources}
        wish = self.policy.choose(self.filter.probs, since)
        if wish not in self._sources:
            raise ValueError(
                f"policy called {wish!r} at time {now}; sources has {list(self._sources)}: name "
                "the policy's sources as there"
            )
        length = {name: size or rows for name, size in self._window.items()}
        able = [
            name
            for name, size in self._window.items()
            if name not in busy and (size or 1) <= rows and length[name] <= length[wish]
        ]
        # Of those as long, the first one named.
        return wish if wish in able else max(able, key=length.__getitem__, default=None)

    def _given(self, source: str, samples: Array) -> Array:
        """Return a source's window: its own, whatever it does with it and whenever."""
        size = self._window[source]
        return np.array(samples if size is None else samples[-size:])

    def _read(self, source: str, said: Any, now: float) -> Floats:
        """Return what the filter takes of an answer; of one that cannot be used, nothing."""
        try:
            answer = parse_output(said, self._nothing.size)
            if source in self._channel:
                row = answer[None].astype(self.filter.probs.dtype)
                answer = correct_source(self._channel, source, row)[0]
            return answer
        except Exception as error:
            self._log_error(source, now, "gave an answer that cannot be used: %s", error)
            return self._nothing

    def _failed(self, source: str, error: BaseException, now: float) -> Floats:
        """Return what the filter takes of a source that raised."""
        what = "raised %s: %s", type(error).__name__, error
        self._log_error(source, now, *what, cause=error)
        return self._nothing

    def _log_error(
        self, source: str, now: float, what: str, *of: object, cause: BaseException | None = None
    ) -> None:
        self._errors[source] += 1
        count = self._errors[source]
        if count <= FEW or count & (count - 1) == 0:
            told = f"source %r at time %s {what}; taken as missing (its fault no. %d)"
            LOG.warning(told, source, now, *of, count, exc_info=cause)

    def _update(self, source: str | None, answer: Floats, now: float, dt: float) -> Floats:
        """Update the filter, and return what it took."""
        weight = 1.0 if source is None else self._weights[source]
        try:
            self.filter.update(answer, weight, dt)
        except ValueError as error:
            # In single precision, a sum at the edge of what is allowed can lie beyond it.
            if source is None or np.isnan(answer[0]):
                raise
            self._log_error(source, now, "gave an answer that cannot be used: %s", error)
            answer = self._nothing
            self.filter.update(answer, weight, dt)
        return answer

    def _take(
        self, source: str | None, answer: Floats, now: float, dt: float, samples: Array
    ) -> Step:
        """Let time pass, take the answer of the source that was called, and tell the policy."""
        before, held = self.filter.state, self.filter.probs
        answer = self._update(source, answer, now, dt)
        called: tuple[str, ...] = ()
        cost = 0.0
        if source is not None:
            try:
                self.policy.called(source, answer, held, dt)
            except BaseException:
                self.filter.state = before
                raise
            called, cost = (source,), self._cost[source]
            self._last[source] = now
            self._calls[source] += 1
            self._total_cost += cost
        self._time = now
        if len(samples):
            self._shape = samples.shape[1:]
        taken = None if np.isnan(answer[0]) else source
        return Step(now, taken, self.filter.probs, self.filter.label, called, cost)


class _Only:
    """Calls the only source there is."""

    state = ()

    def __init__(self, source: str) -> None:
        self.source = source

    def choose(self, probs: ArrayLike, since: Mapping[str, float]) -> str:
        return self.source

    def called(self, source: str, answer: ArrayLike, probs: ArrayLike, dt: float) -> None:
        pass

    def reset(self) -> None:
        pass

    def copy(self) -> _Only:
        return _Only(self.source)

    def __repr__(self) -> str:
        return f"only {self.source!r}"


def _is_number(value: Any) -> bool:
    return isinstance(value, NUMBER) and not isinstance(value, bool)


def _require_known(what: str, given: Mapping[str, Any], names: list[str]) -> None:
    for name in given:
        if name not in names:
            raise ValueError(f"{what} names {name!r}, but sources has {names}; name it as there")


def _sizes(window: Mapping[str, Any], names: list[str]) -> dict[str, int | None]:
    _require_known("window", window, names)
    for name, size in window.items():
        whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
        if size is not None and not (whole and size >= 1):
            raise ValueError(
                f"window[{name!r}] is {size!r}; it counts samples and must be 1 or more"
            )
    return {name: None if window.get(name) is None else int(window[name]) for name in names}


def _price(name: str, cost: Any) -> float:
    if not _is_number(cost) or not 0 <= cost < math.inf:
        raise ValueError(f"cost[{name!r}] is {cost!r}; it must be 0 or more, and finite")
    return float(cost)
