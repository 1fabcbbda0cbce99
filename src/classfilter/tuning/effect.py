"""What a pipeline does for its user: how often the class changes, and how soon it follows a change.

Neither needs labels. Changes are counted on the recordings. The delay is that of simulated changes:
every source predicts what it predicts on average in the old class, and then in the new one.
"""

from __future__ import annotations

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
SECONDS_STEP = (1e-5, 1e6)
"""The median step lies between these, where times are seconds."""


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
    for rec, last in zip(recordings, raw, strict=True):
        begun = last >= 0
        filtered = np.where(begun, pipe.run(rec).argmax(axis=1), -1)
        before += count_changes(rec, last)[0]
        changes, spent = count_changes(rec, filtered)
        after, hours, rows = after + changes, hours + spent, rows + int(begun.sum())
        seen = filtered[begun]
        np.add.at(pairs, (seen[:-1], seen[1:]), 1)
    nan = float("nan")
    counts = len(recordings), sum(int(rec.observed().sum()) for rec in recordings)
    return Effect(before, after, 3600 * hours, rows, nan, nan, True, *counts), pairs


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
