"""The tables of a report, as HTML; all names in them are text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..engine import TITLES, episodes
from ..filters import HoldFilter
from ..inputs import Heads, Rows
from ..pipeline import Pipeline, weight_text
from ..support.html import Markup, lines_of, markup, table
from ..support.types import Array
from ..tuning import Candidate, count_changes, last_predictions, thin
from .headline import hours
from .page_data import NamedRecordings, playable

MAX_STREAMS = 20
"""How many streams have a line of their own."""
MAX_TRIALS = 12
"""How many candidates of `tune` are listed."""
FEWER = (6, 4, 3, 2, 1)
"""The n-th strong calls that stay."""


def section(title: str, *parts: Any) -> str:
    """Return parts below a title; of text, each line is a line."""
    inner = "".join(
        part if isinstance(part, Markup) else f"<p>{lines_of(part)}</p>" for part in parts if part
    )
    # The page's policy forbids style attributes; text has no such quotes, since it is escaped.
    inner = re.sub(r' style="text-align:(left|right)"', r' class="\1"', inner)
    return f"<section><h2>{markup(title)}</h2>{inner}</section>\n"


def rates_of_sources(recs: Sequence[Rows]) -> list[list[str]]:
    """Return of each source how many predictions there are, per hour, and how many are missing."""
    total = sum(map(hours, recs))
    sources = dict.fromkeys(name for rec in recs for name in rec.sources)
    rates = []
    for name in sources:
        seen = sum(int(rec.observed(name).sum()) for rec in recs)
        missing = sum(int((rec.of_source(name)).sum()) for rec in recs) - seen
        rates.append([name, f"{seen:,}", f"{seen / total:,.0f}" if total else "", f"{missing:,}"])
    return rates


def streams_section(streams: NamedRecordings, tuned: Pipeline, labelled: bool) -> str:
    """Describe the sources and the streams: rows, rates, and what a filter of classes does."""
    recs, exclusive = [rec for _, rec in streams], tuned.heads.is_exclusive
    rates = rates_of_sources(recs)
    header = ["stream", "rows", "hours"]
    header += ["switches per hour, as predicted", "filtered"] * exclusive
    header += ["accuracy, as predicted", "filtered"] * (exclusive and labelled)
    lines = []
    for name, rec in streams[:MAX_STREAMS]:
        cells = [name, f"{len(rec):,}", f"{hours(rec):.1f}"]
        lines.append(cells + (_changes_and_shares(rec, tuned, labelled) if exclusive else []))
    more = f"And {len(recs) - MAX_STREAMS:,} more streams." if len(recs) > MAX_STREAMS else ""
    return section(
        "The streams",
        f"{words_of_heads(tuned.heads).capitalize()}: {', '.join(recs[0].classes)}.",
        table(["source", "predictions", "per hour", "missing"], rates),
        table(header, lines),
        more,
    )


def words_of_heads(heads: Heads) -> str:
    """Say what the columns are."""
    return "classes" if heads.is_exclusive else "labels, of which several may be true at once"


def _changes_and_shares(rec: Rows, tuned: Pipeline, labelled: bool) -> list[str]:
    raw = last_predictions(rec)
    both = (raw, np.where(raw >= 0, tuned.run(rec).argmax(axis=1), -1))
    return [_changes_an_hour(predicted, rec) for predicted in both] + [
        _share(rec, predicted) for predicted in both if labelled
    ]


def sources_section(streams: NamedRecordings, tuned: Pipeline) -> str:
    """Say how each source does: as usual or, with figures, when it was stuck, silent or off."""
    names, recs = [name for name, _ in streams], [rec for _, rec in streams]
    health, by_itself = episodes(replace(tuned, expected={}), recs)
    against: list[Any] = []
    if tuned.expected:
        health, against = episodes(tuned, recs)
    # What the settings were tuned on is within what was expected: each is judged by its past too.
    known = {(e.source, e.stream, e.verdict.split()[0]) for e in against}
    new = [e for e in by_itself if (e.source, e.stream, e.verdict.split()[0]) not in known]
    lines = [
        [e.source, names[e.stream], recs[e.stream].time_kind.text(e.start), e.verdict]
        for e in (*against, *new)
    ]
    how = (
        "A source is reported when it is stuck on a class, silent, or disagrees with the estimate "
        "four times as long as it ever did when the settings were tuned, or before. Its weight "
        "stays what it is: what to do is left to you."
    )
    overview = table(TITLES, health.cells())
    if not lines:
        return section("How the sources are doing", how, overview, "Nothing was reported.")
    more = f"And {len(lines) - MAX_TRIALS:,} more." if len(lines) > MAX_TRIALS else ""
    reported = table(["source", "stream", "noticed at", "what was wrong"], lines[:MAX_TRIALS])
    return section("How the sources are doing", how, overview, reported, more)


def _changes_an_hour(predicted: Any, rec: Rows) -> str:
    changes, hours = count_changes(rec, predicted)
    return f"{changes / hours:.1f}" if hours else ""


def _share(rec: Rows, predicted: Any) -> str:
    if rec.label is None:
        return ""
    judged = (rec.label >= 0) & (predicted >= 0)
    return f"{(rec.label == predicted)[judged].mean():.1%}" if judged.any() else ""


def confusions_section(recs: Sequence[Rows], tuned: Pipeline, labelled: bool) -> str:
    """Show what each source predicts in each class, without labels; and by them, if there are."""
    classes = recs[0].classes
    smoothed = [playable(tuned).smooth(rec) for rec in recs]
    parts: list[Any] = [
        "Each row is a class: how a source's mean prediction is spread there, in percent. It is "
        "learnt without labels: the class is the smoothed estimate, which uses later predictions "
        "too, and errs where all sources do."
    ]
    for name in dict.fromkeys(name for rec in recs for name in rec.sources):
        rows = [rec.observed(name) for rec in recs]
        outputs = np.concatenate([rec.probs[seen] for rec, seen in zip(recs, rows, strict=True)])
        posterior = np.concatenate([P[seen] for P, seen in zip(smoothed, rows, strict=True)])
        parts.append(Markup(f"<h3>{markup(name)}</h3>"))
        corrected = tuned.channel.get(name) is not None
        parts.append(
            "The filter corrects it through its channel." if corrected else "It is used as it is."
        )
        parts.append(Markup('<div class="wide">'))
        parts.append(matrix(posterior.T @ outputs, classes, "without labels"))
        if labelled:
            labels = np.concatenate(
                [_truth_of_rows(rec)[seen] for rec, seen in zip(recs, rows, strict=True)]
            )
            counts = np.eye(len(classes))[labels[labels >= 0]].T @ outputs[labels >= 0]
            parts.append(matrix(counts, classes, "by the labels"))
        parts.append(Markup("</div>"))
    return section("What each source confuses", *parts)


def _truth_of_rows(rec: Rows) -> Any:
    return np.full(len(rec), -1) if rec.label is None else rec.label


def matrix(counts: Array, classes: Sequence[str], title: str) -> Markup:
    """Return a matrix in percent of its rows; the darker, the more."""
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.full(counts.shape, np.nan), where=totals > 1e-9)
    head = "".join(f"<th>{markup(name)}</th>" for name in classes)
    lines = []
    for name, row in zip(classes, shares, strict=True):
        cells = [
            "<td></td>" if np.isnan(x) else f'<td class="heat{int(10 * x)}">{100 * x:.0f}</td>'
            for x in row
        ]
        lines.append(f"<tr><th>{markup(name)}</th>{''.join(cells)}</tr>")
    return Markup(
        f'<table class="matrix"><caption>{markup(title)}</caption><thead><tr><td></td>{head}</tr>'
        f"</thead><tbody>{''.join(lines)}</tbody></table>"
    )


def calls_section(recs: Sequence[Rows], tuned: Pipeline, labelled: bool) -> str:
    """Show what calls of the reference buy: what fewer of them would cost."""
    title, strong = "What strong calls gain", tuned.reference
    others = {name for rec in recs for name in rec.sources} - {strong}
    if not others:
        return section(title, f"There is one source, {strong!r}, so there is no choice of calls.")
    full = [tuned.run(rec).argmax(axis=1) for rec in recs]
    total = sum(map(hours, recs)) or np.nan
    spacing = thin(recs, strong, None).every
    hold, weights = HoldFilter(recs[0].classes), {**dict.fromkeys(others, 0.5), strong: 1.0}
    runs: dict[str, Callable[[Rows], Array]] = {
        "filtered": lambda rec: tuned.run(rec),
        "last strong prediction": lambda rec: Pipeline(hold, beta=weights).run(rec),
    }
    lines: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for nth in FEWER:
        fewer = thin(recs, strong, round(spacing * nth)).recordings if nth > 1 else recs
        calls = sum(int(rec.observed(strong).sum()) for rec in fewer) / total
        for name, run in runs.items():
            each = zip(recs, fewer, full, strict=True)
            right = np.concatenate(
                [_right(rec, part, P, run(part), labelled) for rec, part, P in each]
            )
            lines[name].append((calls, 100 * float(right.mean()) if right.size else np.nan))
    measure = "accuracy" if labelled else "agreement"
    truth = "the labels" if labelled else "the estimate that uses all calls"
    rows = [
        [f"{c:.1f}", f"{a:.1f}", f"{b:.1f}"] for (c, a), (_, b) in zip(*lines.values(), strict=True)
    ]
    return section(
        title,
        f"With every call of {strong!r} that there is, and with some of them left out: {measure} "
        f"with {truth}, in percent.",
        table(["strong calls per hour", *lines], rows),
    )


def _right(rec: Rows, part: Rows, full: Any, P: Array, labelled: bool) -> Any:
    """Return for each row of a part whether its class is that of the label, or of all rows."""
    predicted = P.argmax(axis=1)
    if labelled:
        labels = _truth_of_rows(part)
        return (labels == predicted)[labels >= 0]
    last = np.searchsorted(rec.time, part.time, "right") - 1
    return full[last] == predicted


def choice_section(tuned: Pipeline) -> str:
    """Say what `tune` chose and why: its explanation, its rivals, and what it tried."""
    named = tuned.beta if isinstance(tuned.beta, dict) else {"all": tuned.beta}
    weights = [
        [name, weight_text(weight), "yes" if tuned.channel.get(name) is not None else "no"]
        for name, weight in named.items()
    ]
    record = tuned.tuning
    why = str(tuned) if record is None else record.explain()
    parts: list[Any] = [why, table(["source", "weight", "channel"], weights)]
    if record is None:
        return section("The settings", *parts)
    if record.operating is not None:
        parts.append(Markup(record.operating._repr_html_()))
    if record.assumptions is not None:
        every, thinned, agreement, correlation = record.assumptions
        parts.append(
            f"It rests on these: {tuned.reference!r} is called at one step in {every:.3g}"
            f"{' (the recordings were thinned to that)' * thinned}; its successive predictions "
            f"agree beyond chance by {agreement:.2f} (Cohen's kappa); the correlation of its "
            f"errors from one call to the next, as far as it shows, is {correlation:.2f}."
        )
    if record.rivals:
        rows = [[rival.name, f"{rival.gain:+.3f} ± {rival.error:.3f}"] for rival in record.rivals]
        parts.append(table(["against", "gain of the choice, ± standard error"], rows))
    if record.table:
        tried = [
            [
                _family(trial.candidate),
                "" if trial.candidate.half_life is None else f"{trial.candidate.half_life:.3g}",
                ", ".join(f"{name} {weight:.2g}" for name, weight in trial.candidate.beta),
                ", ".join(name for name, _ in trial.candidate.channel),
                f"{trial.score:.3f} ± {trial.error:.3f}",
            ]
            for trial in record.table[:MAX_TRIALS]
        ]
        header = ["filter", "half-life", "weights", "channels", f"score ({record.criterion})"]
        parts.append(f"The best {len(tried)} of {len(record.table)} candidates that were tried:")
        parts.append(table(header, tried))
    return section("What tune chose, and why", *parts)


def _family(candidate: Candidate) -> str:
    rate = candidate.rate
    return candidate.family + ("" if rate == 1 else f", rates times {rate:.3g}")


def comparison_section(comparison: Any) -> str:
    """Show the table of `compare`, or why there is none."""
    text = "Each filter was tuned on one half of the streams, without labels, and run on the other."
    if not isinstance(comparison, str):
        comparison = Markup(comparison._repr_html_())
    return section("Methods compared", text, comparison)
