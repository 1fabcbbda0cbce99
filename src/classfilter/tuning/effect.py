"""What a pipeline does for its user: how often the class changes, and how soon it follows a change.

Neither needs labels: both are measured on the recordings. A change is one of the smoothed class,
which sees later predictions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..filters import can_smooth
from ..inputs import LARGEST_SECONDS, Rows
from ..metrics import count_switches
from ..pipeline import Pipeline
from ..support.types import Floats, Ints, is_number

GAP = 10
"""Median steps, beyond which two rows are not neighbours; as in `metrics`."""
MEASURED_ROWS = 200_000
"""The delay is measured on the first streams, of at least so many rows where there are more."""
MIN_RUNS, RUN_RATIO, RUN_ERRORS = 5, 2.0, 4.0
"""Lost predictions come in runs if so many of them follow another one, so many times as many as are
likely, and so many standard errors more. In 40 simulations with noise, 46 classes lose most of
their rows rightly, and none comes in runs; falls of 2 or 3 rows do in 8 of 8. At one call in twelve
on extrasensory and geolife, of 5 named classes 4 had lost most of their true rows, too."""
SECONDS_STEP = (1e-5, 1e6)
"""The median step lies between these, where times are seconds."""


class DelayOfChange(NamedTuple):
    """How soon the filtered class follows changes from one class to another.

    Attributes
    ----------
    before, after : str
        The classes.
    delay : float
        The median, as in `Effect`.
    changes : int
        How many there are.
    """

    before: str
    after: str
    delay: float
    changes: int


class LostClass(NamedTuple):
    """A class that sources predict and that the pipeline mostly overrules.

    Attributes
    ----------
    name : str
        The class.
    predicted, gone : int
        How many rows a source predicts to be of this class, and in how many of these the pipeline
        decides otherwise.
    in_runs : bool
        Whether overruled rows follow each other more often than independent errors would, so that
        they may be right. With several sources, whether one source confirms another.
    """

    name: str
    predicted: int
    gone: int
    in_runs: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.gone} of {self.predicted} predicted rows are gone"


class Effect(NamedTuple):
    """What a pipeline does on the recordings that it was chosen on.

    Attributes
    ----------
    changes_before, changes_after : int
        How often the class changes: that of the last prediction, and that of the pipeline.
    time : float
        The time of all streams in which that was counted, without gaps.
    rows : int
        The rows in it.
    delay : float
        The median time from a change of the smoothed class until the filtered class follows;
        infinite where it mostly does not, before the next change. NaN where no class ever changes.
    delay_rows : float
        The rows in that time.
    in_seconds : bool
        Whether the times may be seconds, as far as their size tells.
    streams, predictions : int
        How many there are.
    delays : tuple of DelayOfChange
        The delay from each class to each other, the longest first.
    lost : tuple of LostClass
        The classes of which less than half of the predicted rows are left and that come in runs, or
        of which none is left.
    """

    changes_before: int
    changes_after: int
    time: float
    rows: int
    delay: float
    delay_rows: float
    in_seconds: bool
    streams: int = 0
    predictions: int = 0
    delays: tuple[DelayOfChange, ...] = ()
    lost: tuple[LostClass, ...] = ()

    @property
    def changes_per_hour(self) -> float:
        """Changes of the pipeline's class an hour, where times are seconds."""
        return 3600 * self.changes_after / self.time if self.time else 0.0


def looks_like_seconds(recordings: Sequence[Rows], step: float) -> bool:
    """Whether the times may be seconds; milliseconds since 1970 are not."""
    latest = max(float(np.abs(rec.time).max()) for rec in recordings if len(rec))
    return latest < LARGEST_SECONDS and SECONDS_STEP[0] <= step <= SECONDS_STEP[1]


def require_seconds(argument: str, value: object, in_seconds: bool, step: float) -> None:
    """Raise where a value has a unit, or is an hour's, and the times cannot be seconds."""
    plain = isinstance(value, str) and not value.rstrip()[-1:].isalpha()
    no_unit = argument != "max_switches_per_hour" and (plain or is_number(value))
    if not in_seconds and not no_unit:
        problem = f"is {{}}, but times {step:.3g} apart do not look like seconds"
        raise ArgumentError(
            argument, value, problem=problem, fix="give times as dates or in seconds"
        )


def last_predictions(rec: Rows) -> Ints:
    """Return the class of the last prediction at each row (T,), -1 before the first."""
    last = np.maximum.accumulate(np.where(rec.observed(), np.arange(len(rec)), -1))
    predicted: Ints = np.where(last < 0, -1, np.nan_to_num(rec.probs).argmax(axis=1)[last])
    return predicted


def count_changes(rec: Rows, predicted: Ints) -> tuple[int, float]:
    """Return how often the class changes, and the hours; of several rows of one time, the last."""
    last = np.append(np.diff(rec.time) > 0, True)[: len(rec)]
    changes, hours = count_switches(predicted[last], rec.time[last], max_gap=GAP * rec.step)
    return int(changes), hours


def measure_changes(
    pipe: Pipeline, recordings: Sequence[Rows], raw: Sequence[Ints]
) -> tuple[Effect, list[Ints]]:
    """Run a pipeline over recordings and count changes; `raw` are their `last_predictions`.

    Return the effect without a delay, and the filtered class of each row, -1 before the first.
    """
    before = after = rows = 0
    hours, classes = 0.0, []
    names = dict.fromkeys(name for rec in recordings for name in rec.sources)
    codes = {name: i for i, name in enumerate(names)}
    decided = []
    for rec, last in zip(recordings, raw, strict=True):
        begun = last >= 0
        filtered = np.where(begun, pipe.run(rec).argmax(axis=1), -1)
        before += count_changes(rec, last)[0]
        changes, spent = count_changes(rec, filtered)
        after, hours, rows = after + changes, hours + spent, rows + int(begun.sum())
        classes.append(filtered)
        rows_seen = rec.observed()
        number = np.array([codes[name] for name in rec.sources], np.intp)
        source = number[rec.source[rows_seen]]
        decided.append(Decided(source, last[rows_seen], filtered[rows_seen]))
    nan = float("nan")
    effect = Effect(before, after, 3600 * hours, rows, nan, nan, True)
    predictions = sum(len(one.source) for one in decided)
    lost = lost_classes(decided, tuple(map(str, pipe.classes)))
    return effect._replace(streams=len(decided), predictions=predictions, lost=lost), classes


class Decided(NamedTuple):
    """The source, the predicted class and the class by the pipeline of each prediction, (T,)."""

    source: Ints
    predicted: Ints
    by_pipe: Ints


def lost_classes(streams: Sequence[Decided], classes: tuple[str, ...]) -> tuple[LostClass, ...]:
    """Return the classes that a pipeline lost, and whether that may be wrong.

    If errors are independent, two neighbouring predictions are lost as often as their shares in the
    rows of each class by the pipeline make likely.
    """
    if not streams:
        return ()
    K, S = len(classes), 1 + max(int(one.source.max(initial=0)) for one in streams)
    counts = np.zeros((S, K, K))
    for one in streams:
        np.add.at(counts, (one.source, one.by_pipe, one.predicted), 1)
    shares = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)
    several = np.count_nonzero(counts.sum(axis=(1, 2))) > 1
    pairs, likely = np.zeros(K), np.zeros(K)
    for source, predicted, by_pipe in streams:
        at = np.flatnonzero(source[1:] != source[:-1]) if several else np.arange(len(source) - 1)
        next_ = at + 1
        both = shares[source[at], by_pipe[at]] * shares[source[next_], by_pipe[next_]]
        rows = np.arange(len(at))
        both[rows, by_pipe[at]] = both[rows, by_pipe[next_]] = 0.0  # what is kept is not lost
        likely += both.sum(axis=0)
        k = predicted[at]
        lost = (k == predicted[next_]) & (k != by_pipe[at]) & (k != by_pipe[next_])
        pairs += np.bincount(k[lost], minlength=K)
    in_all = counts.sum(axis=0)
    found = []
    for place, name in enumerate(classes):
        said, kept = int(in_all[:, place].sum()), int(in_all[place, place])
        seen, chance = float(pairs[place]), float(likely[place])
        in_runs = seen >= MIN_RUNS and seen > RUN_RATIO * chance
        in_runs = in_runs and seen - chance > RUN_ERRORS * math.sqrt(chance + 1)
        if kept < said / 2 and (in_runs or not kept):
            found.append(LostClass(name, said, said - kept, in_runs))
    return tuple(found)


class Effects:
    """Measures what pipelines do on the same recordings."""

    def __init__(self, recordings: Sequence[Rows], step: float) -> None:
        self._recordings = [rec for rec in recordings if rec.observed().any()]
        self._raw = [last_predictions(rec) for rec in self._recordings]
        self.in_seconds = looks_like_seconds(self._recordings, step)

    def measure(self, pipe: Pipeline) -> Effect:
        """Run a pipeline over the recordings; without what smooths, nothing says how late it is."""
        effect, filtered = measure_changes(pipe, self._recordings, self._raw)
        effect = effect._replace(in_seconds=self.in_seconds)
        if not can_smooth(pipe.smoothing.filter):
            return effect
        changes = [
            changes_of(rec, np.where(last < 0, -1, pipe.smooth(rec).argmax(axis=1)))
            for rec, last in zip(some_streams(self._recordings), self._raw, strict=False)
        ]
        triples = zip(self._recordings, filtered, changes, strict=False)
        late, steps = np.concatenate([delays(*one) for one in triples], axis=1)
        if not late.size:
            return effect
        pair = np.concatenate([one.before * len(pipe.classes) + one.after for one in changes])
        by_pair = [
            DelayOfChange(
                before=str(pipe.classes[k // len(pipe.classes)]),
                after=str(pipe.classes[k % len(pipe.classes)]),
                delay=middle(late[pair == k]),
                changes=int((pair == k).sum()),
            )
            for k in np.unique(pair).tolist()
        ]
        return effect._replace(
            delay=middle(late),
            delay_rows=middle(steps),
            delays=tuple(sorted(by_pair, key=lambda one: -one.delay)),
        )


def some_streams(recordings: Sequence[Rows]) -> list[Rows]:
    """Return the first streams, of about `MEASURED_ROWS` where there are more."""
    total = np.cumsum([len(rec) for rec in recordings])
    return list(recordings[: int(np.searchsorted(total, MEASURED_ROWS)) + 1])


def middle(values: Floats) -> float:
    """Return the median, the later one of two, which may be infinite."""
    return float(np.sort(values)[len(values) // 2])


class Changes(NamedTuple):
    """Changes of class in one stream, (N,): the row of each, the classes, and where the next is."""

    row: Ints
    before: Ints
    after: Ints
    end: Ints


def changes_of(rec: Rows, classes: Ints) -> Changes:
    """Return the changes of a class (T,), -1 where there is none, between neighbouring rows.

    Rows of one time change at once, to the class of the last.
    """
    last = np.flatnonzero(np.append(np.diff(rec.time) > 0, True)[: len(rec)])
    first = np.append(0, last[:-1] + 1)
    new = np.flatnonzero(np.diff(classes[last])) + 1
    apart = np.diff(rec.time[last])[new - 1] <= GAP * rec.step
    end = first[np.append(new[1:], 0)] if new.size else new
    if new.size:
        end[-1] = len(rec)
    before, after = classes[last][new - 1], classes[last][new]
    kept = apart & (before >= 0)
    return Changes(first[new[kept]], before[kept], after[kept], end[kept])


def delays(rec: Rows, filtered: Ints, changes: Changes) -> Floats:
    """Return the time from each change to the first row of the new class, and the rows, (2, N).

    Infinite where the filtered class (T,) does not follow before the next change.
    """
    late = np.full((2, len(changes.row)), np.inf)
    for i, (row, after, end) in enumerate(
        zip(changes.row.tolist(), changes.after.tolist(), changes.end.tolist(), strict=True)
    ):
        follows = filtered[row:end] == after
        if follows.any():
            steps = int(follows.argmax())
            late[:, i] = rec.time[row + steps] - rec.time[row], steps
    return late
