"""Scores of predicted events against true ones, with the convention in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentError, RowError
from ..inputs import duration as parse_duration
from ..support.types import is_number
from .matching import (
    Matched,
    Spans,
    by_collar,
    by_iou,
    by_tolerance,
    cut_longer,
    edit_distance,
    merged,
)
from .results import EventScores, mean_of_known

SpansOfClasses = dict[tuple[Any, str], Spans]
"""Events by stream and class."""


def event_scores(
    true: Iterable[Any],
    predicted: Iterable[Any],
    iou: float | None = None,
    *,
    collar: Any = None,
    length_share: float | None = 0.5,
    tolerance: tuple[Any, Any] | None = None,
    merge: Any = None,
    split_after: Any = None,
    duration: Any = None,
) -> EventScores:
    """Score predicted events against true ones, by one of three conventions.

    Only events of the same stream and class can match. The scores of different conventions cannot
    be compared, so the result says which one it has.

    Parameters
    ----------
    true, predicted : list of Event
        All must have an end. Of a table, `Events.from_table` makes such a list.
    iou : float, optional
        In (0, 1]; 0.5 if no other convention is chosen. Predicted events, in order of time, go to
        the true event with the largest intersection over union. One is correct if that is at least
        `iou` and the true event is still free. This is F1@50 of MS-TCN.
    collar : float, str or timedelta, optional
        Starts may differ by so much, and ends by so much or by `length_share` of the length of the
        true event, whichever is more. As many pairs as can be are matched. This is sed_eval's
        event-based score, with 0.2.
    length_share : float or None, default 0.5
        See `collar`; with None, only the starts count.
    tolerance : (float, float), optional
        How far each true event extends before its start and after its end; any overlap with a
        predicted event finds it. A predicted event is false if it overlaps none. This is the score
        of SzCORE and timescoring, with ``tolerance=(30, 60), merge=90, split_after=300``.
    merge : float, str or timedelta, optional
        With `tolerance`: first join events, true and predicted, that are less than this apart.
    split_after : float, str or timedelta, optional
        With `tolerance`: then cut events that last longer into parts of this length.
    duration : float, str or timedelta, optional
        The time of all streams together, for false events an hour. By default, that from the first
        to the last true event of each stream. Times are taken as seconds.

    Returns
    -------
    EventScores
        Overall, and for each class in ``by_class``.

    Examples
    --------
    >>> import classfilter as cf
    >>> true = [cf.Event("ann", "walk", 0, 60), cf.Event("ann", "sit", 60, 100)]
    >>> predicted = [cf.Event("ann", "walk", 5, 60), cf.Event("ann", "walk", 80, 100)]
    >>> scores = event_scores(true, predicted, duration="1h")
    >>> scores.f1, scores.false_per_hour, scores.delay
    (0.5, 1.0, 5.0)
    >>> print(scores)
           true  predicted  found  false     F1  precision  recall  false/h  delay
    all       2          2      1      1  0.500      0.500   0.500        1      5
    macro                                 0.333      0.500   0.500
    sit       1          0      0      0  0.000        nan   0.000        0    nan
    walk      1          2      1      1  0.667      0.500   1.000        1      5
    Intersection over union of at least 0.5, predicted events in order of time (MS-TCN).
    False events are over 1 h, as given.
    """
    if getattr(true, "dates", None) is not None and hasattr(predicted, "dates"):
        _check_dates(true, predicted)
    truth, guess = _grouped("true", true), _grouped("predicted", predicted)
    _check_common_stream(truth, guess)
    prepare, match, words = _convention(iou, collar, length_share, tolerance, merge, split_after)
    hours, origin = _hours(truth, duration)
    convention = f"{words}\n{origin}"
    nothing = Spans(np.zeros(0), np.zeros(0))
    parts: dict[str, list[Matched]] = {}
    for key in sorted({*truth, *guess}, key=str):
        a, b = (prepare(group.get(key, nothing)) for group in (truth, guess))
        parts.setdefault(key[1], []).append(match(a, b))
    by_class = {name: _total(parts[name], hours, convention) for name in sorted(parts)}
    together = [part for name in by_class for part in parts[name]]
    return _total(together, hours, convention, by_class)


def edit_score(true: Iterable[Any], predicted: Iterable[Any]) -> float:
    """Return one less the edit distance of the classes in order, as a share: 1 is perfect.

    Of each stream it is ``1 - distance / max(N, M)``, where ``distance`` is how many of the N true
    and M predicted classes must be added, removed or replaced; the result is the mean over streams.
    It is the edit score of MS-TCN, which gives it in percent. Times do not matter, only the order.

    Examples
    --------
    >>> import classfilter as cf
    >>> true = [cf.Event("ann", "walk", 0, 60), cf.Event("ann", "sit", 60, 100)]
    >>> edit_score(true, [cf.Event("ann", "walk", 0, 50)])
    0.5
    """
    lists: tuple[dict[Any, list[str]], dict[Any, list[str]]] = ({}, {})
    groups = _grouped("true", true), _grouped("predicted", predicted)
    _check_common_stream(groups[0], groups[1])
    for by_stream, group in zip(lists, groups, strict=True):
        rows = [(x, label, s) for (s, label), spans in group.items() for x in spans.start.tolist()]
        for _, label, stream in sorted(rows, key=lambda row: row[:2]):
            by_stream.setdefault(stream, []).append(label)
    shares = []
    for stream in {**lists[0], **lists[1]}:
        a, b = (by_stream.get(stream, []) for by_stream in lists)
        shares.append(1 - edit_distance(a, b) / max(len(a), len(b)))
    return mean_of_known(shares)


def _convention(
    iou: float | None,
    collar: Any,
    share: float | None,
    tolerance: tuple[Any, Any] | None,
    merge: Any,
    split_after: Any,
) -> tuple[Callable[[Spans], Spans], Callable[[Spans, Spans], Matched], str]:
    """Return what is done to the events of a stream and class, how they match, and in words."""
    conventions = {"iou": iou, "collar": collar, "tolerance": tolerance}
    chosen = [name for name, value in conventions.items() if value is not None]
    if len(chosen) > 1:
        must, names = "each is a convention of its own", " and ".join(chosen)
        raise ArgumentError(
            names,
            tuple(conventions[n] for n in chosen),
            problem="are {}",
            must=must,
            fix="give one",
        )
    for name, value in (("merge", merge), ("split_after", split_after)):
        if value is not None and tolerance is None:
            raise ArgumentError(name, value, must="it needs tolerance", fix="leave it out")
    if share is not None and not 0 <= _checked_number("length_share", share) <= 1:
        raise ArgumentError("length_share", share, must="it must lie in [0, 1], or be None")
    if collar is not None:
        near = _length("collar", collar)
        ends = "; ends may differ by any time"
        if share is not None:
            ends = f", ends by that or {share:g} of the true length, whichever is more"
        words = f"Starts within {near:g} s{ends}; as many pairs as can be (sed_eval)."
        return lambda spans: spans, lambda a, b: by_collar(a, b, near, share), words
    if tolerance is None:
        least = 0.5 if iou is None else _checked_number("iou", iou)
        if not 0 < least <= 1:
            raise ArgumentError("iou", iou, must="it must lie in (0, 1]")
        words = f"Intersection over union of at least {least:g}, predicted events in order of time"
        return lambda spans: spans, lambda a, b: by_iou(a, b, least), f"{words} (MS-TCN)."
    try:
        before, after = (_length("tolerance", x) for x in tolerance)
    except (TypeError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        must = "it must be two durations, before and after, such as (30, 60)"
        raise ArgumentError("tolerance", tolerance, must=must) from None
    gap = None if merge is None else _length("merge", merge)
    longest = None if split_after is None else _length("split_after", split_after)
    if longest == 0:
        raise ArgumentError("split_after", split_after, must="it must be more than 0")

    def prepare(spans: Spans) -> Spans:
        joined = spans if gap is None else merged(spans, gap)
        return joined if longest is None else cut_longer(joined, longest)

    words = f"Any overlap, with {before:g} s before and {after:g} s after each true event"
    words += "" if gap is None else f", events less than {gap:g} s apart merged"
    words += "" if longest is None else f", longer ones than {longest:g} s split"
    return prepare, lambda a, b: by_tolerance(a, b, before, after), f"{words} (SzCORE)."


def _grouped(argument: str, events: Any) -> SpansOfClasses:
    """Return events by stream and class, checked."""
    if hasattr(events, "columns") or hasattr(events, "column_names"):
        fix = "make a list of it: classfilter.Events.from_table(...)"
        raise ArgumentError(argument, type(events).__name__, problem="is a table", fix=fix)
    groups: dict[tuple[Any, str], list[tuple[float, float]]] = {}
    for i, event in enumerate(events):
        try:
            stream, label, start, end = tuple(event)[:4]
        except (TypeError, ValueError):
            must = "it must be an Event: stream, label, start, end"
            raise RowError(argument, event, must=must, row=i) from None
        if end is None:
            problem, fix = "has {}: the event is provisional", "leave it out"
            raise RowError(argument, event, problem=problem, must="", fix=fix, row=i)
        for x in (start, end):
            if not is_number(x) or not math.isfinite(x):
                must = "start and end must be finite numbers"
                raise RowError(argument, event, must=must, row=i)
        if end < start:
            raise RowError(argument, event, must="the end must not be before the start", row=i)
        groups.setdefault((stream, label), []).append((float(start), float(end)))
    return {key: Spans(*np.array(sorted(spans)).T) for key, spans in groups.items()}


def _check_common_stream(true: SpansOfClasses, predicted: SpansOfClasses) -> None:
    """Refuse streams that have other names on either side: all would be missed, in silence."""
    a, b = ({stream for stream, _ in groups} for groups in (true, predicted))
    if a and b and not a & b:
        names = [sorted(map(repr, names))[0] for names in (a, b)]
        problem = f"has the stream {names[1]}, true {names[0]}"
        must, fix = "they have no stream in common", "give both the same names"
        raise ArgumentError("predicted", names[1], problem=problem, must=must, fix=fix)


def _check_dates(true: Any, predicted: Any) -> None:
    if true and predicted and true.dates != predicted.dates:
        kinds = [("numbers", "dates")[bool(events.dates)] for events in (true, predicted)]
        problem = f"has times that are {kinds[1]}, but those of true are {kinds[0]}"
        fix = "read the file of seconds with start=, the date of second 0"
        raise ArgumentError("predicted", kinds[1], problem=problem, fix=fix)


def _hours(true: SpansOfClasses, duration: Any) -> tuple[float, str]:
    """Return the time that false events are counted over, and where it is from."""
    if duration is not None:
        hours = _length("duration", duration) / 3600
        if hours == 0:
            raise ArgumentError("duration", duration, must="it must be more than 0")
        return hours, f"False events are over {hours:.4g} h, as given."
    ends: dict[Any, list[float]] = {}
    for (stream, _), spans in true.items():
        ends.setdefault(stream, []).extend((spans.start.min(), spans.end.max()))
    hours = math.fsum(max(x) - min(x) for x in ends.values()) / 3600
    if hours == 0:
        return math.nan, "False events an hour need duration=, as there is no time of true events."
    origin = "from the first to the last true event of each stream"
    return hours, f"False events are over {hours:.4g} h, {origin}."


def _total(
    parts: list[Matched],
    hours: float,
    convention: str,
    by_class: Mapping[str, EventScores] | None = None,
) -> EventScores:
    delays = np.concatenate([part.delay for part in parts]) if parts else np.zeros(0)
    return EventScores(
        true=sum(part.found.size for part in parts),
        predicted=sum(part.false.size for part in parts),
        found=sum(int(part.found.sum()) for part in parts),
        false=sum(int(part.false.sum()) for part in parts),
        delay=float(np.median(delays)) if delays.size else math.nan,
        hours=hours,
        convention=convention,
        by_class=by_class or {},
    )


def _checked_number(argument: str, value: Any) -> float:
    if not is_number(value):
        raise ArgumentError(argument, value, must="it must be a number")
    return float(value)


def _length(argument: str, value: Any) -> float:
    length = parse_duration(argument, value)
    if not 0 <= length < math.inf:
        raise ArgumentError(argument, value, must="it must be 0 or more")
    return length


event_scores.__module__ = edit_score.__module__ = "classfilter.metrics"
