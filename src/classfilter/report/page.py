"""The report: it measures, explains, and lets one play with the settings, in one file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from ..compare import Comparison, compare
from ..errors import ArgumentError, names_keywords
from ..inputs import EXCLUSIVE, Rows, as_rows
from ..metrics import Reliability, reliability
from ..pipeline import Pipeline
from ..support.atomic import atomic_write
from ..support.html import Markup, lines_of, markup, table
from ..support.types import Array, Ints
from ..tuning import Progress, count_changes, find_reference, last_predictions, thin, tune
from .headline import Figures, figures, headline
from .page_data import (
    ALL_ROWS,
    NamedRecordings,
    as_script,
    first_rows,
    label_page_data,
    page_data,
    playable,
)
from .sections import (
    calls_section,
    choice_section,
    comparison_section,
    confusions_section,
    section,
    sources_section,
    streams_section,
    words_of_heads,
)

FEWEST_ROWS = 20
"""Fewer rows in a bin are not shown: their share is chance."""
FILTERED, SMOOTHED = "filtered", "smoothed"


def calibration(
    recordings: Sequence[Rows],
    filtered: Sequence[Array],
    reference: str,
    labelled: bool,
    smoothed: Sequence[Array] | None = None,
) -> dict[str, Reliability]:
    """Return the reliability of the filter and of each source, by the labels or by the reference.

    With labels, that of the smoother too. Without, what the reference predicts takes their place,
    and what came just before that prediction is judged by it; the reference itself is then not
    judged, nor the smoother, which has seen the prediction.
    """
    parts: dict[str, list[tuple[Ints, Array]]] = {FILTERED: []}
    for i, (rec, P) in enumerate(zip(recordings, filtered, strict=True)):
        if labelled and rec.label is None:
            continue
        truth = rec.label if labelled else _predicted(rec, reference)
        assert truth is not None
        rows = np.flatnonzero(truth >= 0)
        rows = rows if labelled else rows[rows > 0]
        judged = rows if labelled else rows - 1
        parts[FILTERED].append((truth[rows], P[judged]))
        if labelled and smoothed is not None:
            parts.setdefault(SMOOTHED, []).append((truth[rows], smoothed[i][rows]))
        for name in rec.sources:
            if name == reference and not labelled:
                continue
            latest = np.where(rec.observed(name), np.arange(len(rec)), -1)
            latest = (latest if labelled else np.maximum.accumulate(latest))[judged]
            pair = truth[rows[latest >= 0]], rec.probs[latest[latest >= 0]]
            parts.setdefault(name, []).append(pair)
    pairs = {
        name: [np.concatenate(columns) for columns in zip(*several, strict=True)]
        for name, several in parts.items()
        if several
    }
    return {name: reliability(y, P) for name, (y, P) in pairs.items() if y.size}


def _predicted(rec: Rows, source: str) -> Ints:
    """Return the class that a source predicts in each row, -1 where it predicts none."""
    best: Ints = np.where(rec.observed(source), np.nan_to_num(rec.probs).argmax(axis=1), -1)
    return best


def calibration_section(
    recs: Sequence[Rows], tuned: Pipeline, reference: str, labelled: bool
) -> str:
    """Show how often what was called probable was right, by labels or by the reference."""
    smooths = labelled and playable(tuned.smoothing) is tuned.smoothing
    smoothed = [tuned.smooth(rec) for rec in recs] if smooths else None
    filtered = [tuned.run(rec) for rec in recs]
    found = calibration(recs, filtered, reference, labelled, smoothed)
    if not found:
        return section(
            "Calibration", f"There is nothing to judge: {reference!r} predicts too rarely."
        )
    if labelled:
        how = (
            "How often the predicted class is that of the label, by its probability. Where the "
            "share is below the probability, the source is overconfident; above it, "
            "underconfident. Smoothed rows use later predictions too."
        )
    else:
        how = (
            f"There are no labels. What {reference!r} predicts takes their place, and the "
            "estimate just before that prediction is judged by it. This is agreement, not "
            f"accuracy: {reference!r} errs too, and the class may have changed in between, so that "
            "the share of even a perfect estimate is below its probability."
        )
    edges = np.linspace(0, 1, len(next(iter(found.values())).rows) + 1)
    rows = [
        [
            f"{edges[i]:.0%} to {edges[i + 1]:.0%}",
            *(_share_right(curve, i) for curve in found.values()),
        ]
        for i in range(len(edges) - 1)
    ]
    rows = [row for row in rows if any(row[1:])]
    errors = ["calibration error", *(f"{curve.error:.1%}" for curve in found.values())]
    return section("Calibration", how, table(["probability", *found], [*rows, errors]))


def _share_right(curve: Reliability, i: int) -> str:
    """Return the share of a bin that is right; of few rows, nothing."""
    return f"{curve.accuracy[i]:.0%}" if curve.rows[i] >= FEWEST_ROWS else ""


MAX_LABELS = 30
"""How many labels have parts of their own."""


def label_measures(recs: Sequence[Rows], tuned: Pipeline, labelled: bool) -> list[list[float]]:
    """Return a row for each label, and their averages: see `labels_section` for the columns."""
    names = recs[0].heads.names
    measures = [row for name in names for row in _measures(recs, tuned, name, labelled)]
    known = [np.array([x for x in column if x == x]) for column in zip(*measures, strict=True)]
    return [*measures, [float(x.mean()) if x.size else np.nan for x in known]]


def with_averages(of: Figures, measures: list[list[float]], labelled: bool) -> Figures:
    """Return the figures of a headline with the averages of all labels."""
    average = measures[-1]
    right = (average[4] / 100, average[7] / 100) if labelled else of.right
    return of._replace(changes=(average[2], average[3]), right=right)


def labels_section(
    recs: Sequence[Rows],
    tuned: Pipeline,
    labelled: bool,
    measures: list[list[float]] | None = None,
) -> str:
    """Say of each label how often it is on, how often that changes, and how right it is."""
    header = ["label", "on, as predicted", "filtered"]
    header += ["switches per hour, as predicted", "filtered"]
    if labelled:
        header += ["F1, as predicted", "precision", "recall", "F1, filtered"]
    measures = measures or label_measures(recs, tuned, labelled)
    names = [*recs[0].classes, "average"]
    lines = [[name, *_label_cells(row)] for name, row in zip(names, measures, strict=True)]
    text = (
        "Each label has a filter of its own, and is on where it is more probable than not. The "
        "average counts all labels alike."
    )
    return section("The labels", text, table(header, lines))


def _measures(
    recs: Sequence[Rows], tuned: Pipeline, name: str, labelled: bool
) -> list[list[float]]:
    """Return, of each column of a head, shares that are on, switches per hour, and scores."""
    heads, pipe = recs[0].heads, tuned.head(name)
    h = heads.place(name)
    classes = range(heads.sizes[h])[-len(heads.columns[h]) :]
    on, changes, time = np.zeros((3, 2, len(classes)))
    counts = np.zeros((3, 2, len(classes)))  # right, predicted, true
    rows = 0
    for rec in recs:
        own = rec.head(name)
        raw = last_predictions(own)
        both = raw, np.where(raw >= 0, pipe.run(own).argmax(axis=1), -1)
        rows += int((raw >= 0).sum())
        for i, predicted in enumerate(both):
            for k, of_class in enumerate(classes):
                is_on = predicted == of_class
                on[i, k] += is_on.sum()
                switches, length = count_changes(own, np.where(predicted < 0, -1, is_on))
                changes[i, k] += switches
                time[i, k] += length
                if own.label is not None:
                    judged = (own.label >= 0) & (predicted >= 0)
                    is_true = (own.label == of_class) & judged
                    counts[:, i, k] += (is_on & is_true).sum(), is_on[judged].sum(), is_true.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        measures = [*(100 * on / rows), *(changes / time)]
        if labelled:
            right, predicted, true = counts
            f1 = 200 * right / (predicted + true)
            measures += [f1[0], 100 * right[1] / predicted[1], 100 * right[1] / true[1], f1[1]]
    of_columns: list[list[float]] = np.array(measures).T.tolist()
    return of_columns


def _label_cells(measures: Sequence[float]) -> list[str]:
    percent = [f"{x:.1f}\u00a0%" if x == x else "" for x in measures]
    rates = [f"{x:.1f}" if x == x else "" for x in measures[2:4]]
    return [*percent[:2], *rates, *percent[4:]]


def each_label_section(
    recs: Sequence[Rows], tuned: Pipeline, reference: str, labelled: bool
) -> str:
    """Say what each source confuses, and show the calibration, for each label, folded up."""
    folded = []
    labels = recs[0].heads.names
    for label in labels[:MAX_LABELS]:
        own, pipe = [rec.head(label) for rec in recs], tuned.head(label)
        known = labelled and any(rec.label is not None and (rec.label >= 0).any() for rec in own)
        inner = confusions_section(own, pipe, known)
        inner += calibration_section(own, pipe, reference, known)
        folded.append(f"<details><summary>{markup(label)}</summary>{inner}</details>")
    more = len(labels) - MAX_LABELS
    rest = f"And {more:,} more labels." if more > 0 else ""
    text = "Of each label, what each source confuses, and the calibration: off and on."
    return section("Each label by itself", text, Markup("".join(folded)), rest)


FOLDER = Path(__file__).parent
MAX_EMBEDDED = 60_000
"""How many rows a report has in it, for its pictures and sliders."""
MAX_MEASURED = 200_000
"""How many rows the tables are measured on, but for those of the streams."""
MAX_MEASURED_STREAMS = 500
"""And of how many streams: each is smoothed and filtered many times."""
_HEADING = re.compile(r"<section><h2>(.*?)</h2>")
TUNED = 0.3
"""The progress at which tuning is done."""


@names_keywords
def report(
    rows: Any,
    path: str | PathLike[str],
    tuned: Pipeline | None = None,
    *,
    reference: str | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a report on rows: one HTML file, with sliders that filter in the browser.

    It needs no network: the page has the C core as WebAssembly in it, and gives the bits of Python.

    Parameters
    ----------
    rows : Rows, dataframe, str or Path
        Predictions, as for `tune`, with times in seconds. The page says how many rows of which
        streams it has in it.
    path : str or path
        Where to write it.
    tuned : Pipeline, optional
        The settings; by default what `tune` finds on them, without labels.
    reference : str, optional
        The best source; by default that of `tuned`, or the one that is observed least often.
    progress : callable, optional
        Called with the share of the work that is done, 0 to 1.

    Examples
    --------
    >>> import tempfile
    >>> from classfilter import simulate
    >>> days = {f"day {i}": simulate("plain", hours=2.0, seed=i).rows() for i in range(2)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report(days, f"{folder}/report.html")
    ...     text = Path(f"{folder}/report.html").read_text()
    >>> "<h2>What tune chose, and why</h2>" in text
    True
    """
    streams = _by_name(rows)
    everything = [rec for _, rec in streams]
    _check_heads(everything, tuned)
    wanted = None if tuned is None else tuned.reference
    best = find_reference(everything, reference or wanted or None)
    report_progress = progress or (lambda share: None)
    if tuned is None:
        tuned = tune(everything, reference=best, progress=lambda x: report_progress(TUNED * x))
    elif not isinstance(tuned.beta, dict):
        named = {name: tuned.beta for rec in everything for name in rec.sources}
        tuned = Pipeline.of(tuned, beta=named)
    # As they will be: the reference at the rate at which it will be called.
    assumptions = None if tuned.tuning is None else tuned.tuning.assumptions
    every = None if assumptions is None else round(assumptions.every)
    recs = thin(everything, best, every).recordings
    streams = [(name, rec) for (name, _), rec in zip(streams, recs, strict=True) if len(rec)]
    measured = first_rows(streams, MAX_MEASURED, MAX_MEASURED_STREAMS)
    shown = first_rows(streams, MAX_EMBEDDED // len(tuned.heads.names))
    some = [rec for _, rec in measured]
    labelled = any(rec.label is not None and (rec.label >= 0).any() for _, rec in streams)
    comparison = _comparison(some, best, lambda x: report_progress(TUNED + (1 - TUNED) * x))
    result = figures(streams, tuned)
    if not tuned.heads.is_exclusive:
        measures = label_measures(some, tuned, labelled)
        result = with_averages(result, measures, labelled)
        sections = [
            streams_section(streams, tuned, labelled),
            labels_section(some, tuned, labelled, measures),
            each_label_section(some, tuned, best, labelled),
            comparison_section(comparison),
            choice_section(tuned),
        ]
        data = label_page_data(shown, tuned)
    else:
        sections = [
            streams_section(streams, tuned, labelled),
            sources_section(measured, tuned),
            confusions_section(some, tuned, labelled),
            calibration_section(some, tuned, best, labelled),
            comparison_section(comparison),
            calls_section(some, tuned, labelled),
            choice_section(tuned),
        ]
        data = page_data(shown, tuned)
    said = _summary(streams, measured, shown, tuned)
    page = fill_page(said, headline(result, tuned), sections, data)
    with atomic_write(fspath(path), private=True) as file:
        file.write(page.encode())
    report_progress(1.0)


def _check_heads(recs: Sequence[Rows], tuned: Pipeline | None) -> None:
    """Raise where settings do not fit the recordings."""
    heads = recs[0].heads if recs else EXCLUSIVE
    exclusive = heads.is_exclusive
    if not exclusive and len(heads.labels) < len(heads.names):
        problem = "has the heads {}, of which some have several classes"
        fix = "write a report on each head: report(rows.head(name), path)"
        raise ArgumentError("rows", list(heads.names), problem=problem, fix=fix)
    if tuned is not None and recs and tuned.heads.is_exclusive != exclusive:
        must = "the recordings are multi-label and need a MultiLabelFilter"
        fix = "read them without it, or give settings of a MultiLabelFilter"
        if exclusive:
            must = "the recordings have one class at a time, but the filter is multi-label"
            fix = 'read them with scores="independent"'
        raise ArgumentError("tuned", type(tuned.filter).__name__, must=must, fix=fix)


def _by_name(recordings: Any) -> NamedRecordings:
    """Return the recordings by the names of their streams."""
    streams = as_rows(recordings).by_stream()
    return [(ALL_ROWS if name is None else str(name), rec) for name, rec in streams.items()]


def _comparison(recs: Sequence[Rows], reference: str, progress: Progress) -> Comparison | str:
    """Return the comparison, or why there is none."""
    try:
        return compare(recs, reference, progress=progress)
    except ValueError as error:
        return f"There is no comparison: {error}."


def _summary(
    streams: NamedRecordings, measured: NamedRecordings, shown: NamedRecordings, tuned: Pipeline
) -> str:
    """Return what the page is about, and what is in it, as lines of text."""

    def count(some: NamedRecordings) -> str:
        rows = sum(len(rec) for _, rec in some)
        return f"{rows:,} rows of {len(some):,} stream" + "s" * (len(some) != 1)

    exclusive, classes = tuned.heads.is_exclusive, streams[0][1].classes
    lines = [f"{count(streams)}, with {len(classes)} {words_of_heads(tuned.heads)}."]
    if not exclusive:
        lines.append("Below, each label of a stream can be played with by itself.")
    assumptions = None if tuned.tuning is None else tuned.tuning.assumptions
    if assumptions is not None and assumptions.thinned:
        every = f"one step in {assumptions.every:.3g}"
        lines[0] += f" {tuned.reference!r} is taken at {every}, as it will be called."
    if count(shown) != count(streams):
        lines.append(f"In this file, for the pictures and the sliders: the first {count(shown)}.")
    if count(measured) != count(streams):
        rest = "Confusions, calibration, comparison and calls"
        rest = rest if exclusive else "The tables of labels"
        lines.append(f"{rest}: from the first {count(measured)}.")
    pipes = [tuned] if exclusive else [tuned.head(label) for label in tuned.heads.names]
    others = [c for c in pipes if type(c.filter) is not type(playable(c).filter)]
    if others:
        name = type(others[0].filter).__name__
        lines.append(
            f"The sliders have no {name}, which was chosen; they start from another filter."
        )
    return "\n".join(lines)


def fill_page(summary: str, figures: str, sections: Sequence[str], data: Any) -> str:
    """Return the page: the template with its text, its data, and what may run in it.

    Without data, None, the page asks for a file. The policy allows the page's own script and
    style, by their hashes, and nothing from outside.
    """
    template, script, style = (
        (FOLDER / name).read_text("utf-8")
        for name in ("template.html", "classfilter.js", "classfilter.css")
    )
    placed, titles = with_places(sections)
    values = {
        "policy": f"default-src 'none'; script-src {_hash(script)} 'wasm-unsafe-eval'; "
        f"style-src {_hash(style)}; base-uri 'none'; form-action 'none'",
        "style": style,
        "summary": lines_of(summary),
        "headline": figures,
        "contents": links(titles),
        "sections": "".join(placed),
        "data": as_script(data),
        "script": script,
    }
    parts = re.split(r"\{\{(\w+)\}\}", template)  # once: values may have braces
    return "".join(values[part] if i % 2 else part for i, part in enumerate(parts))


def with_places(sections: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the sections, each with an id, and the ids with the titles, which are HTML.

    Sections inside of others stay as they are.

    Examples
    --------
    >>> placed, titles = with_places(["<section><h2>Calls, and why</h2></section>", ""])
    >>> placed
    ['<section id="calls-and-why"><h2>Calls, and why</h2></section>']
    >>> titles
    [('calls-and-why', 'Calls, and why')]
    """
    placed, titles = [], []
    for text in sections:
        match = _HEADING.match(text)
        if match is None:
            continue
        place = "-".join(re.findall("[a-z0-9]+", match[1].lower()))
        placed.append(f'<section id="{place}"><h2>{match[1]}</h2>{text[match.end() :]}')
        titles.append((place, match[1]))
    return placed, titles


def links(titles: Sequence[tuple[str, str]]) -> str:
    """Return the entries of a list of contents."""
    return "".join(f'<li><a href="#{place}">{title}</a></li>\n' for place, title in titles)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
