"""A recording: what classifiers said of one stream, one row an observation."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .filters import Array, Filter, class_names

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Names = NDArray[np.str_]
Weights = float | Mapping[str, float]
NUMBER = (int, float, np.integer, np.floating)

_ISO = r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?:(:\d\d)(?:[.,](\d+))?)? ?(?:([Zz])|([+-]\d\d):?(\d\d)?)"


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
        order, _ = in_order(t, np.zeros(t.size, np.intp), sort)
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
        return in_order(self.time, np.zeros(len(self), np.intp))[1]

    @property
    def sources(self) -> tuple[str, ...]:
        """The classifiers, in order of appearance."""
        return tuple(dict.fromkeys(self.source.tolist()))

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
        return row_weights(self.source, beta, default)

    def run(self, filter: Filter, beta: Weights = 1.0) -> Array:  # noqa: A002
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
        to = class_order(filter, self.classes)
        fresh = filter.copy()
        fresh.reset()
        P = fresh.run(self.probs[:, to], beta=self.weights(beta), dt=self.dt)
        return P[:, np.argsort(to)]

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
        from .tables import recording

        return recording(df, sort=sort)

    def to_table(self, kind: str = "polars") -> Any:
        """Return the recording as a dataframe of ``"polars"``, ``"pandas"`` or ``"pyarrow"``.

        Examples
        --------
        >>> rec = Recording([0], "weak", [[0.9, 0.1]], ["rest", "move"])
        >>> rec.to_table("pandas").columns.tolist()
        ['time', 'source', 'p_rest', 'p_move']
        """
        from .tables import table

        return table(self, kind)


def text_names(classes: int | Iterable[Hashable]) -> tuple[str, ...]:
    """Return the names of the classes as text."""
    names = [str(name) for name in class_names(classes)]
    class_names(names)  # 1 and "1" are one name
    return tuple(names)


def _one_dimensional(name: str, given: NDArray[Any]) -> None:
    if given.ndim != 1:
        raise ValueError(f"{name} has {given.ndim} dimensions; it must have 1: one entry a row")


def seconds(time: ArrayLike) -> Floats:
    """Return times as numbers; datetimes and ISO text as UNIX seconds."""
    given = np.asarray(time)
    _one_dimensional("time", given)
    t: Floats
    if given.dtype.kind in "iuf":
        t = given.astype(np.float64)
    elif given.dtype.kind == "M":
        with np.errstate(invalid="ignore"):  # of NaT
            whole, part = np.divmod(given - np.datetime64(0, "s"), np.timedelta64(1, "s"))
        t = whole + part / np.timedelta64(1, "s")
    else:
        cells = given.tolist()
        found = [_moment(cell) for cell in cells]
        if None in found:
            row = first_text(cells, [row for row, x in enumerate(found) if x is None])
            raise ValueError(
                f"time in row {row} is {cells[row]!r}; give a number, a datetime, or ISO 8601 text "
                "with a zone, such as 2024-05-01T08:00:00Z"
            )
        t = np.array(found, dtype=np.float64)
    bad = ~np.isfinite(t)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"time in row {row} is {t[row]}; it must be finite: leave the row out")
    return t


def _moment(cell: Any) -> float | None:
    """Return one time, NaN where there is none; None for what is no time at all."""
    if cell is None or cell != cell:  # NaN and NaT
        return math.nan
    if isinstance(cell, datetime):
        zoned = cell if cell.tzinfo else cell.replace(tzinfo=timezone.utc)
        return zoned.timestamp()
    if isinstance(cell, (int, float)) and not isinstance(cell, bool):
        return float(cell)
    match = re.fullmatch(_ISO, cell.strip()) if isinstance(cell, str) else None
    if match is None:
        return None
    day, minute, second, part, utc, hours, minutes = match.groups()
    zone = "+00:00" if utc else f"{hours}:{minutes or '00'}"
    try:
        whole = datetime.fromisoformat(f"{day}T{minute}{second or ':00'}{zone}").timestamp()
    except ValueError:
        return None
    return whole + float(f"0.{part or 0}")


def first_text(cells: Sequence[Any], rows: Sequence[int]) -> int:
    """Return the first of the rows whose cell does not even look like a number."""
    for row in rows:
        try:
            float(cells[row])
        except (TypeError, ValueError):
            return row
    return rows[0]


def in_order(time: Floats, stream: Ints, sort: bool = False) -> tuple[Ints, Floats]:
    """Return the rows stream by stream, in order of time, and their time since the row before."""
    order: Ints = np.lexsort((time, stream)) if sort else np.argsort(stream, kind="stable")
    t = time[order]
    dt: Floats = np.diff(t, prepend=t[:1])
    dt[np.flatnonzero(np.diff(stream[order])) + 1] = 0  # here another stream begins
    if np.any(dt < 0):
        at = min(np.flatnonzero(dt < 0), key=lambda i: order[i])
        raise ValueError(
            f"time in row {order[at]} is {t[at]}, before that of row {order[at - 1]}, "
            f"{t[at - 1]}; put the rows in order of time, or give sort=True"
        )
    return order, dt


def source_names(source: ArrayLike, rows: int) -> Names:
    """Return the source of each row as text."""
    if isinstance(source, str):
        return np.full(rows, source)
    given = np.asarray(source, dtype=np.object_)
    _one_dimensional("source", given)
    cells = given.tolist()
    for row, cell in enumerate(cells):
        if not isinstance(cell, (str, int)):
            raise ValueError(f"source in row {row} is {cell!r}; it must be a name: fill it in")
    return np.array([str(cell) for cell in cells], dtype=np.str_)


def row_weights(source: Names, beta: Weights, default: float | None = None) -> Floats:
    """Return the weight of each row's source."""
    if not isinstance(beta, Mapping):
        return np.full(source.size, check_weight("beta", beta))
    known = {name: check_weight(f"beta[{name!r}]", value) for name, value in beta.items()}
    names, first, which = np.unique(source, return_index=True, return_inverse=True)
    if default is not None:
        check_weight("default", default)
        known = dict.fromkeys(names.tolist(), float(default)) | known
    for row in sorted(first.tolist()):
        if str(source[row]) not in known:
            raise ValueError(
                f"source in row {row} is {str(source[row])!r}, which has no weight; "
                f"beta names {list(known)}: add it there"
            )
    return np.array([known[name] for name in names.tolist()], dtype=np.float64)[which]


def check_weight(name: str, value: Any) -> float:
    """Return a weight as a float, if it is one."""
    if isinstance(value, bool) or not isinstance(value, NUMBER) or not 0 <= value <= 1:
        raise ValueError(f"{name} is {value!r}; it must be a number in [0, 1]")
    return float(value)


def probabilities(probs: ArrayLike, classes: tuple[str, ...]) -> Floats:
    """Return probabilities (T, K) that a filter will take."""
    K = len(classes)
    p = _matrix(probs, K)
    seen: NDArray[np.bool_] = np.isnan(p).sum(axis=1) < K
    wrong: NDArray[np.bool_] = np.logical_and(~(np.isfinite(p) & (p >= 0)), seen[:, None])
    total: Floats = np.where(wrong, 0, p).sum(axis=1)
    bad: NDArray[np.bool_] = seen & (wrong.any(axis=1) | (np.abs(total - 1) > 0.05))
    if not bad.any():
        return p
    row = int(bad.argmax())
    if not wrong[row].any():
        raise ValueError(
            f"probs in row {row} sums to {float(total[row])!r}; it must be within 0.05 of 1: "
            "normalise it (scores and logits need a softmax first)"
        )
    k = int(wrong[row].argmax())
    rule = "a probability must be finite and not negative"
    if np.isnan(p[row, k]):
        rule = "other entries are not; a missing observation is a row of NaN only"
    raise ValueError(f"probs in row {row}, class {classes[k]!r}, is {p[row, k]}; {rule}")


def _matrix(probs: ArrayLike, K: int) -> Floats:
    """Return a copy of shape (T, K), or name the row that does not fit."""
    try:
        given = np.asarray(probs)
        if given.dtype.kind in "iuf" and given.ndim == 2 and given.shape[1] == K:
            return given.astype(np.float64)
    except ValueError:  # rows of unequal length
        pass
    rows = list(probs) if isinstance(probs, Iterable) else []
    p: Floats = np.empty((len(rows), K))
    for row, entries in enumerate(rows):
        cells = list(entries) if isinstance(entries, Iterable) else [entries]
        if len(cells) != K:
            raise ValueError(
                f"probs in row {row} has {len(cells)} entries, but there are {K} classes; "
                "give one probability a class"
            )
        for k, cell in enumerate(cells):
            if not (cell is None or isinstance(cell, NUMBER)):
                raise ValueError(f"probs in row {row} has {cell!r}; it must hold numbers")
            p[row, k] = math.nan if cell is None else cell
    return p


def class_indices(
    label: ArrayLike, classes: tuple[str, ...], known: Mapping[Any, int] | None = None
) -> Ints:
    """Return the index of each row's class, given as in `known`; or as a name or an index."""
    given = np.asarray(label, dtype=np.object_)
    _one_dimensional("label", given)
    K = len(classes)
    if known is None:
        known = {k: k for k in range(-1, K)} | {c: k for k, c in enumerate(classes)}
    found: Ints = np.full(given.size, -1, dtype=np.intp)
    for row, cell in enumerate(given.tolist()):
        if cell is None or cell != cell:
            continue
        if cell not in known:
            raise ValueError(
                f"label in row {row} is {cell!r}; the classes are {list(classes)}: give a name, an "
                f"index from 0 to {K - 1}, or -1 where it is unknown"
            )
        found[row] = known[cell]
    return found


def class_order(filter: Filter, classes: tuple[str, ...]) -> Ints:  # noqa: A002
    """Return the column of each class of the filter."""
    names = tuple(str(name) for name in filter.classes)
    if set(names) == set(classes):
        return np.array([classes.index(name) for name in names], dtype=np.intp)
    if filter.classes == tuple(range(len(classes))):
        return np.arange(len(classes), dtype=np.intp)
    raise ValueError(
        f"the data has the classes {list(classes)}, but the filter has {list(filter.classes)}; "
        "make the filter with the same names"
    )
