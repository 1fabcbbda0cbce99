"""Many streams at once: one configuration, one state a stream."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._dirichlet import DirichletFilter, DirichletState

FORMAT = 1
MIN_ROWS_PER_THREAD = 256  # below this, starting a thread costs more than it saves


class Bank:
    """N streams with the settings of one filter, each with a state of its own.

    Exactly N filters, to the bit, but several streams go through the vector registers together.

    Parameters
    ----------
    filter : DirichletFilter
        Gives the settings, and the state that every stream starts from.
    streams : int
        The number of streams, N.

    Examples
    --------
    >>> import classfilter as cf
    >>> bank = cf.Bank(cf.DirichletFilter(["walk", "sit"]), streams=3)
    >>> bank.update([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]).argmax(axis=1)
    array([0, 0, 1])
    >>> bank.update([[0.1, 0.9]], rows=[2]).round(2)  # only the last stream
    array([[0., 1.]])
    """

    def __init__(self, filter: DirichletFilter, streams: int) -> None:  # noqa: A002
        if streams < 0:
            raise ValueError(f"streams is {streams}; it must not be negative")
        self._filter = filter.copy()
        self._states = np.tile(self._start(), (streams, 1))

    def _start(self) -> NDArray[Any]:
        return np.array([self._filter.eta, *self._filter.alpha], self._filter.dtype)

    def __len__(self) -> int:
        return len(self._states)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the probabilities."""
        return self._filter.classes

    @property
    def eta(self) -> NDArray[Any]:
        """How many observations each memory is worth, shape (N,)."""
        return self._states[:, 0].copy()

    @property
    def alpha(self) -> NDArray[Any]:
        """Parameters of the Dirichlet distributions, shape (N, K)."""
        return self._states[:, 1:].copy()

    def update(
        self,
        probs: ArrayLike,
        beta: ArrayLike = 1.0,
        dt: ArrayLike = 1.0,
        *,
        rows: ArrayLike | None = None,
        threads: int | None = None,
    ) -> NDArray[Any]:
        """Update each stream, or some of them, with one observation.

        Parameters
        ----------
        probs : array_like, shape (N, K), or (M, K) with `rows`
            One observation a stream; a row of NaN only lets time pass.
        beta, dt : float or array_like, shape (N,) or (M,)
            As in `DirichletFilter.update`.
        rows : array_like of int, shape (M,), optional
            The streams that the observations belong to, none twice; all of them unless given.
        threads : int, optional
            How many threads share the work; as many as there are processors unless given.

        Returns
        -------
        ndarray, shape (N, K) or (M, K)
            The filtered class probabilities. A bad row raises ValueError, and nothing changes.
        """
        probs = np.ascontiguousarray(probs, self._filter.dtype)
        which = None if rows is None else self._indices(rows)
        expected = len(self) if which is None else len(which)
        if probs.ndim != 2 or len(probs) != expected:
            raise ValueError(
                f"probs has shape {probs.shape}; it must have one row a stream, "
                f"shape ({expected}, {len(self.classes)})"
            )
        out = np.empty_like(probs)
        many = self._filter._update_many
        if threads is None:
            threads = os.cpu_count() or 1
        if threads < 1:
            raise ValueError(f"threads is {threads}; it must be at least 1")
        parts = max(1, min(threads, expected // MIN_ROWS_PER_THREAD))
        cuts = [expected * i // parts for i in range(parts + 1)]
        if parts == 1:
            many(self._states, which, probs, beta, dt, out, 0, expected)
            return out
        # Each part checks its own rows first; only a check of all keeps the others unchanged.
        many(None, None, probs, beta, dt, None, 0, expected)
        from concurrent.futures import (
            ThreadPoolExecutor,
        )  # 5 ms that most imports import_optional not pay

        with ThreadPoolExecutor(parts) as pool:
            jobs = [
                pool.submit(many, self._states, which, probs, beta, dt, out, i, j)
                for i, j in pairwise(cuts)
            ]
            for job in jobs:
                job.result()
        return out

    def _indices(self, rows: ArrayLike) -> NDArray[np.uintp]:
        given = np.asarray(rows)
        if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
            raise TypeError(f"rows must be a list of stream numbers, got {rows!r}")
        outside = (given < 0) | (given >= len(self))
        if outside.any():
            raise ValueError(
                f"rows names stream {given[outside][0]}; the bank has streams 0 to {len(self) - 1}"
            )
        numbers, counts = np.unique(given, return_counts=True)
        if len(numbers) < len(given):
            twice = numbers[counts > 1][0]
            raise ValueError(f"rows names stream {twice} more than once; update it in turn")
        return np.ascontiguousarray(given, np.uintp)

    def filter(self, stream: int) -> DirichletFilter:
        """Return a filter of its own in the state of one stream."""
        made = self._filter.copy()
        made.state = DirichletState(float(self._states[stream, 0]), self._states[stream, 1:])
        return made

    def reset(self, rows: ArrayLike | None = None) -> None:
        """Return all streams, or some, to the state before any data."""
        self._states[slice(None) if rows is None else self._indices(rows)] = self._start()

    def add(self, streams: int) -> range:
        """Add new streams at the end; return their numbers."""
        first = len(self)
        self._states = np.concatenate([self._states, np.tile(self._start(), (streams, 1))])
        return range(first, len(self))

    def drop(self, rows: ArrayLike) -> None:
        """Remove streams; those behind them move up."""
        self._states = np.delete(self._states, self._indices(rows), axis=0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all states to one `.npz` file, atomic_write it in one step."""
        from .._atomic import atomic_write

        with atomic_write(os.fspath(path)) as file:
            np.savez(file, format=FORMAT, classes=self._names(), states=self._states)

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Take over the states of a file that `save` wrote, and their number."""
        with np.load(path, allow_pickle=False) as file:
            missing = {"format", "classes", "states"} - set(file.files)
            if missing:
                raise ValueError(f"{path} is no saved bank: it has no {sorted(missing)[0]!r}")
            if int(file["format"]) != FORMAT:
                raise ValueError(f"{path} has format {file['format']}; this version reads {FORMAT}")
            if file["classes"].tolist() != self._names():
                raise ValueError(
                    f"{path} has the classes {file['classes'].tolist()}, the bank {self._names()}"
                )
            states = file["states"]
        if states.dtype != self._filter.dtype:
            raise ValueError(f"{path} holds {states.dtype}, the bank {self._filter.dtype}")
        self._states = np.ascontiguousarray(states)

    def _names(self) -> list[str]:
        return [str(name) for name in self.classes]
