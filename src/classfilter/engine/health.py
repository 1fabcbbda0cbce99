"""How sources do, over all streams: what is usual of each, and in words what is wrong.

`_ext/sources.c` counts, row by row, however they come. Time is that of the streams: the clock, but
no faster than their rows pass, so that neither pauses nor streams of other times count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..filters import unpack_state
from ..pipeline import Expected, Pipeline
from ..support.arrays import stable_argsort
from ..support.html import block, table
from ..support.text import aligned
from ..support.types import Array, Floats, Ints
from ..support.validation import Factorized

FACTOR, LEAST = 4.0, 30.0
"""So many times the longest that is usual, and so many usual intervals, are not usual."""
ALLOWANCE = 0.1
"""As in _ext/sources.c: an agreement that is lower by less is left alone."""
ENOUGH_GAPS, ENOUGH = 100, 5000
"""Without tuning: predictions before silence is judged, and before the rest is."""
DISAGREEMENT = 150.0
"""Without tuning: usual intervals for which a source disagrees; 11 to 184 in simulated days."""
NEVER_CHANGED, NEVER_AGREES = 1000, 0.8
"""So many predictions of one class, that agree so often or less: the source is stuck."""
CAP = 1.5
"""Times the limit: a disagreement does not grow beyond it, so that it ends soon."""
MAX_COUNTED = 100
"""More sources than that are not counted."""
ROWS_AT_ONCE = 256
"""In recordings, what is wrong is looked up after so many rows."""
TITLES = ("source", "rows", "missing", "last seen", "usually each", "agrees", "verdict")
TIME, AT, FIRST_AT = 0, 1, 2
"""Of all sources together: the first row of the counts."""


class Source(NamedTuple):
    """What is counted of a source, in the order of _ext/sources.c.

    `time` is that of all sources, `span` its own: a gap counts as two usual intervals at most.
    `deficit` is how much less it agrees than usual, summed up (Page, 1954) in usual intervals, and
    `recent_judged` how many predictions ago that was zero. The last three are set from what it did
    when tuned; `longest_runs` has a number for each class.
    """

    rows: float
    seen: float
    first: float
    time: float
    at: float
    span: float
    longest_gap: float
    run_class: float
    run_rows: float
    run_start: float
    judged: float
    agreed: float
    deficit: float
    largest_deficit: float
    recent_judged: float
    recent_agreed: float
    usual_interval: float
    usual_agreement: float
    max_deficit: float
    longest_runs: Floats

    def interval(self, usual: Expected | None) -> float:
        """Return the usual time from one prediction to the next, in a stream."""
        if usual is not None:
            return usual.interval
        return (self.time - self.first) / (self.seen - 1) if self.seen > 1 else 0.0

    def never_changed(self) -> bool:
        """Return whether it predicts one class all the time, and the estimate does not."""
        return (
            self.run_rows == self.seen >= NEVER_CHANGED
            and self.judged > 0
            and self.agreed <= NEVER_AGREES * self.judged
        )

    def is_stuck(self, usual: Expected | None) -> bool:
        """Return whether it predicts a class for longer than usual."""
        interval, span = self.interval(usual), self.span - self.run_start
        enough = self.span >= ENOUGH * interval > 0 and self.longest_runs.any()
        if usual is None and not enough:
            return self.never_changed()
        limit = max(LEAST * interval, FACTOR * self.longest_run(usual))
        return self.run_rows >= LEAST and span > limit

    def as_usual(self) -> Expected:
        """Return what it did so far as what is usual of it."""
        longest, k = self.longest_runs.copy(), int(self.run_class)
        longest[k] = max(longest[k], self.span - self.run_start)
        # A class that is there in errors only has short runs: it may last as long as the others.
        longest = np.maximum(longest, np.median(longest[longest > 0]) if longest.any() else 0.0)
        return Expected(
            interval=self.interval(None),
            agreement=self.agreed / self.judged,
            longest_gap=self.longest_gap,
            longest_runs=tuple(longest.tolist()),
            longest_disagreement=math.inf,
        )

    def longest_run(self, usual: Expected | None) -> float:
        """Return how long it usually predicts its class at most."""
        # In its own past, a class may have been there in errors only.
        if usual is None:
            return float(self.longest_runs.max())
        return usual.longest_runs[int(self.run_class)]

    def disagrees(self, usual: Expected | None) -> bool:
        """Return whether it has agreed less than usual for longer than it usually does."""
        can_tell = usual is not None or self.span >= ENOUGH * self.interval(None) > 0
        return can_tell and self.recent_judged >= LEAST and self.deficit > disagreement_limit(usual)

    def is_silent(self, silence: float, usual: Expected | None) -> bool:
        """Return whether it has not predicted for longer than usual."""
        longest = self.longest_gap if usual is None else usual.longest_gap
        can_tell = usual is not None or self.seen > ENOUGH_GAPS
        return can_tell and silence > max(LEAST * self.interval(usual), FACTOR * longest)


def disagreement_limit(usual: Expected | None) -> float:
    """Return how long a source may disagree, in its usual intervals."""
    if usual is None:
        return FACTOR * DISAGREEMENT
    return max(LEAST * max(usual.agreement - ALLOWANCE, 0.0), FACTOR * usual.longest_disagreement)


FIELD = {name: i for i, name in enumerate(Source._fields[:-1])}
FIXED, STEPS = len(FIELD), 4
COUNTS = ("rows", "seen", "run_class", "run_rows", "judged", "agreed", "recent_judged")


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
    agreement, tuned_agreement : float
        How often it predicts the class of the estimate before it, and how often it did when tuned;
        NaN if that is unknown.
    verdicts : tuple of str
        What is wrong, with figures; mostly nothing.
    """

    source: str
    rows: int
    missing: float
    silence: float
    interval: float
    agreement: float
    tuned_agreement: float
    verdicts: tuple[str, ...]


class Health(list[SourceHealth]):
    """How each source does; print it for a table."""

    @property
    def verdicts(self) -> dict[str, tuple[str, ...]]:
        """What is wrong, by source; empty where all is as usual."""
        return {row.source: row.verdicts for row in self if row.verdicts}

    def cells(self) -> list[list[str]]:
        """Return the rows of a table, as text."""
        return [
            [
                row.source,
                f"{row.rows:,}",
                percent(row.missing),
                f"{span(row.silence)} ago" if row.rows and row.missing < 1 else "never",
                span(row.interval) if row.interval > 0 else "",
                percent(row.agreement, row.tuned_agreement),
                "; ".join(row.verdicts) or "as usual",
            ]
            for row in self
        ]

    def __repr__(self) -> str:
        return aligned([TITLES, *self.cells()])

    def _repr_html_(self) -> str:
        return block(table(TITLES, self.cells()))


class SourceCounts:
    """What is counted of the sources of a pipeline.

    Parameters
    ----------
    pipeline : Pipeline
        Its sources, and what they did when it was tuned.

    Attributes
    ----------
    index : dict of str to int
        The number of each source.
    numbers : ndarray of float64 (1 + MAX_COUNTED, F)
        Of all sources, and of each.
    """

    def __init__(self, pipe: Pipeline) -> None:
        self.pipe, self.index = pipe, dict[str, int]()
        self.numbers = np.zeros((1 + MAX_COUNTED, FIXED + len(pipe.classes)))
        self.numbers[0, [AT, FIRST_AT]] = np.nan
        self.numbers[1:, FIELD["run_class"]] = -1.0
        for name in [*pipe.sources, *pipe.expected]:
            self.number(name)

    def number(self, source: str) -> int:
        """Return the number of a source; -1 where it is not counted."""
        number = self.index.get(source, -1)
        if number >= 0 or len(self.index) >= MAX_COUNTED or not self.pipe.heads.is_exclusive:
            return number
        number = self.index[source] = len(self.index)
        usual = self.pipe.expected.get(source)
        self.numbers[number + 1, FIELD["usual_interval"] : FIXED] = (
            0.0 if usual is None else usual.interval,
            math.nan if usual is None else usual.agreement,
            CAP * disagreement_limit(usual),
        )
        return number

    def of(self, source: str) -> Source:
        """Return what is counted of a source."""
        row = self.numbers[self.index[source] + 1]
        counts = dict(zip(FIELD, row.tolist(), strict=False))
        return Source(**counts, longest_runs=row[FIXED:])

    def count_row(self, number: int, probs: Array, before: float, at: float, dt: float) -> None:
        """Count one row; `before` is the class of the estimate before it, or -1."""
        rows = np.array([[number], [at], [dt], [class_of(probs)], [before]])
        _core.count_rows(self.numbers, len(self.pipe.classes), rows)

    def count_rows(
        self, source: Factorized, probs: Floats, before: Array, at: Floats, dt: Floats
    ) -> None:
        """Count rows with their predictions (T, K), in their order."""
        numbers = np.array([self.number(name) for name in source.categories])[source.codes]
        predicted = np.where(np.isnan(probs[:, 0]), -1, probs.argmax(axis=1))
        rows = np.array([numbers, at, dt, predicted, before], np.float64)
        _core.count_rows(self.numbers, len(self.pipe.classes), rows)

    def health(self, now: float | None = None) -> Health:
        """Return how each source does, at the time of the last row, or at a later one."""
        at = self.numbers.item(AT)
        later = 0.0 if now is None or math.isnan(at) else max(0.0, now - at)
        expected, sources = {*self.pipe.sources, *self.pipe.expected}, map(self.of, self.index)
        counted = zip(self.index, sources, strict=True)
        return Health(self._health(n, s, later) for n, s in counted if s.rows or n in expected)

    def _health(self, name: str, source: Source, later: float) -> SourceHealth:
        usual = self.pipe.expected.get(name)
        time, at, first_at = self.numbers[0, [TIME, AT, FIRST_AT]].tolist()
        elapsed = at - (source.at if source.seen else first_at)
        silence = max(0.0, min(elapsed, time - source.time)) + later
        return SourceHealth(
            name,
            int(source.rows),
            share(source.rows - source.seen, source.rows),
            silence,
            source.interval(usual),
            share(source.agreed, source.judged),
            math.nan if usual is None else usual.agreement,
            tuple(self._verdicts(source, usual, silence)),
        )

    def _verdicts(self, source: Source, usual: Expected | None, silence: float) -> Iterator[str]:
        when, interval = "before" if usual is None else "when tuned", source.interval(usual)
        if source.is_stuck(usual):
            name = self.pipe.classes[int(source.run_class)]
            text = f"stuck on {name!r}: the last {source.run_rows:,.0f} predictions, "
            if usual is None and source.run_rows == source.seen:
                agrees = percent(share(source.agreed, source.judged))
                yield f"{text}all there were; the estimate agrees in {agrees}"
            else:
                longest = source.longest_run(usual) / interval if interval else 1.0
                most = max(1, round(longest)) if math.isfinite(longest) else 1
                yield f"{text}{span(source.span - source.run_start)}; at most {most:,} {when}"
        if source.is_silent(silence, usual):
            yield f"silent for {span(silence)}; usually a prediction every {span(interval)}"
        if source.disagrees(usual):
            recent = percent(share(source.recent_agreed, source.recent_judged))
            agreement = share(source.agreed, source.judged) if usual is None else usual.agreement
            yield (
                f"agrees with the estimate {recent} of the time, in the last "
                f"{source.recent_judged:,.0f} predictions; {percent(agreement)} {when}"
            )

    def saved(self) -> dict[str, Any]:
        """Return all counts, as JSON has them."""
        return {"": self.numbers[0].tolist()} | {
            name: self.numbers[number + 1].tolist() for name, number in self.index.items()
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take what `saved` returned."""
        for name, counts in saved.items():
            numbers = np.array(counts, np.float64)
            row = self.numbers[self.number(name) + 1 if name else 0]
            counted = [FIELD[field] for field in COUNTS] if name else [STEPS]
            good = np.isfinite(numbers[counted]).all()
            # The core takes it as an index, unchecked.
            if not good or numbers[FIELD["run_class"]] not in range(-1, len(self.pipe.classes)):
                raise ValueError(f"the counts of source {name!r} are {counts}")
            row[:] = numbers


def class_of(probs: Array) -> int:
    """Return the class of a prediction; -1 where there is none."""
    return -1 if np.isnan(probs[0]) else int(probs.argmax())


def classes_of(filter: Any, states: Array) -> Ints:  # noqa: A002
    """Return the class of the estimate of each state of a filter, (N,)."""
    if hasattr(filter, "_update_stream"):  # a state ends with a number for each class
        last: Ints = states[:, -len(filter.classes) :].argmax(axis=1)
        return last
    classes = np.empty(len(states), np.intp)
    for i, state in enumerate(states):
        filter.state = unpack_state(filter, state)
        classes[i] = filter.probs.argmax()
    return classes


def classes_before(estimates: Array, streams: Ints, last: Ints, begins: Array) -> Ints:
    """Return the class of the estimate of its stream before each row; -1 where there is none.

    `last` is that of each stream before its first row here, and `begins` whether one begins.
    """
    order = stable_argsort(streams)
    after, first = estimates.argmax(axis=1)[order], np.diff(streams[order], prepend=-1) != 0
    before = np.empty(len(order), np.intp)
    before[order] = np.where(first, last[streams[order]], np.append(-1, after[:-1]))
    before[begins] = -1
    return before


def count_recordings(
    counts: SourceCounts, recordings: Sequence[Any]
) -> Iterator[tuple[int, float]]:
    """Count recordings, one after the other; yield the number of the recording and the time."""
    for number, rec in enumerate(recordings):
        columns = [rec.classes.index(str(name)) for name in counts.pipe.classes]
        estimates, probs = counts.pipe.run(rec)[:, columns], rec.probs[:, columns]
        before = np.append(-1, estimates.argmax(axis=1)[:-1])
        dt = np.where(np.arange(len(rec)) > 0, rec.dt, 0.0)
        for start in range(0, len(rec), ROWS_AT_ONCE):
            at = slice(start, start + ROWS_AT_ONCE)
            source = Factorized(rec.source[at], list(rec.sources))
            counts.count_rows(source, probs[at], before[at], rec.time[at], dt[at])
            yield number, float(rec.time[at][-1])


class Episode(NamedTuple):
    """A time in which something was wrong with a source of recordings.

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


def episodes(pipe: Pipeline, recordings: Sequence[Any]) -> tuple[Health, list[Episode]]:
    """Return how each source does after all recordings, and what was wrong meanwhile."""
    counts, noted, active = SourceCounts(pipe), list[Episode](), dict[tuple[str, str], int]()
    for stream, at in count_recordings(counts, recordings):
        held, active = active, {}
        for source, verdicts in counts.health().verdicts.items():
            for text in verdicts:
                key = source, kind_of(text)
                active[key] = held.get(key, len(noted))
                if key in held:
                    noted[held[key]] = noted[held[key]]._replace(verdict=text)
                else:
                    noted.append(Episode(source, stream, at, text))
    return counts.health(), noted


def expected(
    pipe: Pipeline, recordings: Sequence[Any]
) -> tuple[dict[str, Expected], dict[str, str]]:
    """Return what is usual of each source, and what is wrong with those that never change."""
    counts, usual = SourceCounts(replace(pipe, expected={})), dict[str, Expected]()
    for _ in count_recordings(counts, recordings):
        pass
    stuck = {
        row.source: row.verdicts[0]
        for row in counts.health()
        if counts.of(row.source).never_changed()
    }
    for name in counts.index:
        source = counts.of(name)
        if source.seen > 1 and source.judged:
            usual[name] = source.as_usual()
    # How long it disagrees can only be told when it is known how often it usually agrees.
    again = SourceCounts(replace(pipe, expected=usual))
    for _ in count_recordings(again, recordings):
        pass
    for name, habit in usual.items():
        usual[name] = habit._replace(longest_disagreement=again.of(name).largest_deficit)
    return usual, stuck


def kind_of(verdict: str) -> str:
    """Return what a verdict is about, whatever its figures: stuck, silent, or agrees."""
    return verdict.split()[0]


def changed(before: Health, after: Health) -> Iterator[tuple[str, str, str]]:
    """Return what began and what ended: the source, its kind, and what to say of it."""
    earlier = before.verdicts
    for row in after:
        old, new = ({kind_of(x): x for x in v} for v in (earlier.get(row.source, ()), row.verdicts))
        yield from ((row.source, kind, new[kind]) for kind in new if kind not in old)
        yield from (
            (row.source, f"no longer {kind}", ENDED[kind]) for kind in old if kind not in new
        )


def share(part: float, whole: float) -> float:
    """Divide, with NaN for 0 / 0."""
    return part / whole if whole else math.nan


def percent(value: float, tuned: float = math.nan) -> str:
    """Return a share as text, and what it was when tuned."""
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


ENDED = {
    "stuck": "no longer stuck",
    "silent": "no longer silent",
    "agrees": "agrees with the estimate again as usual",
}
