"""Settings from a sample of a DataFrame's streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..inputs import TableFormat, check_named
from ..inputs import rows as read_rows_of
from ..support.imports import import_optional
from ..support.types import Classes
from ..tuning import Tuned, tune
from .schema import column, require_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def tune_frame(
    df: DataFrame,
    streams: int = 100,
    *,
    seed: int = 0,
    classes: Classes | Mapping[Any, Classes | None] | None = None,
    columns: Mapping[str, str] | None = None,
    scores: str = "probabilities",
    unit: str | None = None,
    **options: Any,
) -> Tuned:
    """Choose a filter, the sources' weights and their channels from a sample of the streams.

    The sample is drawn by a hash of the streams' names, whatever the partitions, and its rows are
    collected: they must fit into the driver's memory.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        As in `filter_frame`.
    streams : int, default 100
        The number of streams, or all if there are fewer.
    seed : int
        Of the hash.
    classes, columns, scores, unit
        As in `classfilter.rows`.
    **options
        Those of `tune`: ``reference="strong"``, ``every=12``, ...

    Returns
    -------
    Tuned
        As from `tune`.
    """
    require_spark(df)
    if streams < 1:
        raise ValueError(f"streams is {streams}; it must be at least 1")
    functions = import_optional("pyspark.sql.functions", extra="spark")
    layout = TableFormat.of(classes, columns, scores).layout(df.columns)
    check_named(layout.columns, "label")
    used = [name for name in layout.columns if name in _READ or name[:2] in ("p_", "y_")]
    rows = df.select(*(column(layout.columns[name]) for name in used))
    time = column(layout.columns["time"])
    if "stream" in layout.columns:
        stream = column(layout.columns["stream"])
        drawn = functions.xxhash64(stream, functions.lit(seed))
        sample = df.select(stream).distinct().orderBy(drawn, stream).limit(streams)
        rows = rows.join(sample, layout.columns["stream"], "left_semi").orderBy(stream, time)
    else:
        rows = rows.orderBy(time)
    table = rows.toArrow()
    how: Any = {"classes": classes, "columns": columns, "scores": scores, "unit": unit}
    return tune(read_rows_of(table, **how), **options)


_READ = ("time", "stream", "source", "label", "prediction", "confidence")
