"""Lines of several labels at once: other keys, other scores, and what is refused."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from tempfile import TemporaryFile
from typing import Any

import numpy as np

import classfilter as cf
from classfilter.inputs import Heads
from classfilter.live import serve
from ndjson_lines import as_line, formed

LABELS = ("robin", "wren")
PIPE = cf.Pipeline(cf.MultiLabelFilter(LABELS, cf.StickyFilter(2, stay=0.5 ** (1 / 10))))


def served(lines: list[dict[str, Any]], pipe: Any, **how: Any) -> tuple[list[Any], str]:
    """Return the results of lines, and the messages."""
    make: Callable[[Any], Any] = pipe if callable(pipe) else lambda _: pipe
    messages = io.StringIO()
    with TemporaryFile() as source, TemporaryFile() as sink:
        source.write(b"".join(map(as_line, lines)))
        source.seek(0)
        given: Any = {"source": source.fileno(), "sink": sink.fileno(), "errors": messages}
        serve(make, **given, **formed(**how))
        sink.seek(0)
        return [json.loads(line) for line in sink], messages.getvalue()


def test_one_label_by_one_key() -> None:
    f = cf.MultiLabelFilter(["speech"], cf.StickyFilter(2, stay=0.5 ** (1 / 10)))
    lines = [{"time": t, "p_speech": p} for t, p in enumerate([0.9, 0.8, None, 0.1])]
    two = [[np.nan] * 2 if p is None else [1 - p, p] for p in (0.9, 0.8, None, 0.1)]
    lane = cf.StickyFilter(2, stay=0.5 ** (1 / 10)).run(two, dt=[0.0, 1.0, 1.0, 1.0])[:, 1].tolist()
    results, _ = served(lines, cf.Pipeline(f), classes=Heads.of_labels(["speech"]))
    assert [row["f_speech"] for row in results] == lane
    assert [row["labels"] for row in results] == [["speech"] if p > 0.5 else [] for p in lane]
    bare = [{"time": row["time"], "speech": row["p_speech"]} for row in lines]
    again, messages = served(bare, cf.Pipeline(f), scores="independent", classes=("speech",))
    assert [row["f_speech"] for row in again] == lane, messages
    percent = [{"time": 0, "p_speech": 90}]
    (row,), _ = served(
        percent, cf.Pipeline(f), scores="percent", classes=Heads.of_labels(["speech"])
    )
    assert row["f_speech"] == lane[0]
    (row,), _ = served(
        [{"time": 0, "p_speech": -1000}],
        cf.Pipeline(f),
        scores="logits",
        classes=Heads.of_labels(["speech"]),
    )
    floored = cf.StickyFilter(2, stay=0.5 ** (1 / 10)).update([1.0, 0.0])[1]
    assert row["f_speech"] == floored


def test_heads_of_several_classes() -> None:
    heads: Any = {"activity": ["walk", "sit", "run"], "alone": None}
    each = {"activity": cf.StickyFilter(3, stay=0.9), "alone": cf.StickyFilter(2, stay=0.8)}
    pipe = cf.Pipeline(cf.MultiLabelFilter(heads, each))
    rng = np.random.default_rng(5)
    probs = np.column_stack([rng.dirichlet(np.ones(3), 9), rng.random(9)])
    rows = cf.rows(time=np.arange(9.0), probs=probs, classes=heads)
    keys = [f"p_{name}" for name in rows.classes]
    lines = [{"time": t, **dict(zip(keys, p, strict=True))} for t, p in enumerate(probs.tolist())]
    results, messages = served(lines, pipe, classes=pipe.heads)
    wanted = cf.filter_table(rows, pipe)
    for name in rows.classes:
        assert [row[f"f_{name}"] for row in results] == wanted[f"f_{name}"].to_list(), messages
    assert [row["activity"] for row in results] == wanted["activity"].to_list()
    assert [row["labels"] for row in results] == [
        ["alone"] * (name == "alone") for name in wanted["labels"].to_list()
    ]


def test_earlier_results_are_replaced() -> None:
    first, _ = served([GOOD, GOOD | {"time": 1, "p_wren": None}], PIPE)
    again, messages = served(first, PIPE, scores="independent")
    assert again == first
    assert messages == ""


GOOD = {"time": 0, "p_robin": 0.7, "p_wren": 0.6}
