"""A DataFrame's columns, checked before anything runs: what is read, and what results add."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._support.imports import import_optional
from .._validation import class_order
from ..chain._chain import Chain
from ..data._format import Layout, TableFormat
from ..data._frames import result_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

INVALID = ("fail", "quarantine")
STATUS = ("status", "error")
"""The columns that say whether a row was used, and why not."""

TIME, EVENT, OBSERVATION, WEIGHT, TIE, REFUSED, ERROR = (
    f"_classfilter_{name}"
    for name in ("time", "event", "observation", "weight", "tie", "refused", "error")
)
"""Columns between the check of the rows and the filter."""


class FrameFormat(NamedTuple):
    """How a DataFrame is written, and the filter for its rows; it goes to the workers.

    Attributes
    ----------
    table : TableFormat
        As for tables.
    layout : Layout
        Where things are.
    chain : Chain
        The settings.
    invalid : {"fail", "quarantine"}
        What an invalid row does.
    """

    table: TableFormat
    layout: Layout
    chain: Chain
    invalid: str

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes, in the order of the results."""
        assert self.layout.classes is not None  # a filter names them
        return self.layout.classes

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
    chain: Chain,
    columns: Mapping[str, str] | None,
    scores: str,
    unit: str | None,
    invalid: str,
) -> FrameFormat:
    """Return how a DataFrame is written, or raise and say what is wrong with its columns."""
    import_optional("pyspark", extra="spark")
    if invalid not in INVALID:
        raise ValueError(f"invalid is {invalid!r}; it must be one of {', '.join(INVALID)}")
    table = TableFormat.for_filter(chain, columns, scores, unit)
    form = FrameFormat(table, table.layout(df.columns), chain, invalid)
    class_order(chain, form.classes)
    _check_types(df, form)
    return form


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
    single = form.chain.filter().probs.dtype == np.float32
    number = types.FloatType() if single else types.DoubleType()
    text = types.StringType()
    *estimates, label = result_columns(df.columns, form.classes, form.chain.independent)
    new = dict.fromkeys(estimates, number) | {label: text}
    if status:
        taken = [name for name in STATUS if name in df.columns]
        if taken:
            remedy = "drop or rename them first"
            raise ValueError(f"the table already has the columns {taken}; {remedy}")
        new |= dict.fromkeys(STATUS, text)
    # Without the metadata: Spark drops rows by that of a watermark.
    old = {field.name: field.dataType for field in df.schema.fields}
    return types.StructType([types.StructField(*pair) for pair in (old | new).items()])


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
    return parts.sortWithinPartitions(*map(column, [*form.key, *form.prediction]))
