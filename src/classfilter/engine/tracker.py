"""Many live streams under one roof: each row of any stream, as it comes, gives an estimate."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import ArgumentError
from ..events import EventRule
from ..filters import Filter
from ..inputs import one_row, prediction
from ..pipeline import MAX_SOURCES, Chain, Channels
from ..policy import Policy
from ..support.types import Array, Confidence, Duration, Weights
from .calls import calls_after
from .health import classes_before, classes_of
from .held_streams import HeldStreams
from .live_events import Known, RowSeen
from .rows import Taken, take_many, take_rows
from .streams import JumpError


class Tracker(HeldStreams):
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
        Decide events by this rule, or by that of the chain; see `pop_events` and `current`.
    lag : int, optional
        Decide events later, on better rows: each smoothed with so many rows of its stream after it,
        by the chain's `smoother` and its rule. Estimates come at once, as without it.

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
        expire_after: Duration | None = None,
        max_streams: int | None = None,
        max_jump: Duration | None = None,
        unit: str | None = None,
        events: EventRule | bool = False,
        lag: int | None = None,
    ) -> None:
        chain = Chain.of(filter, beta=beta, channel=channel, policy=policy)
        of_chain = chain.rule if lag is None else chain.smoother.rule
        if events is True and of_chain is None:
            remedy = 'give one: events=EventRule(change_cost="30s")'
            raise ArgumentError("events", True, "is {}, but the chain has no rule", remedy=remedy)
        if lag is not None and events is False:
            raise ArgumentError("lag", lag, "is {}, without events", remedy="give events=True")
        rule = of_chain if events is True else events or None
        self._use(
            chain.with_rule(rule),
            unit,
            lag,
            expire_after=expire_after,
            max_streams=max_streams,
            max_jump=max_jump,
        )

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
        known = self._known.get(source)  # type: ignore[arg-type]
        if known is None:
            known = self._know(source)
        source, beta, logarithms, number = known
        kind, given = type(probs), probs
        if (kind is not list and kind is not np.ndarray) or confidence is not None:
            how = {"certain": logarithms is not None, "independent": self._independent}
            probs = prediction(probs, self._chain._names, confidence, **how)
        table = self._table
        with self._lock:
            slot = self._slots.get(stream)
            if slot is None or (
                self._watches_times
                and not 0 <= at - table.columns.times.item(slot) <= table.longest_gap
            ):
                place = self._place(stream, time, at, probs)
            else:
                place = slot
            if self._notes:
                row = source, given, confidence
                return self._update_and_note(stream, place, at, source, probs, row)
            columns, live = table.columns, self._live
            try:
                if live is None:
                    estimate = self._update_stream(
                        columns[0], columns[1], place, probs, beta, at, logarithms,
                        self._counts.numbers, number,
                    )  # fmt: skip
                else:
                    if place != slot and slot is not None:
                        columns.events[place] = live.anew(columns.events[slot])
                    estimate = live.update_stream(
                        self._update_stream, columns[5], live.waiting, stream,
                        columns[0], columns[1], place, probs, beta, at, logarithms,
                        self._counts.numbers, number,
                    )  # fmt: skip
            except BaseException:
                if place != slot:
                    table.release([place])
                elif live is not None:  # a signal's handler may have raised after the row
                    live.waiting[stream] = None
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
        known = name, beta, self._chain._logarithms.get(name), self._counts.number(name)
        if len(self._known) < MAX_SOURCES:
            self._known[name] = known
        return known

    def _place(self, stream: Hashable, time: Any, at: float, probs: Any) -> int:
        """Return the slot of a row that begins a stream, or whose time is not a usual one."""
        self._unit.look_at(time, at)
        if stream not in self._slots:
            self._spelling.look([stream])
        try:
            return self._table.place(stream, at)
        except JumpError:
            if self._independent:  # or it is no prediction at all
                one_row(probs, self._chain._names)
            else:
                _core.check_row(len(self.classes), probs, 1.0, 0.0)
            self._table.remember_jump(stream, at)
            raise

    def _update_and_note(
        self,
        stream: Hashable,
        slot: int,
        at: float,
        source: str,
        probs: Any,
        row: tuple[Any, ...],
    ) -> Array:
        """Update a stream, its policy and its events, all or none; `row` is as it came."""
        table, begins = self._table, self._slots.get(stream) != slot
        new, place = {stream: slot} if begins else {}, np.array([slot])
        try:
            columns = table.columns
            state, time, extra = columns.states[place], columns.times[place], columns.extra[place]
            dt = 0.0 if begins else at - float(time[0])
            _, beta, observation = self._chain.observe(source, probs)
            before = -1 if begins else classes_of(self._reader, state)[0]
            estimate = self._update_stream(state, time, 0, observation, beta, at, None)
            if estimate is None:
                raise table.time_error(stream, slot, at)
            kept = {}
            if self._policy is not None:
                calls = self._new_calls() if begins else extra[0].copy()
                calls.note(source, at, observation, estimate, dt)
                extra[0] = calls
                kept["extra"] = extra
            if self._live is not None:
                kept["events"] = np.full(1, None, object)
                seen = RowSeen(row, dt)
                kept["events"][0] = self._after(stream, begins, at, estimate, seen)
            table.commit(place, state, time, kept, new)
        except BaseException:
            table.release_unnamed(new)
            raise
        number, predicted = self._counts.number(source), np.asarray(probs, estimate.dtype)
        self._counts.count_row(number, predicted, before, at, dt)
        table.note(stream, slot, at)
        if self._drops:
            table.drop_old()
        return estimate

    def _after(
        self, stream: Hashable, begins: bool, at: float, estimate: Array, row: RowSeen
    ) -> Known:
        """Return what the rule for events knows of a stream after a row."""
        live, slot = self._live, self._slots.get(stream)
        assert live is not None
        before: Any = None if slot is None else self._table.columns.events[slot]
        known = live.row_after(live.anew(before) if begins else before, at, estimate, row)
        live.waiting[stream] = None
        return known

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
        given = streams, times, sources, probs
        rows, names = take_rows(
            *given, self._chain._names, confidence, self._unit.name, independent=self._independent
        )
        source = rows.factorized_sources
        observed = self._chain.observe_rows(source, rows.probs, rows.one_hot)
        if not names:
            return np.empty((0, len(self.classes)), self._reader.probs.dtype)

        def note(taken: Taken) -> dict[str, Array]:
            places, columns = held.tolist(), table.columns
            kept = {}
            if self._policy is not None:
                before = [None if slot < 0 else columns.extra[slot] for slot in places]
                kept["extra"] = calls_after(before, self._new_calls, rows, observed[0], taken)
            if self._live is not None:
                before = [None if slot < 0 else columns.events[slot] for slot in places]
                kept["events"] = self._live.after(before, rows, taken)
                self._live.waiting.update(dict.fromkeys(rows.streams))
            return kept

        def look(times: Array, begin: list[Any]) -> None:
            if numbers:
                self._unit.look(times)
            self._spelling.look(begin)

        table = self._table
        with self._lock:
            noted = None if self._policy is None and self._live is None else note
            numbers = rows.time_kind.is_number and not self._unit.warned
            held = table.slots_of(rows.streams)
            last = np.full(len(held), -1)  # the class of each stream's estimate
            last[held >= 0] = classes_of(self._reader, table.columns.states[held[held >= 0]])
            taken = take_many(
                table, self._runner, rows, observed, held=held, live=True, note=noted, look=look
            )
            if not self._independent:
                before = classes_before(taken.estimates, rows.stream, last, taken.begins)
                probs = rows.probs.astype(taken.estimates.dtype, copy=False)
                self._counts.count_rows(source, probs, before, rows.time, taken.dt)
            if self._drops:
                new = {rows.streams[i] for i in np.flatnonzero(held < 0)}
                table.touch_many(names, taken.slots[rows.stream], rows.time, new)
                table.drop_old()
        return taken.estimates

    def next_source(self, stream: Hashable, time: Any) -> str:
        """Return the source that the policy would call for a stream at a time; nothing changes."""
        if self._policy is None:
            raise ValueError("the tracker has no policy; give one, such as Periodic(every=12)")
        at = time if type(time) is self._as_it_is else self._unit.seconds(time)
        table = self._table
        with self._lock:
            slot = self._slots.get(stream)
            calls = self._new_calls()
            if slot is not None and not at - table.columns.times[slot] > table.span:
                calls = table.columns.extra.item(slot)
            return calls.next_source(at)
