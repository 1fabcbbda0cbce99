"""What came of a run: the time that it took, a table of its steps, and a picture."""

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
    """Return two clocks, in seconds: that on the wall, and the processor's work for this thread.

    On a busy machine the first goes on while other programs have the processor.
    """
    return np.array([perf_counter(), thread_time()])


class Timed:
    """A source that measures the time spent in it."""

    def __init__(self, source: Source) -> None:
        self._source, self._taken = source, np.zeros(2)

    def __call__(self, window: NDArray[Any]) -> NDArray[Any]:
        """Ask the source."""
        start = now()
        try:
            return self._source(window)
        finally:
            self._taken += now() - start

    def taken(self) -> Floats:
        """Return the time spent in it since this was asked last, by both clocks."""
        taken, self._taken = self._taken, np.zeros(2)
        return taken


class Run(NamedTuple):
    """What came of a stream.

    Attributes
    ----------
    steps : list of Step
        What the loop yielded.
    calls, faults : dict of str to int
        Of each model.
    besides : ndarray (T, 2)
        Seconds that each step took besides the models, by both clocks of `now`.
    """

    steps: list[cf.Step]
    calls: dict[str, int]
    faults: dict[str, int]
    besides: Floats

    @property
    def probs(self) -> Floats:
        """The filter's readings, (T, K)."""
        return np.array([step.probs for step in self.steps])

    def __str__(self) -> str:
        calls = ", ".join(f"{count} {name}" for name, count in self.calls.items())
        lines = [f"{len(self.steps)} steps, calls: {calls}", "a step besides the models, in ms:"]
        for clock, (middle, high) in zip(
            ("on the wall", "of the processor"),
            1e3 * np.quantile(self.besides, (0.5, 0.99), axis=0).T,
            strict=True,
        ):
            lines.append(f"  time {clock:17} median {middle:.3f}, 99th percentile {high:.3f}")
        if any(self.errors.values()):
            lines.append(f"answers that could not be used: {self.errors}")
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
    time = np.array([one.time for one in run.steps])
    columns = {
        "time": time,
        "source": [one.source for one in run.steps],
        **{f"f_{name}": p for name, p in zip(classes, run.probs.T, strict=True)},
        "class": [one.label for one in run.steps],
    }
    cf.write_table(pl.DataFrame(columns), folder / "steps.csv")
    rows = {name: one.probs for name, one in {**others, "Cascade": run}.items()}
    # A step tells of the time before it; a band of the picture begins at its time.
    figure = cf.plot.timeline(time - step, truth, rows, classes)
    figure.savefig(folder / "timeline.png", dpi=150)
