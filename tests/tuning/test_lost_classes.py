"""A class that is predicted and that the filter overrules is named; noise is not."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf
from classfilter.tuning.effect import Decided, lost_classes

CLASSES = ["walk", "sit", "fall"]


def day(seed: int, fall: int, sure: float = 0.6) -> cf.Rows:
    """Falls of so many rows between walking and sitting, which are nearly always predicted."""
    rng = np.random.default_rng(seed)
    T = 6000
    steady = np.cumsum(rng.random(T) < 0.005) % 2
    y = steady.copy()
    for start in rng.choice(T - 10, 16, replace=False):
        y[start : start + fall] = 2
    said = np.where(rng.random(T) < 0.85, y, rng.integers(2, size=T))
    said = np.where((y == 2) & (rng.random(T) < 0.9), 2, said)
    probs = rng.dirichlet(np.ones(3), T) * (1 - sure)
    probs[np.arange(T), said] += sure
    return cf.rows(time=5.0 * np.arange(T), source="a", probs=probs, classes=CLASSES, label=y)


def kept(P: NDArray[Any], rec: cf.Rows) -> int:
    return int(((P.argmax(axis=1) == 2) & (rec.probs.argmax(axis=1) == 2)).sum())


@pytest.mark.parametrize("fall", [2, 3])
def test_falls_are_kept(fall: int) -> None:
    """Of the rows of falls, which were predicted, 8 to 29 % were left, and nothing said so."""
    rec = day(0, fall)
    assert kept(cf.tune(rec).run(rec), rec) > 0.55 * (rec.probs.argmax(axis=1) == 2).sum()


def test_falls_do_not_vanish_silently() -> None:
    rec = day(0, 6)
    with pytest.warns(UserWarning, match="fall: .* are gone, though they come in runs"):
        pipe = cf.tune(rec)
    said = int((rec.probs.argmax(axis=1) == 2).sum())
    gone = said - kept(pipe.run(rec), rec)
    words = f"fall: {gone} of {said} predicted rows are gone"
    assert re.search(rf"^Lost +{words}$", str(pipe), re.MULTILINE)
    assert words in pipe.tuning.explain()
    short = cf.StickyFilter(CLASSES, dwell="30s")  # what the warning says
    assert kept(cf.Pipeline(short).run(rec), rec) > 0.75 * said


def draws(seed: int, source: NDArray[Any], *, runs: bool) -> Decided:
    """Decided rows of class 0 or 1, where some rows that say 2 are overruled."""
    rng = np.random.default_rng(seed)
    T = len(source)
    by_pipe = np.arange(T) // 50 % 2
    at = rng.choice(T // 2, 60, replace=False) * 2 if runs else rng.choice(T, 120, replace=False)
    predicted = by_pipe.copy()
    predicted[at] = 2
    if runs:
        predicted[at + 1] = 2
    return Decided(source, predicted, by_pipe)


@pytest.mark.parametrize("sources", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_only_what_comes_in_runs_may_be_true(seed: int, sources: int) -> None:
    source = np.arange(8000) % sources
    classes = ("a", "b", "c")
    (noise,) = lost_classes([draws(seed, source, runs=False)], classes)
    (lost,) = lost_classes([draws(seed, source, runs=True)], classes)
    assert (noise.name, noise.predicted, noise.gone, noise.in_runs) == ("c", 120, 120, False)
    assert (lost.name, lost.predicted, lost.gone, lost.in_runs) == ("c", 120, 120, True)
    own = np.arange(8000) // 4000  # two sources, each in its own half: none confirms the other
    (alone,) = lost_classes([draws(seed, own, runs=True)], classes)
    assert not alone.in_runs
    half = draws(seed, source, runs=True)
    half.by_pipe[np.flatnonzero(half.predicted == 2)[:61]] = 2
    assert lost_classes([half], classes) == ()


def test_noise_is_not_warned_of() -> None:
    rng = np.random.default_rng(3)
    y = np.cumsum(rng.random(4000) < 0.01) % 3
    said = np.where(rng.random(4000) < 0.75, y, rng.integers(6, size=4000))
    rec = cf.rows(
        time=5.0 * np.arange(4000), probs=0.7 * np.eye(6)[said] + 0.05, classes=6, label=y
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipe = cf.tune(rec)
    assert not any(one.in_runs for one in pipe.tuning.effect.lost)
