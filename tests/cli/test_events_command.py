"""`classfilter events`: the file that it writes is that of `cf.events` and `write_events`."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import classfilter as cf
from conftest import Run

WALK = [0.9, 0.8, 0.4, 0.9, 0.2, 0.1, 0.2, 0.1, 0.8, 0.1]
DAY = {"time": [10.0 * i for i in range(10)], "p_walk": WALK, "p_sit": [1 - x for x in WALK]}
RULE = cf.EventRule("15s", min_duration={"walk": 10.0}, pad=("1s", "2s"), ignore="sit")
OPTIONS = ["--change-cost", "15s", "--min-duration", "walk=10s", "--pad", "1s,2s"]
OPTIONS += ["--ignore", "sit"]
HALF_LIFE = cf.DirichletFilter(["walk", "sit"], half_life=20.0)
SUFFIXES = ["csv", "tsv", "txt", "rttm", "TextGrid", "vtt", "json"]


def write_day(path: str = "day.csv", **columns: Any) -> pl.DataFrame:
    cf.write_table(pl.DataFrame(DAY | columns), path)
    return cf.read_table(path)


def same(found: Any, written: str, **options: Any) -> None:
    """The file is, to the byte, what `write_events` makes of these events."""
    path = Path("expected").with_suffix(Path(written).suffix)
    if "stream" not in found.columns:
        found = cf.Events.from_table(found)
    assert len(found) > 0
    cf.write_events(found, path, **options)
    assert Path(written).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("stream", [{}, {"stream": ["ann"] * 10}])
def test_every_format(run: Run, suffix: str, stream: dict[str, Any]) -> None:
    df = write_day(**stream)
    code, out, err = run("events", "day.csv", "-o", f"out.{suffix}", "--half-life", "20s", *OPTIONS)
    assert (code, out, err) == (0, "", f"out.{suffix}: 1 event\n")
    same(cf.events(df, HALF_LIFE, RULE), f"out.{suffix}")


def test_the_times_are_those_of_the_rows(run: Run) -> None:
    write_day()
    code, _, err = run(
        "events", "day.csv", "-o", "day.txt", "--gamma", "0", "--change-cost", "8", "--quiet"
    )
    assert (code, err) == (0, "")
    assert Path("day.txt").read_text().splitlines()[0].split("\t") == ["0.0", "40.0", "walk"]


@pytest.mark.parametrize("smooth", [[], ["--smooth"]])
def test_a_file_of_settings_and_options_over_it(run: Run, smooth: list[str]) -> None:
    df = write_day(source=["weak", "strong"] * 5)
    pipe = cf.Pipeline(HALF_LIFE, beta={"weak": 0.3, "strong": 1.0}, rule=cf.EventRule("25s"))
    pipe.save("walk.json")
    how: Any = {"smooth": bool(smooth)}
    arguments = ["events", "day.csv", "-o", "day.csv.json", "--config", "walk.json", "--quiet"]
    assert run(*arguments, *smooth)[0] == 0
    same(cf.events(df, pipe, **how), "day.csv.json")
    assert run(*arguments, *smooth, "--shift", "5s", "--bias", "walk=0.1")[0] == 0
    both = cf.EventRule("25s", shift=5.0, bias={"walk": 0.1})
    same(cf.events(df, pipe, both, **how), "day.csv.json")
    Path("hand.json").write_text(
        '{"classes": ["sit", "walk"], "filter": "dirichlet", "options": {"half_life": 20.0}, '
        '"events": {"change_cost": "15s", "min_duration": {"walk": "10s"}}}'
    )
    code, _, err = run(*arguments[:5], "hand.json", *smooth)
    assert code == 0, err
    rule = cf.EventRule(15.0, min_duration={"walk": 10.0})
    same(cf.events(df, cf.DirichletFilter(["sit", "walk"], half_life=20.0), rule, **how),
         "day.csv.json")  # fmt: skip


def test_all_options_of_a_rule(run: Run) -> None:
    df = write_day()
    options = [
        *("--change-cost", "walk=5s", "--change-cost", "sit=4s", "--leave-cost", "1s"),
        *("--merge-gap", "2s", "--bias", "0.05", "--evidence", "log"),
        *("--min-probability", "0.3", "--pad", "500ms", "--shift", "1s", "--max-gap", "1min"),
        *("--max-duration", "30s", "--max-delay", "1h"),
    ]
    assert run("events", "day.csv", "-o", "out.csv", "--gamma", "0.5", *options)[0] == 0
    rule = cf.EventRule(
        {"walk": 5.0, "sit": 4.0},
        leave_cost=1.0,
        merge_gap=2.0,
        bias=0.05,
        evidence="log",
        min_probability=0.3,
        pad=(0.5, 0.5),
        shift=1.0,
        max_gap=60.0,
        max_duration=30.0,
        max_delay=3600.0,
    )
    same(cf.events(df, cf.DirichletFilter(["walk", "sit"], gamma=0.5), rule), "out.csv")


def test_a_file_that_was_filtered_before(run: Run) -> None:
    write_day(stream=["ann", "bob"] * 5)
    assert run("filter", "day.csv", "-o", "filtered.csv", "--half-life", "20s", "--quiet")[0] == 0
    assert run("events", "filtered.csv", "-o", "out.rttm", "--change-cost", "15s")[0] == 0
    filtered = cf.read_table("filtered.csv")
    same(cf.events(filtered, cf.EventRule(15.0)), "out.rttm")
    # an option that makes a filter says that the predictions count
    assert run(
        "events", "filtered.csv", "-o", "out.csv", "--half-life", "60s", "--change-cost", "5s"
    )[0] == 0  # fmt: skip
    f = cf.DirichletFilter(["walk", "sit"], half_life=60.0)
    same(cf.events(filtered, f, cf.EventRule(5.0)), "out.csv")
    err = rejected_usage(run, "events", "filtered.csv", "-o", "x.csv", "--change-cost", "5s",
                         "--smooth")  # fmt: skip
    assert "the rows are filtered already; leave out --smooth" in err


def test_dates(run: Run) -> None:
    df = write_day(time=[f"2024-05-01T08:00:{5 * i:02}+02:00" for i in range(10)])
    arguments = ["--half-life", "20s", "--change-cost", "5s", "--quiet"]
    assert run("events", "day.csv", "-o", "out.csv", *arguments)[0] == 0
    found = cf.events(df, HALF_LIFE, cf.EventRule(5.0))
    same(found, "out.csv")
    assert cf.read_events("out.csv").dates
    start = "2024-05-01T06:00:00Z"
    assert run("events", "day.csv", "-o", "out.txt", "--start", start, *arguments)[0] == 0
    same(found, "out.txt", start=start)
    assert Path("out.txt").read_text().startswith("0.0\t")


def test_columns_units_order_and_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    df = write_day()
    renamed = df.with_columns(ts=1000 * pl.col("time")).drop("time").reverse()
    text = renamed.write_csv(separator=";")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    arguments = ["--columns", "time=ts", "--unit", "ms", "--half-life", "20s", "--sort"]
    assert run("events", "-", "-o", "out.vtt", *arguments, *OPTIONS)[0] == 0
    same(cf.events(df, HALF_LIFE, RULE), "out.vtt")


def rejected_usage(run: Run, *arguments: str) -> str:
    before = sorted(Path().iterdir())
    code, _, err = run(*arguments)
    assert code in (1, 2), err
    assert sorted(Path().iterdir()) == before
    return err


def test_ravens_table_is_written_by_its_suffix(run: Run) -> None:
    df = write_day()
    command = ["events", "day.csv", "-o", "day.selections.txt", "--gamma", "0"]
    assert run(*command, "--change-cost", "8")[0] == 0
    found = cf.Events.from_table(
        cf.events(df, cf.DirichletFilter(["walk", "sit"], gamma=0), cf.EventRule(8))
    )
    cf.write_events(found, "expected.txt", "raven")
    assert Path("day.selections.txt").read_bytes() == Path("expected.txt").read_bytes()


def test_classes_of_a_file_with_predictions_alone(run: Run) -> None:
    names = ["walk" if p > 0.5 else "sit" for p in WALK]
    df = pl.DataFrame({"time": DAY["time"], "prediction": names})
    cf.write_table(df, "day.csv")
    options = ["--half-life", "20s", "--change-cost", "15s"]
    code, _, err = run("events", "day.csv", "-o", "out.csv", *options)
    assert code == 0, err
    f = cf.DirichletFilter(["sit", "walk"], half_life=20.0)
    same(cf.events(df, f, cf.EventRule("15s")), "out.csv")
