"""What was chosen, how certain that is, and what would help, in plain words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ..pipeline import Pipeline
from .candidates import RULES, Candidate
from .criterion import LABELS
from .effect import Effect
from .rows import JoinedRows
from .streams_needed import Rival, unsettled

if TYPE_CHECKING:
    from .event_effect import EventEffect

HIGH_CORRELATION = 0.75
"""Of the reference's errors from one call to the next: from here on there is a warning. Geolife,
ltafdb, wisdm and extrasensory are below it at one call in twelve, where `tune` gains on each."""
FEW_STREAMS = 5
LOW_AGREEMENT = 0.35
_TEMPERATURE = "Temperature: "
_NAMES = {
    "transitions": "A sticky filter with estimated transitions",
    "stay": "A sticky filter",
    "dirichlet": "A Dirichlet filter",
    "raw": "The last prediction, unfiltered,",
    "mean": "The mean of the last five predictions",
    "vote": "The majority of the last five predictions",
    "ema": "An exponential moving average",
    "hold": "A simple rule, to hold the last prediction of {reference!r},",
}


class Assumptions(NamedTuple):
    """What the settings rest on, beside the model.

    Attributes
    ----------
    every : float
        Mean steps from one call of the reference to the next.
    thinned : bool
        Whether predictions of the reference were left out for that.
    agreement : float
        How often successive predictions of the reference agree, beyond chance (Cohen's kappa).
    error_correlation : float
        Correlation of the reference's errors from one call to the next: what its predictions have
        in common beyond what classes explain, if it is right as often as it says. 0 where nothing
        is seen. Errors that last longer than a class are seen in part; a reference that is too sure
        seems to have fewer, one that is not sure enough more. See docs/tuning.md.
    """

    every: float
    thinned: bool
    agreement: float
    error_correlation: float


def describe(
    candidate: Candidate,
    rows: JoinedRows,
    effect: Effect | None,
    limited: bool = False,
    filter: Any = None,  # noqa: A002
) -> list[str]:
    """Return what was chosen and what it does, then how soon it follows, then its weights."""
    name = name_of(candidate, rows.reference, effect is not None and effect.in_seconds, filter)
    over = f"{rows.streams} stream" + "s" * (rows.streams > 1)
    if effect is None or not effect.time:
        lines = [f"{name.rstrip(',')}."]
    elif candidate.family == "raw" and not limited:
        does = changes_in_words(effect, over, alone=True)
        lines = [f"Nothing gained: the last prediction is already best. It {does}"]
    else:
        lines = [f"{name} {changes_in_words(effect, over)}"]
    if effect is not None and candidate.family != "raw" and not math.isnan(effect.delay):
        lines.append(f"Once the predictions change class, it follows {after(effect)}.")
    if candidate.family not in RULES:
        lines.append(f"Weights: {weights_in_words(candidate)}.")
    for one in () if effect is None else effect.lost:
        lines.append(f"{one}{', though they come in runs' * one.in_runs}.")
    return lines


def name_of(
    candidate: Candidate,
    reference: str,
    in_seconds: bool,
    filter: Any = None,  # noqa: A002
) -> str:
    """Return the kind of filter in words, with its dwell or half-life; a comma may be at the end.

    `filter` is the filter itself, which knows its dwell.
    """
    name = _NAMES[candidate.family].format(reference=reference)
    if candidate.rate != 1:
        times = max(candidate.rate, 1 / candidate.rate)
        how = "slowed down" if candidate.rate < 1 else "sped up"
        name += f", {how} {_digits(times)} times,"
    if candidate.family == "stay" and filter is not None:
        name += f" with a dwell of {dwell_in_words(filter, in_seconds)}"
    elif candidate.half_life:
        name += f" with a half-life of {_digits(candidate.half_life)}{' s' * in_seconds}"
    return name


def weights_in_words(candidate: Candidate) -> str:
    """Return the weight of each source, and whether it goes through its channel."""
    through = dict(candidate.channel)
    return ", ".join(
        f"{source} {weight:.2g}" + (" through its channel" if source in through else "")
        for source, weight in candidate.beta
    )


def temperatures_in_words(pipe: Pipeline) -> str:
    """Return the temperatures of filtered and smoothed rows; nothing where they are 1."""
    values = (getattr(one.filter, "temperature", 1.0) for one in (pipe, pipe.smoothing))
    parts = [
        f"{value:.3g} of {name} rows"
        for name, value in zip(("filtered", "smoothed"), values, strict=True)
        if value != 1
    ]
    return f"{_TEMPERATURE}{', '.join(parts)}." if parts else ""


def without_temperatures(text: str) -> str:
    """Return an explanation without the line of the temperatures."""
    return "\n".join(line for line in text.splitlines() if not line.startswith(_TEMPERATURE))


def after(effect: Effect | EventEffect) -> str:
    """Return the delay in words: ``"after about 15 s (3 rows)"``."""
    if math.isinf(effect.delay):
        return "only after very long"
    if effect.delay == 0:
        return "at once"
    rows = f"{effect.delay_rows:.0f} row" + "s" * (effect.delay_rows != 1)
    if not effect.in_seconds:
        return f"after {rows}"
    return f"after about {span_in_words(effect.delay)} ({rows})"


def changes_in_words(
    effect: Effect, over: str = "", verb: str = "changes class", alone: bool = False
) -> str:
    """Say how often something changes, before and after, and over what."""
    unit, per = rate_unit(effect, effect.changes_before)
    length = span_in_words(effect.time) if effect.in_seconds else f"{effect.rows} rows"
    over = f", over {over} and {length}." if over else "."
    before = rate_in_words(effect.changes_before * per)
    if alone:
        return f"{verb} {before} times {unit}{over}"
    if not effect.changes_after:
        return f"never {verb}, instead of {before} times {unit}{over}"
    rate = rate_in_words(effect.changes_after * per)
    return f"{verb} {rate} times {unit} instead of {before}{over}"


def rate_unit(effect: Effect | EventEffect, count: int) -> tuple[str, float]:
    """Return how a count is told: "an hour", "a day" or "in 1000 rows"; and the factor for it."""
    if not effect.in_seconds or not effect.time:  # one row of a stream takes no time
        return "in 1000 rows", 1000 / effect.rows
    often = 3600 * count / effect.time >= 1
    return ("an hour", 3600 / effect.time) if often else ("a day", 86400 / effect.time)


def in_words(time: float, in_seconds: bool, digits: int = 3) -> str:
    """Return a time with its unit, where that is known."""
    return span_in_words(time, digits) if in_seconds else f"{time:.{digits}g}"


def dwell_in_words(filter: Any, in_seconds: bool) -> str:  # noqa: A002
    """Return the mean time in a class of a sticky filter, or the shortest and the longest."""
    low, high = (
        in_words(time, in_seconds, 2) for time in (filter._dwell.min(), filter._dwell.max())
    )
    return high if low == high else f"{low.removesuffix(high.lstrip('0123456789.'))} to {high}"


def span_in_words(seconds: float, digits: int = 3) -> str:
    """Return a time in words.

    Examples
    --------
    >>> tuple(map(span_in_words, (0.25, 90, 600, 21600, 1e6)))
    ('0.25 s', '90 s', '10 min', '6.0 h', '278 h')
    """
    if seconds < 120:
        return f"{seconds:.{digits}g} s"
    if seconds < 5400:
        return f"{seconds / 60:.{digits}g} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 100 else f"{hours:.0f} h"


def rate_in_words(value: float) -> str:
    """Return a rate with two digits, or whole where it is large."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2g}"


def explain(
    rows: JoinedRows,
    candidate: Candidate,
    criterion: str,
    score: tuple[float, float],
    rivals: list[Rival],
    assumptions: Assumptions,
    assumed: bool,
    judged_by_all: bool,
    effect: Effect | None = None,
    limit: str = "",
    temperatures: str = "",
    filter: Any = None,  # noqa: A002
) -> str:
    """Return the explanation of a choice.

    Parameters
    ----------
    rows : JoinedRows
        What it was chosen on.
    candidate : Candidate
        The choice.
    criterion : str
        See `TuningRecord.criterion`.
    score : tuple of float
        Of the choice, with its standard error.
    rivals : list of Rival
        What it was compared with.
    assumptions : Assumptions
        What it rests on.
    assumed : bool
        Whether the rate of calls was assumed.
    judged_by_all : bool
        Whether all sources were judged as one.
    effect : Effect, optional
        What the choice does.
    limit : str
        What was limited, and whether that is kept.
    temperatures : str
        See `temperatures_in_words`.
    filter : Filter, optional
        The filter that was made of the choice.
    """
    labels, reference = criterion == LABELS, rows.reference
    lines = describe(candidate, rows, effect, bool(limit), filter)
    lines += [temperatures] * bool(temperatures) + [limit] * bool(limit)
    mean, error = score
    if labels:
        lines.append(f"It predicts the labelled class in {mean:.1%} ± {error:.1%} of the rows.")
    else:
        judge = "its source" if len(rows.sources) == 1 else repr(reference)
        if judged_by_all and len(rows.sources) > 1:
            judge = "the sources"
        lines.append(
            f"Later predictions of {judge} are {_times(mean)} times as likely in the filtered "
            "class as on average."
        )
    for rival in rivals:
        its = mean - rival.gain
        other = f"{its:.1%}" if labels else f"{_times(its)} times"
        clearly = "clearly less" if rival.gain > 0 else "clearly more"
        lines.append(
            f"With {rival.name}: {other}; {clearly if rival.clear else 'no clear difference'}."
        )
    more = "" if candidate.family in RULES else unsettled(rivals, RULES, rows.streams)
    lines += [more] * bool(more)
    lines += _advice(rows, assumptions, assumed, labels or bool(more))
    streams = f"{rows.streams} stream" + "s" * (rows.streams > 1)
    count = int(rows.of_reference.sum())
    how = "by the labels" if labels else "without labels"
    chosen = f"Chosen on {streams} with {count} predictions of {reference!r}, {how}."
    if effect is not None:
        chosen += f" Times {'are read as' if effect.in_seconds else 'do not look like'} seconds."
    lines.append(chosen)
    return "\n".join(lines)


def _advice(rows: JoinedRows, assumptions: Assumptions, assumed: bool, labels: bool) -> list[str]:
    reference, lines = rows.reference, []
    every, thinned, agreement, correlation = assumptions
    if thinned:
        lines.append(
            f"For {reference!r} at one step in {every:.3g}, "
            + (
                "which was assumed: the recordings have it at most steps; give every."
                if assumed
                else "to which the recordings were thinned."
            )
        )
    if len(rows.sources) > 1 and agreement < LOW_AGREEMENT:
        lines.append(f"The class often changes between its predictions: call {reference!r} more.")
    if len(rows.sources) > 1 and correlation >= HIGH_CORRELATION:
        lines.append(
            f"Errors of {reference!r} last: their correlation is about {correlation:.1f} from one "
            "prediction to the next, and the judge shares them."
        )
    if rows.streams < FEW_STREAMS and not labels:
        lines.append("More streams would make the choice more certain.")
    return lines


def _digits(value: float) -> str:
    """Return three digits, and no exponent where the number is large."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _times(score: float) -> str:
    return f"{math.exp(score):.2f}"
