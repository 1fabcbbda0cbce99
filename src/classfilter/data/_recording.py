"""A recording: what classifiers said of one stream, one row an observation."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._channel import Channels, correct
from .._typing import Array, Bools, Floats, Ints, Names, Weights
from .._validation import (
    class_indices,
    class_order,
    factorize,
    probabilities,
    row_weights,
    source_names,
    text_names,
)
from ..filters._base import Filter
from ..filters._smoothing import smooth
from ._frames import as_frame, group_starts, new_table, read_rows, table_classes, table_labels
from ._timestamps import group_and_sort, seconds


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Recording:
    """What classifiers said of one stream, in order of time; it cannot be changed.

    Parameters
    ----------
    time : array_like (T,)
        When. Numbers are taken as they are, and their unit is that of a filter's `gamma`. Datetimes
        (UTC where they have no zone) and ISO 8601 text with a zone become UNIX seconds. Times may
        repeat, but not go back.
    source : array_like of str (T,), or str
        Which classifier; one name for all rows will do.
    probs : array_like (T, K)
        What it said. A row of NaN is a missing observation.
    classes : iterable of K names, or int
        The classes, in the order of the columns of `probs`. Names are kept as text.
    label : array_like (T,), optional
        The true classes, as names or as indices; -1, None or NaN where unknown. Kept as indices.
    sort : bool, default False
        Put the rows in order of time; rows of equal time stay as they are. Without it, a time that
        goes back is an error.

    Examples
    --------
    >>> rec = Recording(
    ...     time=["2024-05-01T08:00:00Z", "2024-05-01T08:00:05Z", "2024-05-01T10:00:10+02:00"],
    ...     source=["strong", "weak", "weak"],
    ...     probs=[[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]],
    ...     classes=["rest", "move"],
    ... )
    >>> rec
    Recording(3 rows, classes ['rest', 'move'], sources ['strong', 'weak'])
    >>> rec.dt.tolist()
    [0.0, 5.0, 5.0]
    """

    time: Floats
    source: Names
    probs: Floats
    classes: tuple[str, ...]
    label: Ints | None

    def __init__(
        self,
        time: ArrayLike,
        source: ArrayLike,
        probs: ArrayLike,
        classes: int | Iterable[Hashable],
        label: ArrayLike | None = None,
        *,
        sort: bool = False,
    ) -> None:
        names = text_names(classes)
        t = seconds(time)
        order, _ = group_and_sort(t, np.zeros(t.size, np.intp), sort)
        columns: dict[str, NDArray[Any] | None] = {
            "time": t,
            "source": source_names(source, t.size),
            "probs": probabilities(probs, names),
            "label": None if label is None else class_indices(label, names),
        }
        for name, column in columns.items():
            if column is not None:
                if len(column) != t.size:
                    raise ValueError(f"{name} has {len(column)} rows, but time has {t.size}")
                column = column[order]
                column.flags.writeable = False
            object.__setattr__(self, name, column)
        object.__setattr__(self, "classes", names)

    def __len__(self) -> int:
        return self.time.size

    def __repr__(self) -> str:
        names = f"classes {list(self.classes)}, sources {list(self.sources)}"
        return f"Recording({len(self)} rows, {names})"

    @property
    def dt(self) -> Floats:
        """Time since the row before, (T,); 0 for the first, which has no time before it."""
        return group_and_sort(self.time, np.zeros(len(self), np.intp))[1]

    @property
    def sources(self) -> tuple[str, ...]:
        """The classifiers, in order of appearance."""
        return tuple(dict.fromkeys(self.source.tolist()))

    def observed(self, source: str | None = None) -> Bools:
        """Say for each row (T,) whether it is an answer, of a source if given; NaN is none.

        Examples
        --------
        >>> nan = float("nan")
        >>> rec = Recording([0, 5, 9], ["a", "b", "a"], [[0.9, 0.1], [0.4, 0.6], [nan, nan]], 2)
        >>> rec.observed("a").tolist()
        [True, False, False]
        """
        seen: Bools = np.asarray(~np.isnan(self.probs).any(axis=1))
        return seen if source is None else seen & (self.source == source)

    def part(self, rows: slice) -> Recording:
        """Return some successive rows as a recording of their own."""
        label = None if self.label is None else self.label[rows]
        columns = self.time[rows], self.source[rows], self.probs[rows]
        return Recording(*columns, self.classes, label)

    def weights(self, beta: Weights, default: float | None = None) -> Floats:
        """Return each row's weight (T,), from that of its source.

        Parameters
        ----------
        beta : mapping of str to float, or float
            The weight of each source, or one for all; 0 to 1.
        default : float, optional
            The weight of a source that `beta` does not name. Without it, that is an error.

        Examples
        --------
        >>> rec = Recording([0, 5], ["strong", "weak"], [[0.9, 0.1], [0.4, 0.6]], ["rest", "move"])
        >>> rec.weights({"strong": 1.0, "weak": 0.1}).tolist()
        [1.0, 0.1]
        """
        return row_weights(factorize(self.source.tolist()), beta, default)

    def run(
        self,
        filter: Filter,  # noqa: A002
        beta: Weights = 1.0,
        channel: Channels | None = None,
    ) -> Array:
        """Filter the recording from the start, and leave the filter as it is.

        It is ``filter.run(probs, beta=weights(beta), dt=dt)`` on a copy that has seen no data.

        Parameters
        ----------
        filter : Filter
            Its settings are used, not its state. Its time unit is that of `time`: seconds, where
            the times were dates. If it has the same classes in another order, the columns are
            matched by name; if it was made with a number of classes, by position.
        beta : mapping of str to float, or float, default 1
            The weight of each source, or one for all.
        channel : mapping of str to Channel, optional
            Puts the answers of a source right before they go in; in the filter's order of classes.

        Returns
        -------
        ndarray (T, K)
            The class probabilities after each row, in the order of the recording's classes.

        Examples
        --------
        >>> from classfilter import DirichletFilter
        >>> rec = Recording([0, 5], ["strong", "weak"], [[0.9, 0.1], [0.4, 0.6]], ["rest", "move"])
        >>> rec.run(DirichletFilter(["rest", "move"], gamma=0.99), {"strong": 1, "weak": 0.1}).shape
        (2, 2)
        """
        fresh, back, stream = self._prepared(filter, beta, channel)
        return fresh.run(*stream)[:, back]

    def smooth(
        self,
        filter: Filter,  # noqa: A002
        beta: Weights = 1.0,
        channel: Channels | None = None,
        *,
        lag: int | None = None,
    ) -> Array:
        """Look back over the recording: each row from the rows before and behind it, (T, K).

        The arguments are those of `run` and of `classfilter.smooth`.
        """
        fresh, back, stream = self._prepared(filter, beta, channel)
        return smooth(fresh, *stream, lag=lag)[:, back]

    def _prepared(
        self,
        filter: Filter,  # noqa: A002
        beta: Weights,
        channel: Channels | None,
    ) -> tuple[Filter, Ints, tuple[Floats, Floats, Floats]]:
        """Return a fresh filter, the way back to these classes, and all that the filter takes."""
        to = class_order(filter, self.classes)
        fresh = filter.copy()
        fresh.reset()
        probs = correct(
            self.probs[:, to], factorize(self.source.tolist()), channel, fresh.probs.dtype
        )
        return fresh, np.argsort(to), (probs, self.weights(beta), self.dt)

    @classmethod
    def from_table(cls, df: Any, *, sort: bool = False) -> Recording:
        """Read one stream from a dataframe of pandas, Polars or PyArrow.

        Its columns are ``time``, one ``p_<class>`` a class and, where there are any, ``source`` and
        ``label``; see `classfilter.tables`.

        Examples
        --------
        >>> import polars as pl
        >>> df = pl.DataFrame({"time": [0, 5], "p_rest": [0.9, 0.4], "p_move": [0.1, 0.6]})
        >>> Recording.from_table(df)
        Recording(2 rows, classes ['rest', 'move'], sources ['default'])
        """
        return recording(df, sort=sort)

    def to_table(self, kind: str = "polars") -> Any:
        """Return the recording as a dataframe of ``"polars"``, ``"pandas"`` or ``"pyarrow"``.

        Examples
        --------
        >>> rec = Recording([0], "weak", [[0.9, 0.1]], ["rest", "move"])
        >>> rec.to_table("pandas").columns.tolist()
        ['time', 'source', 'p_rest', 'p_move']
        """
        return table(self, kind)


def recordings(df: Any, *, sort: bool = False) -> dict[Any, Recording]:
    """Read the recording of every stream in a dataframe.

    Parameters
    ----------
    df : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        See the top of this module.
    sort : bool, default False
        Put the rows of each stream in order of time.

    Returns
    -------
    dict
        From the cells of ``stream``, in order of appearance; from None, where there is no such
        column.

    Examples
    --------
    >>> import polars as pl
    >>> df = pl.DataFrame({
    ...     "time": [0, 0, 5], "stream": ["ann", "bob", "ann"],
    ...     "p_rest": [0.9, 0.2, 0.4], "p_move": [0.1, 0.8, 0.6],
    ... })
    >>> {stream: len(rec) for stream, rec in recordings(df).items()}
    {'ann': 2, 'bob': 1}
    """
    rows = read_rows(df)
    label = table_labels(rows)
    names = np.array(rows.source.categories, np.str_)
    order, _ = group_and_sort(rows.time, rows.stream.codes, sort)
    parts = np.split(order, group_starts(rows.stream.codes[order]))
    return {
        stream: Recording(
            rows.time[part],
            names[rows.source.codes[part]],
            rows.probs[part],
            rows.classes,
            None if label is None else label[part],
        )
        for stream, part in zip(rows.stream.categories, parts, strict=False)
    }


def recording(df: Any, *, sort: bool = False) -> Recording:
    """Read the one recording in a dataframe; what `Recording.from_table` does."""
    found = recordings(df, sort=sort)
    if len(found) > 1:
        names = ", ".join(repr(name) for name in list(found)[:5])
        raise ValueError(
            f"the table has {len(found)} streams ({names}{', ...' * (len(found) > 5)}); "
            "read them with recordings(), or keep the rows of one"
        )
    if not found:
        return Recording([], [], [], table_classes(as_frame(df).columns))
    return next(iter(found.values()))


def table(rec: Recording, kind: str = "polars") -> Any:
    """Return a recording as a dataframe; what `Recording.to_table` does."""
    columns: dict[str, Any] = {"time": rec.time, "source": rec.source.tolist()}
    if rec.label is not None:
        columns["label"] = [rec.classes[k] if k >= 0 else None for k in rec.label.tolist()]
    columns |= {f"p_{name}": p.copy() for name, p in zip(rec.classes, rec.probs.T, strict=True)}
    return new_table(columns, kind, text=("source", "label"))
