"""Many live streams under one roof: each row of any stream, as it comes, gives an estimate."""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable, Iterable, Sequence
from os import PathLike
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._channel import Channels, correct, correct_source
from .._public import public
from .._typing import Array, Floats, Weights
from .._validation import check_weight, factorize, probabilities, row_weights
from ..data._timestamps import group_and_sort, parse_timestamp, seconds
from ..filters._bank import Bank
from ..filters._base import Filter
from ..filters._chain import FilterChain, is_chain, unpack
from ..policy import Policy
from . import _tracker_file

DEFAULT_SOURCE = "default"
SPARE = 64
"""So many streams at least are made room for at once."""


class Tracker:
    """One filter per stream, for any number of streams that come and go.

    Each row (stream, time, source, prediction) gives the estimate of its stream. It equals a filter
    for each stream, to the bit. Several threads may use one tracker: a lock lets one in at a time.

    Parameters
    ----------
    filter : Filter or Tuned
        The settings of all streams; a Tuned brings weights, channels and its policy.
    beta : mapping of str to float, or float, optional
        The weight of each source, or one for all; 1 by default.
    channel : mapping of str to Channel or None, optional
        Corrects the predictions of a source before they are filtered.
    policy : Policy, optional
        Chooses which source to call next, for each stream by itself; see `next_source`.
    expire_after : float, optional
        A stream without a row for longer than that, by the newest time of all streams, is dropped.
    max_streams : int, optional
        Where there are more, the stream whose last row came first is dropped.

    Examples
    --------
    >>> import classfilter as cf
    >>> tracker = Tracker(cf.DirichletFilter(["rest", "move"]), {"weak": 0.5, "strong": 1.0})
    >>> tracker.update("ann", 0.0, "strong", [0.9, 0.1]).round(2)
    array([1., 0.])
    >>> tracker.update("bob", 0.0, "weak", [0.2, 0.8]).round(2)
    array([0.01, 0.99])
    >>> tracker.update_many(["ann", "bob"], [5.0, 5.0], "weak", [[0.4, 0.6], [0.3, 0.7]]).shape
    (2, 2)
    >>> len(tracker), tracker.label("ann")
    (2, 'rest')
    """

    def __init__(
        self,
        filter: Filter | FilterChain,  # noqa: A002
        beta: Weights | None = None,
        channel: Channels | None = None,
        policy: Policy | None = None,
        *,
        expire_after: float | None = None,
        max_streams: int | None = None,
    ) -> None:
        if policy is None and is_chain(filter):
            policy = filter.policy
        fresh, self._beta, channels = unpack(filter, beta, channel)
        if expire_after is not None and not 0 < expire_after < math.inf:
            raise ValueError(f"expire_after is {expire_after!r}; it must be positive and finite")
        if max_streams is not None and max_streams < 1:
            raise ValueError(f"max_streams is {max_streams!r}; it must be 1 or more")
        self.expire_after, self.max_streams = expire_after, max_streams
        self._fresh = fresh.copy()
        self._fresh.reset()
        self._channel = {name: c for name, c in channels.items() if c is not None}
        self._policy = None if policy is None else policy.copy()
        if self._policy is not None:
            self._policy.reset()
        self._weights: dict[Any, float] = {}
        if isinstance(self._beta, dict) or hasattr(self._beta, "items"):
            self._weights = {n: check_weight(f"beta[{n!r}]", w) for n, w in self._beta.items()}  # type: ignore[union-attr]
            self._one_weight = None
        else:
            self._one_weight = check_weight("beta", self._beta)
        self._lock = RLock()
        self._clear()

    def _clear(self) -> None:
        self._bank = Bank(self._fresh, 0)
        self._slots: dict[Hashable, int] = {}  # the stream whose last row came first is first
        self._times = array("d")
        self._free: list[int] = []
        self._newest = -math.inf
        self._calls: dict[Hashable, _Calls] = {}

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the probabilities."""
        return self._fresh.classes

    @property
    def streams(self) -> list[Any]:
        """The names of all streams; the one whose last row came first is first."""
        with self._lock:
            return list(self._slots)

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, stream: Hashable) -> bool:
        return stream in self._slots

    def __repr__(self) -> str:
        return f"Tracker({self._fresh!r}, {len(self)} streams)"

    def update(self, stream: Hashable, time: Any, source: str | None, probs: ArrayLike) -> Array:
        """Observe one row; return the estimate of its stream, (K,).

        Parameters
        ----------
        stream : hashable
            The name of the stream; a new one begins with it.
        time : float, datetime or ISO 8601 text with a zone
            Not before the last row of the stream.
        source : str or None
            Which classifier it comes from; None is ``"default"``.
        probs : array_like (K,)
            Its prediction; all NaN if there was none: only time passes.

        Raises
        ------
        ValueError
            Something is invalid; nothing has changed.
        """
        at = time if type(time) is float else _seconds(time)
        beta = self._weights.get(source)
        if beta is None:
            source, beta = self._weight(source)
        if source in self._channel:
            probs = self._corrected(source, probs)
        with self._lock:
            slots = self._slots
            slot = slots.get(stream)
            new = slot is None
            dt = 0.0 if slot is None else at - self._times[slot]
            if not 0 <= dt < math.inf or not -math.inf < at < math.inf:
                raise ValueError(self._time_error(stream, at, slot))
            if slot is None:
                slot = self._new_slot()
            try:
                estimate: Array = self._bank.update([probs], beta, dt, rows=[slot])[0]
            except (ValueError, TypeError) as error:
                if new:
                    self._free.append(slot)
                raise self._row_error(probs, beta, dt, error) from None
            if not new:
                del slots[stream]
            slots[stream] = slot
            self._times[slot] = at
            if self._policy is not None:
                self._note_call(stream, at, source, probs, estimate, dt)
            self._newest = max(self._newest, at)
            self._drop_old()
        return estimate

    def update_many(
        self,
        streams: Sequence[Hashable],
        times: ArrayLike,
        sources: ArrayLike | str | None,
        probs: ArrayLike,
    ) -> Array:
        """Observe many rows, in their order; return the estimate of each row's stream, (N, K).

        It equals `update` for each row in turn, and is faster. An invalid row raises ValueError and
        nothing changes. Streams are dropped after all rows.
        """
        names = list(streams)
        t = seconds(times)
        if sources is None or isinstance(sources, str):
            sources = [sources or DEFAULT_SOURCE] * len(names)
        source = factorize(np.asarray(sources, object).astype(str))
        rows = probabilities(probs, tuple(map(str, self.classes)))
        for label, count in (
            ("times", len(t)),
            ("sources", len(source.codes)),
            ("probs", len(rows)),
        ):
            if count != len(names):
                raise ValueError(
                    f"{label} has {count} rows, streams {len(names)}; give one per row"
                )
        beta = row_weights(source, self._beta)
        observed = correct(rows, source, self._channel, self._fresh.probs.dtype)
        number: dict[Hashable, int] = {}
        codes = np.array([number.setdefault(name, len(number)) for name in names], np.intp)
        if not names:
            return np.empty((0, len(self.classes)))
        with self._lock:
            known = [self._slots.get(name, -1) for name in number]
            last = np.array([self._times[slot] if slot >= 0 else np.nan for slot in known])
            order, grouped = group_and_sort(t, codes, last=last)
            dt = np.empty(len(t))
            dt[order] = grouped
            slots = [slot if slot >= 0 else self._new_slot() for slot in known]
            try:
                estimates: Array = self._bank.run(observed, beta, dt, rows=np.array(slots)[codes])
            except (ValueError, TypeError):
                self._free += [s for s, slot in zip(slots, known, strict=True) if slot < 0]
                raise
            ends = {name: i for i, name in enumerate(names)}
            for name in sorted(ends, key=ends.__getitem__):
                self._slots.pop(name, None)
                self._slots[name] = slots[number[name]]
                self._times[slots[number[name]]] = t[ends[name]]
            if self._policy is not None:
                for i, name in enumerate(names):
                    who = source.categories[source.codes[i]]
                    self._note_call(name, t[i], who, observed[i], estimates[i], dt[i])
            self._newest = max(self._newest, float(t.max()))
            self._drop_old()
        return estimates

    def next_source(self, stream: Hashable, time: Any) -> str:
        """Return the source that the policy would call for a stream at a time; nothing changes."""
        if self._policy is None:
            raise ValueError(
                "the tracker has no policy; give one, such as policy.Periodic(every=12)"
            )
        at = time if type(time) is float else _seconds(time)
        with self._lock:
            calls = self._calls.get(stream)
            if calls is None:
                return self._policy.choose(self._fresh.probs, {})
            since = {name: at - last for name, last in calls.last.items()}
            return calls.policy.choose(calls.estimate, since)

    def filter(self, stream: Hashable) -> Filter:
        """Return a new filter in the state of a stream."""
        with self._lock:
            return self._bank.filter(self._slot(stream))

    def probs(self, stream: Hashable) -> Array:
        """Return the last estimate of a stream, (K,)."""
        probs: Array = self.filter(stream).probs
        return probs

    def label(self, stream: Hashable) -> Any:
        """Return the most probable class of a stream."""
        return self.filter(stream).label

    def time(self, stream: Hashable) -> float:
        """Return the time of a stream's last row."""
        with self._lock:
            return self._times[self._slot(stream)]

    def drop(self, streams: Iterable[Hashable]) -> None:
        """Forget streams."""
        with self._lock:
            names = list(streams)
            for name in names:
                self._slot(name)
            for name in names:
                self._forget(name)

    def expire(self, now: Any) -> list[Any]:
        """Forget the streams without a row for longer than `expire_after` before now; return them.

        `update` does it by the newest time of all streams; this is for when no rows come.
        """
        with self._lock:
            self._newest = max(self._newest, now if type(now) is float else _seconds(now))
            return self._drop_old()

    def save(self, path: str | PathLike[str]) -> None:
        """Write settings and all streams to one file, complete or not at all; `load` reads it."""
        with self._lock:
            names, slots = list(self._slots), list(self._slots.values())
            times = np.array([self._times[slot] for slot in slots])
            states = self._bank._states[slots]
            calls = {name: c.saved() for name, c in self._calls.items()}
            saved = _tracker_file.Saved(
                self._fresh, self._beta, self._channel, self._policy,
                self.expire_after, self.max_streams, names, times, states, calls, self._newest,
            )  # fmt: skip
        _tracker_file.write(path, saved)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Tracker:
        """Return the tracker that a file of `save` holds."""
        saved = _tracker_file.read(path)
        tracker = cls(
            saved.filter, saved.beta, saved.channel, saved.policy,
            expire_after=saved.expire_after, max_streams=saved.max_streams,
        )  # fmt: skip
        tracker._bank = Bank(tracker._fresh, len(saved.names))
        tracker._bank._replace_states(saved.states)
        tracker._slots = {name: i for i, name in enumerate(saved.names)}
        tracker._times = array("d", saved.times.tolist())
        tracker._newest = saved.newest
        for name, values in saved.calls.items():
            assert tracker._policy is not None
            tracker._calls[name] = _Calls.restored(tracker._policy, values)
        return tracker

    def _weight(self, source: Any) -> tuple[str, float]:
        name = DEFAULT_SOURCE if source is None else str(source)
        if self._one_weight is not None:
            return name, self._one_weight
        if name not in self._weights:
            raise ValueError(
                f"source is {name!r}, which has no weight; beta names {list(self._weights)}: add "
                "it there"
            )
        return name, self._weights[name]

    def _corrected(self, source: Any, probs: ArrayLike) -> Floats:
        dtype = self._fresh.probs.dtype
        row = np.asarray(probs, dtype)
        _core.check_row(len(self.classes), row.tolist(), 1.0, 0.0)
        corrected: Floats = correct_source(self._channel, source, row[None])[0]
        return corrected

    def _row_error(self, probs: ArrayLike, beta: float, dt: float, error: Exception) -> Exception:
        """Return the error as the filter's own update has it."""
        try:
            self._fresh.copy().update(probs, beta, dt)
        except (ValueError, TypeError) as same:
            return same
        return error

    def _time_error(self, stream: Hashable, at: float, slot: int | None) -> str:
        if not math.isfinite(at) or slot is None:
            return f"time is {at}; it must be finite"
        return (
            f"time is {at!r}, before {self._times[slot]!r}, that of the last row of stream "
            f"{stream!r}; give the rows of a stream in order of time"
        )

    def _slot(self, stream: Hashable) -> int:
        try:
            return self._slots[stream]
        except KeyError:
            raise KeyError(
                f"there is no stream {stream!r}; it had no row yet, or expired"
            ) from None

    def _new_slot(self) -> int:
        if not self._free:
            count = max(SPARE, len(self._bank) // 2)
            self._free += reversed(self._bank.add(count))
            self._times.extend([0.0] * count)
        return self._free.pop()

    def _forget(self, stream: Hashable) -> None:
        slot = self._slots.pop(stream)
        self._calls.pop(stream, None)
        self._bank.reset([slot])
        self._free.append(slot)

    def _drop_old(self) -> list[Any]:
        dropped = []
        while self._slots:
            first = next(iter(self._slots))
            old = self.expire_after is not None and (
                self._newest - self._times[self._slots[first]] > self.expire_after
            )
            if not old and (self.max_streams is None or len(self._slots) <= self.max_streams):
                break
            self._forget(first)
            dropped.append(first)
        return dropped

    def _note_call(
        self, stream: Hashable, at: float, source: Any, probs: ArrayLike, estimate: Array, dt: float
    ) -> None:
        calls = self._calls.get(stream)
        if calls is None:
            assert self._policy is not None
            calls = self._calls[stream] = _Calls(self._policy.copy(), self._fresh.probs, {})
        calls.policy.called(source, np.asarray(probs), calls.estimate, dt)
        calls.estimate = estimate
        calls.last[source] = at


class _Calls:
    """The policy of one stream, the last estimate, and when each source was called last."""

    __slots__ = ("estimate", "last", "policy")

    def __init__(self, policy: Policy, estimate: Array, last: dict[str, float]) -> None:
        self.policy, self.estimate, self.last = policy, estimate, last

    def saved(self) -> tuple[Any, list[float], dict[str, float]]:
        return self.policy.state, self.estimate.tolist(), dict(self.last)

    @classmethod
    def restored(cls, policy: Policy, saved: tuple[Any, list[float], dict[str, float]]) -> _Calls:
        fresh = policy.copy()
        state, estimate, last = saved
        fresh.state = type(fresh.state)(*state)
        return cls(fresh, np.array(estimate), last)


def _seconds(time: Any) -> float:
    at = parse_timestamp(time)
    if at is None:
        raise ValueError(
            f"time is {time!r}; give a number, a datetime, or ISO 8601 text with a zone"
        )
    return at


public(Tracker)
