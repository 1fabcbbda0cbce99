"""Rows of streams: what comes in, and what a table of streams makes of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..errors import ArgumentError, Remedy, RowError
from ..filters import StreamRows, StreamRunner, pack_state, stable_argsort, unpack_state
from ..inputs import Predictions, TimeKind, predictions, read_times
from ..pipeline import DEFAULT_SOURCE, corrected
from ..support.types import Array, Confidence, Floats, Ints
from ..support.validation import Factorized, factorize
from .health import SourceCounts
from .streams import StreamTable, check_name

LONGEST_STEP = 1e30
"""The largest time between two rows that a filter takes."""

NUMBERS = TimeKind()

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
    streams: Factorized,
    time: Floats,
    observed: tuple[Floats, Floats],
    *,
    held: Ints | None = None,
    sort: bool | None = False,
    threads: int | None = None,
    note: Callable[[Taken], dict[str, Array]] | None = None,
    look: Callable[[Floats], None] | None = None,
    kind: TimeKind = NUMBERS,
) -> Taken:
    """Take many rows, in their order: each stream's state and time follow, all at once.

    The table's clock is left to the caller. At an error nothing changes. `held` are the streams'
    slots, where they are looked up already. With `sort`, the rows of
    a stream come in any order of time; None is for live rows, which nobody can sort. `note` gets
    the results before the table does, and returns what else the table keeps of each stream. `look`
    gets the times with which streams begin, before anything changes. `kind` is what the times were.
    """
    names = streams.categories
    slots = table.slots_of(names) if held is None else held.copy()
    try:
        order, dt, begins, starts = _grouped(table, streams, slots, time, bool(sort), kind)
    except RowError as error:
        late = error.argument == "time" and sort is None
        raise of_stream(error, streams) if late else error from None
    owner, goes_on = streams.codes[order[starts]], ~begins[order[starts]]
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
        look(time[order[starts[~goes_on]]])
    new = dict(zip(moving, table.reserve(len(moving)), strict=True))
    try:
        old = slots.copy()
        slots[who[moved]] = list(new.values())  # they have the state of a stream that begins
        where = np.where(goes_on, old[owner], slots[owner])
        rows = StreamRows(probs, beta, steps, order, counts, where)
        after = runner.run(table.columns.states, rows, estimates, threads)
        taken = Taken(estimates, dt, begins, slots)
        kept = {} if note is None else {key: x[who] for key, x in note(taken).items()}
        ends = order[starts[final] + counts[final] - 1]
        table.commit(slots[who], after[final], time[ends], kept, new)
    except BaseException:
        table.release_unnamed(new)
        raise
    return taken


def _grouped(
    table: StreamTable, streams: Factorized, slots: Ints, time: Floats, sort: bool, kind: TimeKind
) -> tuple[Ints, Floats, Array, Ints]:
    """Return the rows grouped by stream, their time steps, which rows begin a stream, and groups.

    A group is the rows of a stream from where it begins, or goes on, to where it begins anew; it is
    told by its first place in the order.
    """
    known = slots >= 0
    last = np.full(len(slots), np.nan)
    last[known] = table.columns.times[slots[known]]
    order, gaps = group_and_sort(time, streams.codes, sort, last, kind)
    grouped = streams.codes[order]
    first = np.diff(grouped, prepend=-1) != 0
    _check_jumps(table, streams, time, order, gaps, first)
    anew = gaps > table.span
    start = anew | (first & ~known[grouped])
    gaps[start] = 0.0
    dt, begins = np.empty(len(order)), np.empty(len(order), bool)
    dt[order], begins[order] = gaps, start
    return order, dt, begins, np.flatnonzero(first | anew)


def group_and_sort(
    time: Floats,
    stream: Ints,
    sort: bool = False,
    last: Floats | None = None,
    kind: TimeKind = NUMBERS,
) -> tuple[Ints, Floats]:
    """Return the rows grouped by stream, in order of time, and their time since the row before.

    `last` is the time of each stream's row before the first one here, NaN where there is none.
    `kind` is what the times were, as errors show them.
    """
    order: Ints = np.lexsort((time, stream)) if sort else stable_argsort(stream)
    t, which = time[order], stream[order]
    before = np.concatenate([t[:1], t[:-1]])
    first = np.flatnonzero(np.diff(which, prepend=-1))
    before[first] = t[first]
    if last is not None:
        known = first[~np.isnan(last[which[first]])]
        before[known] = last[which[known]]
    with np.errstate(over="ignore"):
        dt: Floats = t - before
    wrong = (dt < 0) | (dt > LONGEST_STEP)
    if np.any(wrong):
        at = min(np.flatnonzero(wrong), key=lambda i: order[i])
        raise _order_error(float(t[at]), float(before[at]), int(order[at]), kind)
    return order, dt


def _order_error(time: float, before: float, row: int, kind: TimeKind) -> RowError:
    """Return the error of a row whose time is not after that of the row before it."""
    back = time < before
    shown, other = "{}", repr(before)
    if kind.text(time) != kind.text(before) and kind.kind == "date":
        shown, other = kind.text(time), kind.text(before)
    hints: tuple[str, ...] = ()
    if kind.kind == "date" and kind.zone is None and 0 < before - time <= 3600:
        hints = ("if clocks were set back then, give dates with their offset, such as +02:00",)
    return RowError(
        "time",
        time,
        f"is {shown}, {'before' if back else 'too long after'} {other}, that of the row before it",
        remedy=Remedy.SORT if back else "leave the row out",
        row=row,
        hints=hints,
    )


def _check_jumps(
    table: StreamTable, streams: Factorized, time: Floats, order: Ints, gaps: Floats, first: Array
) -> None:
    """Raise for the first row that is too far ahead, unless the table waits for such a time."""
    if table.max_jump is None:
        return
    for i in sorted(np.flatnonzero(gaps > table.max_jump).tolist(), key=lambda i: int(order[i])):
        row = int(order[i])
        name = streams.categories[streams.codes[row]]
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
) -> tuple[list[Any], Floats, TimeKind, Factorized, Predictions]:
    """Return the streams, times, their kind, sources and predictions of rows, checked."""
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
    source = factorize(cells)
    rows = predictions(probs, classes, confidence, independent=independent)
    for label, count in {"times": len(t), "sources": len(cells), "probs": len(rows.hard)}.items():
        if count != len(names):
            raise ValueError(f"{label} has {count} rows, streams {len(names)}; give one per row")
    return names, t, kind, source, rows


def of_stream(error: RowError, streams: Factorized) -> RowError:
    """Return the error of a row's time with the name of its stream, and without sorting."""
    name = streams.categories[streams.codes[error.row or 0]]
    problem = f"{error.problem} of stream {name!r}"
    remedy = "give the rows of a stream in order of time"
    changes = {} if error.remedy is not Remedy.SORT else {"remedy": remedy}
    return error.replaced(argument="times", problem=problem, **changes)
