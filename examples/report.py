"""The results of a run: its timing, a table of its steps, and a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, NamedTuple

import numpy as np
from examples.sources import Source
from numpy.typing import NDArray

import classfilter as cf

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def now() -> Floats:
    """Return wall-clock time and CPU time of this thread, in seconds.

    On a busy machine the first goes on while other programs have the processor.
    """
    return np.array([perf_counter(), thread_time()])


class Timed:
    """A source that measures the time spent in it."""

    def __init__(self, source: Source) -> None:
        self._source, self._elapsed = source, np.zeros(2)

    def __call__(self, window: NDArray[Any]) -> NDArray[Any]:
        """Call the source."""
        start = now()
        try:
            return self._source(window)
        finally:
            self._elapsed += now() - start

    def elapsed(self) -> Floats:
        """Return the time spent in it since the last call of this method, by both clocks."""
        elapsed, self._elapsed = self._elapsed, np.zeros(2)
        return elapsed


class Run(NamedTuple):
    """The result for a stream.

    Attributes
    ----------
    steps : list of Step
        What the loop yielded.
    calls, errors : dict of str to int
        Of each model.
    overhead : ndarray (T, 2)
        Seconds per step without the models, by both clocks of `now`.
    """

    steps: list[cf.Step]
    calls: dict[str, int]
    errors: dict[str, int]
    overhead: Floats

    @property
    def probs(self) -> Floats:
        """The filtered probabilities, (T, K)."""
        return np.array([step.probs for step in self.steps])

    def __str__(self) -> str:
        calls = ", ".join(f"{count} {name}" for name, count in self.calls.items())
        lines = [
            f"{len(self.steps)} steps, calls: {calls}",
            "time per step without the models, in ms:",
        ]
        for clock, (middle, high) in zip(
            ("wall clock", "CPU"),
            1e3 * np.quantile(self.overhead, (0.5, 0.99), axis=0).T,
            strict=True,
        ):
            lines.append(f"  {clock:11} median {middle:.3f}, 99th percentile {high:.3f}")
        if any(self.errors.values()):
            lines.append(f"predictions that could not be used: {self.errors}")
        return "\n".join(lines)


def write(
    folder: Path,
    classes: Sequence[str],
    run: Run,
    others: Mapping[str, Run],
    step: float,
    truth: Ints | None = None,
) -> None:
    """Write ``steps.csv``, and draw ``timeline.png``: the truth, other runs and this one."""
    import polars as pl

    folder.mkdir(parents=True, exist_ok=True)
    time = np.array([s.time for s in run.steps])
    columns = {
        "time": time,
        "source": [s.source for s in run.steps],
        **{f"f_{name}": p for name, p in zip(classes, run.probs.T, strict=True)},
        "class": [s.label for s in run.steps],
    }
    cf.write_table(pl.DataFrame(columns), folder / "steps.csv")
    rows = {name: r.probs for name, r in {**others, "Cascade": run}.items()}
    # A step covers the time before it; a band of the picture begins at its time.
    figure = cf.plot.timeline(time - step, truth, rows, classes)
    figure.savefig(folder / "timeline.png", dpi=150)
