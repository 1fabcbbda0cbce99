"""How the sources are doing: what is usual of each, what it does now, and in words what is wrong.

A source is reported when it is *stuck* on a class, *silent*, or *disagrees* with the estimate for
four times as long as it ever did when the settings were tuned, or before, and for at least thirty
of its usual intervals. Its weight stays what it is.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .._support.html import block, table
from ._counts import SourceCounts

FACTOR, LEAST, ENOUGH_GAPS = 4.0, 30.0, 100
"""As in _ext/health.c: so many times the longest, at least so many intervals; known after so many
predictions."""
TITLES = (
    "source", "rows", "missing", "last seen", "usually each", "mostly", "agrees", "verdict",
)  # fmt: skip


class SourceHealth(NamedTuple):
    """How a source does, over all streams.

    Attributes
    ----------
    source : str
        Its name.
    rows : int
        Its rows, also those without a prediction.
    missing : float
        The share of its rows that have no prediction; NaN without rows.
    silence, interval : float
        The time since its last prediction, and the usual time from one to the next in a stream.
    mostly : str or int or None
        The class that it predicts most often.
    share, tuned_share : float
        How often it predicts that class, and how often it did when tuned; NaN if that is unknown.
    agreement, tuned_agreement : float
        How often it predicts the class of the estimate before it, and how often it did when tuned.
    verdicts : tuple of str
        What is wrong, with figures; mostly nothing.
    reported : int
        How often anything was wrong so far.
    """

    source: str
    rows: int
    missing: float
    silence: float
    interval: float
    mostly: Any
    share: float
    tuned_share: float
    agreement: float
    tuned_agreement: float
    verdicts: tuple[str, ...]
    reported: int


class Health(list[SourceHealth]):
    """How each source does; print it for a table."""

    @property
    def verdicts(self) -> dict[str, tuple[str, ...]]:
        """What is wrong, by source; empty where all is as usual."""
        return {row.source: row.verdicts for row in self if row.verdicts}

    def cells(self) -> list[list[str]]:
        """Return the rows of a table, as text."""
        return [_cells(row) for row in self]

    def __repr__(self) -> str:
        columns = list(zip(TITLES, *self.cells(), strict=True))
        widths = [max(map(len, column)) for column in columns]
        lines = [
            "  ".join(
                cell.ljust(width) if i in (0, len(widths) - 1) else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in zip(*columns, strict=True)
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return block(table(TITLES, self.cells()))


def _cells(row: SourceHealth) -> list[str]:
    mostly = ""
    if row.mostly is not None:
        mostly = f"{row.mostly} {_percent(row.share, row.tuned_share)}"
    return [
        row.source,
        f"{row.rows:,}",
        _percent(row.missing),
        f"{span(row.silence)} ago" if row.mostly is not None else "never",
        span(row.interval) if row.interval > 0 else "",
        mostly,
        _percent(row.agreement, row.tuned_agreement),
        "; ".join(row.verdicts) or "as usual",
    ]


def _percent(value: float, tuned: float = math.nan) -> str:
    text = "" if math.isnan(value) else f"{100 * value:.0f} %"
    return text if math.isnan(tuned) else f"{text} (tuned {100 * tuned:.0f} %)"


def span(time: float) -> str:
    """Return a time in seconds in words: 90 s, 12 min, 2.5 h, 3 days.

    Examples
    --------
    >>> [span(seconds) for seconds in (0.25, 90.0, 754.0, 7200.0, 86400 * 3.2)]
    ['0.25 s', '90 s', '12.6 min', '2 h', '3.2 days']
    """
    for unit, size, least in (("days", 86400, 172800), ("h", 3600, 7200), ("min", 60, 120)):
        if time >= least:
            return f"{time / size:.3g} {unit}"
    return f"{time:.3g} s"


def health(counts: SourceCounts, now: float | None = None) -> Health:
    """Return how each source does, at the time of the last row, or at a later one."""
    later = 0.0 if now is None or not counts.all("rows") else max(0.0, now - counts.all("at"))
    rows = [_of_source(counts, name, later) for name in counts.index]
    known = {*counts.chain.sources, *counts.chain.expected}
    return Health(row for row in rows if row.rows or row.source in known)


def _of_source(counts: SourceCounts, name: str, later: float) -> SourceHealth:
    at = counts.of(name)
    expected = counts.chain.expected.get(name)
    rows, seen = int(at["rows"]), at["rows"] - at["missing"]
    interval = at["tuned_interval"]
    if seen > LEAST or (not interval and seen > 1):
        interval = (at["time"] - at["first_time"]) / (seen - 1)
    elapsed = min(counts.all("at") - at["at"], counts.all("time") - at["time"])
    silence = max(0.0, elapsed) + later
    limit = max(LEAST * interval, FACTOR * at["longest_gap"])
    silent = at["silent"] or (later and (at["tuned"] > 0 or seen > ENOUGH_GAPS) and silence > limit)
    top = int(at["counts"].argmax()) if seen else None
    return SourceHealth(
        name,
        rows,
        _share(at["missing"], rows),
        silence,
        interval,
        None if top is None else counts.chain.classes[top],
        math.nan if top is None else float(at["counts"][top] / seen),
        math.nan if expected is None or top is None else expected.shares[top],
        _share(at["agreed"], at["judged"]),
        math.nan if expected is None else expected.agreement,
        tuple(_verdicts(counts, at, interval, silence, bool(silent))),
        int(at["stuck_times"] + at["silent_times"] + at["disagrees_times"]),
    )


def _verdicts(
    counts: SourceCounts, at: dict[str, Any], interval: float, silence: float, silent: bool
) -> list[str]:
    """Return what is wrong with a source, in words."""
    words, when = [], "when tuned" if at["tuned"] > 0 else "before"
    if at["stuck"]:
        k = int(at["run_class"])
        text = f"stuck on {counts.chain.classes[k]!r}: the last {at['run_rows']:,.0f} predictions"
        longest = float(at["longest_runs"][k] if at["tuned"] > 0 else at["longest_runs"].max())
        if at["runs"].any() or at["tuned"] > 0:
            ratio = longest / interval if interval else 1.0
            usual = max(1, round(ratio)) if math.isfinite(ratio) else 1
            text += f", {span(at['run_span'])}; at most {usual:,} {when}"
        else:
            agrees = _percent(_share(at["agreed"], at["judged"]))
            text += f", all there were; the estimate agrees in {agrees}"
        words.append(text)
    if silent:
        words.append(f"silent for {span(silence)}; usually a prediction every {span(interval)}")
    if at["disagrees"]:
        recent = _share(at["recent_agreed"], at["recent_judged"])
        agreement = at["tuned_agreement"]
        if math.isnan(agreement):
            agreement = _share(at["usual_agreed"], at["usual_judged"])
        words.append(
            f"agrees with the estimate {_percent(recent)} of the time, in the last "
            f"{at['recent_judged']:,.0f} predictions; {_percent(agreement)} {when}"
        )
    return words


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def kind_of(verdict: str) -> str:
    """Return what a verdict is about, whatever its figures: stuck, silent, or agrees."""
    return verdict.split()[0]


def changed(before: Health, after: Health) -> list[tuple[str, str, str]]:
    """Return what began and what ended: the source, its kind, and what to say of it."""
    known = {row.source: row.verdicts for row in before}
    lines = []
    for row in after:
        old, new = set(map(kind_of, known.get(row.source, ()))), set(map(kind_of, row.verdicts))
        began = [text for text in row.verdicts if kind_of(text) not in old]
        lines += [(row.source, kind_of(text), text) for text in began]
        lines += [(row.source, f"no longer {kind}", ENDED[kind]) for kind in sorted(old - new)]
    return lines


ENDED = {
    "stuck": "no longer stuck",
    "silent": "no longer silent",
    "agrees": "agrees with the estimate again as usual",
}
