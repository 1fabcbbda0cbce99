"""Rows of streams: what comes in, and what a table of streams makes of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..errors import ArgumentError, Remedy, RowError
from ..filters import StreamRows, StreamRunner, pack_state, unpack_state
from ..inputs import Rows, order_of, predictions, read_times
from ..pipeline import DEFAULT_SOURCE, corrected
from ..support.types import Array, Confidence, Floats, Ints
from ..support.validation import factorize
from .health import SourceCounts
from .streams import StreamTable, check_name

UpdateStream = Callable[..., "Array | None"]


def update_stream_of(filter: Any, counts: SourceCounts | None = None) -> UpdateStream:  # noqa: A002
    """Return what takes a row of one of many streams: one call into C, if the filter can.

    Its arguments are the states and the times of all, the slot, the prediction, its weight, its
    time, the logarithms of a channel or None; and, where they are counted, the counts of the
    sources, with the number of this one. It returns None if the time goes back.
    """
    if hasattr(filter, "_update_stream"):
        compiled: UpdateStream = filter._update_stream
        return compiled

    def update(
        states: Array, times: Floats, slot: int, probs: ArrayLike, beta: float, at: float,
        logarithms: Any, _counts: Any = None, number: int = -1,
    ) -> Array | None:  # fmt: skip
        begins, given = math.isnan(times[slot]), probs
        dt = 0.0 if math.isnan(times[slot]) else at - float(times[slot])
        if not 0 <= dt < math.inf:
            return None
        if logarithms is not None:
            probs = corrected(logarithms, probs)
        filter.state = unpack_state(filter, states[slot])
        before = -1 if begins else filter.probs.argmax()
        estimate: Array = filter.update(probs, beta, dt)
        after = pack_state(filter.state, states.dtype)[None]
        _core.commit(states, times, np.array([slot]), after, np.array([at]))
        if counts is not None:
            counts.count_row(number, np.asarray(given, estimate.dtype), before, at, dt)
        return estimate

    return update


class Taken(NamedTuple):
    """What many rows did to a table.

    Attributes
    ----------
    estimates : ndarray (T, K)
        In the order of the rows.
    dt : ndarray (T,)
        The time since the row of the same stream before; 0 where one begins, or begins anew.
    begins : ndarray of bool (T,)
        Whether a stream begins with the row, or begins anew.
    slots : ndarray of int (N,)
        Of each stream, where it is now.
    """

    estimates: Array
    dt: Floats
    begins: Array
    slots: Ints


def take_many(
    table: StreamTable,
    runner: StreamRunner,
    rows: Rows,
    observed: tuple[Floats, Floats],
    *,
    held: Ints | None = None,
    live: bool = False,
    threads: int | None = None,
    note: Callable[[Taken], dict[str, Array]] | None = None,
    look: Callable[[Floats, list[Any]], None] | None = None,
) -> Taken:
    """Take many rows, in their order: each stream's state and time follow, all at once.

    The table's clock is left to the caller. At an error nothing changes. `observed` has the
    predictions as the filter gets them, and their weights. `held` are the streams' slots, where
    they are looked up already. Errors of `live` rows name the stream: nobody can sort them. `note`
    gets the results before the table does, and returns what else the table keeps of each stream.
    `look` gets the times with which streams begin, and their names, before anything changes.
    """
    names, time = rows.streams, rows.time
    slots = table.slots_of(names) if held is None else held.copy()
    try:
        order, dt, begins, starts = _grouped(table, rows, slots)
    except RowError as error:
        late = error.argument == "time" and live
        raise of_stream(error, rows) if late else error from None
    owner, goes_on = rows.stream[order[starts]], ~begins[order[starts]]
    counts = np.diff(np.append(starts, len(order)))
    dtype = table.start.dtype
    probs, beta, steps = (np.ascontiguousarray(x, dtype) for x in (*observed, dt))
    estimates = np.empty(probs.shape[:2], dtype)  # of several labels, probs may be pairs
    final = np.flatnonzero(np.diff(owner, append=-1) != 0)  # the last group of each stream
    who, moved = owner[final], ~goes_on[final]
    moving = [names[i] for i in who[moved]]
    for name in moving:
        check_name(name)
    if moving and look is not None:
        look(time[order[starts[~goes_on]]], moving)
    new = dict(zip(moving, table.reserve(len(moving)), strict=True))
    try:
        old = slots.copy()
        slots[who[moved]] = list(new.values())  # they have the state of a stream that begins
        where = np.where(goes_on, old[owner], slots[owner])
        grouped = StreamRows(probs, beta, steps, order, counts, where)
        after = runner.run(table.columns.states, grouped, estimates, threads)
        taken = Taken(estimates, dt, begins, slots)
        kept = {} if note is None else {key: x[who] for key, x in note(taken).items()}
        ends = order[starts[final] + counts[final] - 1]
        table.commit(slots[who], after[final], time[ends], kept, new)
    except BaseException:
        table.release_unnamed(new)
        raise
    return taken


def _grouped(table: StreamTable, rows: Rows, slots: Ints) -> tuple[Ints, Floats, Array, Ints]:
    """Return the rows grouped by stream, their time steps, which rows begin a stream, and groups.

    A group is the rows of a stream from where it begins, or goes on, to where it begins anew; it is
    told by its first place in the order.
    """
    known = slots >= 0
    last = np.full(len(slots), np.nan)
    last[known] = table.columns.times[slots[known]]
    order, gaps = order_of(rows, last)
    grouped = rows.stream[order]
    first = np.diff(grouped, prepend=-1) != 0
    _check_jumps(table, rows, order, gaps, first)
    anew = gaps > table.span
    start = anew | (first & ~known[grouped])
    gaps[start] = 0.0
    dt, begins = np.empty(len(order)), np.empty(len(order), bool)
    dt[order], begins[order] = gaps, start
    return order, dt, begins, np.flatnonzero(first | anew)


def _check_jumps(table: StreamTable, rows: Rows, order: Ints, gaps: Floats, first: Array) -> None:
    """Raise for the first row that is too far ahead, unless the table waits for such a time."""
    if table.max_jump is None:
        return
    for i in sorted(np.flatnonzero(gaps > table.max_jump).tolist(), key=lambda i: int(order[i])):
        row = int(order[i])
        name, time = rows.streams[rows.stream[row]], rows.time
        last = float(table.columns.times[table.slots[name]] if first[i] else time[order[i - 1]])
        if first[i] and table.confirms(name, float(time[row])):
            continue
        if first[i]:
            table.remember_jump(name, float(time[row]))
        raise table.jump_error(name, last, float(time[row])).replaced(argument="times", row=row)


def take_rows(
    streams: Sequence[Hashable] | Array,
    times: Any,
    sources: ArrayLike | str | None,
    probs: Any,
    classes: tuple[str, ...],
    confidence: Confidence | None = None,
    unit: str | None = None,
    *,
    independent: bool = False,
) -> tuple[Rows, list[Any]]:
    """Return rows of streams, checked, and the name of the stream of each."""
    if streams is None:
        remedy = "let a tracker give each object an id first: without one, tracker_id is None"
        raise ArgumentError("streams", None, rule="every row needs the name of its stream",
                            remedy=remedy)  # fmt: skip
    names: list[Any] = streams.tolist() if hasattr(streams, "tolist") else list(streams)
    one_time = isinstance(times, str) or np.ndim(times) == 0
    t, kind = read_times([times] * len(names) if one_time else times, unit)
    if sources is None or isinstance(sources, str):
        sources = [sources or DEFAULT_SOURCE] * len(names)
    cells = [DEFAULT_SOURCE if name is None else str(name) for name in np.asarray(sources, object)]
    outputs = predictions(probs, classes, confidence, independent=independent)
    counts = {"times": len(t), "sources": len(cells), "probs": len(outputs.one_hot)}
    for label, count in counts.items():
        if count != len(names):
            raise ValueError(f"{label} has {count} rows, streams {len(names)}; give one per row")
    stream, source = factorize(names), factorize(cells)
    rows = Rows(
        time=t,
        stream=stream.codes,
        streams=tuple(stream.categories),
        source=source.codes,
        sources=tuple(source.categories),
        probs=outputs.probs,
        one_hot=outputs.one_hot,
        classes=classes,
        independent=independent,
        time_kind=kind,
    )
    return rows, names


def of_stream(error: RowError, rows: Rows) -> RowError:
    """Return the error of a row's time with the name of its stream, and without sorting."""
    name = rows.streams[rows.stream[error.row or 0]]
    problem = f"{error.problem} of stream {name!r}"
    remedy = "give the rows of a stream in order of time"
    changes = {} if error.remedy is not Remedy.SORT else {"remedy": remedy}
    return error.replaced(argument="times", problem=problem, **changes)
