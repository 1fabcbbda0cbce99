"""The columns of a recording: reading what people give, and refusing what is wrong by its row."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .filters import Filter, class_names

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Names = NDArray[np.str_]
Weights = float | Mapping[str, float]


class Corrector(Protocol):
    """What puts a source's answers right: a `Channel`."""

    def apply(self, probs: ArrayLike) -> Floats:
        """Return the answers put right, (T, K)."""


Channels = Mapping[str, Corrector]
NUMBER = (int, float, np.integer, np.floating)

_ISO = r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?:(:\d\d)(?:[.,](\d+))?)? ?(?:([Zz])|([+-]\d\d):?(\d\d)?)"


class RowError(ValueError):
    """What a row holds cannot be used; ``row`` tells which one."""

    def __init__(self, what: str, row: int, rest: str) -> None:
        super().__init__(f"{what} in row {row}{rest}")
        self.what, self.row, self.rest = what, row, rest


class Coded(NamedTuple):
    """A column of few different cells.

    Attributes
    ----------
    codes : ndarray of int (T,)
        Each row's place in `cells`.
    cells : list
        The different cells, in order of appearance.
    """

    codes: Ints
    cells: list[Any]


def coded(cells: Sequence[Any]) -> Coded:
    """Return a column as numbers of its different cells.

    Examples
    --------
    >>> coded(["weak", "weak", "strong"])
    Coded(codes=array([0, 0, 1]), cells=['weak', 'strong'])
    """
    number = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    codes = np.fromiter(map(number.__getitem__, cells), np.intp, len(cells))
    return Coded(codes, list(number))


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
        found = [moment(cell) for cell in cells]
        if None in found:
            row = first_text(cells, [row for row, x in enumerate(found) if x is None])
            rest = f" is {cells[row]!r}; give a number, a datetime, or ISO 8601 text with a zone, "
            raise RowError("time", row, f"{rest}such as 2024-05-01T08:00:00Z")
        t = np.array(found, dtype=np.float64)
    bad = ~np.isfinite(t)
    if bad.any():
        row = int(bad.argmax())
        raise RowError("time", row, f" is {t[row]}; it must be finite: leave the row out")
    return t


def moment(cell: Any) -> float | None:
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


def in_order(
    time: Floats, stream: Ints, sort: bool = False, last: Floats | None = None
) -> tuple[Ints, Floats]:
    """Return the rows stream by stream, in order of time, and their time since the row before.

    Where `last` has the time of a stream's row before the first one here, it counts from there.
    """
    order: Ints = np.lexsort((time, stream)) if sort else np.argsort(stream, kind="stable")
    t, which = time[order], stream[order]
    before = np.concatenate([t[:1], t[:-1]])
    first = np.flatnonzero(np.diff(which, prepend=-1))
    before[first] = t[first]
    if last is not None:
        known = first[~np.isnan(last[which[first]])]
        before[known] = last[which[known]]
    dt: Floats = t - before
    if np.any(dt < 0):
        at = min(np.flatnonzero(dt < 0), key=lambda i: order[i])
        raise RowError(
            "time",
            int(order[at]),
            f" is {t[at]}, before {before[at]}, that of the row before it; put the rows "
            "in order of time, or give sort=True",
        )
    return order, dt


def source_names(source: ArrayLike, rows: int) -> Names:
    """Return the source of each row as text."""
    if isinstance(source, str):
        return np.full(rows, source)
    given = np.asarray(source, dtype=np.object_)
    _one_dimensional("source", given)
    found = coded_sources(coded(given.tolist()))
    return np.array(found.cells, dtype=np.str_)[found.codes]


def coded_sources(found: Coded) -> Coded:
    """Return a column of sources, their names as text."""
    for i, cell in enumerate(found.cells):
        if not isinstance(cell, (str, int)):
            row = int((found.codes == i).argmax())
            raise RowError("source", row, f" is {cell!r}; it must be a name: fill it in")
    return Coded(found.codes, [str(cell) for cell in found.cells])


def row_weights(source: Coded, beta: Weights, default: float | None = None) -> Floats:
    """Return the weight of each row's source."""
    if not isinstance(beta, Mapping):
        return np.full(source.codes.size, check_weight("beta", beta))
    known = {name: check_weight(f"beta[{name!r}]", value) for name, value in beta.items()}
    if default is not None:
        check_weight("default", default)
        known = dict.fromkeys(source.cells, float(default)) | known
    for i, name in enumerate(source.cells):
        if name not in known:
            row = int((source.codes == i).argmax())
            rest = f" is {name!r}, which has no weight; beta names {list(known)}: add it there"
            raise RowError("source", row, rest)
    return np.array([known[name] for name in source.cells], dtype=np.float64)[source.codes]


def put_right(probs: Floats, source: Coded, channel: Channels | None, dtype: Any) -> Floats:
    """Return the probabilities (T, K) with those of each source that has a channel put right.

    The channels compute in the precision of the filter behind, `dtype`.
    """
    if not channel:
        return probs
    probs = probs.astype(dtype)
    right = probs.copy()
    for i, name in enumerate(source.cells):
        if name in channel:
            rows = source.codes == i
            right[rows] = put_right_by(channel, name, probs[rows])
    return right


def put_right_by(channel: Channels, name: str, probs: ArrayLike) -> Floats:
    """Return a source's answers (T, K), good ones, put right; what is wrong is the channel."""
    try:
        return channel[name].apply(probs)
    except ValueError as error:
        raise ValueError(f"channel[{name!r}] does not fit the filter: {error}") from None


def check_weight(name: str, value: Any) -> float:
    """Return a weight as a float, if it is one."""
    if isinstance(value, bool) or not isinstance(value, NUMBER) or not 0 <= value <= 1:
        raise ValueError(f"{name} is {value!r}; it must be a number in [0, 1]")
    return float(value)


LEAST_SUM, MOST_SUM = 1 - 0.05, 1 + 0.05
"""Of probabilities; compared as the C core compares, so that both take the same rows."""


def probabilities(probs: ArrayLike, classes: tuple[str, ...]) -> Floats:
    """Return probabilities (T, K) that a filter will take."""
    K = len(classes)
    p = _matrix(probs, K)
    seen: NDArray[np.bool_] = np.isnan(p).sum(axis=1) < K
    wrong: NDArray[np.bool_] = np.logical_and(~(np.isfinite(p) & (p >= 0)), seen[:, None])
    total: Floats = np.where(wrong, 0, p).sum(axis=1)
    off = (total < LEAST_SUM) | (total > MOST_SUM)
    bad: NDArray[np.bool_] = seen & (wrong.any(axis=1) | off)
    if not bad.any():
        return p
    row = int(bad.argmax())
    if not wrong[row].any():
        rest = f" sums to {float(total[row])!r}; it must be within 0.05 of 1: normalise it "
        raise RowError("probs", row, f"{rest}(scores and logits need a softmax first)")
    k = int(wrong[row].argmax())
    rule = "a probability must be finite and not negative"
    if np.isnan(p[row, k]):
        rule = "other entries are not; a missing observation is a row of NaN only"
    raise RowError("probs", row, f", class {classes[k]!r}, is {p[row, k]}; {rule}")


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
            rest = f" has {len(cells)} entries, but there are {K} classes; "
            raise RowError("probs", row, f"{rest}give one probability a class")
        for k, cell in enumerate(cells):
            if not (cell is None or isinstance(cell, NUMBER)):
                raise RowError("probs", row, f" has {cell!r}; it must hold numbers")
            p[row, k] = math.nan if cell is None else cell
    return p


def certain(labels: Ints, K: int) -> Floats:
    """Return class indices as probabilities, (T, K); NaN where they are negative.

    Examples
    --------
    >>> certain(np.array([1, -1]), 2)
    array([[ 0.,  1.],
           [nan, nan]])
    """
    found: Floats = np.where((labels >= 0)[:, None], np.eye(K)[np.maximum(labels, 0)], np.nan)
    return found


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
            rest = (
                f" is {cell!r}; the classes are {list(classes)}: give a name, an index from 0 to "
            )
            raise RowError("label", row, f"{rest}{K - 1}, or -1 where it is unknown")
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
