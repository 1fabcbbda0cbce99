"""What is counted of each source, over all streams; `_ext/health.c` counts, row by row.

Time is that of the streams: the clock, but no faster than their rows pass, so that neither pauses
nor streams of other times count. All sources and each source have these numbers, and each source
three more per class: how often it predicted it, in how many runs, and the longest of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._support.types import Array, Floats, Ints
from .._validation import Factorized
from ..chain._chain import MAX_SOURCES, Chain
from ..filters._stream_runner import unpack_state

ALL = (
    "time", "at", "step", "steps", "rows", "check_time", "check_at", "changes",
)  # fmt: skip
FIELDS = (
    "rows", "missing", "at", "time", "first_time", "tuned", "tuned_interval", "tuned_agreement",
    "judged", "agreed", "usual_judged", "usual_agreed", "longest_gap", "run_class", "run_rows",
    "run_span", "span", "deficit", "peak", "largest_deficit", "recent_judged", "recent_agreed",
    "neutral", "stuck", "silent", "disagrees", "stuck_times", "silent_times", "disagrees_times",
)  # fmt: skip
FIELD = {name: i for i, name in enumerate(FIELDS)}
TIMES = (
    "at", "time", "first_time", "tuned_interval", "tuned_agreement", "longest_gap", "run_span",
    "span", "deficit", "peak", "largest_deficit",
)  # fmt: skip
"""Those that count nothing: sums of steps may have no end, and some are NaN where not known."""
SPARE = 4
"""So many sources are made room for at once."""


class SourceCounts:
    """What is counted of the sources of a chain.

    Parameters
    ----------
    chain : Chain
        Its sources, and what they did when it was tuned.

    Attributes
    ----------
    index : dict of str to int
        The number of each source.
    numbers : ndarray of float64 (1 + N, F)
        Of all sources, and of each; replaced where there is no more room.
    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.index: dict[str, int] = {}
        self.numbers = np.zeros((1, len(FIELDS) + 3 * len(chain.classes)))
        self._filter = chain.filter()
        for name in [*chain.sources, *chain.expected]:
            self.add(name)

    def add(self, source: str) -> int:
        """Return the number of a source; -1 where there are too many to count."""
        number = self.index.get(source)
        if number is not None or len(self.index) >= MAX_SOURCES or self.chain.independent:
            return -1 if number is None else number
        number, K = len(self.index), len(self.chain.classes)
        if number + 1 >= len(self.numbers):
            more = np.zeros((SPARE + number // 4, self.numbers.shape[1]))
            more[:, FIELD["tuned_agreement"]] = np.nan
            more[:, FIELD["at"]] = self.all("at")
            self.numbers = np.concatenate([self.numbers, more])
        self.index[source] = number
        expected = self.chain.expected.get(source)
        if expected is not None:
            row = self.numbers[number + 1]
            row[FIELD["tuned"]] = 1.0
            row[FIELD["tuned_interval"]] = expected.interval
            row[FIELD["tuned_agreement"]] = expected.agreement
            row[FIELD["longest_gap"]] = expected.longest_gap
            row[FIELD["largest_deficit"]] = expected.longest_disagreement
            row[-K:] = expected.longest_runs
        return number

    def all(self, name: str) -> float:
        """Return one of the numbers of all sources together."""
        return float(self.numbers[0, ALL.index(name)])

    def of(self, source: str) -> dict[str, Any]:
        """Return the numbers of a source by their names."""
        K, row = len(self.chain.classes), self.numbers[self.index[source] + 1]
        known: dict[str, Any] = dict(zip(FIELDS, row.tolist(), strict=False))
        known["counts"], known["runs"], known["longest_runs"] = np.split(row[-3 * K :].copy(), 3)
        return known

    def classes_of(self, states: Array) -> Ints:
        """Return the class of each state of the filter, (N,)."""
        if self.chain.independent:  # no class is the one
            return np.zeros(len(states), np.intp)
        if hasattr(self._filter, "_update_stream"):  # see _ext/streams.c
            return _core.classes_of(states, len(self.chain.classes))
        found = np.empty(len(states), np.intp)
        for i, state in enumerate(states):
            self._filter.state = unpack_state(self._filter, state)
            found[i] = self._filter.probs.argmax()
        return found

    def count_row(
        self, number: int, probs: ArrayLike, before: int, at: float, dt: float, dtype: Any
    ) -> None:
        """Count one row of a source; `before` is the class of the estimate before it, or -1."""
        predicted = _core.classes_of(np.array([probs], dtype), len(self.chain.classes))
        zero = np.zeros(1, np.intp)
        _core.count_rows(
            self.numbers, len(self.chain.classes), zero + number, zero, predicted, zero,
            np.array([before], np.intp), np.array([before < 0]), np.array([at]), np.array([dt]),
        )  # fmt: skip

    def count_rows(
        self,
        source: Factorized,
        probs: Floats,
        estimates: Array,
        streams: tuple[Ints, Ints, Array],
        at: Floats,
        dt: Floats,
    ) -> None:
        """Count many rows with their estimates (T, K), in their order.

        `streams` are the stream of each row, the class of each stream before its first row, and
        whether a stream begins with the row.
        """
        if self.chain.independent:
            return
        K, (stream, last, begins) = len(self.chain.classes), streams
        numbers = np.array([self.add(name) for name in source.categories], np.intp)
        predicted = _core.classes_of(np.ascontiguousarray(probs, estimates.dtype), K)
        after = _core.classes_of(np.ascontiguousarray(estimates), K)
        _core.count_rows(
            self.numbers, K, numbers[source.codes], np.ascontiguousarray(stream, np.intp),
            predicted, after, last, begins, np.ascontiguousarray(at), np.ascontiguousarray(dt),
        )  # fmt: skip

    def saved(self) -> Array:
        """Return all numbers of the sources that there are."""
        return self.numbers[: len(self.index) + 1].copy()

    def restore(self, sources: Sequence[str], numbers: Array) -> None:
        """Take what `saved` returned."""
        self.index.clear()
        self.index.update((str(name), i) for i, name in enumerate(sources))
        if len(self.index) < len(sources):
            raise ValueError("a source is there twice")
        if numbers.dtype != np.float64 or numbers.shape != (
            len(self.index) + 1,
            self.numbers.shape[1],
        ):
            raise ValueError(f"the counts of its sources have the shape {numbers.shape}")
        K = len(self.chain.classes)
        counts = [i for name, i in FIELD.items() if name not in TIMES]
        counts += range(len(FIELDS), self.numbers.shape[1] - K)
        if not np.isfinite(numbers[1:, counts]).all():
            raise ValueError("the counts of its sources are not finite")
        # The core takes it as an index, unchecked.
        if not np.isin(numbers[1:, FIELD["run_class"]], np.arange(K)).all():
            raise ValueError("the counts of its sources name a class that there is not")
        self.numbers = np.ascontiguousarray(numbers)
        for name in [*self.chain.sources, *self.chain.expected]:
            self.add(name)
