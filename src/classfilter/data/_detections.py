"""Lists of detections, as sound classifiers write them: a row of scores for each window."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._errors import ArgumentError, RowError
from .._support.types import NUMBER, Array, Duration, Floats
from .._timestamps import duration, positive_duration
from ._frames import as_frame, new_table

USUAL = {
    "start": ("start", "Start (s)", "Begin Time (s)"),
    "end": ("end", "End (s)", "End Time (s)"),
    "class": ("class", "Common name", "Common Name"),
    "confidence": ("confidence", "Confidence"),
    "stream": ("stream", "File", "Begin Path"),
}
"""Names of columns: ours, those of BirdNET's CSV files, and those of Raven's selection tables."""
NO_CALL = "nocall"
MIN_STARTS = 3
"""Fewer starts of windows may have a common divisor by chance."""


def detection_scores(
    detections: Any,
    *,
    step: Duration,
    end: Duration | Mapping[str, Duration] | None = None,
    labels: Sequence[str] | None = None,
    below: float = 0.0,
    columns: Mapping[str, str] | None = None,
) -> Any:
    """Return a table with a row for each window, and a score for each label in it.

    A detector such as BirdNET lists only what it hears with a confidence above a threshold. What is
    not listed was heard with less. That is no missing score, since the detector was there: it is a
    low one, 0 unless `below` says otherwise. How much it tells is for the channel of the source to
    say: a bird that sings is not listed in every window.

    Parameters
    ----------
    detections : dataframe
        A row for each label that was detected in a window, with the columns of BirdNET's CSV files
        or selection tables, or ``start``, ``end``, ``class``, ``confidence`` and perhaps
        ``stream``. Times are seconds. Rows of the label ``nocall`` say that there is none.
    step : float, str or timedelta
        From the start of a window to that of the next: its length less the overlap.
    end : float, str or timedelta, or mapping of str to these, optional
        When the recording ends, or each of them by its name; windows up to there have rows. By
        default the last window that is listed is the last one.
    labels : sequence of str, optional
        Have columns for these and no others; by default for all that are listed, sorted.
    below : float, default 0
        The score of what is not listed.
    columns : mapping of str to str, optional
        The names of columns in the table, where they differ: ``{"class": "Scientific name"}``.

    Returns
    -------
    dataframe
        Of the same kind: ``stream``, where there is one, ``time`` and ``p_<label>``. A row stands
        for the middle of its window, `step` long: windows that overlap share the rest.

    Examples
    --------
    >>> import pandas as pd
    >>> heard = {"Start (s)": [0, 3, 9], "End (s)": [3, 6, 12], "Common name": ["wren"] * 3,
    ...          "Confidence": [0.9, 0.7, 0.3]}
    >>> detection_scores(pd.DataFrame(heard), step=3)
       time  p_wren
    0   0.0     0.9
    1   3.0     0.7
    2   6.0     0.0
    3   9.0     0.3
    """
    if not 0.0 <= below < 1.0:
        raise ArgumentError("below", below, rule="it must lie in [0, 1)")
    hop, frame = positive_duration("step", step), as_frame(detections)
    names = _column_names(frame.columns, columns or {})
    cells = {name: frame[column].to_list() for name, column in names.items()}
    start, stop, confidence = (_numbers(cells[n], names[n]) for n in ("start", "end", "confidence"))
    listed = [str(label) for label in cells["class"]]
    heard = np.array([label != NO_CALL for label in listed], bool)
    for i in np.flatnonzero(confidence > 1.0):
        given, rule = float(confidence[i]), "it must lie in [0, 1]"
        remedy = "divide percentages by 100"
        raise RowError(names["confidence"], given, rule=rule, remedy=remedy, row=int(i))
    window = _window((stop - start)[heard], hop)
    number = _numbered(start, hop, names["start"])
    _warn_of_short_steps(number, window, hop)
    streams = [str(name) for name in cells.get("stream", [""] * len(listed))]
    counts = _counts(streams, number, window, hop, end, "stream" in names)
    first = dict(zip(counts, np.cumsum([0, *counts.values()]).tolist(), strict=False))
    wanted = sorted(set(listed) - {NO_CALL}) if labels is None else list(labels)
    column = {label: k for k, label in enumerate(wanted)}
    scores = np.full((sum(counts.values()), len(wanted)), below)
    seen = np.zeros(scores.shape, bool)
    for i in np.flatnonzero(heard):
        k, n = column.get(listed[i]), int(number[i])
        if n >= counts[streams[i]]:
            problem = "starts a window at {}, which goes on after the end"
            raise RowError(names["start"], float(start[i]), problem, row=int(i))
        if k is None:
            continue
        row = first[streams[i]] + n
        if seen[row, k]:
            problem = "is {}, which this window has already"
            raise RowError(names["class"], listed[i], problem, row=int(i))
        scores[row, k], seen[row, k] = confidence[i], True
    time = [np.arange(count) * hop + (window - hop) / 2.0 for count in counts.values()]
    result: dict[str, Any] = {}
    if "stream" in names:
        result["stream"] = [name for name, count in counts.items() for _ in range(count)]
    result["time"] = np.concatenate([np.empty(0), *time])
    result |= {f"p_{label}": np.ascontiguousarray(scores[:, k]) for label, k in column.items()}
    return new_table(result, frame.implementation.name.lower(), ("stream",))


def _column_names(there: list[str], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the name in the table of each column that it has."""
    for name, column in columns.items():
        if name not in USUAL:
            rule = f"it must be one of {', '.join(USUAL)}"
            raise ArgumentError("columns", name, "names {}", rule)
        if column not in there:
            problem = f"has {{}} for {name}, which the table does not have"
            raise ArgumentError("columns", column, problem, f"it has {there}")
    names = dict(columns)
    for name, usual in USUAL.items():
        known = [column for column in usual if column in there]
        if name not in names and known:
            names[name] = known[0]
        elif name not in names and name != "stream":
            remedy = 'name it, columns={"' + name + '": ...}'
            problem = f"has no column {name}"
            raise ArgumentError("the table", there, problem, f"it has {there}", remedy)
    return names


def _numbers(cells: list[Any], column: str) -> Floats:
    """Return a column of finite numbers, not below 0."""
    for i, cell in enumerate(cells):
        if not (isinstance(cell, NUMBER) and not isinstance(cell, bool) and 0 <= cell < np.inf):
            raise RowError(column, cell, rule="it must be a finite number, not below 0", row=i)
    return np.array(cells, np.float64)


def _window(lengths: Floats, hop: float) -> float:
    """Return the length of all windows."""
    if not len(lengths):
        return hop
    if lengths.max() - lengths.min() > 1e-3:
        problem = f"have windows of {lengths.min():g} s and of {{}} s"
        remedy = "list windows as they are (BirdNET: --merge_consecutive 1)"
        raise ArgumentError("detections", float(lengths.max()), problem, remedy=remedy)
    return float(np.median(lengths))


def _numbered(start: Floats, hop: float, column: str) -> Array:
    """Return the number of each window."""
    number = np.rint(start / hop)
    for i in np.flatnonzero(np.abs(start - number * hop) > 1e-3):
        rule = f"windows must start at multiples of step, {hop:g}"
        remedy = "give the length of a window less the overlap as step"
        raise RowError(column, float(start[i]), "is {}", rule, remedy, row=int(i))
    return number.astype(np.intp)


def _warn_of_short_steps(number: Array, window: float, hop: float) -> None:
    """Warn if all windows start at multiples of a longer step, which leaves no gaps either."""
    starts = np.unique(number)
    longer = int(np.gcd.reduce(starts)) * hop
    if len(starts) >= MIN_STARTS and hop < longer <= window + 1e-3:
        warnings.warn(
            f"step is {hop:g}, but all windows start at multiples of {longer:g}: if there are none "
            f"between them, give step={longer:g}; the rows between would say that nothing is heard",
            stacklevel=3,
        )


def _counts(
    streams: list[str], number: Array, window: float, hop: float, end: Any, named: bool
) -> dict[str, int]:
    """Return how many windows each stream has."""
    counts: dict[str, int] = {}
    for name, n in zip(streams, number.tolist(), strict=True):
        counts[name] = max(counts.get(name, 0), n + 1)
    if isinstance(end, Mapping):
        if not named:
            raise ArgumentError("end", end, rule="the table has one stream without a name")
        unknown = [name for name in counts if name not in end]
        if unknown:
            raise ArgumentError("end", unknown[0], "has no entry for the stream {}")
        return {name: _until(duration("end", t, name), window, hop) for name, t in end.items()}
    if end is None:
        return counts
    until = _until(duration("end", end), window, hop)
    return dict.fromkeys(counts or ([] if named else [""]), until)


def _until(end: float, window: float, hop: float) -> int:
    if not (window <= end < np.inf):
        raise ArgumentError("end", end, rule=f"it must be finite, and {window:g} or more")
    return int((end - window) / hop + 1e-6) + 1
