"""A DataFrame's columns, checked before anything runs: what is read, and what results add."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..engine import format_for
from ..errors import ArgumentError
from ..inputs import Heads, Layout, TableFormat, filtered_format, result_columns
from ..pipeline import Pipeline
from ..support.imports import import_optional

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

INVALID = ("fail", "quarantine")
STATUS = ("status", "error")
"""The columns that say whether a row was used, and why not."""

TIME, EVENT, OBSERVATION, TIE, REFUSED, ERROR, TAKEN = (
    f"_classfilter_{name}"
    for name in ("time", "event", "observation", "tie", "refused", "error", "taken")
)
"""Columns between the check of the rows and the filter, and after it: how many were taken."""


class FrameFormat(NamedTuple):
    """How a DataFrame is written, and the filter for its rows; it goes to the workers.

    Attributes
    ----------
    table : TableFormat
        As for tables.
    layout : Layout
        Where things are.
    pipeline : Pipeline or None
        The settings; None where rows are taken as they are.
    invalid : {"fail", "quarantine"}
        What an invalid row does.
    before : tuple of str
        Columns that rows are sorted by before those of the prediction.
    """

    table: TableFormat
    layout: Layout
    pipe: Pipeline | None
    invalid: str
    before: tuple[str, ...] = ()

    @property
    def settings(self) -> Pipeline:
        """The settings, of rows that are filtered."""
        assert self.pipe is not None
        return self.pipe

    @property
    def heads(self) -> Heads:
        """The heads, with the classes in the order of the results."""
        return self.layout.heads

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes, in the order of the results."""
        return self.heads.shown

    @property
    def key(self) -> list[str]:
        """The columns that name a row: those of stream, time and source that there are."""
        return [
            self.layout.columns[name]
            for name in ("stream", "time", "source")
            if name in self.layout.columns
        ]

    @property
    def prediction(self) -> list[str]:
        """The columns of the prediction; labels count where a row has no probabilities."""
        here = [] if self.layout.labels else [f"p_{name}" for name in self.classes]
        if "prediction" in self.layout.columns:
            here += [n for n in ("prediction", "confidence") if n in self.layout.columns]
        return [self.layout.columns[name] for name in here]


def frame_format(
    df: DataFrame,
    pipe: Pipeline,
    columns: Mapping[str, str] | None,
    scores: str,
    unit: str | None,
    invalid: str,
) -> FrameFormat:
    """Return how a DataFrame is written, or raise and say what is wrong with its columns."""
    require_spark(df)
    _check_invalid(invalid)
    table = format_for(pipe, columns, scores, unit)
    form = FrameFormat(table, table.layout(df.columns), pipe, invalid)
    pipe.heads.order_in(form.classes)
    _check_types(df, form)
    return form


def require_spark(df: Any) -> None:
    """Raise if a dataframe is not one of Spark."""
    if not hasattr(type(df), "isStreaming"):
        raise TypeError(
            f"df is a {type(df).__module__}.{type(df).__qualname__}, not a DataFrame of Spark; use "
            "classfilter.filter_table, smooth_table, events or tune for other dataframes"
        )


def _check_invalid(invalid: str) -> None:
    import_optional("pyspark", extra="spark")
    if invalid not in INVALID:
        raise ValueError(f"invalid is {invalid!r}; it must be one of {', '.join(INVALID)}")


def filtered_frame_format(
    df: DataFrame,
    columns: Mapping[str, str] | None,
    scores: str,
    unit: str | None,
    invalid: str,
) -> FrameFormat:
    """Return how a DataFrame is written whose rows are taken as they are: filtered, or not."""
    require_spark(df)
    _check_invalid(invalid)
    table = filtered_format(df.columns, columns, scores, unit)
    layout = table.layout(df.columns)
    if not layout.classes:
        problem = "has a column prediction only, which does not say what all classes are"
        fix = "give a filter before the rule, or columns p_<class>"
        raise ArgumentError("the table", df.columns, problem=problem, fix=fix)
    form = FrameFormat(table, layout, None, invalid)
    _check_types(df, form)
    # Filtered rows at the same time stay in the order in which they were filtered.
    given = TableFormat.of(layout.heads, columns, unit=unit)
    try:
        before = form._replace(layout=given.layout(df.columns)).prediction
    except ArgumentError:  # the predictions themselves are not there
        return form
    return form._replace(before=tuple(name for name in before if name not in form.prediction))


def _check_types(df: DataFrame, form: FrameFormat) -> None:
    types = import_optional("pyspark.sql.types", extra="spark")
    times = (types.TimestampType, types.TimestampNTZType, types.DateType, types.DayTimeIntervalType)
    here = {column: name for name, column in form.layout.columns.items()}
    for column in [*form.key, *form.prediction]:
        kind, name = df.schema[column].dataType, here[column]
        if name == "time" and not isinstance(kind, (types.NumericType, *times)):
            remedy = f'cast it: df.withColumn("{column}", to_timestamp("{column}"))'
            raise TypeError(f"column {column} is {kind.simpleString()}, not a time; {remedy}")
        number = name == "confidence" or name.startswith("p_")
        if number and not isinstance(kind, types.NumericType):
            remedy = f'cast it: df.withColumn("{column}", col("{column}").cast("double"))'
            raise TypeError(f"column {column} is {kind.simpleString()}, not a number; {remedy}")


def result_schema(df: DataFrame, form: FrameFormat, status: bool) -> Any:
    """Return the columns of a DataFrame with those of the results."""
    types = import_optional("pyspark.sql.types", extra="spark")
    single = form.settings.filter.probs.dtype == np.float32
    number = types.FloatType() if single else types.DoubleType()
    text = types.StringType()
    results, count = result_columns(df.columns, form.heads), len(form.classes)
    new = dict.fromkeys(results[:count], number) | dict.fromkeys(results[count:], text)
    if status:
        taken = [name for name in STATUS if name in df.columns]
        if taken:
            remedy = "drop or rename them first"
            raise ValueError(f"the table already has the columns {taken}; {remedy}")
        new |= dict.fromkeys(STATUS, text)
    # Without the metadata: Spark drops rows by that of a watermark.
    old = {field.name: field.dataType for field in df.schema.fields}
    return types.StructType([types.StructField(*pair) for pair in (old | new).items()])


def event_schema(df: DataFrame, form: FrameFormat, status: bool) -> Any:
    """Return the columns of events; times are dates where those of the DataFrame are."""
    types = import_optional("pyspark.sql.types", extra="spark")
    kind = df.schema[form.layout.columns["time"]].dataType
    number, text = types.DoubleType(), types.StringType()
    time = number
    if isinstance(kind, types.TimestampType):
        time = kind
    elif isinstance(kind, (types.TimestampNTZType, types.DateType)):
        time = types.TimestampNTZType()
    stream = form.layout.columns.get("stream")
    columns = {} if stream is None else {"stream": df.schema[stream].dataType}
    columns |= {"class": text, "start": time, "end": time}
    columns |= {"duration": number, "probability": number}
    if status:
        columns |= dict.fromkeys(STATUS, text)
    return types.StructType([types.StructField(*pair) for pair in columns.items()])


def column(name: str) -> Column:
    """Return a column by its name, whatever characters that has."""
    functions = import_optional("pyspark.sql.functions", extra="spark")
    quoted = name.replace("`", "``")
    named: Column = functions.col(f"`{quoted}`")
    return named


def partition_and_sort(df: DataFrame, form: FrameFormat) -> DataFrame:
    """Return the rows of each stream in one partition, one after the other, in their order."""
    stream = form.layout.columns.get("stream")
    parts = df.repartition(1) if stream is None else df.repartition(column(stream))
    order = [*form.key, *form.before, *form.prediction]
    return parts.sortWithinPartitions(*map(column, order))
