"""Streams that Arrow batches cut anywhere."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classfilter.spark.batch import last_stream_start, whole_streams

NAMES = {"text": "abcdef", "numbers": range(6), "null first": [None, *range(5)]}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@given(data=st.data())
def test_whole_streams_of_any_cut(names: Any, data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    cells = [name for name, length in zip(names, lengths, strict=False) for _ in range(length)]
    cuts = data.draw(st.sets(st.integers(1, len(cells) - 1)) if len(cells) > 1 else st.just(set()))
    table = pa.table({"stream": cells, "row": range(len(cells))})
    edges = [0, *sorted(cuts), len(cells)]
    parts = (table.slice(i, j - i) for i, j in pairwise(edges))
    whole = [part.to_pydict() for part in whole_streams(parts, "stream")]
    assert [row for part in whole for row in part["row"]] == list(range(len(cells)))
    of_part = [set(part["stream"]) for part in whole]
    assert sum(map(len, of_part)) == len(set(cells)), "a stream is in two tables"


@pytest.mark.parametrize(
    ("cells", "start"),
    [
        (["a"], 0),
        (["a", "a"], 0),
        (["a", "b"], 1),
        (["a", "a", "b", "b", "b"], 2),
        ([None, None, "b"], 2),
        ([None, None], 0),
        ([1.5, 2.5, 2.5], 1),
    ],
)
@pytest.mark.parametrize("chunks", [1, 2])
def test_where_the_last_stream_starts(cells: list[Any], start: int, chunks: int) -> None:
    half = len(cells) // chunks
    column = pa.chunked_array([pa.array(cells)[:half], pa.array(cells)[half:]])
    assert last_stream_start(pa.table({"stream": column}), "stream") == start
    assert last_stream_start(pa.table({"stream": column}), None) == 0
