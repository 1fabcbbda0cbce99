"""The engine: a table of streams, their filter, and the stages after it. All rows pass here."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .. import _core
from ..errors import RowError
from ..filters import StreamRows, check_smoother, heads_of_filter, pack_state, unpack_state
from ..inputs import EXCLUSIVE, SORT, Heads, Rows, head_prediction, with_columns_of_streams
from ..pipeline import Pipeline, corrected_row
from ..policy import Policy
from ..support.types import Array, Bools, Floats, Ints
from .calls import Calls, calls_after
from .lag import GroupedRows, LagStage
from .packed import StreamRow
from .stages import Confirmed, Decided, Rule, RuleStage, Stages, first_predictions
from .table import StreamTable, check_name

UpdateStream = Callable[..., "Array | None"]


def update_stream_of(filter: Any, counts: Any = None) -> UpdateStream:  # noqa: A002
    """Return what takes a row of one of many streams: one call into C, if the filter can.

    Its arguments are the states and the times of all, the slot, the prediction, its weight, its
    time, the logarithms of a channel or None; and, where they are counted, the counts of the
    sources, with the number of this one. It returns None if the time goes back.
    """
    if hasattr(filter, "_update_stream"):
        compiled: UpdateStream = filter._update_stream
        return compiled

    heads = heads_of_filter(filter)

    def update(
        states: Array, times: Floats, slot: int, probs: ArrayLike, beta: float, at: float,
        logarithms: Any, _counts: Any = None, number: int = -1,
    ) -> Array | None:  # fmt: skip
        begins, predicted = math.isnan(times[slot]), probs
        dt = 0.0 if begins else at - float(times[slot])
        if not 0 <= dt < math.inf:
            return None
        if logarithms is not None:
            if heads.is_exclusive:
                probs = corrected_row((logarithms,), probs, heads)
            else:
                probs = corrected_row(logarithms, head_prediction(probs, heads), heads)
        filter.state = unpack_state(filter, states[slot])
        before = -1 if begins else filter.probs.argmax()
        estimate: Array = filter.update(probs, beta, dt)
        after = pack_state(filter.state, states.dtype)[None]
        _core.commit(states, times, np.array([slot]), after, np.array([at]))
        if counts is not None and heads.is_exclusive:
            counts.count_row(number, np.asarray(predicted, estimate.dtype), before, at, dt)
        return estimate

    return update


class Groups(NamedTuple):
    """The rows of a call, grouped: those of a stream from where it begins, or goes on.

    Attributes
    ----------
    order : ndarray of int (T,)
        The rows, one group after the other.
    dt, begins : ndarray (T,)
        Of the rows as they came: the time since the row of the same stream before, 0 where a stream
        begins, or begins anew; and whether it does.
    first : ndarray of int (G,)
        The place of the first row of each group in the order.
    stream : ndarray of int (G,)
        The number of its stream; it never decreases.
    goes_on : ndarray of bool (G,)
        Whether the stream had rows before this call, and goes on.
    counts : ndarray of int (G,)
        How many rows the group has.
    last : ndarray of bool (G,)
        Whether it is the last one of its stream.
    """

    order: Ints
    dt: Floats
    begins: Bools
    first: Ints
    stream: Ints
    goes_on: Bools
    counts: Ints
    last: Bools


class Taken(NamedTuple):
    """What many rows did to the streams.

    Attributes
    ----------
    estimates : ndarray (T, K)
        Of the filter, in the order of the rows.
    dt, begins : ndarray (T,)
        As in `Groups`.
    complete : GroupedRows or None
        Where there are stages after the filter: the rows that are complete, smoothed, and the
        numbers that they had as they came.
    """

    estimates: Array
    dt: Floats
    begins: Bools
    complete: GroupedRows | None


class Engine:
    """Many streams, each with a filter's state, and the stages after the filter.

    A call takes all of its rows or, at an error, none, and changes nothing then.

    Parameters
    ----------
    pipeline : Pipeline, optional
        Filters the rows; without it, they are taken as they are.
    smoother : Pipeline, optional
        Smooths them, with `lag` later rows, or with all of them.
    rule : EventRule or ThresholdRule, optional
        Decides events of the smoothed rows, if there are any, or else of the estimates.
    policy : Policy, optional
        Takes note of each row.
    heads, dtype
        Of rows that are taken as they are.
    starts : bool, default False
        Whether the starts of events are kept, for `pop_starts`.
    threads : int, optional
        The number of threads of a call; by default that of processors.
    limits
        Of the `StreamTable`.

    Attributes
    ----------
    table : StreamTable
        The streams, their states, and the events that were confirmed.
    stages : Stages
        What comes after the filter.
    """

    def __init__(
        self,
        pipe: Pipeline | None,
        *,
        smoother: Pipeline | None = None,
        lag: int | None = None,
        rule: Rule | None = None,
        policy: Policy | None = None,
        heads: Heads = EXCLUSIVE,
        dtype: DTypeLike = np.float64,
        starts: bool = False,
        threads: int | None = None,
        **limits: Any,
    ) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads is {threads}; it must be at least 1")
        self._pipe, self._smoother, self._policy, self._threads = pipe, smoother, policy, threads
        settings, start = smoother or pipe, np.zeros(1)
        if settings is not None:
            heads, dtype = settings.heads, settings._dtype
        if pipe is not None:
            self.runner = pipe.runner
            start = self.runner.start
        held = None if smoother is None else LagStage(check_smoother(smoother.filter), lag)
        rules = None
        if rule is not None:
            rules = RuleStage(rule, heads, dtype, waits=settings is not None, starts=starts)
        self.stages = Stages(held, rules, heads, dtype)
        self._heads = heads
        self.table = StreamTable(start, self.stages, **limits)
        self._numbered = 0

    def __len__(self) -> int:
        """Return the number of streams."""
        return len(self.table)

    # ---- many rows ----

    def take(
        self,
        rows: Rows,
        *,
        over: Collection[Hashable] = (),
        live: bool = False,
        slots: Ints | None = None,
        look: Callable[[Floats, list[Any]], None] | None = None,
    ) -> Taken:
        """Take many rows, in their order: each stream follows, all at once.

        The streams that are `over` have no later rows: they are forgotten, and their last events
        confirmed. The clock of the table is left to the caller. Errors of `live` rows name the
        stream: nobody can sort them. `slots` are those of the streams, where they are looked up
        already. `look` gets the times with which streams begin, and their names, before anything
        changes.
        """
        table, names = self.table, rows.streams
        observed = None if self._pipe is None else _observed(self._pipe, rows)
        to_smooth = None if self._smoother is None else _observed(self._smoother, rows)
        slots = table.slots_of(names) if slots is None else slots
        try:
            groups = self._grouped(rows, slots)
        except RowError as error:
            late = error.argument == "time" and live
            raise (of_stream if late else with_columns_of_streams)(error, rows) from None
        ends = np.zeros(len(names), bool)
        if over:
            ends[:] = [name in over for name in names]
        if observed is None:
            estimates, after = rows.probs, np.repeat(table.start[None], len(groups.first), axis=0)
        else:
            estimates, after = self._filtered(groups, slots, observed)
        columns, final, complete = dict[str, Array](), list[tuple[Any, Decided]](), None
        if self.stages:
            to_decide = to_smooth or observed or (rows.stacked(), np.ones(len(rows)))
            columns, final, complete = self._later(rows, groups, slots, ends, estimates, to_decide)
        if self._policy is not None and observed is not None:
            before = [None if slot < 0 else table.columns.extra[slot] for slot in slots.tolist()]
            predictions = self._heads.for_filter(observed[0])
            columns["extra"] = calls_after(
                before, self.new_calls, rows, predictions,
                estimates=estimates, dt=groups.dt, begins=groups.begins,
            )[groups.stream]  # fmt: skip
        self._commit(rows, groups, slots, ends, after, columns, final, look)
        self._numbered += rows.time.size
        return Taken(estimates, groups.dt, groups.begins, complete)

    def _commit(
        self,
        rows: Rows,
        groups: Groups,
        slots: Ints,
        ends: Bools,
        states: Array,
        columns: Mapping[str, Array],
        final: list[tuple[Any, Decided]],
        look: Callable[[Floats, list[Any]], None] | None,
    ) -> None:
        """Write what is known of each stream after its last group; `columns` are more of it."""
        table, names = self.table, rows.streams
        begins = ~groups.goes_on & ~ends[groups.stream]
        moving = [names[i] for i in dict.fromkeys(groups.stream[begins].tolist())]
        for name in moving:
            check_name(name)
        if look is not None and moving:
            look(rows.time[groups.order[groups.first[begins]]], moving)
        stays = groups.last & ~ends[groups.stream]
        last_row = groups.order[(groups.first + groups.counts)[stays] - 1]
        stream = groups.stream[stays]
        new = [names[i] for i in stream[slots[stream] < 0].tolist()]
        staying = {name: column[stays] for name, column in columns.items()}
        table.commit(slots[stream], new, states[stays], rows.time[last_row], staying, final)
        for i in np.flatnonzero(ends & (slots >= 0)).tolist():
            table.discard(names[i])

    def _grouped(self, rows: Rows, slots: Ints) -> Groups:
        table, is_held = self.table, slots >= 0
        last = np.full(len(slots), np.nan)
        last[is_held] = table.columns.times[slots[is_held]]
        order, gaps, first = rows.grouped(last)
        if table.max_jump is not None:
            self._check_jumps(rows, order, gaps, first, table.max_jump)
        anew = np.flatnonzero(gaps > table.span)
        if not anew.size:
            stream = rows.stream[order[first]]
            goes_on = is_held[stream]
        else:
            gaps, first = gaps.copy(), np.union1d(first, anew)
            gaps[anew] = 0.0
            stream = rows.stream[order[first]]
            goes_on = is_held[stream] & ~np.isin(first, anew)
        dt, begins = np.empty(len(order)), np.zeros(len(order), bool)
        dt[order], begins[order[first[~goes_on]]] = gaps, True
        return Groups(
            order=order, dt=dt, begins=begins, first=first, stream=stream, goes_on=goes_on,
            counts=np.diff(first, append=len(order)), last=np.diff(stream, append=-1) != 0,
        )  # fmt: skip

    def _check_jumps(
        self, rows: Rows, order: Ints, gaps: Floats, first: Ints, max_jump: float
    ) -> None:
        """Raise for the first row that is too far ahead, unless the table waits for such a time."""
        table = self.table
        far = np.flatnonzero(gaps > max_jump).tolist()
        for i in sorted(far, key=lambda i: int(order[i])):
            row = int(order[i])
            name, time, begins = rows.streams[rows.stream[row]], rows.time, i in first
            last = float(table.columns.times[table.slots[name]] if begins else time[order[i - 1]])
            if begins and table.confirms(name, float(time[row])):
                continue
            if begins:
                table.remember_jump(name, float(time[row]))
            raise table.jump_error(name, last, float(time[row])).replaced(argument="times", row=row)

    def _filtered(
        self, groups: Groups, slots: Ints, observed: tuple[Array, Floats]
    ) -> tuple[Array, Array]:
        """Return the estimates of all rows, as they came, and the state after each group."""
        table = self.table
        states = np.repeat(table.start[None], len(groups.first), axis=0)
        states[groups.goes_on] = table.columns.states[slots[groups.stream[groups.goes_on]]]
        dtype = table.start.dtype
        probs, beta, dt = (np.ascontiguousarray(x, dtype) for x in (*observed, groups.dt))
        estimates = np.empty((len(probs), len(self._heads.shown)), dtype)
        of_streams = StreamRows(
            self._heads.for_filter(probs), beta, dt, groups.order, groups.counts
        )
        return estimates, self.runner.run(states, of_streams, estimates, self._threads)

    def _later(
        self,
        rows: Rows,
        groups: Groups,
        slots: Ints,
        ends: Bools,
        estimates: Array,
        observations: tuple[Array, Floats],
    ) -> tuple[dict[str, Array], list[tuple[Any, Decided]], GroupedRows]:
        """Run the stages after the filter; `observations` are predictions and weights.

        Return the columns of the table after each group, the final events, and the complete rows.
        """
        table, names, order = self.table, rows.streams, groups.order
        probs, weight = observations[0][order], observations[1][order]
        first_seen = first_predictions(rows.time[order], probs, weight, groups.first)
        of_groups = GroupedRows(
            stream=np.repeat(np.arange(len(groups.first)), groups.counts),
            number=self._numbered + order,
            time=rows.time[order],
            dt=groups.dt[order],
            probs=estimates[order] if self.stages.lag is None else probs,
            weight=weight,
        )
        first = np.diff(groups.stream, prepend=-1) != 0
        begins_anew = first & ~groups.goes_on & (slots[groups.stream] >= 0)
        final: list[tuple[Any, Decided]] = []
        for i in groups.stream[begins_anew].tolist():
            final.append((names[i], table.last_events(names[i])))
        ages = zip(slots[groups.stream].tolist(), groups.goes_on.tolist(), strict=True)
        before = [table.later(slot) if goes_on else self.stages.start() for slot, goes_on in ages]
        over = ~groups.last | ends[groups.stream]
        after, complete, decided = self.stages.run(before, of_groups, over, first_seen)
        final += [(names[i], news) for i, news in zip(groups.stream.tolist(), decided, strict=True)]
        held = as_column([state.held for state in after])
        return {"held": held, "events": as_column([state.rule for state in after])}, final, complete

    def finish(self, streams: Iterable[Hashable] | None = None) -> GroupedRows:
        """End streams, or all: their last events are confirmed; return their last smoothed rows."""
        table = self.table
        names = list(table.slots if streams is None else streams)
        rows, decided = self.stages.finish([table.later(table.slots[name]) for name in names])
        for name, news in zip(names, decided, strict=True):
            table.keep([(name, news)])
            table.discard(name)
        return rows

    # ---- one row ----

    def new_calls(self) -> Calls:
        """Return what the policy knows of a new stream."""
        assert self._policy is not None
        assert self._pipe is not None
        return Calls(self._policy, self._pipe.filter.probs, self._heads)

    def take_one(
        self,
        update: UpdateStream,
        stream: Hashable,
        at: float,
        observed: tuple[Any, Any],
        smoothed: tuple[Any, Any] | None = None,
        source: str = "",
    ) -> Array:
        """Take one row: filter, policy and events, or nothing. It equals `take` of one row.

        `observed` are the prediction as the filter gets it and its weight, `smoothed` those for the
        smoother.
        """
        table, begins = self.table, self.table.begins(stream, at)
        slot, columns = table.slots.get(stream, -1), table.columns
        state, time, dt = table.start[None].copy(), np.array([np.nan]), 0.0
        if not begins:
            state, time = columns.states[[slot]], columns.times[[slot]]
            dt = at - float(time[0])
        probs, beta = observed
        estimate = update(state, time, 0, probs, beta, at, None)
        if estimate is None:
            raise table.time_error(stream, slot, at)
        changes, final = dict[str, Array](), list[tuple[Any, Decided]]()
        if self._policy is not None:
            calls = self.new_calls() if begins else columns.extra[slot].copy()
            calls.note(source, at, probs, estimate, dt)
            changes["extra"] = as_column([calls])
        if self.stages:
            if begins and slot >= 0:
                final.append((stream, table.last_events(stream)))
            before = self.stages.start() if begins else table.later(slot)
            after, decided = self.stages.update(before, at, estimate, smoothed or observed, dt)
            changes |= {"held": as_column([after.held]), "events": as_column([after.rule])}
            final.append((stream, decided))
        new = [stream] if slot < 0 else []
        table.commit(np.array([slot]), new, state, time, changes, final)
        if table.drops:
            table.touch(stream, table.slots[stream], at)
        return estimate

    def current(self, slot: int) -> Any:
        """Return the event that a stream ends with at present, or those of several labels."""
        state, rule = self.table.columns.events[slot], self.stages.rule
        return None if state is None or rule is None else rule.current(state)

    def pop(self) -> list[tuple[Any, Confirmed]]:
        """Return the events that were confirmed since the last call, with their streams.

        Their starts, if they were not fetched, are dropped.
        """
        table = self.table
        # Without a call in between: a signal's handler finds all of them, or none.
        confirmed, table.confirmed = table.confirmed, []
        for stream, (k, start, *_) in confirmed if table.started else ():
            table.started.pop((stream, k, start), None)
        return confirmed

    def pop_starts(self) -> list[tuple[Any, int, float]]:
        """Return the starts that became final since the last call: stream, class and time."""
        table = self.table
        started, table.started = table.started, {}
        return list(started)

    # ---- a store that keeps each stream by itself ----

    def put(self, stream: Hashable, row: StreamRow) -> None:
        """Take a stream that a store of rows has."""
        table, later = self.table, self.stages.unpack(row.later)
        slot = table.add(stream)
        columns = table.columns
        columns.states[slot], columns.times[slot] = row.numbers, row.time
        columns.extra[slot], columns.held[slot], columns.events[slot] = row.ties, *later

    def row(self, stream: Hashable) -> StreamRow:
        """Return a stream for a store of rows."""
        slot, columns = self.table.slot(stream), self.table.columns
        later = self.stages.pack(self.table.later(slot))
        numbers, time = columns.states[slot].copy(), float(columns.times[slot])
        return StreamRow(time, columns.extra[slot], numbers, later)


def _observed(pipe: Pipeline, rows: Rows) -> tuple[Array, Floats]:
    return pipe.observe_rows(rows.factorized_sources, rows.probs, rows.one_hot, rows.classes)


def as_column(values: Sequence[Any]) -> Array:
    """Return values, whatever they are, as a column."""
    column = np.empty(len(values), object)
    for i, value in enumerate(values):
        column[i] = value
    return column


def of_stream(error: RowError, rows: Rows) -> RowError:
    """Return the error of a row's time with the name of its stream, and without sorting."""
    name = rows.streams[rows.stream[error.row or 0]]
    problem = f"{error.problem} of stream {name!r}"
    fix = "give the rows of a stream in order of time"
    changes = {} if error.fix != SORT else {"fix": fix}
    return error.replaced(argument="times", problem=problem, **changes)
