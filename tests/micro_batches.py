"""Micro-batches through a processor, with a watermark and timers, as Spark runs them."""

from __future__ import annotations

from typing import Any

import polars as pl

from classfilter.spark.schema import ERROR, OBSERVATION, REFUSED, TIE, TIME, FrameFormat
from classfilter.spark.stream import _Check


class Store:
    """Values and timers of keys, as Spark's handle gives them to a processor."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}
        self.timers: set[tuple[int, Any]] = set()
        self.key: Any = None

    def getValueState(self, name: str, schema: str) -> Store:  # noqa: N802
        assert (name, schema) == ("filter", "state binary")
        return self

    def get(self) -> Any:
        return self.values.get(self.key)

    def update(self, value: Any) -> None:
        self.values[self.key] = value

    def clear(self) -> None:
        del self.values[self.key]

    def registerTimer(self, at: int) -> None:  # noqa: N802
        self.timers.add((at, self.key))


class Watermark:
    def __init__(self, milliseconds: int) -> None:
        self.milliseconds = milliseconds

    def getCurrentWatermarkInMs(self) -> int:  # noqa: N802
        return self.milliseconds


def checked_columns(df: pl.DataFrame) -> list[str]:
    """Return the columns that a processor gets."""
    return [*df.columns, TIE, TIME, OBSERVATION, REFUSED, ERROR]


def run_batch(
    processor: Any,
    form: FrameFormat,
    store: Store,
    watermark: Watermark,
    df: pl.DataFrame,
    seed: int = 0,
) -> tuple[list[Any], list[Any]]:
    """Run a micro-batch; its rows come in any order.

    Return what comes out of rows, and of streams that are over.
    """
    shuffled = df.sample(fraction=1.0, shuffle=True, seed=seed)
    told_apart = shuffled.select(*form.key[2:], *form.prediction).rows()
    table = shuffled.with_columns(pl.Series(TIE, [hash(cells) for cells in told_apart]))
    (batch,) = _Check(form, None)(iter(table.to_arrow().combine_chunks().to_batches()))
    assert batch.schema.names == checked_columns(df)
    processor.init(store)
    results: list[Any] = []
    for stream, rows in pl.DataFrame(batch).partition_by("stream", as_dict=True).items():
        store.key = stream
        results += processor.handleInputRows(stream, iter(rows.rows()), watermark)
    ended: list[Any] = []
    for at, key in sorted(store.timers):
        if at <= watermark.milliseconds:
            store.key = key
            ended += processor.handleExpiredTimer(key, watermark, None)
            store.timers.remove((at, key))
    processor.close()
    return results, ended
