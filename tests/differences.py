"""Where the entry points differ, and why; each difference as a change of the cases.

docs/differences.md has the same table, without the reasons. Apart from these, the results of all
entry points are bit-identical.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hostile_rows import CLASSES, DAY, MISSING, Case, Expire, Restart, Row, Step


def unchanged(case: Case) -> Case:
    return case


@dataclass(frozen=True)
class Difference:
    """What differs at some entry points; `apply` gives the part of a case that is left."""

    where: str
    what: str
    why: str
    apply: Callable[[Case], Case] = unchanged


def changed(case: Case, row: Callable[[Row], Row]) -> Case:
    steps = tuple(row(step) if isinstance(step, Row) else step for step in case.steps)
    return replace(case, steps=steps)


def without(*kinds: type) -> Callable[[Case], Case]:
    """Return what leaves some kinds of steps out."""

    def apply(case: Case) -> Case:
        return replace(case, steps=tuple(s for s in case.steps if not isinstance(s, kinds)))

    return apply


def without_limits(*names: str) -> Callable[[Case], Case]:
    """Return what leaves some limits out; without `expire_after`, nothing is there to expire."""

    def apply(case: Case) -> Case:
        limits = {key: value for key, value in case.limits.items() if key not in names}
        kept = case if "expire_after" in limits else without(Expire)(case)
        return replace(kept, limits=limits)

    return apply


def in_one_call(case: Case) -> Case:
    """Cut the rows into calls; those of jumps have one row, since what a refused call of several
    remembers is not said.
    """
    return case if "max_jump" in case.limits else replace(case, calls=case.rows_a_call)


def text_names(case: Case) -> Case:
    return changed(case, lambda row: replace(row, stream=str(row.stream)))


def each_by_itself(case: Case) -> Case:
    return replace(without(Expire)(case), apart=True)


def filled_in(case: Case) -> Case:
    return changed(case, lambda row: replace(row, source=row.source or "default"))


def missing_if_invalid(case: Case) -> Case:
    def row(row: Row) -> Row:
        valid = isinstance(row.probs, str) or row.probs is MISSING or (
            min(row.probs) >= 0 and abs(sum(row.probs) - 1) <= 0.05
        )  # fmt: skip
        return row if valid else replace(row, probs=MISSING)

    return changed(case, row)


def sorted_rows(case: Case) -> Case:
    """Sort the rows as Spark does: null comes first."""

    def place(row: Row) -> tuple[Any, ...]:
        p = (math.nan,) * len(CLASSES) if isinstance(row.probs, str) else row.probs
        cells = row.time, row.source, *(p[CLASSES.index(name)] for name in case.columns)
        comparable = ((False, 0) if cell != cell else (True, cell) for cell in cells)
        return (row.stream, *comparable, str(row.probs))

    rows: list[Step] = [*sorted(case.rows, key=place)]
    return replace(case, steps=tuple(rows))


def no_duplicates(case: Case) -> Case:
    known: set[Any] = set()
    twice = set()
    for number, row in enumerate(case.rows):
        key = row.stream, row.time, row.source, str(row.probs)
        if key in known:
            twice.add(number)
        known.add(key)
    return replace(case, refused=case.refused | twice)


def none_ahead(case: Case) -> Case:
    ahead = {number for number, row in enumerate(case.rows) if row.time > 1e11}
    return replace(case, refused=case.refused | ahead)


def in_single_precision(case: Case) -> Case:
    return replace(case, filter="single")


FRAME, QUERY = "`spark.filter_frame`", "`spark.filter_stream`"
CALL = Difference(
    "`Tracker.update_many`",
    "An invalid row rejects the whole call. Streams are dropped after the call.",
    "A call that did half of its work could not be repeated.",
    in_one_call,
)
WHOLE_TABLE = Difference(
    "tables, files",
    "An invalid row rejects the whole table. `cf.rows(df, sort=True)` takes late rows.",
    "You can correct a table and filter it again.",
)
NO_EXPIRY = Difference(
    "tables, files, `spark.filter_frame`",
    "No stream expires or is dropped, and no time is too far ahead.",
    "Every row of a table gets a result.",
    without_limits("expire_after", "max_streams", "max_jump"),
)
FILLED = Difference(
    "tables, files, Spark",
    'A null source is rejected. Without a column `source`, it is "default".',
    "A gap is more likely a mistake than a name.",
    filled_in,
)
TEXT = Difference(
    "`filter_file`, `classfilter stream`, Spark",
    'Streams 1 and "1" are the same.',
    "Names in files are text.",
    text_names,
)
KEYS = Difference(
    "`classfilter stream`",
    "A line may lack `stream` and `source`, but not a prediction. A row of a file may "
    "lack a prediction, but not a `stream` or `source` that other rows have.",
    "A line stands alone; a file has columns.",
)
REPLAYED = Difference(
    "`classfilter stream --state`",
    "After a restart, lines that the state has are skipped and counted.",
    "Lines are replayed after a crash; `--line-number` tells them from late ones.",
)
LINES_ARE_THE_CLOCK = Difference(
    "`classfilter stream`",
    "There is no `expire(now)`.",
    "While it waits, it needs no memory back.",
    without(Expire),
)
DEFAULT_JUMP = Difference(
    "`classfilter stream`",
    "`--max-jump` is 366 days by default; elsewhere there is no limit.",
    "One wrong time would make all later ones late.",
    lambda case: replace(case, limits={"max_jump": 366 * DAY, **case.limits}),
)
LISTS = Difference(
    "`classfilter stream`",
    "The labels that are on are a list; in tables and files, text with commas.",
    "JSON has lists; CSV does not.",
)
ONE_STREAM = Difference(
    "`Cascade`",
    "There is one stream. It never expires, and no time is too far ahead.",
    "The program that calls `step` is the clock.",
    lambda case: each_by_itself(without_limits("expire_after", "max_streams", "max_jump")(case)),
)
NEVER_STOPS = Difference(
    "`Cascade`",
    "An invalid prediction is logged and counts as missing.",
    "A source that fails must not stop the loop.",
    missing_if_invalid,
)
SORTED = Difference(
    FRAME,
    "Rows are sorted by stream, time, source and prediction, so none is late.",
    "A DataFrame has no order.",
    sorted_rows,
)
BATCHES = Difference(
    QUERY,
    "Rows are sorted within a micro-batch.",
    "A micro-batch has no order.",
)
STATUS = Difference(
    "Spark",
    "Rejected rows come out with a `status` and an `error`; an invalid one fails the "
    'query, unless `invalid="quarantine"`.',
    "You would notice a vanished row too late.",
)
WATERMARK = Difference(
    QUERY,
    "The clock of all streams is Spark's watermark. There is no `max_streams` and no `max_jump`.",
    "No worker sees all streams.",
    lambda case: each_by_itself(without_limits("max_streams", "max_jump")(case)),
)
AHEAD = Difference(
    QUERY,
    'A row more than `max_ahead` after the wall clock is rejected as "ahead".',
    "It would move the watermark for all streams.",
    none_ahead,
)
DUPLICATES = Difference(
    QUERY,
    'A row is rejected as "duplicate" if its stream has one with the same time, source '
    "and prediction.",
    "Message queues deliver twice.",
    no_duplicates,
)
NO_FILE = Difference(
    "JavaScript's `Tracker`",
    "There are no `update_many`, `hand_over`, `save` and `load`.",
    "A page has few streams, and no file.",
    without(Restart),
)
LIVE_EVENTS_IN_SPARK = Difference(
    "`spark.event_stream`",
    "The rule is an `EventRule`. The last event of a stream comes once the stream expires.",
    "A query has no end, which a `ThresholdRule` needs.",
)
NO_EVENTS = Difference(
    "`Cascade`",
    "There are no events: pass the results to `cf.events`, or use a `Tracker`.",
    "It only chooses and calls classifiers.",
)
NO_SMOOTHING = Difference(
    "JavaScript",
    "There is no `lag` and no smoothing.",
    "Each report contains the WebAssembly, so it is kept small.",
)
DEVICE = Difference(
    "exported firmware",
    "There is one stream. The caller gives the time since the last row, which is not checked.",
    "A device has its own clock.",
    lambda case: each_by_itself(without_limits("expire_after", "max_streams", "max_jump")(case)),
)
SINGLE = Difference(
    "exported firmware",
    "All numbers are single precision, also `dt`.",
    "Few microcontrollers compute in double precision.",
    in_single_precision,
)
TICKS = Difference(
    "exported firmware",
    "Event times are ticks of a 32-bit clock. Of more than 16 unconfirmed segments, the "
    "oldest is decided early.",
    "The memory of a device is fixed.",
)
FROM_THE_FIRST_ROW = Difference(
    "exported firmware",
    "Events begin with the first row that `cf_decide_f32` gets, also before any prediction.",
    "The program chooses the rows.",
)
DIFFERENCES = [
    CALL, WHOLE_TABLE, NO_EXPIRY, FILLED, TEXT, KEYS, LINES_ARE_THE_CLOCK, DEFAULT_JUMP, REPLAYED,
    LISTS, ONE_STREAM, NEVER_STOPS, SORTED, STATUS, BATCHES, WATERMARK, AHEAD, DUPLICATES, NO_FILE,
    LIVE_EVENTS_IN_SPARK, NO_EVENTS, NO_SMOOTHING, DEVICE, SINGLE, TICKS,
    FROM_THE_FIRST_ROW,
]  # fmt: skip
OF: dict[str, tuple[Difference, ...]] = {
    "Tracker.update": (),
    "Tracker.update_many": (CALL,),
    "filter_table": (WHOLE_TABLE, NO_EXPIRY, FILLED),
    "filter_file": (WHOLE_TABLE, NO_EXPIRY, FILLED, TEXT),
    "stream": (TEXT, KEYS, LINES_ARE_THE_CLOCK),
    "stream --state": (TEXT, KEYS, LINES_ARE_THE_CLOCK, REPLAYED),
    "stream --line-number": (TEXT, KEYS, LINES_ARE_THE_CLOCK),
    "classfilter stream": (TEXT, KEYS, LINES_ARE_THE_CLOCK, DEFAULT_JUMP, LISTS),
    "Cascade": (ONE_STREAM, NEVER_STOPS, NO_EVENTS),
    "filter_frame": (TEXT, FILLED, NO_EXPIRY, SORTED, STATUS),
    "filter_stream": (TEXT, FILLED, WATERMARK, AHEAD, DUPLICATES, BATCHES, STATUS),
    "event_frame": (STATUS,),
    "event_stream": (STATUS, LIVE_EVENTS_IN_SPARK),
    "JavaScript": (NO_FILE, NO_SMOOTHING),
    "firmware": (DEVICE, SINGLE, TICKS, FROM_THE_FIRST_ROW),
}
"""The differences of each entry point."""


def part(case: Case, entry_point: str) -> Case:
    """Return the part of a case on which an entry point agrees with all others."""
    for difference in OF[entry_point]:
        case = difference.apply(case)
    return case
