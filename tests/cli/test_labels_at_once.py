"""Several labels at once on the command line: each label is filtered by itself, to the bit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import classfilter as cf
from conftest import Run

LABELS = ("robin", "wren")
HALF_LIFE = ["--half-life", "10s"]


def table(rows: int = 40, labels: tuple[str, ...] = LABELS) -> pl.DataFrame:
    """Return independent scores of two streams, some of them missing."""
    rng = np.random.default_rng(7)
    scores = rng.random((rows, len(labels)))
    scores[rng.random(scores.shape) < 0.2] = np.nan
    columns = {f"p_{n}": pl.Series(scores[:, k]).fill_nan(None) for k, n in enumerate(labels)}
    stream = rng.choice(["ann", "bob"], rows)
    return pl.DataFrame({"time": np.arange(rows) * 2.0, "stream": stream, **columns})


def of_label(df: pl.DataFrame, label: str, f: Any, lag: int | None = 0) -> list[float]:
    """Return the results of one label: that of a filter of two classes, off and on."""
    p = pl.col(f"p_{label}")
    two = df.select("time", "stream", (1 - p).alias("p_off"), p.alias("p_on"))
    found = cf.smooth_table(two, f, lag=lag)
    assert isinstance(found, pl.DataFrame)
    return found["f_on"].to_list()


def check(got: pl.DataFrame, df: pl.DataFrame, f: Any, lag: int | None = 0) -> None:
    expected = {label: of_label(df, label, f, lag) for label in LABELS}
    assert {label: got[f"f_{label}"].to_list() for label in LABELS} == expected
    on = [
        ",".join(label for label in LABELS if expected[label][row] > 0.5) for row in range(len(df))
    ]
    assert [names or "" for names in got["labels"].to_list()] == on
    assert len({*on}) == 4
    assert "class" not in got.columns


@pytest.mark.parametrize("kind", ["csv", "ndjson", "parquet"])
@pytest.mark.parametrize("lag", [0, 3, None])
def test_each_label_is_filtered_by_itself(kind: str, lag: int | None, run: Run) -> None:
    df, f = table(), cf.DirichletFilter(("off", "on"), half_life=10.0)
    cf.write_table(df, f"in.{kind}")
    how = {0: [], 3: ["--lag", "3"], None: ["--smooth"]}[lag]
    command = ["filter", f"in.{kind}", "-o", f"out.{kind}", "--scores", "independent", *HALF_LIFE]
    code, _, err = run(*command, *how)
    assert code == 0, err
    check(cf.read_table(f"out.{kind}"), df, f, lag)


def test_a_config_of_labels_needs_no_scores(run: Run) -> None:
    df, two = table(), cf.StickyFilter(2, stay=0.5 ** (1 / 10))
    cf.write_table(df.select("time", "stream", "p_wren", "p_robin"), "in.csv")
    cf.Pipeline(cf.MultiLabelFilter(LABELS, two)).save("birds.json")
    for scores in ([], ["--scores", "independent"]):
        code, _, err = run("filter", "in.csv", "-o", "out.csv", "--config", "birds.json", *scores)
        assert code == 0, err
        got = cf.read_table("out.csv")
        assert got.columns[-3:] == ["f_wren", "f_robin", "labels"]
        check(got, df, cf.StickyFilter(("off", "on"), stay=0.5 ** (1 / 10)))


def test_percentages_and_logits_of_each_label(run: Run) -> None:
    df = table()
    cf.Pipeline(cf.MultiLabelFilter(LABELS, cf.StickyFilter(2, stay=0.5 ** (1 / 10)))).save(
        "birds.json"
    )
    p = pl.col("p_robin", "p_wren")
    for scores, numbers in (("percent", p * 100), ("logits", (p / (1 - p)).log())):
        cf.write_table(df.with_columns(numbers), "in.csv")
        command = ["filter", "in.csv", "-o", "out.csv", "--config", "birds.json"]
        code, _, err = run(*command, "--scores", scores)
        assert code == 0, err
        for label in LABELS:
            lane = of_label(df, label, cf.StickyFilter(("off", "on"), stay=0.5 ** (1 / 10)))
            got = cf.read_table("out.csv")[f"f_{label}"].to_list()
            assert got == pytest.approx(lane, rel=1e-9)


def test_one_column_is_enough(run: Run) -> None:
    df = table(labels=("speech",))
    cf.write_table(df, "in.csv")
    command = ["filter", "in.csv", "-o", "out.csv", "--scores", "independent", *HALF_LIFE]
    assert run(*command, "--classes", "speech", "--quiet") == (0, "", "")
    got = cf.read_table("out.csv")
    f = cf.DirichletFilter(("off", "on"), half_life=10.0)
    assert got["f_speech"].to_list() == of_label(df, "speech", f)


@pytest.mark.slow
def test_lines_as_they_come(tmp_path: Path) -> None:
    """The command reads lines with a file of several labels, or with the option alone."""
    cf.write_table(table().drop("stream"), tmp_path / "in.ndjson")
    f = cf.MultiLabelFilter(LABELS, cf.DirichletFilter(2, half_life=10.0))
    cf.Pipeline(f).save(tmp_path / "birds.json")
    expected = cf.filter_table(cf.read_table(tmp_path / "in.ndjson"), f)
    given = (tmp_path / "in.ndjson").read_bytes()
    for how in (["--config", "birds.json"], ["--scores", "independent", *HALF_LIFE]):
        done = subprocess.run(
            [sys.executable, "-m", "classfilter", "stream", *how],
            input=given, capture_output=True, check=True, cwd=tmp_path,
        )  # fmt: skip
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        for label in LABELS:
            assert [row[f"f_{label}"] for row in rows] == expected[f"f_{label}"].to_list()
        assert [",".join(row["labels"]) for row in rows] == expected["labels"].to_list()
    cf.Pipeline(cf.MultiLabelFilter(["robin"], cf.DirichletFilter(2, half_life=10.0))).save(
        tmp_path / "one.json"
    )
    done = subprocess.run(
        [sys.executable, "-m", "classfilter", "stream", "--config", "one.json"],
        input=b'{"time": 0, "p_robin": 0.75}\n', capture_output=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    on = cf.DirichletFilter(2, half_life=10.0).update([0.25, 0.75], dt=0.0)[1]
    assert json.loads(done.stdout)["f_robin"] == on


def test_heads_of_several_classes_are_named_by_their_columns(run: Run) -> None:
    rng = np.random.default_rng(3)
    heads = {"activity": ["walk", "sit", "run"], "alone": None}
    probs = np.column_stack([rng.dirichlet(np.ones(3), 40), rng.random(40)])
    rows = cf.rows(time=np.arange(40) * 2.0, probs=probs, classes=heads)
    cf.write_table(rows.to_table(), "in.csv")
    names = ["--scores", "independent", "--classes", ",".join(rows.classes)]
    code, _, err = run("filter", "in.csv", "-o", "out.csv", *names, *HALF_LIFE)
    assert code == 0, err
    each = {n: cf.DirichletFilter(k, half_life=10.0) for n, k in (("activity", 3), ("alone", 2))}
    wanted = cf.filter_table(rows, cf.MultiLabelFilter(heads, each))
    got = cf.read_table("out.csv")
    assert got.select(pl.col("^f_.*$")).equals(wanted.select(pl.col("^f_.*$")))
    assert got["activity"].to_list() == wanted["activity"].to_list()
    code, out, err = run("compare", "in.csv", *names)
    assert code == 0, err
    assert "2 labels" in out
