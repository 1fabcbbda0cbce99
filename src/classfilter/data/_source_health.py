"""How sources did in recordings: what is usual of each, and when anything was wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._support.types import Array, Floats
from .._validation import factorize
from ..chain._chain import Chain
from ..chain._expected import Expected
from ..streams._counts import FIELD, SourceCounts
from ..streams._health import Health, health, kind_of
from ._recording import Recording

ROWS_AT_ONCE = 64
"""What is wrong is looked up after so many rows."""


class Episode(NamedTuple):
    """A time in which something was wrong with a source.

    Attributes
    ----------
    source : str
        Its name.
    stream : int
        The number of the recording in which it began.
    start : float
        The time there at which it was noticed.
    verdict : str
        What was wrong, as it was last.
    """

    source: str
    stream: int
    start: float
    verdict: str


def episodes(chain: Chain, recordings: Sequence[Recording]) -> tuple[Health, list[Episode]]:
    """Return how each source does after all recordings, and what was wrong meanwhile."""
    counts, known = SourceCounts(chain), list[Episode]()
    active: dict[tuple[str, str], int] = {}
    changes = 0.0
    for stream, at in count(counts, recordings, ROWS_AT_ONCE):
        if not active and counts.all("changes") == changes:
            continue
        changes, held = counts.all("changes"), active
        active = {}
        for row in health(counts):
            for text in row.verdicts:
                key = row.source, kind_of(text)
                if key in held:
                    active[key] = held[key]
                    known[held[key]] = known[held[key]]._replace(verdict=text)
                else:
                    active[key] = len(known)
                    known.append(Episode(row.source, stream, at, text))
    return health(counts), known


def expected(chain: Chain, recordings: Sequence[Recording]) -> dict[str, Expected]:
    """Return what each source did in recordings, from which `Tracker.health` judges later."""
    runs = [rec.run(chain) for rec in recordings]
    usual = _usual(_learn(chain, recordings, runs, {}))
    # How long it disagrees can only be told when it is known how often it usually does.
    agreement = {name: known.agreement for name, known in usual.items()}
    return _usual(_learn(chain, recordings, runs, agreement))


def never_changing(chain: Chain, recordings: Sequence[Recording]) -> dict[str, str]:
    """Return the sources that predict one class all through while the estimate changes."""
    counts = _learn(chain, recordings, [rec.run(chain) for rec in recordings], {})
    words = health(counts).verdicts
    return {name: text for name, (text, *_) in words.items()}


def count(
    counts: SourceCounts,
    recordings: Sequence[Recording],
    at_once: int | None = None,
    runs: Sequence[Array] | None = None,
) -> Iterator[tuple[int, float]]:
    """Count the rows of recordings, one after the other; yield where it is, now and then."""
    for stream, rec in enumerate(recordings):
        if not len(rec):
            continue
        estimates = rec.run(counts.chain) if runs is None else runs[stream]
        probs = rec.probs[:, _order(counts.chain, rec)]
        estimates = estimates[:, _order(counts.chain, rec)]
        last, begins = np.full(1, -1), np.zeros(len(rec), bool)
        begins[0] = True
        dt: Floats = np.where(begins, 0.0, rec.dt)
        for start in range(0, len(rec), at_once or len(rec)):
            part = slice(start, start + (at_once or len(rec)))
            streams = np.zeros(len(rec.time[part]), np.intp), last, begins[part]
            source = factorize(rec.source[part].tolist())
            counts.count_rows(
                source, probs[part], estimates[part], streams, rec.time[part], dt[part]
            )
            yield stream, float(rec.time[part][-1])


def _order(chain: Chain, rec: Recording) -> Any:
    """Return the columns of a recording in the chain's order of classes."""
    return [rec.classes.index(str(name)) for name in chain.classes]


def _learn(
    chain: Chain,
    recordings: Sequence[Recording],
    runs: Sequence[Array],
    agreement: dict[str, float],
) -> SourceCounts:
    """Count recordings, all of which are usual."""
    counts = SourceCounts(Chain.of(chain, expected={}))
    for name in dict.fromkeys(name for rec in recordings for name in rec.sources):
        row = counts.numbers[counts.add(name) + 1]
        row[FIELD["tuned_agreement"]] = agreement.get(name, np.nan)
    counts.numbers[1:, FIELD["tuned"]] = -1.0
    for _ in count(counts, recordings, runs=runs):
        pass
    return counts


def _usual(counts: SourceCounts) -> dict[str, Expected]:
    found = {name: _expected(counts, name) for name in counts.index}
    return {name: known for name, known in found.items() if known is not None}


def _expected(counts: SourceCounts, name: str) -> Expected | None:
    at = counts.of(name)
    seen = at["rows"] - at["missing"]
    if seen < 2 or not at["judged"]:
        return None
    longest = np.maximum(at["longest_runs"], 0.0)
    k = int(at["run_class"])
    longest[k] = max(longest[k], at["run_span"])
    # A class that is there in errors only has short runs: it may last as long as the others.
    longest = np.maximum(longest, np.median(longest[at["counts"] > 0]))
    return Expected(
        interval=(at["time"] - at["first_time"]) / (seen - 1),
        missing=at["missing"] / at["rows"],
        agreement=at["agreed"] / at["judged"],
        shares=tuple((at["counts"] / seen).tolist()),
        longest_gap=at["longest_gap"],
        longest_runs=tuple(longest.tolist()),
        longest_disagreement=max(at["largest_deficit"], at["peak"]),
    )
