"""`classfilter events` of several labels at once: the file is that of `cf.events`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import classfilter as cf
from classfilter.events import FORMATS
from conftest import Run
from label_event_cases import LABELS, random_scores

TWO = cf.StickyFilter(2, stay=0.5 ** (1 / 20))
RULE = cf.EventRule(
    {"robin": 5.0, "wren": 10.0, "tit": 10.0}, merge_gap={"robin": 30.0}, min_duration={"tit": 15.0}
)
OPTIONS = ["--change-cost", "robin=5s", "--change-cost", "wren=10s", "--change-cost", "tit=10s"]
OPTIONS += ["--merge-gap", "robin=30s", "--min-duration", "tit=15s"]


def write_dawn(path: str = "dawn.csv", **columns: Any) -> pl.DataFrame:
    scores = random_scores(np.random.default_rng(8), 80)
    columns |= {f"p_{name}": scores[:, k] for k, name in enumerate(LABELS)}
    df = pl.DataFrame({"time": np.arange(80) * 5.0, **columns}).fill_nan(None)
    cf.write_table(df, path)
    return cf.read_table(path)


def same(found: Any, written: str) -> None:
    """The file is, to the byte, what `write_events` makes of these events."""
    path = Path("expected").with_suffix(Path(written).suffix)
    found = cf.Events.from_table(found)
    assert len({e.label for e in found}) == 3
    assert any(a.end > b.start for a, b in pairwise(found))
    cf.write_events(found, path)
    assert Path(written).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_config_of_labels_and_every_format(run: Run, suffix: str) -> None:
    df = write_dawn()
    cf.Pipeline(cf.MultiLabelFilter(LABELS, TWO)).save("birds.json")
    arguments = ["events", "dawn.csv", "-o", f"out.{suffix}", "--config", "birds.json"]
    code, _, err = run(*arguments, *OPTIONS)
    assert code == 0, err
    same(cf.events(df, cf.MultiLabelFilter(LABELS, TWO), RULE), f"out.{suffix}")


@pytest.mark.parametrize("smooth", [[], ["--smooth"]])
def test_the_rule_of_the_file(run: Run, smooth: list[str]) -> None:
    df = write_dawn(stream=["ann", "bob"] * 40)
    pipe = cf.Pipeline(cf.MultiLabelFilter(LABELS, TWO), rule=RULE)
    pipe.save("birds.json")
    arguments = ["events", "dawn.csv", "-o", "out.csv", "--config", "birds.json"]
    for scores in ([], ["--scores", "independent"]):
        assert run(*arguments, *smooth, *scores)[0] == 0
        same(cf.events(df, pipe, smooth=bool(smooth)), "out.csv")


def test_a_file_that_was_filtered_before(run: Run) -> None:
    df = write_dawn()
    filtered = cf.filter_table(df, cf.MultiLabelFilter(LABELS, TWO))
    cf.write_table(filtered, "filtered.csv")
    code, _, err = run("events", "filtered.csv", "-o", "out.rttm", *OPTIONS)
    assert code == 0, err
    same(cf.events(cf.read_table("filtered.csv"), RULE), "out.rttm")
    cf.write_table(cf.read_table("filtered.csv").select("time", "f_wren"), "one.csv")
    arguments = ["events", "one.csv", "-o", "one.csv.rttm", "--change-cost", "10s"]
    assert run(*arguments, "--scores", "independent")[0] == 0
    wren = [e for e in cf.read_events("out.rttm") if e.label == "wren"]
    assert cf.read_events("one.csv.rttm") == wren
