"""A device's log compared with Python: the same bits, or the first difference."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..filters import Filter
from ..inputs import Rows, TableFormat, read_rows
from ..pipeline import Pipeline
from .folder import in_float32
from .golden import Singles


class Verdict(NamedTuple):
    """The result of a comparison.

    Attributes
    ----------
    rows : int
        The number of rows compared.
    row : int, optional
        The first row with other bits; None if there is none.
    name : str
        The class in which they differ.
    device, python : float
        The device's probability, and Python's.
    """

    rows: int
    row: int | None = None
    name: str = ""
    device: float = 0.0
    python: float = 0.0

    def __str__(self) -> str:
        if self.row is None:
            return f"{self.rows:,} rows, the same bits"
        bits = [f"0x{np.float32(x).view(np.uint32):08x}" for x in (self.device, self.python)]
        return (
            f"row {self.row}, class {self.name!r}: the device has {self.device:.9g} ({bits[0]}), "
            f"Python has {self.python:.9g} ({bits[1]})"
            + (f"; the {self.row} rows before agree" if self.row else "")
        )


def verify(df: Any, filter: Filter | Pipeline) -> Verdict:  # noqa: A002
    """Compare a device's log with the filter in float32 on the same predictions.

    Parameters
    ----------
    df : dataframe
        One stream: ``time``, ``source``, one ``p_<class>`` per class, and the device's results: one
        ``f_<class>`` per class with 9 digits, or ``bits``, a text of ``0x`` and 8 hexadecimal
        digits per class in the filter's order. Of several labels at once, they are by label. A
        column ``dt`` is the time since the row before, as the device had it.
    filter : DirichletFilter, StickyFilter, MultiLabelFilter of one of them, or Pipeline
        What the firmware was exported from.

    Examples
    --------
    >>> import polars as pl
    >>> from classfilter import StickyFilter
    >>> log = {"time": [0, 1], "p_rest": [0.75, 0.75], "p_move": [0.25, 0.25]}
    >>> log |= {"f_rest": [0.75, 0.890625], "f_move": [0.25, 0.109375]}
    >>> verify(pl.DataFrame(log), StickyFilter(["rest", "move"], stay=0.9)).row
    1
    """
    config = in_float32(Pipeline.of(filter))
    try:
        rec = read_rows(df, TableFormat.of(config.heads))
    except ArgumentError as error:
        if error.argument != "the table":
            raise
        raise error.replaced(fix="rename the columns of the log") from None
    device = _results(df, rec, config)
    stack, beta = config.observe_rows(rec.factorized_sources, rec.probs, rec.one_hot, rec.classes)
    probs, dt = config.heads.for_filter(stack), rec.dt
    if "dt" in df.columns:
        dt = df["dt"].to_numpy().astype(np.float64)
    python = config.in_order_of(rec.classes, config.filter.run(probs, beta, dt))
    differs = device.view(np.uint32) != python.view(np.uint32)
    if not differs.any():
        return Verdict(len(rec))
    row, k = map(int, np.argwhere(differs)[0])
    return Verdict(len(rec), row, rec.classes[k], float(device[row, k]), float(python[row, k]))


def _results(df: Any, rec: Rows, config: Pipeline) -> Singles:
    """Return the device's results, in the recording's order of classes."""
    columns = [f"f_{name}" for name in rec.classes]
    if "bits" in df.columns:
        K = len(rec.classes)
        words = np.empty((len(rec), K), np.uint32)
        for row, text in enumerate(df["bits"].to_list()):
            digits = str(text).removeprefix("0x")
            try:
                if len(digits) != 8 * K:
                    raise ValueError
                words[row] = [int(digits[i : i + 8], 16) for i in range(0, 8 * K, 8)]
            except ValueError:
                raise ValueError(
                    f"bits in row {row} is {text!r}; it must be 0x and {8 * K} hexadecimal digits"
                ) from None
        names = [str(name) for name in config.classes]
        to = [names.index(name) for name in rec.classes] if set(names) == set(rec.classes) else ...
        return np.ascontiguousarray(words[:, to]).view(np.float32)
    missing = [name for name in columns if name not in df.columns]
    if missing:
        raise ValueError(
            f"the column {missing[0]} is missing; the log must hold the results of the device: "
            f"{', '.join(columns)}, or bits"
        )
    results: Singles = df.select(columns).to_numpy().astype(np.float32)
    return np.ascontiguousarray(results)
