"""A recording: the outputs of classifiers on one stream, one observation per row."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError, RowError
from ..filters import Filter
from ..inputs import (
    TableFormat,
    TimeKind,
    TimeScale,
    fewest,
    lane_index,
    lane_names,
    new_table,
    pairs,
    predictions,
    read_rows,
    read_times,
    table_of,
    truth_of_labels,
)
from ..pipeline import Chain, Channels, smooth
from ..support.html import recording
from ..support.imports import public_name
from ..support.types import Array, Bools, Classes, Confidence, Floats, Ints, Names, Weights
from ..support.validation import (
    Factorized,
    class_indices,
    factorize,
    row_weights,
    source_names,
    text_names,
)
from .rows import group_and_sort


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Recording:
    """The outputs of classifiers on one stream, in order of time; it is immutable.

    Parameters
    ----------
    time : array_like (T,)
        The time of each row. Numbers are used as they are, or in a `unit`. Datetimes, dates and
        ISO 8601 text become UNIX seconds, in UTC where they have no zone; timedeltas become
        seconds. `to_table` gives them back as dates, and a zone is kept. Times may repeat, but not
        go back.
    source : array_like of str (T,), or str
        The name of the classifier; one name stands for all rows.
    probs : array_like (T, K) or (T,), dataframe, or list of mappings
        Its output, in the order of the classes or by their names. A row of NaN is a missing
        observation. Or its predicted classes, as names or as indices; -1, None, NaN or an empty
        text where there is none. They are stored as one-hot rows; how often they are right is for
        a `Channel`, which `tune` estimates. Without one, each counts with the default reliability
        of docs/inputs.md.
    classes : iterable of K names, or int
        The classes, in the order of the columns of `probs`. Names become text.
    label : array_like (T,), optional
        The true classes, as names or as indices; -1, None or NaN where unknown. Stored as indices.
    sort : bool, default False
        Put the rows in order of time; rows of equal time keep their order. Without it, a time that
        goes back is an error.
    confidence : float or array_like (T,), optional
        Of predicted classes: how probable each is, 0 to 1; the others share the rest.
    hard : array_like of bool (T,), optional
        Which rows are classes without confidence, in one-hot rows; by default those that were given
        as classes.
    scores : {"probabilities", "independent"}
        Independent scores are those of labels that may be true at once: `classes` are the labels,
        one or more, each row of `probs` has a score in [0, 1] for each, NaN where it was not
        observed, and `label` is (T, L): 1 where a label is true, 0 where not, -1 where unknown.
    unit : {"s", "ms", "us", "ns"}, optional
        The unit of the numbers of `time`, which are then converted to seconds. By default they
        stay as they are, in the unit of a filter's half-life, with a warning if they look like
        milliseconds.

    Examples
    --------
    >>> rec = Recording(
    ...     time=["2024-05-01T08:00:00Z", "2024-05-01T08:00:05Z", "2024-05-01T10:00:10+02:00"],
    ...     source=["strong", "weak", "weak"],
    ...     probs=[[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]],
    ...     classes=["rest", "move"],
    ... )
    >>> rec  # doctest: +ELLIPSIS
    Recording(3 rows, 2024-05-01 08:00:00+00:00 to ..., classes ['rest', 'move'], sources [...])
    >>> rec.dt.tolist()
    [0.0, 5.0, 5.0]
    """

    time: Floats
    source: Names
    probs: Floats
    classes: tuple[str, ...]
    label: Ints | None
    hard: Bools
    scores: str
    _time_kind: ClassVar[TimeKind] = TimeKind()  # and of each recording, where it differs

    def __init__(
        self,
        time: ArrayLike,
        source: ArrayLike,
        probs: Any,
        classes: int | Iterable[Hashable],
        label: ArrayLike | None = None,
        *,
        sort: bool = False,
        confidence: Confidence | None = None,
        hard: ArrayLike | None = None,
        scores: str = "probabilities",
        unit: str | None = None,
    ) -> None:
        if scores not in ("probabilities", "independent"):
            rule = "it must be probabilities or independent"
            remedy = "convert logits by classfilter.softmax, or read a table"
            raise ArgumentError("scores", scores, rule=rule, remedy=remedy)
        independent = scores == "independent"
        names = text_names(classes, fewest(independent))
        rows = predictions(probs, names, confidence, independent=independent)
        truth = truth_of_labels if independent else class_indices
        t, kind = read_times(time, unit)
        order, _ = group_and_sort(t, np.zeros(t.size, np.intp), sort, kind=kind)
        columns: dict[str, NDArray[Any] | None] = {
            "time": t,
            "source": source_names(source, t.size),
            "probs": rows.probs,
            "hard": rows.hard if hard is None else _check_hard(hard, rows.probs),
            "label": None if label is None else truth(label, names),
        }
        for name, column in columns.items():
            if column is not None and len(column) != t.size:
                raise ValueError(f"{name} has {len(column)} rows, but time has {t.size}")
        scale = TimeScale(unit)
        scale.see(t, numbers=kind.is_number)
        scale.warn()
        in_order = {k: None if v is None else v[order] for k, v in columns.items()}
        self._store(names, independent, kind, **in_order)

    def _store(
        self,
        classes: tuple[str, ...],
        independent: bool,
        kind: TimeKind,
        **columns: NDArray[Any] | None,
    ) -> None:
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "scores", "independent" if independent else "probabilities")
        if kind != self._time_kind:
            object.__setattr__(self, "_time_kind", kind)
        for name, column in columns.items():
            if column is not None:
                column.flags.writeable = False
            object.__setattr__(self, name, column)

    @classmethod
    def _from_checked(
        cls,
        time: Floats,
        source: Names,
        probs: Floats,
        classes: tuple[str, ...],
        label: Ints | None,
        hard: Bools | None = None,
        kind: TimeKind = TimeKind(),  # noqa: B008
        independent: bool = False,
    ) -> Recording:
        """Return a recording of columns that are already checked and in order of time.

        `hard` is None where all predictions are probabilities.
        """
        rec = cls.__new__(cls)
        if hard is None:
            hard = np.zeros(len(time), bool)
        columns = {"time": time, "source": source, "probs": probs, "label": label, "hard": hard}
        rec._store(classes, independent, kind, **columns)
        return rec

    @property
    def independent(self) -> bool:
        """Whether the classes are labels that may be true at once."""
        return self.scores == "independent"

    def lane(self, label: Any) -> Recording:
        """Return the recording of one of several labels: two classes, not robin and robin."""
        k = lane_index(label, self.classes, self.independent)
        truth = None if self.label is None else self.label[:, k].copy()
        columns = self.time, self.source, pairs(self.probs[:, k]), lane_names(label), truth
        return self._from_checked(*columns, kind=self._time_kind)

    def _take(self, rows: Any) -> Recording:
        """Return some rows, by a slice, a mask or indices, as a recording."""
        label = None if self.label is None else self.label[rows]
        columns = self.time[rows], self.source[rows], self.probs[rows]
        hard = self.hard[rows]
        known = hard, self._time_kind, self.independent
        return self._from_checked(*columns, self.classes, label, *known)

    def __len__(self) -> int:
        return self.time.size

    def __repr__(self) -> str:
        what = "labels" if self.independent else "classes"
        names = f"{what} {list(self.classes)}, sources {list(self.sources)}"
        span = ""
        if self._time_kind.kind == "date" and len(self):
            first, last = (self._time_kind.text(self.time[row]) for row in (0, -1))
            span = f"{first} to {last}, "
        return f"Recording({len(self)} rows, {span}{names})"

    def _repr_html_(self) -> str:
        if self.independent:
            return self._lanes_as_html()
        predicted = np.where(self.observed(), np.nan_to_num(self.probs).argmax(axis=1), -1)
        lanes = [] if self.label is None else [("truth", self.label)]
        lanes += [(name, np.where(self.source == name, predicted, -1)) for name in self.sources]
        return recording(self.time, lanes, self.classes, self._time_kind.text)

    def _lanes_as_html(self) -> str:
        """Return a row for each label: where it is on, in truth and by each source."""
        lanes = [] if self.label is None else [("truth", self.label)]
        on = np.where(np.isnan(self.probs), -1, self.probs > 0.5).astype(np.intp)
        lanes += [(n, np.where((self.source == n)[:, None], on, -1)) for n in self.sources]
        return recording(self.time, lanes, self.classes, self._time_kind.text)

    @property
    def dt(self) -> Floats:
        """Time since the row before, (T,); 0 for the first row."""
        return group_and_sort(self.time, np.zeros(len(self), np.intp))[1]

    @property
    def sources(self) -> tuple[str, ...]:
        """The classifiers, in order of appearance."""
        return tuple(self._factorized.categories)

    @cached_property
    def _factorized(self) -> Factorized:
        """The column `source` as codes."""
        return factorize(self.source.tolist())

    def observed(self, source: str | None = None) -> Bools:
        """Return for each row (T,) whether it is an observation, of a source if given, not NaN.

        Examples
        --------
        >>> nan = float("nan")
        >>> rec = Recording([0, 5, 9], ["a", "b", "a"], [[0.9, 0.1], [0.4, 0.6], [nan, nan]], 2)
        >>> rec.observed("a").tolist()
        [True, False, False]
        """
        missing = np.isnan(self.probs)
        lacks = missing.all(axis=1) if self.independent else missing.any(axis=1)
        seen: Bools = np.asarray(~lacks)
        return seen if source is None else seen & (self.source == source)

    def part(self, rows: slice) -> Recording:
        """Return some successive rows as a recording."""
        if rows.step not in (None, 1):
            raise ValueError(f"rows is {rows}; it must be a slice of successive rows")
        return self._take(rows)

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
        return row_weights(self._factorized, beta, default)

    def run(
        self,
        filter: Filter | Chain,  # noqa: A002
        *,
        beta: Weights | None = None,
        channel: Channels | None = None,
    ) -> Array:
        """Filter the recording from the initial state; the filter does not change.

        It is ``filter.run(probs, beta=weights(beta), dt=dt)`` on a copy in its initial state.

        Parameters
        ----------
        filter : Filter or Tuned
            Its settings are used, not its state. Its time unit is that of `time`: seconds, where
            the times were dates. If it has the same classes in another order, the columns are
            matched by name; if it has a number of classes instead of names, by position.
        beta : mapping of str to float, or float, optional
            The weight of each source, or one for all; by default those of the `Tuned`, or 1.
        channel : mapping of str to Channel or None, optional
            Corrects the outputs of a source before they are filtered; in the filter's order of
            classes. By default those of the `Tuned`, or none.

        Returns
        -------
        ndarray (T, K)
            The class probabilities after each row, in the order of the recording's classes.

        Examples
        --------
        >>> from classfilter import DirichletFilter
        >>> rec = Recording([0, 5], ["strong", "weak"], [[0.9, 0.1], [0.4, 0.6]], ["rest", "move"])
        >>> f = DirichletFilter(["rest", "move"], gamma=0.99)
        >>> rec.run(f, beta={"strong": 1, "weak": 0.1}).shape
        (2, 2)
        """
        chain = Chain.of(filter, beta=beta, channel=channel)
        results: Array = chain.filter().run(*self._observed(chain))
        return chain.in_order_of(self.classes, results)

    def smooth(
        self,
        filter: Filter | Chain,  # noqa: A002
        *,
        beta: Weights | None = None,
        channel: Channels | None = None,
        lag: int | None = None,
    ) -> Array:
        """Smooth the recording: each row from the rows before and after it, (T, K).

        The arguments are those of `run` and of `classfilter.smooth`.
        """
        chain = Chain.of(filter, beta=beta, channel=channel, smoothing=True)
        results = smooth(chain.filter(), *self._observed(chain), lag=lag)
        return chain.in_order_of(self.classes, results)

    def _observed(self, chain: Chain) -> tuple[Floats, Floats, Floats]:
        """Return the arguments of `run` of the chain's filter."""
        observed = chain.observe_rows(self._factorized, self.probs, self.hard, self.classes)
        return *observed, self.dt

    @classmethod
    def from_table(
        cls,
        df: Any,
        *,
        sort: bool = False,
        classes: Classes | None = None,
        columns: Mapping[str, str] | None = None,
        scores: str = "probabilities",
        unit: str | None = None,
    ) -> Recording:
        """Read one stream from a dataframe of pandas, Polars or PyArrow, or from a file.

        The arguments are those of `recordings`.

        Examples
        --------
        >>> import polars as pl
        >>> df = pl.DataFrame({"time": [0, 5], "p_rest": [0.9, 0.4], "p_move": [0.1, 0.6]})
        >>> Recording.from_table(df)
        Recording(2 rows, classes ['rest', 'move'], sources ['default'])
        """
        how: Any = {"classes": classes, "columns": columns, "scores": scores, "unit": unit}
        streams = public_name("recordings")(df, sort=sort, **how)
        if len(streams) > 1:
            names = ", ".join(repr(name) for name in list(streams)[:5])
            raise ValueError(
                f"the table has {len(streams)} streams ({names}{', ...' * (len(streams) > 5)}); "
                "read them with recordings(), or keep the rows of one"
            )
        if not streams:
            kind = "independent" if scores == "independent" else "probabilities"
            with table_of(df, columns) as table:
                rows = read_rows(table, TableFormat.of(**how))
            return cls([], [], [], rows.classes, scores=kind)
        rec: Recording = next(iter(streams.values()))
        return rec

    def to_table(self, kind: str = "polars") -> Any:
        """Return the recording as a dataframe of ``"polars"``, ``"pandas"`` or ``"pyarrow"``.

        Classes without confidence are in a column ``prediction``, and have no probabilities.
        Times are what they were: numbers (in seconds, where a unit was given), timedeltas, or dates
        to the microsecond, with their zone if they had one. Text of dates becomes dates.

        Examples
        --------
        >>> rec = Recording([0], "weak", [[0.9, 0.1]], ["rest", "move"])
        >>> rec.to_table("pandas").columns.tolist()
        ['time', 'source', 'p_rest', 'p_move']
        """
        columns: dict[str, Any] = {"time": self.time, "source": self.source.tolist()}
        if self.label is not None and self.independent:
            truth = np.where(self.label < 0, np.nan, self.label)
            columns |= {f"y_{name}": y for name, y in zip(self.classes, truth.T, strict=True)}
        elif self.label is not None:
            columns["label"] = [self.classes[k] if k >= 0 else None for k in self.label.tolist()]
        hard = self.hard.tolist()
        if any(hard):
            best = np.nan_to_num(self.probs).argmax(axis=1).tolist()
            labels = [self.classes[k] if row else None for k, row in zip(best, hard, strict=True)]
            columns["prediction"] = labels
        for name, p in zip(self.classes, self.probs.T, strict=True):
            columns[f"p_{name}"] = np.where(self.hard, np.nan, p)
        text = ("source", "label", "prediction")
        return new_table(columns, kind, text, self._time_kind)


def _check_hard(hard: ArrayLike, probs: Floats) -> Bools:
    rows = np.array(hard)
    if rows.dtype != bool or rows.shape != (len(probs),):
        rule = f"it must say of each of {len(probs)} rows whether it is a class"
        raise ArgumentError("hard", rows.tolist(), rule=rule, remedy="give True or False")
    soft = rows & ~(np.nan_to_num(probs).max(axis=1, initial=0.0) == 1)
    if soft.any():
        row = int(soft.argmax())
        raise RowError("probs", probs[row].tolist(), rule="it is hard: it must be one-hot", row=row)
    return rows
