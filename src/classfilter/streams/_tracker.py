"""Many live streams under one roof: each row of any stream, as it comes, gives an estimate."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from itertools import compress
from os import PathLike, fspath
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.atomic import remove_drafts
from .._support.types import Array, Weights
from .._validation import label_row, row_weights
from ..chain._chain import FilterChain, is_chain, unpack
from ..chain._channel import Channels, correct
from ..filters._base import Filter
from ..filters._stream_runner import unpack_state
from ..policy import Policy
from . import _file as _tracker_file
from ._bank import Bank
from ._calls import Calls
from ._roster import Roster
from ._rows import DEFAULT_SOURCE, take_rows, time_steps, to_seconds, update_stream_of
from ._sources import Sources

LABEL = (str, int, np.integer, type(None))


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
        A stream is dropped when the newest time of all streams has gone on by more than that since
        its last row. A step of more than that at once counts when a second stream confirms it, so
        that one wrong clock drops nothing.
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
        fresh, weights, channels = unpack(filter, beta, channel)
        if expire_after is not None and not 0 < expire_after < math.inf:
            raise ValueError(f"expire_after is {expire_after!r}; it must be positive and finite")
        if max_streams is not None and max_streams < 1:
            raise ValueError(f"max_streams is {max_streams!r}; it must be 1 or more")
        self._expire_after, self._max_streams = expire_after, max_streams
        self._fresh = fresh.copy()
        self._fresh.reset()
        self._sources = Sources(weights, channels)
        self._weights, self._channel = self._sources.weights, self._sources.channel
        self._policy = policy and policy.copy()
        if self._policy is not None:
            self._policy.reset()
        self._names = tuple(map(str, self._fresh.classes))
        # One that the same thread can take again: a signal's handler may use the tracker, too.
        self._lock = RLock()
        self._bank = Bank(self._fresh, 0)
        self._roster = Roster(self._bank, expire_after, max_streams)
        self._slots, self._times = self._roster.slots, self._roster.times
        self._drops = self._roster.drops
        self._update_stream = update_stream_of(self._fresh.copy())
        self._reader = self._fresh.copy()
        self._calls: dict[Hashable, Calls] = {}

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the probabilities."""
        return self._fresh.classes

    @property
    def expire_after(self) -> float | None:
        """How much time without a row drops a stream."""
        return self._expire_after

    @property
    def max_streams(self) -> int | None:
        """The largest number of streams."""
        return self._max_streams

    @property
    def streams(self) -> list[Any]:
        """The names of all streams; where streams are dropped, the next one to go is first."""
        with self._lock:
            return list(self._slots)

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, stream: Hashable) -> bool:
        return stream in self._slots

    def __repr__(self) -> str:
        return f"Tracker({self._fresh!r}, {len(self)} streams)"

    def update(
        self, stream: Hashable, time: Any, source: str | None, probs: ArrayLike | str | None
    ) -> Array:
        """Observe one row; return the estimate of its stream, (K,).

        Parameters
        ----------
        stream : hashable
            The name of the stream; a new one begins with it.
        time : float, datetime or ISO 8601 text with a zone
            Not before the last row of the stream.
        source : str or None
            Which classifier it comes from; None is ``"default"``.
        probs : array_like (K,), str or int
            Its prediction, as probabilities or as a class: a name or an index. All NaN, None or -1
            if there was none: only time passes.

        Raises
        ------
        ValueError
            Something is invalid; nothing has changed.
        """
        at = time if type(time) is float else to_seconds(time)
        if source is None:
            source = DEFAULT_SOURCE
        beta = self._weights.get(source)
        if beta is None:
            source, beta = self._sources.resolve(source)
        if isinstance(probs, LABEL):
            probs = label_row(probs, self._names, "probs")
        if source in self._channel:
            probs = self._sources.correct(source, probs, self._fresh.probs)
        return self._observe(stream, at, source, beta, probs)

    def _observe(
        self, stream: Hashable, at: float, source: str, beta: float, probs: ArrayLike
    ) -> Array:
        with self._lock:
            slot = self._slots.get(stream)
            if slot is None:
                return self._begin(stream, at, source, beta, probs)
            dt = at - self._times[slot]
            if not 0 <= dt < math.inf:
                raise ValueError(self._roster.time_error(stream, at, slot))
            if self._policy is None:
                estimate = self._update_stream(self._bank._states, slot, probs, beta, dt)
            else:
                estimate = self._update_and_note(slot, stream, at, source, probs, beta, dt)
            self._times[slot] = at
            if self._drops and self._roster.touch(stream, slot, at):
                self._drop_old()
        return estimate

    def _begin(
        self, stream: Hashable, at: float, source: str, beta: float, probs: ArrayLike
    ) -> Array:
        if not math.isfinite(at):
            raise ValueError(f"time is {at}; it must be finite")
        slot = self._roster.reserve(stream)
        try:
            estimate = self._update_and_note(slot, stream, at, source, probs, beta, 0.0)
        except BaseException:
            self._roster.release([slot])
            raise
        self._roster.place(stream, slot, at)
        self._drop_old()
        return estimate

    def _update_and_note(
        self, slot: int, stream: Hashable, at: float, source: str, probs: ArrayLike, beta: float,
        dt: float,
    ) -> Array:  # fmt: skip
        """Update a stream and its policy, both or none."""
        states = self._bank._states
        if self._policy is None:
            return self._update_stream(states, slot, probs, beta, dt)
        before = states[slot].copy()
        estimate = self._update_stream(states, slot, probs, beta, dt)
        try:
            calls = self._calls.get(stream) or Calls(self._policy, self._fresh.probs)
            calls.note(source, at, probs, estimate, dt)
        except BaseException:
            states[slot] = before
            raise
        self._calls[stream] = calls
        return estimate

    def update_many(
        self,
        streams: Sequence[Hashable] | NDArray[Any],
        times: ArrayLike,
        sources: ArrayLike | str | None,
        probs: ArrayLike,
    ) -> Array:
        """Observe many rows, in their order; return the estimate of each row's stream, (N, K).

        It equals `update` for each row in turn, and is faster. `probs` has the probabilities of all
        rows, (N, K), or their classes, (N,). An invalid row raises ValueError and nothing changes.
        Streams are dropped after all rows.
        """
        names, t, source, rows = take_rows(streams, times, sources, probs, self._names)
        beta = row_weights(source, self._sources.beta)
        observed = correct(rows, source, self._channel, self._fresh.probs.dtype)
        if not names:
            return np.empty((0, len(self.classes)), self._fresh.probs.dtype)
        number: dict[Hashable, int] = {}
        codes = np.array([number.setdefault(name, len(number)) for name in names], np.intp)
        with self._lock:
            slots = np.array([self._slots.get(name, -1) for name in number], np.intp)
            known = slots >= 0
            last = np.full(len(slots), np.nan)
            last[known] = np.asarray(self._times)[slots[known]]
            dt = time_steps(t, codes, last, names)
            new: dict[Hashable, int] = {}
            before = None
            try:
                for name in compress(number, ~known):
                    new[name] = self._roster.reserve(name)
                slots[~known] = list(new.values())
                before = None if self._policy is None else self._bank._states[slots]
                estimates: Array = self._bank.run(observed, beta, dt, rows=slots[codes])
                if self._policy is not None:
                    called = [source.categories[code] for code in source.codes.tolist()]
                    columns = names, called, t.tolist(), observed, estimates, dt.tolist()
                    self._note_calls(zip(*columns, strict=True))
            except BaseException:
                if before is not None:
                    self._bank._states[slots] = before
                self._roster.release(new.values())
                raise
            last[codes] = t  # of each stream, the last one stays
            self._slots.update(new)
            np.asarray(self._times)[slots] = last
            if self._drops:
                for name, slot, at in zip(names, slots[codes].tolist(), t.tolist(), strict=True):
                    self._roster.touch(name, slot, at)
            self._drop_old()
        return estimates

    def _note_calls(self, rows: Iterable[tuple[Any, str, float, Array, Array, float]]) -> None:
        """Take note of the calls of many rows, all or none."""
        assert self._policy is not None
        noted: dict[Hashable, Calls] = {}
        for stream, source, at, observation, estimate, dt in rows:
            calls = noted.get(stream)
            if calls is None:
                old = self._calls.get(stream)
                calls = Calls(self._policy, self._fresh.probs) if old is None else old.copy()
                noted[stream] = calls
            calls.note(source, at, observation, estimate, dt)
        self._calls.update(noted)

    def next_source(self, stream: Hashable, time: Any) -> str:
        """Return the source that the policy would call for a stream at a time; nothing changes."""
        if self._policy is None:
            raise ValueError("the tracker has no policy; give one, such as Periodic(every=12)")
        at = time if type(time) is float else to_seconds(time)
        with self._lock:
            calls = self._calls.get(stream)
            if calls is None:
                return self._policy.choose(self._fresh.probs, {})
            return calls.next_source(at)

    def filter(self, stream: Hashable) -> Filter:
        """Return a new filter in the state of a stream."""
        with self._lock:
            return self._bank.filter(self._roster.slot(stream))

    def probs(self, stream: Hashable) -> Array:
        """Return the last estimate of a stream, (K,)."""
        with self._lock:
            return self._in_state(stream).probs

    def label(self, stream: Hashable) -> Any:
        """Return the most probable class of a stream."""
        with self._lock:
            return self._in_state(stream).label

    def _in_state(self, stream: Hashable) -> Filter:
        """Return a filter in the state of a stream, which the next call changes."""
        state = self._bank._states[self._roster.slot(stream)].copy()
        self._reader.state = unpack_state(self._reader, state)
        return self._reader

    def time(self, stream: Hashable) -> float:
        """Return the time of a stream's last row."""
        with self._lock:
            return self._times[self._roster.slot(stream)]

    def drop(self, streams: Iterable[Hashable]) -> None:
        """Forget streams."""
        if isinstance(streams, str):
            raise TypeError(f"streams is {streams!r}; give a list: [{streams!r}]")
        names = dict.fromkeys(streams)
        with self._lock:
            for name in names:
                self._roster.slot(name)
            for name in names:
                self._roster.forget(name)
                self._calls.pop(name, None)

    def expire(self, now: Any) -> list[Any]:
        """Forget the streams without a row for longer than `expire_after` before now; return them.

        `update` does it by the newest time of all streams; this is for when no rows come.
        """
        if self._expire_after is None:
            raise ValueError("the tracker has no expire_after; give it one")
        at = now if type(now) is float else to_seconds(now)
        if not math.isfinite(at):
            raise ValueError(f"now is {at}; it must be finite")
        with self._lock:
            self._roster.newest = max(self._roster.newest, at)
            return self._drop_old()

    def _drop_old(self) -> list[Any]:
        dropped = self._roster.drop_old() if self._drops else []
        for name in dropped:
            self._calls.pop(name, None)
        return dropped

    def save(self, path: str | PathLike[str]) -> None:
        """Write settings and all streams to one file, complete or not at all; `load` reads it.

        Streams must be named by text, numbers, None, or tuples of them.
        """
        remove_drafts(fspath(path))
        _tracker_file.write(path, self._saved())

    def _saved(self) -> _tracker_file.Saved:
        with self._lock:
            slots = list(self._slots.values())
            return _tracker_file.Saved(
                self._fresh, self._sources.beta, self._channel, self._policy,
                self._expire_after, self._max_streams, list(self._slots),
                np.array(self._times)[slots], np.array(self._roster.seen)[slots],
                self._bank._states[slots], {name: c.saved() for name, c in self._calls.items()},
                self._roster.newest,
            )  # fmt: skip

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Tracker:
        """Return the tracker that a file of `save` holds."""
        saved, _ = _tracker_file.read(path)
        try:
            return cls._restored(saved)
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged: {' '.join(str(error).split())}") from None

    @classmethod
    def _restored(cls, saved: _tracker_file.Saved) -> Tracker:
        tracker = cls(
            saved.filter, saved.beta, saved.channel, saved.policy,
            expire_after=saved.expire_after, max_streams=saved.max_streams,
        )  # fmt: skip
        tracker._roster.restore(saved.names, saved.times, saved.seen, saved.states)
        tracker._roster.newest = saved.newest
        for name, values in saved.calls.items():
            assert tracker._policy is not None
            tracker._calls[name] = Calls.restored(tracker._policy, tracker._fresh.probs, values)
        return tracker
