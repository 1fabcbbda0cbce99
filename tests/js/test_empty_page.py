"""The page without data in Chromium: it reads a CSV file, and filters as the command line does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import classfilter as cf
import node_cases as node
from report_pages import use, write_page
from saved_files import loaded

T = 240
CLASSES = ["<b>walk</b>", "__proto__", "plain"]


def table(**changed: Any) -> pl.DataFrame:
    """Return rows of two streams and two sources, with labels; None drops a column."""
    rng = np.random.default_rng(5)
    label = np.arange(T) // 60 % 3
    probs = rng.dirichlet([1.0, 1.0, 1.0], T) + np.eye(3)[label]
    probs /= probs.sum(axis=1, keepdims=True)
    probs[7] = np.nan
    columns: dict[str, Any] = {
        "time": np.repeat(np.cumsum(rng.choice([0.5, 1.0, 2.0], T // 2)), 2),
        "stream": ["ann", "bob"] * (T // 2),
        "source": rng.choice(["watch, left", "phone"], T),
        **{f"p_{name}": p for name, p in zip(CLASSES, probs.T, strict=True)},
        "label": np.array(CLASSES)[label],
    }
    df = pl.DataFrame({k: v for k, v in (columns | changed).items() if v is not None})
    return df.with_columns(pl.selectors.starts_with("p_").fill_nan(None))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page({}, None, tmp_path_factory.mktemp("empty") / "page.html")


def check_rows(state: dict[str, Any], df: pl.DataFrame, stream: str = "ann") -> None:
    """Compare what is shown of a stream with Python, given the settings that the page shows."""
    assert state["message"] is None
    pipe = loaded(state["json"])
    rows = df.filter(pl.col("stream") == stream) if "stream" in df.columns else df
    expected = cf.filter_table(rows, pipe)
    for column, name in zip(state["data"][1:], CLASSES, strict=True):
        assert node.same_bits(column, expected[f"f_{name}"].to_numpy())
    events = cf.events(rows, pipe)
    assert [event[0] for event in state["events"]] == events["class"].to_list()


def test_a_file_is_filtered_as_in_python(page: Path) -> None:
    df = table()
    df.write_csv(page.parent / "rows.csv")
    steps: list[list[Any]] = [
        ["choose", "#file", str(page.parent / "rows.csv")],
        ["slide", "#halfLife", 1.0],
        ["slide", "#weight1", 0.4],
        ["stream", "1"],
    ]
    used = use(page, steps)
    first, *states = used["states"]
    assert first == {"message": None, "open": True}
    assert used["messages"] == []
    assert used["markup"] == 0
    assert [url for url in used["requests"] if not url.startswith(("file:", "blob:"))] == []
    for state, name in zip(states, ["ann", "ann", "ann", "bob"], strict=True):
        check_rows(state, df, name)
    assert len({state["data"][1] for state in states}) == 4
    assert "F1 of events by the labels" in states[0]["numbers"]


@pytest.mark.parametrize("kind", ["plain", "semicolons", "dates", "zone"])
def test_what_files_are_like(page: Path, kind: str) -> None:
    df = table(stream=None, source=None, label=None, time=np.arange(T) * 0.5)
    text = df.write_csv()
    if kind == "semicolons":
        text = "\ufeff" + df.write_csv(separator=";", line_terminator="\r\n").replace(".", ",")
    elif kind in ("dates", "zone"):
        zone = "+02:00" if kind == "zone" else ""
        dates = [f"2024-03-31 00:{i // 60:02}:{i % 60:02}.25{zone}" for i in range(T)]
        df = table(stream=None, source=None, label=None, time=dates)
        text = df.write_csv()
    used = use(page, [["drop", "", ["rows.csv", text]]])
    assert used["messages"] == []
    check_rows(used["states"][-1], df)
    start = {"dates": "2024-03-31 00:00:00", "zone": "2024-03-30 22:00:00"}.get(kind, "0:00:00")
    assert used["states"][-1]["span"].startswith(start)


REJECTED = {
    "it must have time, p_<class>": "time,walk\n0,1\n",
    "rows.csv has no rows": "time,p_a,p_b\n",
    "several columns p_a": "time,p_a,p_a\n0,1,0\n",
    'line 3: time is "x"': "time,p_a,p_b\n0,1,0\nx,1,0\n",
    "line 3: time is 1, before": "time,p_a,p_b\n2,1,0\n1,1,0\n",
    'line 2: p_a is "much"': "time,p_a,p_b\n0,much,0\n",
    "line 2: probs sums to 1.5": "time,p_a,p_b\n0,1,0.5\n",
    "line 2: probs[1] is NaN": "time,p_a,p_b\n0,1,\n",
    'line 2: label is "c"': "time,p_a,p_b,label\n0,1,0,c\n",
}


def test_errors_name_the_line_and_what_is_shown_stays(page: Path) -> None:
    good = table(label=None)
    steps: list[list[Any]] = [["drop", "", ["rows.csv", text]] for text in REJECTED.values()]
    states = use(page, [*steps, ["drop", "", ["good.csv", good.write_csv()]], *steps[:1]])["states"]
    for words, state in zip(REJECTED, states[1:], strict=False):
        assert words in state["message"]
    check_rows(states[-2], good)
    assert states[-1]["message"] is not None
    assert states[-1]["data"] == states[-2]["data"]
