"""Spark on the hostile rows: the rules of all entry points, to the bit; all cases in one job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import classfilter as cf
from differences import part
from entry_points import PIPE, no_disagreement, same, table_columns, table_results
from expected_rows import Result, expected
from fleet_frames import by_row, write_parts
from hostile_rows import CASES, DAY, FILTERS, NOW, SPAN, Case, Row

COLUMNS = ("sit", "sleep", "walk")
"""Of all cases, and not in the order of the filter."""


def chosen(entry_point: str, *, expires: bool) -> list[Case]:
    """Return the cases that one job can take: of one filter, and not too long."""
    applied = [part(replace(case, columns=COLUMNS), entry_point) for case in CASES]
    return [
        case
        for case in applied
        if case.filter == "dirichlet"
        and len(case.rows) <= 30
        and ("expire_after" in case.limits) == expires
    ]


def in_streams_of_its_own(case: Case, rows: Iterable[tuple[int, Row]]) -> pl.DataFrame:
    """Return rows, by number, as a table; the name of the case is part of the stream's."""
    numbers, rows = zip(*rows, strict=True)
    columns = table_columns(case, [replace(row, stream=f"{case}/{row.stream}") for row in rows])
    columns.setdefault("prediction", [None] * len(rows))
    kinds: dict[str, Any] = {name: pl.Float64 for name in columns if name[:2] == "p_"}
    texts: dict[str, Any] = dict.fromkeys(("stream", "source", "prediction"), pl.String)
    df = pl.DataFrame(columns, schema_overrides={"time": pl.Float64, **kinds, **texts})
    row = pl.Series("row", numbers, pl.Int64)
    return df.with_columns(row, pl.lit(case.name).alias("case"))


def results_of(case: Case, out: pl.DataFrame) -> Result:
    """Return the results of a case, in the order of its rows."""
    rows = out.filter(pl.col("case") == case.name).sort("row").to_dicts()
    assert [row["row"] for row in rows] == list(range(len(case.rows)))
    return Result(
        [table_results(case, [row])[0] if row["status"] == "ok" else None for row in rows]
    )


def compare(cases: list[Case], out: pl.DataFrame) -> None:
    differ: dict[str, str | None] = {}
    for case in cases:
        try:
            same(results_of(case, out), expected(case))
        except AssertionError as error:
            differ[case.name] = str(error)
    no_disagreement(differ)


def test_frames(spark: Any) -> None:
    # Equal rows have no order, and so neither have their results.
    cases = [
        case
        for case in chosen("filter_frame", expires=False)
        if len({*case.rows}) == len(case.rows)
    ]
    tables = [in_streams_of_its_own(case, enumerate(case.rows)) for case in cases]
    df = spark.createDataFrame(pl.concat(tables).sample(fraction=1.0, shuffle=True).to_arrow())
    out = cf.spark.filter_frame(df, FILTERS["dirichlet"], **PIPE, invalid="quarantine")
    compare(cases, by_row(out))


@pytest.mark.parametrize("expires", [False, True])
def test_queries(expires: bool, spark: Any, tmp_path: Path) -> None:
    """Each micro-batch has one row of each case, so that they come in the order of the case."""
    cases = chosen("filter_stream", expires=expires)
    batches = [
        pl.concat([in_streams_of_its_own(case, [(number, case.rows[number])])
                   for case in cases if number < len(case.rows)])
        for number in range(max(len(case.rows) for case in cases))
    ]  # fmt: skip
    write_parts(batches, tmp_path / "in")
    schema = spark.createDataFrame(batches[0].to_arrow()).schema
    live = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    # So long a delay that the watermark, which has all cases in it, ends no stream of any.
    limits: dict[str, Any] = {"expire_after": SPAN, "delay": 2 * NOW} if expires else {}
    filtered = cf.spark.filter_stream(
        live.parquet(str(tmp_path / "in")), FILTERS["dirichlet"], **PIPE, invalid="quarantine",
        max_ahead=DAY, **limits,
    )  # fmt: skip
    query = (
        filtered.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"), format="parquet")
    )
    query.awaitTermination()
    compare(cases, by_row(spark.read.parquet(str(tmp_path / "out"))))
