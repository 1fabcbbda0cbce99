"""What was chosen and what it does, as a table that one scans; `_explanation` has the sentences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..filters import StickyFilter
from ..pipeline import Pipeline
from ..support.text import titled
from .candidates import WINDOW, Candidate
from .criterion import LABELS
from .effect import Effect
from .event_effect import EventEffect
from .explanation import dwell_in_words, in_words, rate_in_words, rate_unit, weights_in_words
from .streams_needed import Rival

_KINDS = {
    "transitions": "sticky (HMM), estimated transitions",
    "stay": "sticky (HMM)",
    "dirichlet": "Dirichlet",
    "raw": "none: the predictions as they are",
    "mean": f"mean of {WINDOW} predictions",
    "vote": f"majority of {WINDOW} predictions",
    "ema": "exponential average",
    "hold": "last prediction of {reference!r}",
}
_CHOSEN_BY = {"duration": "by class", "labels": "by labels", "suggestion": "suggested"}
_RIVALS: dict[str, Callable[[Rival], bool]] = {
    "Better than": lambda rival: rival.clear and rival.gain > 0,
    "About equal to": lambda rival: not rival.clear,
    "Worse than": lambda rival: rival.clear and rival.gain < 0,
}


def summarise(pipe: Pipeline, record: Any, name: str | None = None) -> str:
    """Return the table of a tuned pipeline; `name` is that of the file of the recordings."""
    effect, events = record.effect, record.event_effect
    rows = [("Filter", filter_in_words(pipe, record))]
    if record.why_safe:
        rows.append(("Safe rule", record.why_safe))
    if record.criterion == LABELS:
        rows.append(("Chosen", "using the labels"))
    if record.candidate is not None and len(record.candidate.beta) > 1:
        rows.append(("Weights", weights_in_words(record.candidate)))
    if record.assumptions is not None and record.assumptions.thinned:
        every = f"{record.assumptions.every:.3g}"
        rows.append(("Reference", f"{record.reference}, at one step in {every}"))
    if effect is not None and effect.time:
        rows.append(("Switches", _switches(effect)))
    if effect is not None and effect.lost:
        rows.append(("Lost", "; ".join(map(str, effect.lost))))
    if events is not None:
        rows += _events(events)
    if effect is not None:
        for title, holds in _RIVALS.items():
            names = [rival.name for rival in record.rivals if holds(rival)]
            rows += [(title, "; ".join(names))] * bool(names)
            if names and title == "Better than":
                rows.append(("", "each by more than 2 standard errors"))
    lines = [] if effect is None or not effect.streams else [_recordings(effect, name), ""]
    return "\n".join([*lines, titled(rows)])


def filter_in_words(pipe: Pipeline, record: Any) -> str:
    """Return the kind of filter, and how long a class lasts by it or how long it remembers."""
    reference, candidate = record.reference, record.candidate
    if record.by_label:
        records = [one.tuning for one in record.by_label.values() if one.tuning is not None]
        kinds = [_kind(one.candidate, reference) for one in records if one.candidate]
        each = f"one for each of {len(record.by_label)} labels"
        return f"{', '.join(dict.fromkeys(kinds))}; {each}"
    f = pipe.filter
    if candidate is None:
        return repr(f)
    in_seconds = record.effect is not None and record.effect.in_seconds
    words = _kind(candidate, reference)
    if isinstance(f, StickyFilter):
        return f"{words}, dwell {dwell_in_words(f, in_seconds)}"
    half_life = candidate.half_life
    return words if half_life is None else f"{words}, half-life {in_words(half_life, in_seconds)}"


def _kind(candidate: Candidate, reference: str) -> str:
    return _KINDS[candidate.family].format(reference=reference)


def _recordings(effect: Effect, name: str | None) -> str:
    """Return what it was chosen on."""
    parts = [f"{effect.streams} stream{'s' * (effect.streams != 1)}"]
    parts += [in_words(effect.time, True)] * effect.in_seconds
    parts.append(f"{effect.predictions:,} predictions")
    times = "read as seconds" if effect.in_seconds else "do not look like seconds"
    return f"{'' if name is None else name + '   '}{', '.join(parts)} (times {times})"


def _switches(effect: Effect) -> str:
    unit, per = _rate(effect, effect.changes_before)
    rates = [rate_in_words(n * per) for n in (effect.changes_before, effect.changes_after)]
    late = "" if math.isnan(effect.delay) else f", {_late(effect)} behind a change"
    return f"{rates[0]} -> {rates[1]} {unit}{late}"


def _events(effect: EventEffect) -> list[tuple[str, str]]:
    unit, per = _rate(effect, max(effect.argmax_live, effect.argmax_offline))
    how = _CHOSEN_BY[effect.chosen_by]
    if effect.duration is not None:
        how = in_words(effect.duration, effect.in_seconds)
    text = f"{rate_in_words(effect.live * per)} {unit}"
    if not math.isnan(effect.delay):
        text += f", confirmed about {_late(effect)} after they end"
    if effect.by_labels is not None:
        text += f", F1@50 {effect.by_labels[0].f1:.1%}"
    rows = [(f"Events ({how})", text)]
    if effect.half is not None and effect.double is not None:
        half, double = (rate_in_words(n * per) for n in (effect.half, effect.double))
        rows.append(("", f"half the duration: {half} {unit}; double: {double}"))
    return rows


def _rate(effect: Effect | EventEffect, count: int) -> tuple[str, float]:
    unit, per = rate_unit(effect, count)
    return {"an hour": "per hour", "a day": "per day"}.get(unit, unit), per


def _late(effect: Effect | EventEffect) -> str:
    if math.isinf(effect.delay):
        return "very long"
    if not effect.in_seconds:
        return f"{effect.delay_rows:.0f} rows"
    return in_words(effect.delay, True)
