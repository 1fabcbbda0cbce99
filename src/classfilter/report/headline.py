"""The headline of a report: the result in figures, before the explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..engine import decided_as_they_are
from ..events import EventRule
from ..inputs import Rows
from ..pipeline import Pipeline
from ..support.html import Markup, markup
from ..tuning import GAP, count_changes, last_predictions
from .page_data import NamedRecordings


class Figures(NamedTuple):
    """What the filter does on some streams.

    Attributes
    ----------
    rows, streams, events : int
        How many there are; events by the pipeline's rule or, without one, at a change cost of 0.
    hours : float
        The length of all streams, without pauses.
    changes : (float, float)
        An hour: of the last prediction, and of the filtered class. NaN where no time passes.
    right : (float, float)
        The share of the labelled rows that have their class; of several labels at once, the mean of
        their F1. NaN without labels.
    """

    rows: int
    streams: int
    events: int
    hours: float
    changes: tuple[float, float]
    right: tuple[float, float]


def hours(rec: Rows) -> float:
    """Return the length of a stream without pauses longer than ten usual steps."""
    dt = rec.dt[1:]
    return float(dt[dt <= GAP * rec.step].sum()) / 3600


def figures(streams: NamedRecordings, tuned: Pipeline) -> Figures:
    """Run the pipeline over all streams, and count."""
    recs = [rec for _, rec in streams]
    filtered = [tuned.run(rec) for rec in recs]
    changes, length = np.zeros(2), np.zeros(2)
    right, judged = np.zeros(2), np.zeros(2)
    for rec, P in zip(recs, filtered, strict=True) if tuned.heads.is_exclusive else ():
        raw = last_predictions(rec)
        for i, predicted in enumerate((raw, np.where(raw >= 0, P.argmax(axis=1), -1))):
            switches, spent = count_changes(rec, predicted)
            changes[i] += switches
            length[i] += spent
            if rec.label is not None:
                known = (rec.label >= 0) & (predicted >= 0)
                right[i] += (rec.label == predicted)[known].sum()
                judged[i] += known.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        rates, shares = (changes / length).tolist(), (right / judged).tolist()
    return Figures(
        rows=sum(map(len, recs)),
        streams=len(recs),
        events=sum(
            len(decided_as_they_are(tuned.rule or EventRule(), replace(rec, probs=P)))
            for rec, P in zip(recs, filtered, strict=True)
        ),
        hours=sum(map(hours, recs)),
        changes=(rates[0], rates[1]),
        right=(shares[0], shares[1]),
    )


def headline(of: Figures, tuned: Pipeline) -> Markup:
    """Return the figures as a list: changes, events, how right, and how much there is."""
    several = not tuned.heads.is_exclusive
    before, after = of.changes
    tiles = []
    if before == before and after == after:
        fewer = f": {1 - after / before:.0%} fewer" if 0 <= after < before else ""
        of_what = ", mean of the labels" if several else ""
        tiles.append(
            ("Changes an hour", [f"{before:,.1f}", f"{after:,.1f}"],
             f"as predicted → filtered{of_what}{fewer}")
        )  # fmt: skip
    if of.right[0] == of.right[0]:
        shares = [f"{share:.1%}" for share in of.right]
        name, note = "Accuracy", "rows with the class of their label"
        if several:
            name, note = "F1", "mean of the labels"
        tiles.append((name, shares, f"as predicted → filtered: {note}"))
    rate = f"{of.events / of.hours:,.1f} an hour: " if of.hours else ""
    tiles.append(("Events", [f"{of.events:,}"], rate + rule_in_words(tuned.rule)))
    streams = f"in {of.streams:,} stream{'s' * (of.streams != 1)}, {of.rows:,} rows"
    tiles.append(("Hours", [f"{of.hours:,.1f}"], streams))
    return Markup(f'<dl class="figures">{"".join(_tile(*tile) for tile in tiles)}</dl>')


def rule_in_words(rule: EventRule | None) -> str:
    """Say how events were decided."""
    if rule is None:
        return "at a change cost of 0, since the settings have no rule for events"
    words = [f"change cost {_span_in_words(rule.change_cost)}"]
    if rule.min_duration:
        words.append(f"minimum duration {_span_in_words(rule.min_duration)}")
    others = [name for name in rule.settings if name not in ("change_cost", "min_duration")]
    option = "option" if len(others) == 1 else "options"
    return ", ".join([*words, *([f"and {len(others)} more {option}"] if others else [])])


def _span_in_words(value: Any) -> str:
    return "by class" if isinstance(value, dict) else f"{value:.4g} s"


def _tile(name: str, values: Sequence[str], note: str) -> str:
    arrow = ' <span class="arrow">→</span> '
    shown = arrow.join(f"<span>{markup(value)}</span>" for value in values)
    return f"<div><dt>{markup(name)}</dt><dd>{shown}</dd><dd>{markup(note)}</dd></div>"
