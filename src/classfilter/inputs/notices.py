"""What is said of a table that is likely not what was meant.

Its times may not fit the filter, its sources the channels, or its rows one stream: then the columns
are named that may have the streams, if each of their values has times that never go back.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection
from typing import Any

import numpy as np

from ..errors import Advice, ArgumentError, Fix, RowError
from ..support.arrays import MIN_STEPS
from ..support.types import Array, Floats, Ints
from .columns import COLUMNS
from .frames import factorize_column
from .predicted import SORT, Rows
from .times import per_second

REPEATED = 0.1
"""The share of rows with the time and the source of the row before, above which there is a warning:
a source says one thing at a time."""


MIN_REPEATED = 10
"""Fewer of them are not warned of, where no column may have the streams."""
BACK_OFTEN = 2
"""Rows of one stream that go back in time so often are rather several streams than out of order."""
MOST_NAMES = 10_000
"""Names of live streams that are compared; the memory of more would count."""
_OR_SORT = ("if they are of one stream, put the rows in order of time, or give ", Fix("sort", True))
_WHICH_STREAMS = (
    "is there a column that tells the streams apart? Name it: ",
    Fix("columns", {"stream": ...}),
)
_OR_SOURCES = ("if it has the classifiers of one stream: ", Fix("columns", {"source": ...}))
_HALF_LIFE = "give a half-life in seconds, as the times are"
_HALF_LIFE_OR_UNIT = (
    "give a half-life in the unit of the times, or their unit: ",
    Fix("unit", "ms"),
)


def _if_streams(columns: list[str]) -> Advice:
    name = Fix("columns", {"stream": columns[0]})
    return "if the rows are of several streams, name the column: ", name


def with_columns_of_streams(error: RowError, rows: Rows) -> RowError:
    """Return the error of a time that goes back, with columns that may have the streams."""
    if error.fix != SORT or rows.layout is None or "stream" in rows.layout.columns:
        return error
    hints = (_OR_SORT, *error.hints)
    candidates = _candidates(rows)
    if candidates:
        must = f"the table has no column stream, but {_listed(candidates)}"
        return error.replaced(must=must, fix=_if_streams(candidates), hints=hints)
    back = int((np.diff(rows.time) < 0).sum())
    if back < BACK_OFTEN:
        return error
    must = f"the table has no column stream, and times go back {back} times"
    return error.replaced(must=must, fix=_WHICH_STREAMS, hints=hints)


def warn_of_odd_rows(
    rows: Rows,
    unit: str | None = None,
    filter: Any = None,  # noqa: A002
) -> None:
    """Warn of rows that are likely not what was meant, by themselves or for a filter.

    `unit` is that of the numbers of time, as it was given.
    """
    try:
        order, steps, first = rows.grouped()
    except RowError as error:
        raise with_columns_of_streams(error, rows) from None
    if rows.layout is not None and np.count_nonzero(steps == 0) > len(first):
        warn_of(interleaved(rows, order) or _repeated(rows, order, steps))
    warn_of(alike(rows.streams, "streams"))
    warn_of(alike(rows.classes, "classes"))
    warn_of_times(rows, unit, filter)


def warn_of_times(
    rows: Rows,
    unit: str | None,
    filter: Any = None,  # noqa: A002
) -> None:
    """Warn of times that look like those of another unit, or that do not fit a filter."""
    scale = TimeScale(unit, filter)
    scale.see(rows.time, rows.stream, rows.time_kind.is_number)
    warn_of(scale.finding())


def warn_of(notice: ArgumentError | None) -> None:
    """Warn, if there is something to say, at the line that called the package."""
    if notice is not None:
        level, frame, inner = 1, sys._getframe(), ("classfilter.", "contextlib")
        while frame.f_back and str(frame.f_globals.get("__name__")).startswith(inner):
            level, frame = level + 1, frame.f_back
        warnings.warn(OddRowsWarning(notice), stacklevel=level)


def interleaved(rows: Rows, order: Ints | None = None) -> ArgumentError | None:
    """Return what to say of a table in which a source often has several rows at one time."""
    if rows.layout is None or "stream" in rows.layout.columns or len(rows) < 2:
        return None
    time, source = rows.time, rows.source
    if rows.sort and order is not None:
        time, source = time[order], source[order]
    same = (np.diff(time) == 0) & (np.diff(source) == 0)
    if same.mean() <= REPEATED:
        return None
    candidates = _candidates(rows, apart=True)
    if not candidates and same.sum() < MIN_REPEATED:
        return None
    problem = "has {} rows with the time and the source of the row before"
    hints = (_OR_SOURCES,) if "source" not in rows.layout.columns else ()
    must = "it has no column stream" + (f", but {_listed(candidates)}" if candidates else "")
    fix = _if_streams(candidates) if candidates else _WHICH_STREAMS
    return ArgumentError(
        "the table", int(same.sum()), problem=problem, must=must, fix=fix, hints=hints
    )


def silent(streams: Collection[Any], predicted: Collection[Any]) -> ArgumentError | None:
    """Return what to say of streams that have no prediction at all."""
    if len(predicted) == len(streams):
        return None
    names = [name for name in streams if name not in predicted]
    more = f" and {len(names) - 1} others" if names[1:] else ""
    problem = "has no prediction" if len(streams) == 1 else f"has no prediction of {{}}{more}"
    must = "the results are the estimate that the filter starts with"
    return ArgumentError(
        "the table", names[0], problem=problem, must=must, fix="leave these rows out"
    )


def _repeated(rows: Rows, order: Ints, steps: Floats) -> ArgumentError | None:
    """Return what to say of rows that stand twice: the stream, time, source and numbers."""
    ties = np.flatnonzero(np.append(steps[1:] == 0, False) | (steps == 0))
    tied = order[ties]
    probs = rows.probs[tied]
    counts = ~(np.isnan(probs).all(axis=1) | rows.one_hot[tied])  # a class may well come twice
    tied, probs = tied[counts], np.nan_to_num(probs[counts], nan=-1)
    if len(tied) < 2:
        return None
    numbers = np.column_stack([rows.stream[tied], rows.time[tied], rows.source[tied], probs])
    twice = len(tied) - len(np.unique(numbers, axis=0))
    if not twice:
        return None
    repetition = "the same stream, time, source and prediction as another"
    return ArgumentError(
        "the table",
        twice,
        problem=f"has {{}} rows with {repetition}",
        fix="each of them counts: remove the duplicates",
    )


def alike(names: Collection[Any], argument: str) -> ArgumentError | None:
    """Return what to say of names that differ only in how they are spelt.

    Examples
    --------
    >>> alike(["Ann", "bob", "ann "], "streams").must
    'they are treated as different'
    """
    if len({str(name).strip().casefold() for name in names}) == len(names):
        return None
    spelling = Spelling(argument)
    return next(filter(None, map(spelling.finding, names)), None)


class Spelling:
    """Names that are compared: whether they differ only in capitals, in spaces, or as 7 and "7"."""

    def __init__(self, argument: str = "streams") -> None:
        self._argument = argument
        self._first: dict[str, Any] = {}

    def finding(self, name: Any) -> ArgumentError | None:
        """Return what to say of a name, once; None if there is nothing."""
        plain = str(name).strip().casefold()
        if len(self._first) < MOST_NAMES:
            self._first.setdefault(plain, name)
        other = self._first.get(plain, name)
        if other is None or name != name or other == name:
            return None
        self._first[plain] = None
        return ArgumentError(
            self._argument,
            name,
            problem=f"are {other!r} and {{}}, which differ only in case, spaces, or as number "
            "and text",
            must="they are treated as different",
            fix="spell them the same if they are one",
        )


def _candidates(rows: Rows, apart: bool = False) -> list[str]:
    """Return the columns of few values, each of which has rows in order of time.

    With `apart`, no value may have two rows of a source at one time.
    """
    import narwhals as nw

    assert rows.layout is not None
    candidates = []
    for role, column in rows.layout.columns.items():
        reserved = role in COLUMNS or role in ("class", "labels") or role[:2] in ("p_", "f_", "y_")
        if reserved or column not in rows.frame.columns:
            continue
        series = rows.frame[column]
        kind = series.dtype
        if not (kind.is_integer() or kind in (nw.String, nw.Categorical, nw.Enum, nw.Object)):
            continue
        if not 2 <= series.n_unique() <= len(series) / 2:
            continue
        codes = factorize_column(series).codes
        order = np.argsort(codes, kind="stable")
        steps = np.diff(rows.time[order])[np.diff(codes[order]) == 0]
        if (steps < 0).any():
            continue
        keys = np.stack([codes, rows.source, np.unique(rows.time, return_inverse=True)[1]])
        if apart and np.unique(keys, axis=1).shape[1] < len(codes):
            continue
        candidates.append(column)
    return candidates


def _listed(columns: list[str]) -> str:
    return f"{' and '.join(map(repr, columns))} may be one"


LARGEST_SECONDS = 1e11
"""Larger numbers are hardly UNIX seconds, which reach it in the year 5138; milliseconds did so in
1973, and each further unit is a thousand times as large."""
LARGER_UNITS = ("milliseconds", "microseconds", "nanoseconds")
ALONE = 10.0
"""So many half-lives later a thousandth of the past is left: each row stands alone."""
STILL_STEPS, STILL_RANGES = 1e4, 10.0
"""A half-life of so many steps, and of so many times the range of all times: nothing is forgotten,
and an average hardly changes."""
ROWS = 10_000


class OddRowsWarning(UserWarning):
    """Rows are likely not what was meant; `about` has the fields.

    Several streams as one, names that are alike, rows that stand twice; a unit of times, or a
    half-life, that does not fit.
    """

    def __init__(self, about: ArgumentError) -> None:
        super().__init__(about)
        self.about = about


class TimeScale:
    """Looks at times as they come, in one table or in several.

    Parameters
    ----------
    unit : str or None
        As it was given: with ``"s"``, numbers are right as they are.
    filter : Filter, optional
        Whose half-life the steps must fit.
    """

    def __init__(self, unit: str | None = None, filter: Any = None) -> None:  # noqa: A002
        self._unit = unit
        self._half_life: float | None = getattr(filter, "_half_life", None)
        self._averages = getattr(filter, "_averages", False)
        self._rows = self._large = 0
        self._first_large: tuple[int, float] | None = None
        self._step: float | None = None
        self._low, self._high = np.inf, -np.inf

    def see(self, time: Floats, stream: Ints | None = None, numbers: bool = True) -> None:
        """Look at times in seconds; `stream` has the number of each row's stream."""
        if not len(time):
            return
        low, high = float(time.min()), float(time.max())
        self._low, self._high = min(low, self._low), max(high, self._high)
        if numbers and self._unit != "s" and max(-low, high) > LARGEST_SECONDS:
            large = np.abs(time) > LARGEST_SECONDS
            row = int(large.argmax())
            if self._first_large is None:
                self._first_large = self._rows + row, float(time[row]) * per_second(self._unit)
            self._large += int(large.sum())
        self._rows += len(time)
        self._numbers = numbers
        if self._step is None and self._half_life is not None:
            codes = np.zeros(len(time), np.intp) if stream is None else stream
            self._step = first_step(time, codes)

    def finding(self) -> ArgumentError | None:
        """Return what seems to be wrong, and what to do; None if nothing does."""
        return self._magnitude() or self._misfit()

    def _magnitude(self) -> ArgumentError | None:
        if self._first_large is None:
            return None
        row, value = self._first_large
        power = int((np.log10(abs(value)) - 11) // 3)
        if power >= len(LARGER_UNITS):
            return None
        problem = f"is {{}}, which looks like {LARGER_UNITS[power]} since 1970"
        if self._large < self._rows:
            must = f"{self._large:,} of {self._rows:,} rows do, the others do not"
            one_unit = "give all times in one unit"
            return ArgumentError("time", value, problem=problem, must=must, fix=one_unit, row=row)
        hints = () if not self._step else (f"the {self._figures()}",)
        unit, seconds = Fix("unit", ("ms", "us", "ns")[power]), Fix("unit", "s")
        fix = ("give ", unit, ", or ", seconds, " if the numbers are right as they are")
        return ArgumentError("time", value, problem=problem, fix=fix, hints=hints)

    def _figures(self) -> str:
        assert self._step is not None
        assert self._half_life is not None
        ratio = self._step / self._half_life
        many = f"{ratio:.3g} half-lives" if ratio > 0.1 else f"1/{1 / ratio:,.0f} of the half-life"
        return f"median step is {self._step:.6g}, {many} ({self._half_life:.6g})"

    def _misfit(self) -> ArgumentError | None:
        if self._step is None or self._half_life is None:
            return None
        if self._step > ALONE * self._half_life:
            effect = "each row stands alone, so nothing is filtered"
        elif (
            self._averages
            and STILL_STEPS * self._step < self._half_life < np.inf
            and STILL_RANGES * (self._high - self._low) < self._half_life
        ):
            effect = (
                f"over all times, a range of {self._high - self._low:.6g}, nothing is forgotten"
            )
        else:
            return None
        fix = _HALF_LIFE_OR_UNIT if self._numbers else _HALF_LIFE
        return ArgumentError(
            "time",
            self._step,
            problem=f"does not fit the filter: the {self._figures()}",
            must=effect,
            fix=fix,
        )


def first_step(time: Floats, stream: Ints) -> float | None:
    """Return the median time between successive rows of a stream, of the first rows; None of few.

    Of two in the middle, the smaller counts: where rows come in pairs, half of them are close.
    """
    count = ROWS
    while True:
        t, codes = time[:count], stream[:count]
        order: Array = np.lexsort((t, codes))
        with np.errstate(over="ignore"):
            steps = np.diff(t[order])[np.diff(codes[order]) == 0]
        steps = steps[steps > 0]
        if len(steps) >= MIN_STEPS:
            return float(np.percentile(steps, 50, method="lower"))
        if count >= len(time):
            return None
        count *= 10
