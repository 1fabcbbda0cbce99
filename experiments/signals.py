"""Raw accelerometer signals of many people, and the steps at which they are classified.

All sets are brought to one rate, so that the same two models serve them. A step comes every 5 s;
its label is the class at its end. A window is the last 5 s or 30 s before that end: no later
sample is used. Where a recording is younger than its window, its first sample stands for the time
before, as on a device that has just been switched on. This module needs NumPy alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RATE = 20
"""Samples per second."""
STEP = 5 * RATE
"""Samples from one step to the next."""
PER_G = 1000
"""Units of the stored signal in one g."""


@dataclass(frozen=True, eq=False)
class Signals:
    """The signals of several people, one after the other.

    Attributes
    ----------
    X : ndarray of int16 (N, 3)
        Thousandths of g, at `RATE`.
    y : ndarray of int8 (N,)
        The class of each sample, -1 where unknown.
    starts : ndarray of int (P + 1,)
        Where each person begins; the last entry is N.
    names : tuple of str
        The P people.
    classes : tuple of str
        The classes.
    """

    X: NDArray[np.int16]
    y: NDArray[np.int8]
    starts: NDArray[np.int64]
    names: tuple[str, ...]
    classes: tuple[str, ...]

    @classmethod
    def joined(
        cls, parts: dict[str, tuple[NDArray[np.int16], NDArray[np.int8]]], classes: tuple[str, ...]
    ) -> Signals:
        """Concatenate the signals and labels of people."""
        lengths = [len(X) for X, _ in parts.values()]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        X = np.concatenate([X for X, _ in parts.values()])
        y = np.concatenate([y for _, y in parts.values()])
        return cls(X, y, starts, tuple(parts), classes)

    def part(self, name: str) -> tuple[NDArray[np.int16], NDArray[np.int8]]:
        """Return the signal and the labels of one person."""
        i = self.names.index(name)
        here = slice(int(self.starts[i]), int(self.starts[i + 1]))
        return self.X[here], self.y[here]

    def steps(self, names: tuple[str, ...]) -> Steps:
        """Return the steps of some people, in their order."""
        ends, firsts, counts = [], [], []
        for name in names:
            i = self.names.index(name)
            start, stop = int(self.starts[i]), int(self.starts[i + 1])
            here = np.arange(start + STEP, stop + 1, STEP)
            ends.append(here)
            firsts.append(np.full(len(here), start))
            counts.append(len(here))
        none = np.zeros(0, np.int64)
        end = np.concatenate([none, *ends])
        return Steps(
            end, np.concatenate([none, *firsts]), self.y[end - 1], names, np.array(counts, np.int64)
        )


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps of several people, one after the other.

    Attributes
    ----------
    end : ndarray of int (T,)
        The sample after the last one that a step may use.
    first : ndarray of int (T,)
        The first sample of that person.
    label : ndarray of int8 (T,)
        The class of sample ``end - 1``.
    names : tuple of str
        The people.
    counts : ndarray of int
        How many steps each of them has.
    """

    end: NDArray[np.int64]
    first: NDArray[np.int64]
    label: NDArray[np.int8]
    names: tuple[str, ...]
    counts: NDArray[np.int64]

    def thinned(self, most: int) -> Steps:
        """Return every second, third or so step, so that there are at most `most`."""
        some = slice(None, None, -(-len(self.end) // most) or 1)
        person = np.repeat(np.arange(len(self.names)), self.counts)[some]
        counts = np.bincount(person, minlength=len(self.names)).astype(np.int64)
        return Steps(self.end[some], self.first[some], self.label[some], self.names, counts)


def folds(names: tuple[str, ...], count: int) -> list[tuple[tuple[str, ...], ...]]:
    """Split people so that everybody is tested once.

    Parameters
    ----------
    names : tuple of str
        The people.
    count : int
        How many folds; larger ones come last.

    Returns
    -------
    list of (train, held_out, tested)
        `held_out`, a seventh of those who are not tested, decide when to stop.

    Examples
    --------
    >>> [tested for _, _, tested in folds(("a", "b", "c", "d"), 2)]
    [('b', 'd'), ('a', 'c')]
    """
    if not 2 <= count <= len(names):
        raise ValueError(f"folds is {count}; it must be 2 to {len(names)}, the number of people")
    mixed = np.random.default_rng(0).permutation(sorted(names)).tolist()
    parts = [part.tolist() for part in np.array_split(mixed, count)][::-1]
    result = []
    for tested in parts:
        others = [name for name in mixed if name not in tested]
        held_out = others[::7] if len(others) > 1 else []
        train = [name for name in others if name not in held_out]
        result.append(tuple(tuple(sorted(part)) for part in (train, held_out, tested)))
    return result
