"""Many live streams under one roof: each row of any stream, as it comes, gives an estimate."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from os import PathLike, fspath
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .._support.atomic import remove_drafts
from .._support.types import Array, Ints, Weights
from .._validation import factorize, label_row
from ..chain._chain import LABEL, Chain
from ..chain._channel import Channels
from ..filters._base import Filter
from ..filters._stream_runner import StreamRunner, pack_state, unpack_state
from ..policy import Policy
from . import _file
from ._calls import Calls
from ._counts import SourceCounts
from ._health import Health, health
from ._rows import Taken, take_many, take_rows, to_seconds, update_stream_of
from ._table import JumpError, StreamTable


class Tracker:
    """One filter per stream, for any number of streams that come and go.

    Each row (stream, time, source, prediction) gives the estimate of its stream. It equals a filter
    for each stream, to the bit. Several threads may use one tracker: a lock lets one in at a time.

    Parameters
    ----------
    filter : Filter or Chain
        The settings of all streams; a chain, such as a `Tuned`, brings weights, channels and its
        policy.
    beta : mapping of str to float, or float, optional
        The weight of each source, or one for all; 1 by default.
    channel : mapping of str to Channel or None, optional
        Corrects the predictions of a source before they are filtered.
    policy : Policy, optional
        Chooses which source to call next, for each stream by itself; see `next_source`.
    expire_after : float, optional
        A stream is over when more than `expire_after` passes without a row of it; its next row
        begins it anew. It is forgotten when the newest time of all streams has gone on so far since
        its last row. A time further from the others than that counts when three streams agree on
        it, so that one or two wrong clocks drop nothing.
    max_streams : int, optional
        Where there are more, the stream whose last row came first is dropped.
    max_jump : float, optional
        A row that is further ahead of the row before of its stream is refused, unless the stream's
        next row confirms its time: one wrong time would make all later ones invalid.

    Examples
    --------
    >>> import classfilter as cf
    >>> tracker = Tracker(cf.DirichletFilter(["rest", "move"]), beta={"weak": 0.5, "strong": 1.0})
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
        filter: Filter | Chain,  # noqa: A002
        *,
        beta: Weights | None = None,
        channel: Channels | None = None,
        policy: Policy | None = None,
        expire_after: float | None = None,
        max_streams: int | None = None,
        max_jump: float | None = None,
    ) -> None:
        self._use(
            Chain.of(filter, beta=beta, channel=channel, policy=policy),
            expire_after=expire_after,
            max_streams=max_streams,
            max_jump=max_jump,
        )

    def _use(self, chain: Chain, **limits: Any) -> None:
        self._chain, self._policy = chain, chain.policy
        self._reader: Filter = chain.filter()
        start = pack_state(self._reader.state, self._reader.probs.dtype)
        self._table = StreamTable(start, **limits)
        self._slots, self._lock = self._table.slots, self._table.lock
        self._watches_times, self._drops = self._table.watches_times, self._table.drops
        self._counts = SourceCounts(chain)
        self._known: dict[str, tuple[str, float, Any, int]] = {}
        self._update_stream = update_stream_of(chain.filter(), self._counts)
        self._runner = StreamRunner(chain.filter())
        self._saving = Lock()

    @property
    def chain(self) -> Chain:
        """The settings of all streams."""
        return self._chain

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the probabilities."""
        return self._chain.classes

    @property
    def expire_after(self) -> float | None:
        """How much time without a row ends a stream."""
        return self._table.expire_after

    @property
    def max_streams(self) -> int | None:
        """The largest number of streams."""
        return self._table.max_streams

    @property
    def max_jump(self) -> float | None:
        """How far ahead of the row before of its stream a row may be."""
        return self._table.max_jump

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
        return f"Tracker({self._reader!r}, {len(self)} streams)"

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
        known = self._known.get(source)  # type: ignore[arg-type]
        if known is None:
            known = self._know(source)
        source, beta, logarithms, number = known
        if not isinstance(probs, list) and isinstance(probs, LABEL):  # a list is the common case
            probs = label_row(probs, self._chain._names, "probs")
        table = self._table
        with self._lock:
            slot = self._slots.get(stream)
            if slot is None or (
                self._watches_times
                and not 0 <= at - table.columns.times.item(slot) <= table.longest_gap
            ):
                place = self._place(stream, at, probs)
            else:
                place = slot
            if self._policy is not None:
                return self._update_and_note(stream, place, at, source, probs)
            try:
                columns = table.columns
                estimate = self._update_stream(
                    columns[0], columns[1], place, probs, beta, at, logarithms,
                    self._counts.numbers, number,
                )  # fmt: skip
            except BaseException:
                if place != slot:
                    table.release([place])
                raise
            if estimate is None:
                raise table.time_error(stream, place, at)
            if place != slot or table.max_jump is not None:
                table.note(stream, place, at)
            elif self._drops:
                table.touch(stream, place, at)
            if self._drops and (
                table.clock > table.none_expire_until or len(self._slots) > table.most
            ):
                table.drop_old()
        return estimate

    def _know(self, source: Any) -> tuple[str, float, Any, int]:
        """Return the name of a source, its weight, its channel's logarithms, and its number."""
        name, beta = self._chain.weight(source)
        number = self._counts.add(name)
        known = name, beta, self._chain._logarithms.get(name), number
        if number >= 0:
            self._known[name] = known
        return known

    def _place(self, stream: Hashable, at: float, probs: Any) -> int:
        """Return the slot of a row that begins a stream, or whose time is not a usual one."""
        try:
            return self._table.place(stream, at)
        except JumpError:
            _core.check_row(len(self.classes), probs, 1.0, 0.0)  # or it is no prediction at all
            self._table.remember_jump(stream, at)
            raise

    def _update_and_note(
        self, stream: Hashable, slot: int, at: float, source: str, probs: Any
    ) -> Array:
        """Update a stream and its policy, both or none."""
        table, begins = self._table, self._slots.get(stream) != slot
        new, place = {stream: slot} if begins else {}, np.array([slot])
        try:
            columns = table.columns
            state, time, extra = columns.states[place], columns.times[place], columns.extra[place]
            dt = 0.0 if begins else at - float(time[0])
            _, beta, observation = self._chain.observe(source, probs)
            before = -1 if begins else self._counts.classes_of(state)[0]
            estimate = self._update_stream(state, time, 0, observation, beta, at, None)
            if estimate is None:
                raise table.time_error(stream, slot, at)
            calls = self._new_calls() if begins else extra[0].copy()
            calls.note(source, at, observation, estimate, dt)
            extra[0] = calls
            table.commit(place, state, time, extra, new)
        except BaseException:
            table.release_unnamed(new)
            raise
        number = self._counts.add(source)
        self._counts.count_row(number, probs, before, at, dt, estimate.dtype)
        table.note(stream, slot, at)
        if self._drops:
            table.drop_old()
        return estimate

    def _new_calls(self) -> Calls:
        """Return what the policy knows of a new stream."""
        assert self._policy is not None
        return Calls(self._policy, self._chain.filter().probs)

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
        names, t, source, rows = take_rows(streams, times, sources, probs, self._chain._names)
        observed = self._chain.observe_rows(source, rows)
        if not names:
            return np.empty((0, len(self.classes)), self._reader.probs.dtype)
        rows_of = factorize(names)

        def note(taken: Taken) -> Array:
            called = [source.categories[code] for code in source.codes.tolist()]
            return self._noted(rows_of, called, t, observed[0], taken)

        table = self._table
        with self._lock:
            noted = None if self._policy is None else note
            first = self._classes_before(rows_of.categories)
            taken = take_many(table, self._runner, rows_of, t, observed, sort=None, note=noted)
            of_streams = rows_of.codes, first, taken.begins
            self._counts.count_rows(source, rows, taken.estimates, of_streams, t, taken.dt)
            if self._drops:
                table.touch_many(names, taken.slots[rows_of.codes], t)
                table.drop_old()
        return taken.estimates

    def _classes_before(self, names: Sequence[Any]) -> Ints:
        """Return the class of each stream's estimate; of a new one any, since it is not used."""
        known = self._slots
        slots = np.array([known.get(name, 0) for name in names], np.intp)
        if not known:
            return slots
        return self._counts.classes_of(self._table.columns.states[slots])

    def _noted(
        self, rows: Any, called: list[str], t: Array, observed: Array, taken: Taken
    ) -> Array:
        """Return what the policy knows of each stream after many rows."""
        noted = np.full(len(rows.categories), None, object)
        dt, begins = taken.dt.tolist(), taken.begins.tolist()
        for row, (i, at) in enumerate(zip(rows.codes.tolist(), t.tolist(), strict=True)):
            if begins[row]:
                noted[i] = self._new_calls()
            elif noted[i] is None:
                slot = self._slots[rows.categories[i]]
                noted[i] = self._table.columns.extra[slot].copy()
            noted[i].note(called[row], at, observed[row], taken.estimates[row], dt[row])
        return noted

    def next_source(self, stream: Hashable, time: Any) -> str:
        """Return the source that the policy would call for a stream at a time; nothing changes."""
        if self._policy is None:
            raise ValueError("the tracker has no policy; give one, such as Periodic(every=12)")
        at = time if type(time) is float else to_seconds(time)
        table = self._table
        with self._lock:
            slot = self._slots.get(stream)
            calls = self._new_calls()
            if slot is not None and not at - table.columns.times[slot] > table.span:
                calls = table.columns.extra.item(slot)
            return calls.next_source(at)

    def filter(self, stream: Hashable) -> Filter:
        """Return a new filter in the state of a stream."""
        with self._lock:
            f: Filter = self._in_state(stream).copy()
        return f

    def probs(self, stream: Hashable) -> Array:
        """Return the last estimate of a stream, (K,)."""
        with self._lock:
            estimate: Array = self._in_state(stream).probs
        return estimate

    def label(self, stream: Hashable) -> Any:
        """Return the most probable class of a stream; of several, the first."""
        with self._lock:
            return self._in_state(stream).label

    def _in_state(self, stream: Hashable) -> Any:
        """Return a filter in the state of a stream, which the next call changes."""
        state = self._table.columns.states[self._table.slot(stream)].copy()
        self._reader.state = unpack_state(self._reader, state)
        return self._reader

    def time(self, stream: Hashable) -> float:
        """Return the time of a stream's last row."""
        with self._lock:
            return float(self._table.columns.times[self._table.slot(stream)])

    def health(self, now: Any = None) -> Health:
        """Return how each source does, over all streams, against what is usual of it.

        A source that is stuck on a class, silent, or no longer agrees with the estimate as it did
        when tuned, or before, has a verdict, in words, with figures. Nothing is weighed down: what
        to do is left to you. `now` is the time, if no rows come; by default that of the last row.

        Examples
        --------
        >>> import classfilter as cf
        >>> tracker = cf.Tracker(cf.DirichletFilter(["rest", "move"], half_life=30.0))
        >>> for i in range(150):
        ...     _ = tracker.update("ann", 5.0 * i, "wrist", [0.9, 0.1])
        >>> tracker.health().verdicts
        {}
        >>> tracker.health(now=745.0 + 7200.0).verdicts
        {'wrist': ('silent for 2 h; usually a prediction each 5 s',)}
        """
        at = None if now is None else to_seconds(now)
        with self._lock:
            return health(self._counts, at)

    def drop(self, streams: Iterable[Hashable]) -> None:
        """Forget streams."""
        if isinstance(streams, str):
            raise TypeError(f"streams is {streams!r}; give a list: [{streams!r}]")
        names = dict.fromkeys(streams)
        with self._lock:
            for name in names:
                self._table.slot(name)
            for name in names:
                self._table.forget(name)

    def expire(self, now: Any) -> list[Any]:
        """Set the clock of all streams to now, and forget the streams that are over; return them.

        `update` does it by the newest time of all streams; this is for when no rows come.
        """
        at = now if type(now) is float else to_seconds(now)
        with self._lock:
            return self._table.expire(at)

    def save(self, path: str | PathLike[str]) -> None:
        """Write settings and all streams to one file, complete or not at all; `load` reads it.

        Streams must be named by text, numbers, None, or tuples of them. Of several saves at once,
        the one that began last is in the file at the end.
        """
        with self._saving:
            remove_drafts(fspath(path))
            _file.write(path, self._saved("tracker"))

    def _saved(self, kind: str) -> _file.Saved:
        table = self._table
        with self._lock:
            names, columns = table.held()
            meta: dict[str, Any] = {
                "expire_after": table.expire_after,
                "max_streams": table.max_streams,
                "max_jump": table.max_jump,
                "clock": None if math.isnan(table.clock) else table.clock,
                "strays": [[_file.name_as_json(name), at] for name, at in table.strays.items()],
            }
            meta["sources"] = list(self._counts.index)
            counts = self._counts.saved()
            if self._policy is not None:
                meta["calls"] = [calls.saved() for calls in columns.extra]
        return _file.Saved(kind, self._chain, names, columns, meta, {"health": counts})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Tracker:
        """Return the tracker that a file of `save` holds."""
        saved = _file.read(path, "tracker", "no saved tracker; take an earlier copy")
        tracker = cls.__new__(cls)
        with _file.damaged(path):
            limits = {
                name: saved.meta[name] for name in ("expire_after", "max_streams", "max_jump")
            }
            tracker._use(saved.chain, **limits)
            tracker._take(saved)
        return tracker

    def _take(self, saved: _file.Saved) -> None:
        """Take all streams of a file."""
        names, columns, meta = saved.names, saved.columns, saved.meta
        self._runner.check_states(columns.states)
        if self._policy is not None:
            for i, calls in enumerate(meta["calls"]):
                columns.extra[i] = self._new_calls().restored(calls)
        if "health" in saved.more:  # older files have none
            self._counts.restore(meta["sources"], saved.more["health"])
            self._known.clear()
        self._table.take(names, columns, math.nan if meta["clock"] is None else meta["clock"])
        self._table.strays = {_file.name_from_json(name): at for name, at in meta["strays"]}
