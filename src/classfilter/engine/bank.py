"""A bank: many streams with the settings of one filter, updated at once."""

from __future__ import annotations

import os
from typing import Any, Generic

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import ArgumentError
from ..filters import DirichletFilter, FilterType, StreamRows, StreamRunner, unpack_state
from ..inputs import for_filter, predictions, source_codes
from ..pipeline import DEFAULT_SOURCE, Pipeline
from ..support.arrays import as_plain, stable_argsort
from ..support.types import Array, Confidence
from . import store
from .lock import free, new_lock
from .table import Changes, Columns

_REMEDY = "give a file that save wrote"


class Bank(Generic[FilterType]):
    """N streams with the settings of one filter, each with its own state.

    It equals N filters to the bit. The Dirichlet and the sticky filter compute many streams in one
    call into C. Several threads may use one bank: each call waits for the one before.

    Parameters
    ----------
    filter : Filter or Pipeline
        Its settings, and its state as the initial state of every stream. A pipeline brings the
        weights and the channels of its sources: see `update`.
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

    def __init__(self, filter: FilterType | Pipeline, streams: int) -> None:  # noqa: A002
        if hasattr(self, "_lock"):  # others may be using it, in another thread
            raise RuntimeError("the bank was initialised before: make a new one")
        if streams < 0:
            raise ValueError(f"streams is {streams}; it must not be negative")
        pipe = filter if isinstance(filter, Pipeline) else None
        fresh: Any = filter.filter if isinstance(filter, Pipeline) else filter.copy()
        start = StreamRunner(fresh).start
        self.__setstate__((fresh, start, np.tile(start, (streams, 1)), pipe))

    def __getstate__(self) -> tuple[FilterType, Array, Array, Pipeline | None]:
        with free(self._lock):
            return self._filter, self._start, self._states.copy(), self._pipe

    def __setstate__(self, state: tuple[FilterType, Array, Array, Pipeline | None]) -> None:
        self._filter, self._start, self._states, self._pipe = state
        self._settings = self._pipe or Pipeline(self._filter)
        self._classes = len(self._filter.classes)
        self._heads = self._settings.heads
        self._single = bool(self._start.dtype == np.float32)
        self._runner = StreamRunner(self._filter)
        self._lock = new_lock()
        self._written: store.Written | None = None
        self._in_file = self._states[:0]

    def __len__(self) -> int:
        return len(self._states)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the probabilities."""
        return self._filter.classes

    @property
    def eta(self) -> NDArray[Any]:
        """Of Dirichlet filters: how many observations each state is worth, shape (N,)."""
        return self._column("eta", 0)

    @property
    def alpha(self) -> NDArray[Any]:
        """Of Dirichlet filters: parameters of the distributions, shape (N, K)."""
        return self._column("alpha", slice(1, None))

    def _column(self, name: str, columns: Any) -> Array:
        if not isinstance(self._filter, DirichletFilter):
            raise AttributeError(f"a bank of {type(self._filter).__name__} has no {name}")
        with free(self._lock):
            return self._states[:, columns].copy()

    def update(
        self,
        probs: Any,
        beta: ArrayLike | None = None,
        dt: ArrayLike = 1.0,
        *,
        rows: ArrayLike | None = None,
        source: ArrayLike | None = None,
        confidence: Confidence | None = None,
        threads: int | None = None,
    ) -> NDArray[Any]:
        """Update each stream, or some of them, with one observation.

        Parameters
        ----------
        probs : array_like, shape (N, K), or (M, K) with `rows`; dataframe or list of mappings
            One observation per stream, in the order of the classes or by their names; a row of NaN
            only lets time pass. Or classes, shape (N,) or (M,).
        beta, dt : float or array_like, shape (N,) or (M,)
            As in the filter's `update`. By default `beta` is 1, or the weight of the source.
        rows : array_like of int, shape (M,), optional
            The streams that the observations belong to, none twice; by default all.
        source : str or array_like of str, shape (N,) or (M,), optional
            Of a bank of a pipeline: the source of all observations, or of each one, whose weight
            and channel are used. Needed where it has several.
        confidence : float or array_like, shape (N,) or (M,), optional
            Of classes: how probable each is; see `Tracker.update`.
        threads : int, optional
            The number of threads that share the rows; by default that of processors. The results
            are the same to the bit. Filters in Python take one.

        Returns
        -------
        ndarray, shape (N, K) or (M, K)
            The filtered class probabilities. An invalid row raises ValueError, and nothing changes.
        """
        if threads is not None and threads < 1:
            raise ValueError(f"threads is {threads}; it must be at least 1")
        # Arguments may run anyone's code while they become arrays: that comes before the lock.
        probs, beta = self._observed(probs, beta, source, confidence)
        s, weights, times, slots = self._as_batch(probs, beta, dt, rows)
        with free(self._lock):
            states = self._states
            out = self._check_batch(len(states), s, weights, times, slots)
            stream_rows = StreamRows(s, weights, times, None, None, slots)
            after = self._runner.run(states, stream_rows, out, threads)
            if slots is None:
                self._states = after
            else:
                _core.commit(states, None, slots, after, None)
        return out

    def _as_batch(self, probs: Any, beta: Any, dt: Any, rows: Any) -> tuple[Any, Any, Any, Any]:
        """Return all arguments as arrays; only here can an argument run anyone's code."""
        if self._heads.is_exclusive:
            return _core.as_batch(self._classes, self._single, probs, beta, dt, rows)
        dtype = self._start.dtype
        slots = None if rows is None else _core.as_streams(rows)
        s, weights, times = (np.asarray(x, dtype, order="C") for x in (probs, beta, dt))
        for name, column in {"beta": weights, "dt": times}.items():
            if column.shape not in ((), (len(s),)) and not (
                name == "beta" and column.shape == s.shape[:2]
            ):
                must = f"it must be a number, or one per row, ({len(s)},)"
                raise ArgumentError(name, column.shape, problem="has shape {}", must=must)
        return s, weights, times, slots

    def _check_batch(self, streams: int, s: Array, weights: Any, times: Any, slots: Any) -> Array:
        """Raise unless the rows fit so many streams; return memory for the results."""
        if self._heads.is_exclusive:
            return _core.check_batch(streams, self._single, s, weights, times, slots)
        expected = streams if slots is None else len(slots)
        if len(s) != expected:
            must = f"it must have one per stream, {expected}"
            raise ArgumentError("probs", len(s), problem="has {} rows", must=must)
        if slots is not None:
            _core.check_streams(slots, streams)
        return np.empty((len(s), self._classes), s.dtype)

    def _observed(
        self,
        probs: Any,
        beta: ArrayLike | None,
        source: ArrayLike | None,
        confidence: Confidence | None,
    ) -> tuple[ArrayLike, ArrayLike]:
        """Return rows and weights, by their sources."""
        if self._pipe is None:
            if source is not None:
                raise ValueError(
                    f"source is {source!r}, but the bank has no weights of sources; make it of a "
                    "pipeline, or give beta"
                )
            if not self._heads.is_exclusive:
                rows = predictions(probs, self._heads, confidence).probs
                rows = self._heads.stacked(rows.astype(self._start.dtype, copy=False))
                return rows, 1.0 if beta is None else beta
            probs = as_plain(probs)
            plain = isinstance(probs, np.ndarray) and probs.ndim == 2 and confidence is None
            rows = probs if plain else for_filter(probs, self.classes, confidence)
            return rows, 1.0 if beta is None else beta
        pipe = self._pipe
        rows, one_hot = predictions(probs, pipe.heads, confidence)
        if source is None:
            if len(pipe.sources) > 1:
                raise ValueError(
                    f"source is not given, and the filter has weights for {pipe.sources}; name "
                    "the source of each row, or one for all"
                )
            source = pipe.sources[0] if pipe.sources else DEFAULT_SOURCE
        names = source_codes(source, len(rows))
        if len(names.codes) != len(rows):
            raise ValueError(
                f"source has {len(names.codes)} entries, but probs has {len(rows)} rows"
            )
        observed, weights = pipe.observe_rows(names, rows, one_hot)
        return pipe.heads.for_filter(observed), weights if beta is None else beta

    def run(
        self,
        probs: Any,
        beta: ArrayLike | None = None,
        dt: ArrayLike = 1.0,
        *,
        rows: ArrayLike,
        source: ArrayLike | None = None,
        confidence: Confidence | None = None,
        threads: int | None = None,
    ) -> NDArray[Any]:
        """Update streams with many observations, in their order.

        Parameters
        ----------
        probs : array_like, shape (M, K) or (M,), dataframe or list of mappings
            The observations, as in `update`; a row of NaN only lets time pass.
        beta, dt : float or array_like, shape (M,)
            As in the filter's `run`; `dt` is the time since the observation of the same stream
            before.
        rows : array_like of int, shape (M,)
            The stream that each observation belongs to; any of them many times.
        source, confidence, threads
            As in `update`.

        Returns
        -------
        ndarray, shape (M, K)
            The filtered class probabilities, to the bit as by `update` for each observation in
            turn. An invalid row raises ValueError, and nothing changes.
        """
        if threads is not None and threads < 1:
            raise ValueError(f"threads is {threads}; it must be at least 1")
        probs, beta = self._observed(probs, beta, source, confidence)
        s, weights, times, _ = self._as_batch(probs, beta, dt, None)
        streams = np.atleast_1d(np.asarray(rows))
        if streams.shape != (len(s),) or streams.dtype.kind not in "iu":
            raise ValueError(
                f"rows has shape {streams.shape} and type {streams.dtype}; it must be the stream "
                f"number of each of the {len(s)} observations"
            )
        with free(self._lock):
            out = self._check_batch(len(s), s, weights, times, None)
            outside = (streams < 0) | (streams >= len(self))
            if outside.any():
                raise ValueError(
                    f"rows names stream {streams[outside][0]}; the bank has streams 0 to "
                    f"{len(self) - 1}"
                )
            used, codes = np.unique(streams, return_inverse=True)
            order, counts = stable_argsort(codes), np.bincount(codes, minlength=len(used))
            stream_rows = StreamRows(s, weights, times, order, counts, used)
            after = self._runner.run(self._states, stream_rows, out, threads)
            _core.commit(self._states, None, used, after, None)
        return out

    def filter(self, stream: int) -> FilterType:
        """Return a new filter in the state of one stream."""
        with free(self._lock):
            filter_, state = (
                self._filter.copy(),
                unpack_state(self._filter, self._states[stream].copy()),
            )
        filter_.state = state
        return filter_

    def reset(self, rows: ArrayLike | None = None) -> None:
        """Return all streams, or some, to the state before any data."""
        slots = None if rows is None else _core.as_streams(rows)
        with free(self._lock):
            if slots is not None:
                _core.check_streams(slots, len(self))
            self._states[slice(None) if slots is None else slots] = self._start

    def add(self, streams: int) -> range:
        """Add new streams at the end; return their numbers."""
        if streams < 0:
            raise ValueError(f"streams is {streams}; it must not be negative")
        with free(self._lock):
            first = len(self)
            self._states = np.concatenate([self._states, np.tile(self._start, (streams, 1))])
            return range(first, len(self))

    def drop(self, rows: ArrayLike) -> None:
        """Remove streams; the numbers of those after them decrease."""
        slots = _core.as_streams(rows)
        with free(self._lock):
            _core.check_streams(slots, len(self))
            self._states = np.delete(self._states, slots, axis=0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the states to a file, all of it or nothing; `load` reads it.

        It is a SQLite database. A save to the file of the save before, or to the one that was
        loaded, writes the states that changed since.
        """
        with store.StoreFile(path, "bank", _REMEDY) as file:
            since = file.since(self._written)
            with free(self._lock):
                states = self._states.copy()
            before = states[:0] if since is None else self._in_file
            count = min(len(before), len(states))
            bits = f"u{states.itemsize}"
            differs = before[:count].view(bits) != states[:count].view(bits)
            changed = np.flatnonzero(differs.any(axis=1))
            new, gone = np.arange(count, len(states)), np.arange(count, len(before))
            slots = np.append(new, changed)
            times, objects = np.full((3, len(slots)), np.nan), np.full((3, len(slots)), None)
            columns = Columns(states[slots], *times, *objects)
            streams = Changes(new.tolist(), slots, columns, gone, len(states))
            saved = store.Saved("bank", self._settings, streams, {}, [], 1)
            self._written = file.write(saved, lambda i: b"", since)
            self._in_file = states

    def load(self, path: str | os.PathLike[str]) -> None:
        """Replace all streams by those of a file that `save` wrote, of a bank of equal settings."""
        with store.StoreFile(path, "bank", _REMEDY, write=False) as file:
            read = file.read(self._settings)
            with file.damage():
                self._in_file = read.states()
                self._replace_states(self._in_file.copy())
        slots = read.saved.streams.slots
        is_ordered = np.array_equal(slots, np.arange(len(slots)))
        self._written = read.written if is_ordered else None

    def _replace_states(self, states: Array) -> None:
        if states.dtype != self._start.dtype:
            raise ValueError(f"it holds {states.dtype}, the bank {self._start.dtype}")
        if states.ndim != 2 or states.shape[1:] != self._start.shape:
            raise ValueError(
                f"it has states of shape {states.shape}; a stream of the bank has "
                f"{len(self._start)} numbers, shape (N, {len(self._start)})"
            )
        with free(self._lock):
            self._runner.check_states(states)
            self._states = states
