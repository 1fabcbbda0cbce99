"""Where the entry points differ, and why; each difference as a change of the cases.

docs/differences.md has the same table. Apart from these, all entry points agree to the bit.
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


TABLES = "`filter_table`, `filter_file`"
FRAME, QUERY = "`spark.filter_frame`", "`spark.filter_stream`"
CALL = Difference(
    "`Tracker.update_many`",
    "An invalid row refuses the whole call. Streams are dropped after all rows of the call.",
    "All rows go to the core at once; a call that did half of its work could not be repeated.",
    in_one_call,
)
WHOLE_TABLE = Difference(
    TABLES,
    "An invalid row refuses the whole table; the error names it. `cf.rows(df, sort=True)` takes "
    "late rows.",
    "The table is there as a whole: it can be corrected and filtered again.",
)
NO_EXPIRY = Difference(
    TABLES + ", " + FRAME,
    "No stream expires, none is dropped, and no time is too far ahead.",
    "A table has an end, and every row of it is to have a result.",
    without_limits("expire_after", "max_streams", "max_jump"),
)
FILLED = Difference(
    TABLES + ", " + FRAME + ", " + QUERY,
    'A source that is null is refused; without a column `source`, all rows are of "default".',
    "A hole in a column is more likely a mistake than a name.",
    filled_in,
)
TEXT = Difference(
    "`filter_file`, `classfilter stream`, Spark",
    'The streams 1 and "1" are one.',
    "Names in files, lines and columns are text, whatever they were before.",
    text_names,
)
KEYS = Difference(
    "`classfilter stream`",
    "A line without the key `stream` is of a stream without a name, one without `source` of "
    '"default", and one with neither `p_<class>` nor `prediction` is refused. In a file, a row '
    "that has no `stream` or `source` while others have is refused, and one without a prediction "
    "is a missing one.",
    "A line stands alone, and may be a message of another kind; a file has columns for all rows.",
)
REPLAYED = Difference(
    "`classfilter stream --state`",
    "After a restart, lines that the file has are skipped, and counted in a message, until the "
    "first new line of their stream: those before its last time, and the same line at that time.",
    "Lines may be replayed after a crash; `--line-number` tells replayed and late ones apart.",
)
LINES_ARE_THE_CLOCK = Difference(
    "`classfilter stream`",
    "There is no `expire(now)`: streams expire as lines come.",
    "A program that only waits needs no memory back.",
    without(Expire),
)
DEFAULT_JUMP = Difference(
    "`classfilter stream`",
    "`--max-jump` is 366 days unless another one is given; elsewhere there is none.",
    "It reads clocks that nobody looked at, and one wrong time would make all later ones late.",
    lambda case: replace(case, limits={"max_jump": 366 * DAY, **case.limits}),
)
LISTS = Difference(
    "`classfilter stream`",
    "Of several labels at once, those that are on are a list. In tables, files and Spark they are "
    "text, with commas between them.",
    "JSON has lists; a cell of a CSV file has not.",
)
ONE_STREAM = Difference(
    "`Cascade`",
    "There is one stream. It does not expire, and no time is too far ahead.",
    "The program that calls `step` is the clock.",
    lambda case: each_by_itself(without_limits("expire_after", "max_streams", "max_jump")(case)),
)
NEVER_STOPS = Difference(
    "`Cascade`",
    "An invalid prediction counts as a missing one: it is logged, and time passes.",
    "A source that fails must not stop the loop.",
    missing_if_invalid,
)
SORTED = Difference(
    FRAME,
    "Rows are sorted by stream, time, source and prediction, so that none is late.",
    "The rows of a DataFrame have no order.",
    sorted_rows,
)
BATCHES = Difference(
    QUERY,
    "Within a micro-batch, the rows of a stream are sorted as by `filter_frame`.",
    "The rows of a micro-batch have no order.",
)
STATUS = Difference(
    FRAME + ", " + QUERY,
    "Refused rows come out with a `status` and an `error`; an invalid one fails the query, unless "
    '`invalid="quarantine"`.',
    "A row that vanishes from a pipeline is missed too late.",
)
WATERMARK = Difference(
    QUERY,
    "The clock of all streams is Spark's watermark. There is no `max_streams` and no `max_jump`.",
    "No worker sees all streams.",
    lambda case: each_by_itself(without_limits("max_streams", "max_jump")(case)),
)
AHEAD = Difference(
    QUERY,
    'A row further ahead of the wall clock than `max_ahead` is refused, with status "ahead".',
    "One such row would move the watermark for all streams, for good.",
    none_ahead,
)
DUPLICATES = Difference(
    QUERY,
    "A row with the time, source and prediction of one that its stream has is refused, with "
    'status "duplicate".',
    "Message queues deliver twice.",
    no_duplicates,
)
NO_FILE = Difference(
    "JavaScript's `Tracker`",
    "It has no `update_many`, `hand_over`, `save` and `load`.",
    "A page has few streams, and no file to keep them in.",
    without(Restart),
)
EVENTS_IN_SPARK = Difference(
    "`spark.event_frame`, `spark.event_stream`",
    "Rows are taken as by `spark.filter_frame` and `spark.filter_stream`. Refused rows come out "
    "beside the events, with a `status` and no class.",
    "The events of a query replace its rows, and a row that vanishes is missed too late.",
)
LIVE_EVENTS_IN_SPARK = Difference(
    "`spark.event_stream`",
    "Live events need a filter and an `EventRule`. The last events of a stream come out once the "
    "watermark has passed its `expire_after`.",
    "A `ThresholdRule` needs the whole stream, and a query has no end.",
)
NO_EVENTS = Difference(
    "`Cascade`",
    "There are no events. Pass its results to `cf.events`, or use a `Tracker`.",
    "It chooses and calls classifiers; what else follows from a result is up to the program.",
)
NO_SMOOTHING = Difference(
    "JavaScript",
    "Events are decided on filtered rows: there is no `lag`, and no smoothing.",
    "The backward pass is not in the WebAssembly, which every report carries.",
)
DEVICE = Difference(
    "exported firmware",
    "There is one stream, and the caller gives the time since the row before; no time is checked.",
    "A device has its own clock, and room for what it must remember only.",
    lambda case: each_by_itself(without_limits("expire_after", "max_streams", "max_jump")(case)),
)
SINGLE = Difference(
    "exported firmware",
    "All numbers are single precision, the time since the row before too.",
    "Most microcontrollers compute in single precision only.",
    in_single_precision,
)
TICKS = Difference(
    "exported firmware",
    "Events have whole ticks of a clock of 32 bits. At most 16 closed segments wait to be "
    "confirmed; beyond that, the oldest is decided early, as with `max_delay`.",
    "Whole numbers need no rounding, and the memory of a device is fixed.",
)
FROM_THE_FIRST_ROW = Difference(
    "exported firmware",
    "Events begin with the first row that `cf_decide_f32` gets, also before any prediction.",
    "The program chooses the rows to decide on: call it from the first prediction on.",
)
DIFFERENCES = [
    CALL, WHOLE_TABLE, NO_EXPIRY, FILLED, TEXT, KEYS, LINES_ARE_THE_CLOCK, DEFAULT_JUMP, REPLAYED,
    LISTS, ONE_STREAM, NEVER_STOPS, SORTED, STATUS, BATCHES, WATERMARK, AHEAD, DUPLICATES, NO_FILE,
    EVENTS_IN_SPARK, LIVE_EVENTS_IN_SPARK, NO_EVENTS, NO_SMOOTHING, DEVICE, SINGLE, TICKS,
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
    "event_frame": (EVENTS_IN_SPARK,),
    "event_stream": (EVENTS_IN_SPARK, LIVE_EVENTS_IN_SPARK),
    "JavaScript": (NO_FILE, NO_SMOOTHING),
    "firmware": (DEVICE, SINGLE, TICKS, FROM_THE_FIRST_ROW),
}
"""The differences of each entry point."""


def part(case: Case, entry_point: str) -> Case:
    """Return the part of a case on which an entry point agrees with all others."""
    for difference in OF[entry_point]:
        case = difference.apply(case)
    return case
