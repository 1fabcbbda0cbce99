"""Streams that Arrow batches cut anywhere."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classfilter.spark.batch import with_unfinished

NAMES = {"text": "abcdef", "numbers": range(6), "null first": [None, *range(5)]}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@given(data=st.data())
def test_the_stream_that_goes_on_after_a_cut(names: Any, data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    cells = [name for name, length in zip(names, lengths, strict=False) for _ in range(length)]
    cuts = data.draw(st.sets(st.integers(1, len(cells) - 1)) if len(cells) > 1 else st.just(set()))
    table = pa.table({"stream": cells, "row": range(len(cells))})
    edges = [0, *sorted(cuts), len(cells)]
    parts = (table.slice(i, j - i) for i, j in pairwise(edges))
    for (part, unfinished), end in zip(with_unfinished(parts, "stream"), edges[1:], strict=True):
        streams = set(part["stream"].to_pylist())
        assert set(unfinished) == streams & set(cells[end:])
