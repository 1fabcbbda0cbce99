"""The tables of a report on several labels at once, as HTML."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._support.html import Markup, markup, table
from ..chain._chain import Chain
from ..chain._labels import weight_text
from ..data._recording import Recording
from ..tuning._effect import count_changes, last_predictions
from ..tuning._result import Tuned
from ._calibration import calibration_section
from ._headline import Figures, hours
from ._page_data import NamedRecordings
from ._sections import (
    MAX_STREAMS,
    confusions_section,
    rates_of_sources,
    section,
)

MAX_LABELS = 30
"""How many labels have parts of their own."""


def label_streams_section(streams: NamedRecordings) -> str:
    """Describe the sources and the streams: rows, rates, how many labels are on at once."""
    recs = [rec for _, rec in streams]
    lines = [[name, f"{len(rec):,}", f"{hours(rec):.1f}"] for name, rec in streams[:MAX_STREAMS]]
    more = f"And {len(recs) - MAX_STREAMS:,} more streams." if len(recs) > MAX_STREAMS else ""
    return section(
        "The streams",
        f"Labels, of which several may be true at once: {', '.join(recs[0].classes)}.",
        table(["source", "predictions", "per hour", "missing"], rates_of_sources(recs)),
        table(["stream", "rows", "hours"], lines),
        more,
    )


def label_measures(recs: Sequence[Recording], tuned: Chain, labelled: bool) -> list[list[float]]:
    """Return a row for each label, and their averages: see `labels_section` for the columns."""
    measures = [_measures(recs, tuned, label, labelled) for label in recs[0].classes]
    known = [np.array([x for x in column if x == x]) for column in zip(*measures, strict=True)]
    return [*measures, [float(x.mean()) if x.size else np.nan for x in known]]


def with_averages(of: Figures, measures: list[list[float]], labelled: bool) -> Figures:
    """Return the figures of a headline with the averages of all labels."""
    average = measures[-1]
    right = (average[4] / 100, average[7] / 100) if labelled else of.right
    return of._replace(changes=(average[2], average[3]), right=right)


def labels_section(
    recs: Sequence[Recording],
    tuned: Chain,
    labelled: bool,
    measures: list[list[float]] | None = None,
) -> str:
    """Say of each label how often it is on, how often that changes, and how right it is."""
    header = ["label", "on, as predicted", "filtered"]
    header += ["changes an hour, as predicted", "filtered"]
    if labelled:
        header += ["F1, as predicted", "precision", "recall", "F1, filtered"]
    measures = measures or label_measures(recs, tuned, labelled)
    names = [*recs[0].classes, "average"]
    lines = [[name, *_cells(row)] for name, row in zip(names, measures, strict=True)]
    text = (
        "Each label has a filter of its own, and is on where it is more probable than not. The "
        "average counts all labels alike."
    )
    return section("The labels", text, table(header, lines))


def _measures(recs: Sequence[Recording], tuned: Chain, label: str, labelled: bool) -> list[float]:
    """Return shares that are on, changes an hour, and scores by the labels."""
    on, changes, time = np.zeros(2), np.zeros(2), np.zeros(2)
    counts = np.zeros((2, 3))  # right, predicted, true
    rows, chain = 0, tuned.lane(label)
    for rec in recs:
        lane = rec.lane(label)
        raw = last_predictions(lane)
        both = raw, np.where(raw >= 0, lane.run(chain)[:, 1] > 0.5, -1)
        rows += int((raw >= 0).sum())
        for i, predicted in enumerate(both):
            on[i] += (predicted == 1).sum()
            switches, length = count_changes(lane.time, predicted)
            changes[i] += switches
            time[i] += length
            if lane.label is not None:
                judged = (lane.label >= 0) & (predicted >= 0)
                is_on, is_true = predicted[judged] == 1, lane.label[judged] == 1
                counts[i] += (is_on & is_true).sum(), is_on.sum(), is_true.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        measures = [*(100 * on / rows), *(changes / time)]
        if labelled:
            right, predicted, true = counts.T
            f1 = 200 * right / (predicted + true)
            measures += [f1[0], 100 * right[1] / predicted[1], 100 * right[1] / true[1], f1[1]]
    return [float(x) for x in measures]


def _cells(measures: Sequence[float]) -> list[str]:
    percent = [f"{x:.1f}\u00a0%" if x == x else "" for x in measures]
    rates = [f"{x:.1f}" if x == x else "" for x in measures[2:4]]
    return [*percent[:2], *rates, *percent[4:]]


def each_label_section(
    recs: Sequence[Recording], tuned: Chain, reference: str, labelled: bool
) -> str:
    """Say what each source confuses, and show the calibration, for each label, folded up."""
    folded = []
    for label in recs[0].classes[:MAX_LABELS]:
        lanes, chain = [rec.lane(label) for rec in recs], tuned.lane(label)
        known = labelled and any(rec.label is not None and (rec.label >= 0).any() for rec in lanes)
        inner = confusions_section(lanes, chain, known)
        inner += calibration_section(lanes, chain, reference, known)
        folded.append(f"<details><summary>{markup(label)}</summary>{inner}</details>")
    more = len(recs[0].classes) - MAX_LABELS
    rest = f"And {more:,} more labels." if more > 0 else ""
    text = "Of each label, what each source confuses, and the calibration: off and on."
    return section("Each label by itself", text, Markup("".join(folded)), rest)


def label_settings_section(tuned: Chain) -> str:
    """Say what the settings are."""
    named = tuned.beta if isinstance(tuned.beta, dict) else {"all": tuned.beta}
    weights = [
        [name, weight_text(weight), "yes" if tuned.channel.get(name) is not None else "no"]
        for name, weight in named.items()
    ]
    title, why = "The settings", str(tuned)
    if isinstance(tuned, Tuned):
        title, why = "What tune chose, and why", tuned.explanation
    return section(title, why, table(["source", "weight", "channel"], weights))
