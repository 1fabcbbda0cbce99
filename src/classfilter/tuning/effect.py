"""What a pipeline does for its user: how often the class changes, and how soon it follows a change.

Neither needs labels. Changes are counted on the recordings. The delay is that of simulated changes:
every source predicts what it predicts on average in the old class, and then in the new one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..inputs import LARGEST_SECONDS, Rows
from ..metrics import count_switches
from ..pipeline import Pipeline
from ..support.types import Floats, Ints, is_number
from ..support.validation import Factorized
from .model import EstimatedModel
from .rows import LABEL_RELIABILITY, JoinedRows, floored

SIMULATED = 101
"""Changes of class that the delay is the median of."""
LENGTHS = (64, 256, 1024)
"""Rows of the old class, and of the new one: the first in whose half most changes are followed."""
GAP = 10
"""Median steps, beyond which two rows are not neighbours; as in `metrics`."""
MIN_RUNS, RUN_RATIO, RUN_ERRORS = 5, 2.0, 4.0
"""Lost predictions come in runs if so many of them follow another one, so many times as many as are
likely, and so many standard errors more. In 40 simulations with noise, 46 classes lose most of
their rows rightly, and none comes in runs; falls of 2 or 3 rows do in 8 of 8. At one call in twelve
on extrasensory and geolife, of 5 named classes 4 had lost most of their true rows, too."""
SECONDS_STEP = (1e-5, 1e6)
"""The median step lies between these, where times are seconds."""


class LostClass(NamedTuple):
    """A class that most rows are predicted to be of, and are not by the pipeline.

    Attributes
    ----------
    name : str
        The class.
    predicted, gone : int
        The rows that any source predicts to be of it, and those of them that are not by the
        pipeline.
    in_runs : bool
        Whether these come one after the other more often than single errors do: then they may be
        true. Of several sources, whether one confirms the other.
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
        The typical time until the pipeline follows, once the predictions change class; infinite
        where it does not, NaN where no class ever changes.
    delay_rows : float
        The rows in that time.
    in_seconds : bool
        Whether the times may be seconds, as far as their size tells.
    streams, predictions : int
        How many there are.
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
    lost: tuple[LostClass, ...] = ()

    @property
    def changes_per_hour(self) -> float:
        """Changes of the pipeline's class an hour, where times are seconds."""
        return 3600 * self.changes_after / self.time if self.time else 0.0


Changes = tuple[Ints, Ints, Ints]
"""Changes of class to simulate: the classes before and after, and the joined row of each."""


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
) -> tuple[Effect, Floats]:
    """Run a pipeline over recordings and count changes; `raw` are their `last_predictions`.

    Return the effect without a delay, and how often each class follows each, (K, K).
    """
    before = after = rows = 0
    hours, K = 0.0, len(pipe.classes)
    pairs = np.zeros((K, K))
    names = dict.fromkeys(name for rec in recordings for name in rec.sources)
    codes = {name: i for i, name in enumerate(names)}
    decided = []
    for rec, last in zip(recordings, raw, strict=True):
        begun = last >= 0
        filtered = np.where(begun, pipe.run(rec).argmax(axis=1), -1)
        before += count_changes(rec, last)[0]
        changes, spent = count_changes(rec, filtered)
        after, hours, rows = after + changes, hours + spent, rows + int(begun.sum())
        seen = filtered[begun]
        np.add.at(pairs, (seen[:-1], seen[1:]), 1)
        rows_seen = rec.observed()
        source = np.array([codes[name] for name in rec.source_names[rows_seen].tolist()], np.intp)
        decided.append(Decided(source, last[rows_seen], filtered[rows_seen]))
    nan = float("nan")
    effect = Effect(before, after, 3600 * hours, rows, nan, nan, True)
    predictions = sum(len(one.source) for one in decided)
    lost = lost_classes(decided, tuple(map(str, pipe.classes)))
    return effect._replace(streams=len(decided), predictions=predictions, lost=lost), pairs


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

    def __init__(self, recordings: Sequence[Rows], rows: JoinedRows, model: EstimatedModel) -> None:
        self.rows = rows
        self._recordings = [rec for rec in recordings if rec.observed().any()]
        self._raw = [last_predictions(rec) for rec in self._recordings]
        self._means = mean_outputs(rows, model)
        self._changes: Changes | None = None
        self.in_seconds = looks_like_seconds(self._recordings, rows.step)

    def measure(self, pipe: Pipeline) -> Effect:
        """Run a pipeline over the recordings; changes like those of the first one are simulated."""
        effect, pairs = measure_changes(pipe, self._recordings, self._raw)
        effect = effect._replace(in_seconds=self.in_seconds)
        if self._changes is None:
            self._changes = draw_changes(pairs, len(self.rows.source))
        if not self._changes[0].size:
            return effect
        for length in LENGTHS:
            delay, steps = delays(pipe, self.rows, self._means, self._changes, length)
            middle = len(steps) // 2
            late, rows = float(np.sort(delay)[middle]), float(np.sort(steps)[middle])
            if 2 * rows <= length:
                break
        return effect._replace(delay=late, delay_rows=rows)


def mean_outputs(rows: JoinedRows, model: EstimatedModel) -> Floats:
    """Return what each source predicts on average in each class, (sources, K, K).

    It is the matrix of its channel, where there is one. Otherwise each prediction counts for a
    class as much as its own probability of it says.
    """
    K = len(rows.classes)
    means = np.empty((len(rows.sources), K, K))
    for i, name in enumerate(rows.sources):
        channel = model.channel.get((name, "best"))
        if channel is not None:
            means[i] = channel.matrix
        else:
            own = floored(rows.observed[rows.source == i])
            means[i] = own.T @ own / own.sum(axis=0)[:, None]
        if name in rows.label_sources:  # how often it gives each label
            other = (1 - LABEL_RELIABILITY) / (K - 1)
            means[i] = np.maximum(means[i] - other, 0.0) / (LABEL_RELIABILITY - other)
            means[i] /= means[i].sum(axis=1, keepdims=True)
    return means


def draw_changes(pairs: Floats, rows: int) -> Changes:
    """Draw changes as often as they occur, of counts of what follows what, at any row."""
    counts = pairs.copy()
    np.fill_diagonal(counts, 0)
    size = SIMULATED if counts.any() else 0
    rng = np.random.default_rng(0)
    shares = counts.ravel() / max(counts.sum(), 1)
    chosen = rng.choice(counts.size, size, p=shares) if size else np.zeros(0, np.intp)
    return *np.divmod(chosen, len(counts)), rng.integers(rows, size=size)


def delays(
    pipe: Pipeline, rows: JoinedRows, means: Floats, changes: Changes, length: int
) -> tuple[Floats, Floats]:
    """Return the time from each change to the first row of the new class, and the rows in it.

    Sources and times are those of the rows around that of the change; gaps and new streams are a
    median step. Infinite where the class is not followed within `length` rows.
    """
    before, after, row = (one[:, None] for one in changes)
    offset = np.arange(-length, length)
    at = (row + offset) % len(rows.source)
    truth = np.where(offset < 0, before, after)
    apart = rows.first | (rows.dt > GAP * rows.step)
    dt = np.where(apart, rows.step, rows.dt)[at]
    source = rows.source[at]
    outputs = means[source, truth].reshape(-1, len(rows.classes))
    codes = Factorized(source.ravel(), list(rows.sources))
    stack, weights = pipe.observe_rows(codes, outputs, np.zeros(len(outputs), bool))
    filtered = pipe.filter.run(pipe.heads.for_filter(stack), beta=weights, dt=dt.ravel())
    follows = filtered.argmax(axis=1).reshape(at.shape)[:, length:] == after
    steps = follows.argmax(axis=1)
    since = np.cumsum(dt[:, length + 1 :], axis=1)
    delay = np.where(steps == 0, 0.0, since[np.arange(len(steps)), steps - 1])
    reached = follows.any(axis=1)
    return np.where(reached, delay, np.inf), np.where(reached, steps, np.inf)
