"""Many live streams under one roof: each row of any stream, as it comes, gives an estimate."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from os import PathLike
from threading import RLock
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import ArgumentError
from ..events import CurrentEvent, Event, EventRule, Events, event_of
from ..filters import Filter, unpack_state
from ..inputs import (
    LARGEST_SECONDS,
    Heads,
    Rows,
    Spelling,
    TimeScale,
    head_prediction,
    parse_timestamp,
    per_second,
    predictions,
    read_times,
    seconds,
    warn_of,
)
from ..pipeline import DEFAULT_SOURCE, MAX_SOURCES, Channels, Pipeline, under_rule
from ..policy import Policy
from ..support.types import Array, Confidence, Duration, Floats, Weights, is_number
from ..support.validation import Factorized, factorize
from . import store
from .engine import Engine, update_stream_of
from .health import Health, SourceCounts, classes_before, classes_of
from .lag import checked_lag
from .lock import free, in_a_call, new_lock
from .stages import Later
from .table import Columns, JumpError

_REMEDY = "take an earlier copy"


class TimeUnit:
    """Turns times into seconds, and warns, once, if streams begin with times of another unit.

    Parameters
    ----------
    name : {"s", "ms", "us", "ns"}, optional
        What numbers count; None leaves them as they are.

    Attributes
    ----------
    as_it_is : type or None
        A time of this type needs no conversion.
    """

    def __init__(self, name: str | None) -> None:
        self.name, self._factor = name, per_second(name)
        self.as_it_is = float if self._factor == 1 else None
        self.warned = False

    def seconds(self, time: Any) -> float:
        """Return one time as a number; NaN if it is missing."""
        try:
            if is_number(time):
                return float(time) / self._factor
            if isinstance(time, np.generic) and time.dtype.kind in "mM":
                return math.nan if np.isnat(time) else float(seconds(np.array([time]))[0])
            at = parse_timestamp(time, self._factor)
        except OverflowError:
            at = None
        if at is None:
            fix = "give a number, a datetime, or ISO 8601 text with a zone"
            raise ArgumentError("time", time, fix=fix)
        return at

    def look_at(self, time: Any, at: float) -> None:
        """Look at the time of a row that begins a stream, as it was given and in seconds."""
        if LARGEST_SECONDS < abs(at) < math.inf and is_number(time):
            self.look(np.array([at]))

    def look(self, times: Floats) -> None:
        """Look at numbers with which streams begin."""
        if not self.warned:
            scale = TimeScale(self.name)
            scale.see(times)
            finding = scale.finding()
            self.warned = finding is not None
            warn_of(finding)


def take_rows(
    streams: Sequence[Hashable] | Array,
    times: Any,
    sources: ArrayLike | str | None,
    probs: Any,
    heads: Heads,
    confidence: Confidence | None = None,
    unit: str | None = None,
) -> tuple[Rows, list[Any]]:
    """Return rows of streams, checked, and the name of the stream of each."""
    if streams is None:
        fix = "run an object tracker first: without one, tracker_id is None"
        raise ArgumentError("streams", None, must="every row needs the name of its stream",
                            fix=fix)  # fmt: skip
    names: list[Any] = streams.tolist() if hasattr(streams, "tolist") else list(streams)
    one_time = isinstance(times, str) or np.ndim(times) == 0
    t, kind = read_times([times] * len(names) if one_time else times, unit)
    if sources is None or isinstance(sources, str):
        source = Factorized(np.zeros(len(names), np.intp), [sources or DEFAULT_SOURCE])
    else:
        cells = np.asarray(sources, object)
        source = factorize([DEFAULT_SOURCE if name is None else str(name) for name in cells])
    outputs = predictions(probs, heads, confidence)
    counts = {"times": len(t), "sources": len(source.codes), "probs": len(outputs.one_hot)}
    for label, count in counts.items():
        if count != len(names):
            raise ValueError(f"{label} has {count} rows, streams {len(names)}; give one per row")
    stream = factorize(names)
    return Rows.of(stream, source, outputs, time=t, heads=heads, time_kind=kind), names


class Tracker:
    """One filter per stream, for any number of streams that come and go.

    Each row (stream, time, source, prediction) gives the estimate of its stream. It equals a filter
    for each stream, to the bit. Several threads may use one tracker: a lock lets one in at a time.
    A signal's handler that interrupts a call of its own thread gets a RuntimeError.

    Parameters
    ----------
    filter : Filter or Pipeline
        The settings of all streams; a pipeline brings weights, channels and its
        policy.
    beta : mapping of str to float, or float, optional
        The weight of each source, or one for all; 1 by default.
    channel : mapping of str to Channel or None, optional
        Corrects the predictions of a source before they are filtered.
    policy : Policy, optional
        Chooses which source to call next, for each stream by itself; see `next_source`.
    expire_after : float, str or timedelta, optional
        A stream is over when more than `expire_after` passes without a row of it; its next row
        begins it anew. It is forgotten when the newest time of all streams has advanced by more
        than that since its last row. A time further from the others than that counts when three
        streams agree on it, so that one or two wrong clocks drop nothing.
    max_streams : int, optional
        Where there are more, the stream whose last row came first is dropped.
    max_jump : float, str or timedelta, optional
        A row that is further ahead of the row before of its stream is refused, unless the stream's
        next row confirms its time: one wrong time would make all later ones invalid.
    unit : {"s", "ms", "us", "ns"}, optional
        What all times that are numbers count. They become seconds: `time` returns seconds, and
        `expire_after` and `max_jump` are in seconds. By default they stay as they are, in the unit
        of the half-life, with a warning if a stream begins with what looks like milliseconds.
    events : EventRule or bool, default False
        Decide events by this rule, or by that of the pipeline; see `pop_events` and `current`.
    lag : int, optional
        Decide events later, on better rows: each smoothed with so many rows of its stream after it,
        by the pipeline's `smoother` and its rule. Estimates come at once, as without it.

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
        filter: Filter | Pipeline,  # noqa: A002
        *,
        beta: Weights | None = None,
        channel: Channels | None = None,
        policy: Policy | None = None,
        expire_after: Duration | None = None,
        max_streams: int | None = None,
        max_jump: Duration | None = None,
        unit: str | None = None,
        events: EventRule | bool = False,
        lag: int | None = None,
    ) -> None:
        pipe = Pipeline.of(filter, beta=beta, channel=channel, policy=policy)
        of_pipe = pipe.rule if lag is None else pipe.smoothing.rule
        if events is True and of_pipe is None:
            fix = 'give one: events=EventRule(change_cost="30s")'
            raise ArgumentError(
                "events", True, problem="is {}, but the pipeline has no rule", fix=fix
            )
        if lag is not None and events is False:
            raise ArgumentError("lag", lag, problem="is {}, without events", fix="give events=True")
        rule = of_pipe if events is True else events or None
        self._use(
            under_rule(pipe, rule),
            unit,
            lag,
            expire_after=expire_after,
            max_streams=max_streams,
            max_jump=max_jump,
        )

    def _use(self, pipe: Pipeline, unit: str | None, lag: int | None = None, **limits: Any) -> None:
        self._pipe, self._heads, self._lag = pipe, pipe.heads, lag
        self._is_exclusive = pipe.heads.is_exclusive
        self._names = pipe._names
        smoother = None if lag is None else pipe.smoothing
        rule = pipe.rule if smoother is None else smoother.rule
        self._engine = Engine(
            pipe, smoother=smoother, lag=None if lag is None else checked_lag(lag),
            rule=rule, policy=pipe.policy, starts=True, **limits,
        )  # fmt: skip
        self._unit, self._spelling = TimeUnit(unit), Spelling()
        self._as_it_is = self._unit.as_it_is
        self._reader: Filter = pipe.filter
        self._table = self._engine.table
        self._slots, self._lock = self._table.slots, new_lock()
        self._is_locked = self._lock._is_owned  # by this thread
        self._watches_times, self._drops = self._table.watches_times, self._table.drops
        self._counts = SourceCounts(pipe)
        self._known: dict[str | None, tuple[str, float, Any, int]] = {}
        self._update_stream = update_stream_of(pipe.filter, self._counts)
        # One call into C takes a row and decides its events, unless more stages take it.
        self._whole = pipe.policy is None and lag is None
        rules = self._engine.stages.rule
        self._rule = rules
        self._saving = RLock()
        self._written: store.Written | None = None
        self._first_event = 1

    def update(
        self,
        stream: Hashable,
        time: Any,
        source: str | None,
        probs: Any,
        confidence: float | None = None,
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
        probs : array_like (K,), mapping, Series, str or int
            Its prediction: probabilities, in the order of the classes or by their names, or a
            class, by name or index. All NaN, None or -1 if there was none: only time passes.
        confidence : float, optional
            Of a class: how probable it is, 0 to 1; the others share the rest. Without it, the
            source's channel says how often it is right, or the default of docs/inputs.md.

        Raises
        ------
        ValueError
            Something is invalid; nothing has changed.
        """
        at = time if type(time) is self._as_it_is else self._unit.seconds(time)
        of_source = self._known.get(source)
        if of_source is None:
            of_source = self._know(source)
        source, beta, logarithms, number = of_source
        kind, prediction = type(probs), probs
        if (kind is not list and kind is not np.ndarray) or confidence is not None:
            certain = logarithms is not None
            probs = head_prediction(probs, self._heads, confidence, certain=certain)
        table = self._table
        if self._is_locked():
            raise in_a_call()
        with self._lock:
            slot = self._slots.get(stream)
            if (
                slot is None
                or not self._whole
                or (
                    self._watches_times
                    and not 0 <= at - table.columns.times.item(slot) <= table.longest_gap
                )
            ):
                return self._take_one(stream, time, at, source, probs, prediction, confidence)
            columns = table.columns
            table.changed[slot] = 1
            if self._rule is None:
                estimate = self._update_stream(
                    columns[0], columns[1], slot, probs, beta, at, logarithms,
                    self._counts.numbers, number,
                )  # fmt: skip
            else:
                estimate = self._rule.update_stream(
                    self._update_stream, columns[6], table.confirmed, table.started, stream,
                    columns[0], columns[1], slot, probs, beta, at, logarithms,
                    self._counts.numbers, number,
                )  # fmt: skip
            if estimate is None:
                raise table.time_error(stream, slot, at)
            if estimate is NotImplemented:  # the stream waits for its first prediction
                return self._take_one(stream, time, at, source, probs, prediction, confidence)
            if table.max_jump is not None:
                columns[3][slot] = math.nan
            if self._drops:
                table.touch(stream, slot, at)
                if table.clock > table.none_expire_until or len(self._slots) > table.most:
                    table.drop_old()
        return estimate

    def _know(self, source: Any) -> tuple[str, float, Any, int]:
        """Return the name of a source, its weight, its channel's logarithms, and its number."""
        name, beta = self._pipe.weight(source)
        of_source = name, beta, self._pipe.channel_of(name), self._counts.number(name)
        if len(self._known) < MAX_SOURCES:
            self._known[None if source is None else name] = of_source
        return of_source

    def _take_one(
        self,
        stream: Hashable,
        time: Any,
        at: float,
        source: str,
        probs: Any,
        prediction: Any,
        confidence: float | None,
    ) -> Array:
        """Take a row that begins a stream, or that more stages than the rule need.

        `time`, `given` and `confidence` are as they came.
        """
        engine, table, pipe = self._engine, self._table, self._pipe
        begins = self._begins(stream, time, at, probs)
        if self._is_exclusive:  # a channel would take what is no row, such as booleans
            _core.check_row(len(self.classes), probs, 1.0, 0.0)
        _, beta, observation = pipe.observe(source, probs)
        smoothed = None
        if self._lag is not None:
            to_smooth = pipe.smoothing.observe(source, prediction, confidence)
            smoothed = to_smooth.probs, to_smooth.beta
        before, dt = -1, 0.0
        if not begins:
            slot = self._slots[stream]
            before = classes_of(self._reader, table.columns.states[[slot]])[0]
            dt = at - float(table.columns.times[slot])
        estimate = engine.take_one(
            self._update_stream, stream, at, (observation, beta), smoothed, source
        )
        if self._is_exclusive:
            number, predicted = self._counts.number(source), np.asarray(probs, estimate.dtype)
            self._counts.count_row(number, predicted, before, at, dt)
        if self._drops:
            table.drop_old()
        return estimate

    def _begins(self, stream: Hashable, time: Any, at: float, probs: Any) -> bool:
        """Return whether a row begins a stream, or begins it anew; raise if its time is wrong."""
        self._unit.look_at(time, at)
        if stream not in self._slots:
            warn_of(self._spelling.finding(stream))
        try:
            return self._table.begins(stream, at)
        except JumpError:
            if self._is_exclusive:  # or it is no prediction at all
                _core.check_row(len(self.classes), probs, 1.0, 0.0)
            else:
                head_prediction(probs, self._heads)
            self._table.remember_jump(stream, at)
            raise

    def update_many(
        self,
        streams: Sequence[Hashable] | NDArray[Any],
        times: Any,
        sources: ArrayLike | str | None,
        probs: Any,
        confidence: Confidence | None = None,
    ) -> Array:
        """Observe many rows, in their order; return the estimate of each row's stream, (N, K).

        It equals `update` for each row in turn, and is faster. An invalid row raises ValueError and
        nothing changes. Streams are dropped after all rows. `times` and `sources` may be one for
        all rows. `probs` is (N, K), a dataframe whose columns are matched by name, a list of
        entries that `update` takes, or classes, (N,), with their `confidence`.
        """
        rows, names = take_rows(
            streams, times, sources, probs, self._heads, confidence, self._unit.name
        )
        if not names:
            return np.empty((0, len(self.classes)), self._reader.probs.dtype)
        table = self._table

        def look(times: Array, begin: list[Any]) -> None:
            if rows.time_kind.is_number and not self._unit.warned:
                self._unit.look(times)
            for name in begin:
                warn_of(self._spelling.finding(name))

        with free(self._lock):
            held = table.slots_of(rows.streams)
            last = np.full(len(held), -1)  # the class of each stream's estimate
            last[held >= 0] = classes_of(self._reader, table.columns.states[held[held >= 0]])
            after = self._engine.take(rows, live=True, slots=held, look=look)
            if self._is_exclusive:
                before = classes_before(after.estimates, rows.stream, last, after.begins)
                probs = rows.probs.astype(after.estimates.dtype, copy=False)
                source = rows.factorized_sources
                self._counts.count_rows(source, probs, before, rows.time, after.dt)
            if self._drops:
                new = {rows.streams[i] for i in np.flatnonzero(held < 0)}
                slots = table.slots_of(rows.streams)
                table.touch_many(names, slots[rows.stream], rows.time, new)
                table.drop_old()
        return after.estimates

    def next_source(self, stream: Hashable, time: Any) -> str:
        """Return the source that the policy would call for a stream at a time; nothing changes."""
        if self._pipe.policy is None:
            raise ValueError("the tracker has no policy; give one, such as Periodic(every=12)")
        at = time if type(time) is self._as_it_is else self._unit.seconds(time)
        table = self._table
        with free(self._lock):
            slot = self._slots.get(stream)
            calls = self._engine.new_calls()
            if slot is not None and not at - table.columns.times[slot] > table.span:
                calls = table.columns.extra.item(slot)
            return calls.next_source(at)

    @property
    def pipe(self) -> Pipeline:
        """The settings of all streams."""
        return self._pipe

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the probabilities."""
        return self._pipe.classes

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
    def unit(self) -> str | None:
        """What times that are numbers count; None where they stay as they are."""
        return self._unit.name

    @property
    def lag(self) -> int | None:
        """With how many later rows each row is smoothed before events are decided; None: none."""
        return self._lag

    @property
    def streams(self) -> list[Any]:
        """The names of all streams; where streams are dropped, the next one to go is first."""
        with free(self._lock):
            return list(self._slots)

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, stream: Hashable) -> bool:
        return stream in self._slots

    def __repr__(self) -> str:
        return f"Tracker({self._reader!r}, {len(self)} streams)"

    def filter(self, stream: Hashable) -> Filter:
        """Return a new filter in the state of a stream."""
        with free(self._lock):
            f: Filter = self._in_state(stream).copy()
        return f

    def probs(self, stream: Hashable) -> Array:
        """Return the last estimate of a stream, (K,)."""
        with free(self._lock):
            estimate: Array = self._in_state(stream).probs
        return estimate

    def label(self, stream: Hashable) -> Any:
        """Return the most probable class of a stream; of several, the first."""
        with free(self._lock):
            return self._in_state(stream).label

    def _in_state(self, stream: Hashable) -> Any:
        """Return a filter in the state of a stream, which the next call changes."""
        state = self._table.columns.states[self._table.slot(stream)].copy()
        self._reader.state = unpack_state(self._reader, state)
        return self._reader

    def time(self, stream: Hashable) -> float:
        """Return the time of a stream's last row; in seconds, where the tracker has a unit."""
        with free(self._lock):
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
        {'wrist': ('silent for 2 h; usually a prediction every 5 s',)}
        """
        if not self._is_exclusive:
            raise ValueError(
                "the health of sources is known for classes that exclude each other; watch each "
                "label in a tracker of its own: Tracker(pipeline.head(label))"
            )
        at = None if now is None else self._unit.seconds(now)
        with free(self._lock):
            return self._counts.health(at)

    def pop_events(self) -> list[Event]:
        """Return the events that were confirmed since the last call, each once, as `Events`.

        They are those that `classfilter.events` finds in the whole stream; with a `lag`, those that
        it finds with ``smooth=True`` and that lag. When a stream expires or is dropped, its last
        event is confirmed.
        """
        self._require_events()
        with free(self._lock):
            confirmed = self._engine.pop()
            self._first_event += len(confirmed)
        return Events([event_of(stream, self._names, *event[:4]) for stream, event in confirmed])

    def pop_starts(self) -> list[Event]:
        """Return the events whose start became final since the last call: what an alarm needs.

        Nothing that comes can withdraw such an event, or change its class or its start; its end,
        and with it the probability, is None. Each event has one start, which comes before the event
        or with it. One that `pop_events` has returned by then is not returned here: call this one
        first. Of an event that `max_duration` divides, the first piece has a start. See
        docs/events.md for how long a start takes to become final.

        Examples
        --------
        >>> import classfilter as cf
        >>> tracker = cf.Tracker(cf.RawFilter(["rest", "fall"]), events=cf.EventRule(1.0))
        >>> for time in range(8):
        ...     _ = tracker.update("ann", float(time), None, "rest" if time < 4 else "fall")
        ...     for event in tracker.pop_starts():
        ...         print(time, event.label, event.start)
        2 rest 0.0
        7 fall 4.0
        """
        self._require_events()
        with free(self._lock):
            started = self._engine.pop_starts()
        return Events(
            [event_of(stream, self._names, k, start, None, None) for stream, k, start in started]
        )

    def current(self, stream: Hashable) -> Any:
        """Return the `Event` of a stream that goes on at present, provisional: its end is None.

        Its `final` tells whether its start can no longer change, nor the event be withdrawn.

        None where no event is reported at present: an ignored class, uncertain or unknown time,
        and after the first row of a stream, since a row lasts until the next. Of several labels at
        once, return a list: an event for each label that is on, maybe none. With a `lag`,
        it is the event of the last row that is smoothed, and there is none before one is.
        """
        self._require_events()
        with free(self._lock):
            current = self._engine.current(self._table.slot(stream))
        is_multi_label = isinstance(current, list)
        events = [
            CurrentEvent(stream, self._names[k], start, None, probability, final=final)
            for k, start, probability, final in (
                current if is_multi_label else [current] if current else []
            )
        ]
        return events if is_multi_label else next(iter(events), None)

    def _require_events(self) -> None:
        if self._rule is None:
            raise ValueError(
                'the tracker has no rule for events; give one: events=EventRule(change_cost="30s")'
            )

    def drop(self, streams: Iterable[Hashable]) -> None:
        """Forget streams; their last events are confirmed."""
        if isinstance(streams, str):
            raise TypeError(f"streams is {streams!r}; give a list: [{streams!r}]")
        names = dict.fromkeys(streams)
        with free(self._lock):
            for name in names:
                self._table.slot(name)
            for name in names:
                self._table.forget(name)

    def hand_over(self, old: Hashable, new: Hashable) -> None:
        """Let a stream go on by another name: an object whose id changed keeps what is known of it.

        Its estimate, the time of its last row, its policy and its events move, and there is no
        stream `old` any more. Events that were not fetched yet have the new name. For
        `expire_after` and `max_streams` it counts as a row at the newest time of all streams.

        Parameters
        ----------
        old : hashable
            A stream; KeyError if there is none.
        new : hashable
            A name that no stream has: the rows of two streams cannot become one.

        Examples
        --------
        >>> import classfilter as cf
        >>> tracker = cf.Tracker(cf.StickyFilter(["car", "truck"], dwell=15.0))
        >>> _ = tracker.update_many([7, 7, 7], [0.0, 0.1, 0.2], None, ["car", "car", "car"])
        >>> tracker.hand_over(7, 12)
        >>> tracker.update(12, 1.0, None, "truck", confidence=0.6).round(2)
        array([0.83, 0.17])
        >>> tracker.streams
        [12]
        """
        with free(self._lock):
            self._table.rename(old, new)

    def expire(self, now: Any) -> list[Any]:
        """Set the clock of all streams to now, and forget the streams that are over; return them.

        `update` does it by the newest time of all streams; this is for when no rows come.
        """
        at = now if type(now) is self._as_it_is else self._unit.seconds(now)
        with free(self._lock):
            return self._table.expire(at)

    def save(self, path: str | PathLike[str]) -> None:
        """Write settings and streams to a file, all of it or nothing; `load` reads it.

        It is a SQLite database. A save to the file of the save before, or to the one that was
        loaded, writes the streams that changed since. Streams must be named by text, numbers, None,
        or tuples of them.
        """
        with free(self._saving), store.StoreFile(path, "tracker", _REMEDY) as file:
            since = file.since(self._written)
            saved = self._saved("tracker", since is None)
            self._write(file, saved, since)

    def _write(
        self,
        file: store.StoreFile,
        saved: store.Saved,
        since: store.Written | None,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        """Call `before`, and write what `_saved` has returned."""
        before()
        self._written = file.write(saved, self._rest_of(saved.streams.columns), since)
        self._table.unsaved = self._table.unsaved[:0]

    def _saved(self, kind: str, whole: bool = True) -> store.Saved:
        """Return what is to be saved: all streams, or those that changed since the last save."""
        table = self._table
        with free(self._lock):
            meta: dict[str, Any] = {
                "expire_after": table.expire_after,
                "max_streams": table.max_streams,
                "max_jump": table.max_jump,
                "unit": self._unit.name,
                "lag": self._lag,
                "clock": None if math.isnan(table.clock) else table.clock,
                "strays": [[store.name_as_json(name), at] for name, at in table.strays.items()],
                "sources": self._counts.saved(),
                "started": [(store.name_as_json(name), *start) for name, *start in table.started],
            }
            events, first = list(table.confirmed), self._first_event
            return store.Saved(kind, self._pipe, table.changes(whole), meta, events, first)

    def _rest_of(self, columns: Columns) -> Callable[[int], bytes]:
        """Return what gives the part of a stream's state that comes after the filter's."""
        stages, has_policy = self._engine.stages, self._pipe.policy is not None

        def rest(i: int) -> bytes:
            later = stages.pack(Later(columns.held[i], columns.events[i])) if stages else b""
            if not has_policy:
                return later
            calls = json.dumps(columns.extra[i].saved()).encode()
            return len(calls).to_bytes(4, "little") + calls + later

        return rest

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the tracker that a file of `save` holds."""
        tracker = cls.__new__(cls)
        with store.StoreFile(path, "tracker", _REMEDY, write=False) as file:
            read = file.read()
            with file.damage():
                saved = read.saved
                limits = {
                    name: saved.meta[name] for name in ("expire_after", "max_streams", "max_jump")
                }
                lag = saved.meta["lag"]
                if lag is not None and saved.pipe.smoothing.rule is None:
                    raise ValueError("it has a lag, but no rule for events")
                tracker._use(saved.pipe, saved.meta["unit"], lag, **limits)
                tracker._take(read)
        return tracker

    def _take(self, read: store.Read) -> None:
        """Take all streams of a file."""
        (names, slots, columns, *_), meta = read.saved.streams, read.saved.meta
        for name in names:
            self._spelling.finding(name)
        self._engine.runner.check_states(columns.states)
        stages, has_policy = self._engine.stages, self._pipe.policy is not None
        for i, rest in enumerate(read.rest):
            if has_policy:
                end = 4 + int.from_bytes(rest[:4], "little")
                columns.extra[i] = self._engine.new_calls().restored(json.loads(rest[4:end]))
                rest = rest[end:]
            if stages:
                columns.held[i], columns.events[i] = stages.unpack(rest)
            elif rest:
                raise ValueError("a state is too long")
        for name, k, start in meta["started"]:
            if k not in range(len(self._names)):
                raise ValueError("a start has no class")
            key = store.name_from_json(name), int(k), store.finite(start)
            self._table.started[key] = None
        self._counts.restore(meta["sources"])
        strays = {store.name_from_json(name): at for name, at in meta["strays"]}
        clock = math.nan if meta["clock"] is None else store.finite(meta["clock"])
        self._table.confirmed += read.saved.events
        self._first_event = read.saved.first_event
        self._table.take(names, slots, columns, clock)
        self._table.strays = {name: store.finite(at) for name, at in strays.items()}
        self._written = read.written
