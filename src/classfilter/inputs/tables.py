"""Dataframes of any kind: as one of narwhals, new ones, and the columns that results add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..support.imports import import_optional
from .heads import Heads
from .times import TimeKind

if TYPE_CHECKING:
    import polars as pl

FRAMES = ("polars", "pandas", "pyarrow")


def as_frame(df: Any) -> Any:
    """Return a dataframe of any kind as one of narwhals."""
    nw = import_optional("narwhals")
    try:
        return nw.from_native(df, eager_only=True)
    except TypeError:
        if isinstance(df, (str, PathLike)):
            raise TypeError(
                f"the table is {str(df)!r}; read the file first: classfilter.read_table(...)"
            ) from None
        if type(df).__module__.startswith("pyspark."):
            raise TypeError(
                "the table is a DataFrame of Spark; use classfilter.spark: filter_frame or "
                "event_frame, or the toArrow() of some streams"
            ) from None
        raise TypeError(
            f"the table is a {type(df).__module__}.{type(df).__qualname__}; give a dataframe of "
            "pandas, Polars or PyArrow (a lazy one needs collect() first)"
        ) from None


def result_columns(columns: list[str], heads: Heads) -> list[str]:
    """Return the names of the columns that results add to a table with these columns.

    Those of an earlier result are replaced; but a column of the same name that is none is kept.
    """
    new = [f"f_{name}" for name in heads.shown] + heads.decisions
    there = set(columns)
    taken = [name for name in new if name in there]
    if taken and taken != new:
        raise ValueError(f"the table already has the columns {taken}; drop or rename them first")
    return new


def new_table(
    columns: Mapping[str, Any],
    kind: str,
    text: Sequence[str],
    time_kind: TimeKind = TimeKind(),  # noqa: B008
) -> Any:
    """Return columns of numbers, and those named in `text`, as a dataframe of a kind.

    A column ``time`` in seconds gets back its own kind.
    """
    if kind not in FRAMES:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(FRAMES)}")
    nw, library = import_optional("narwhals"), import_optional(kind)
    if kind == "pandas":  # before version 3, None in a column that must be text becomes 'None'
        cells = {n: c if n in text else np.asarray(c, np.float64) for n, c in columns.items()}
        table = library.DataFrame(cells)
    else:
        schema = {name: nw.String if name in text else nw.Float64 for name in columns}
        table = nw.from_dict(columns, schema, backend=kind).to_native()
    if time_kind.is_number:
        return table
    time = nw.new_series("time", time_kind.given_back(columns["time"]), backend=kind)
    zone = time_kind.zone_name(offsets=kind != "polars")
    if zone is not None:
        time = time.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return nw.from_native(table).with_columns(time).to_native()


def to_polars(df: Any) -> pl.DataFrame:
    """Return a dataframe of any kind as one of Polars."""
    converted: pl.DataFrame = as_frame(df).to_polars()
    return converted
