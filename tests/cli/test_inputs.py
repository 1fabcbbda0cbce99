"""Files with labels, scores and other names of columns, on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import classfilter as cf
from commands import rejected
from conftest import Run

RENAMED = ["--columns", "time=ts", "--columns", "p_walk=walk", "--columns", "p_sit=sit %"]
DAY = {
    "ts": [0.0, 5.0, 10.0],
    "walk": [90.0, 40.0, 60.0],
    "sit %": [10.0, 60.0, 40.0],
    "p_value": ["?"] * 3,
}
LABELS = {"time": [0.0, 5.0, 10.0], "prediction": ["walk", "sit", ""]}


def classes_of(path: str) -> list[str]:
    return list(cf.read_table(path)["class"])


def test_filter_with_columns_and_scores(run: Run) -> None:
    cf.write_table(pl.DataFrame(DAY), "day.csv")
    options = [*RENAMED, "--scores", "percent", "--classes", "walk,sit", "--half-life", "60s"]
    code, _, err = run("filter", "day.csv", "-o", "out.csv", *options)
    assert code == 0, err
    plain = pl.DataFrame({"time": DAY["ts"], "p_walk": [0.9, 0.4, 0.6], "p_sit": [0.1, 0.6, 0.4]})
    expected = cf.filter_table(plain, cf.DirichletFilter(["walk", "sit"], half_life=60.0))
    got = cf.read_table("out.csv")
    assert got["f_walk"].to_list() == pytest.approx(expected["f_walk"].to_list(), rel=1e-12)
    assert run("plot", "out.csv", "-o", "day.png", *RENAMED, "--scores", "percent")[0] == 1
    assert run("plot", "out.csv", "-o", "day.png", *options[:-2])[0] == 0


def test_filter_labels(run: Run) -> None:
    cf.write_table(pl.DataFrame(LABELS), "day.csv")
    assert run("filter", "day.csv", "-o", "out.csv", "--gamma", "0.9", "--quiet")[0] == 0
    assert classes_of("out.csv") == ["walk", "sit", "sit"]
    assert cf.read_table("out.csv").columns[2:] == ["f_sit", "f_walk", "class"]
    f = cf.DirichletFilter(["walk", "run", "sit"], half_life=60.0)
    cf.Pipeline(f).save("walk.json")
    assert run("filter", "day.csv", "-o", "out.csv", "--config", "walk.json")[0] == 0
    assert cf.read_table("out.csv").columns[2:] == ["f_walk", "f_run", "f_sit", "class"]


@pytest.mark.parametrize("command", ["tune", "compare"])
def test_other_commands_read_the_same_files(command: str, run: Run) -> None:
    day = cf.simulate("capture24", seed=0, hours=2.0)
    df = day.rows(every=12).to_table()
    cf.write_table(df, "plain.csv")
    names = {"time": "ts", "source": "model", **{f"p_{c}": f"% {c}" for c in day.classes}}
    renamed = df.rename(names).with_columns(pl.col("^% .*$") * 100)
    cf.write_table(renamed, "renamed.csv")
    options = [f"--columns={name}={column}" for name, column in names.items()]
    out = ["-o", "out.json"] if command == "tune" else []
    code, expected, err = run(command, "plain.csv", *out, "--quiet")
    assert code == 0, err
    code, got, err = run(command, "renamed.csv", *out, "--quiet", *options, "--scores", "percent")
    assert (code, got.replace("renamed.csv", "plain.csv")) == (0, expected), err


def test_stream_labels(run: Run) -> None:
    lines = b'{"time": 0, "prediction": "walk"}\n{"time": 5, "prediction": "fly"}\n'
    code, out, err = run("stream", "--classes", "walk,sit", "--gamma", "0.9", stdin=lines)
    assert code == 3
    assert out.endswith('"class":"walk"}\n')
    assert err.startswith("line 2: prediction is 'fly'; the classes are ['walk', 'sit']")


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".ndjson"])
def test_what_was_filtered_can_be_filtered_again(suffix: str, run: Run) -> None:
    first, second = f"first{suffix}", f"second{suffix}"
    cf.write_table(pl.DataFrame(LABELS), f"day{suffix}")
    assert run("filter", f"day{suffix}", "-o", first, "--gamma", "0.5", "--quiet")[0] == 0
    assert run("filter", first, "-o", second, "--gamma", "0.99", "--quiet")[0] == 0
    once, again = cf.read_table(first), cf.read_table(second)
    assert again.columns == once.columns
    assert again["f_walk"].to_list() != once["f_walk"].to_list()


def test_stream_with_columns_and_scores(run: Run) -> None:
    lines = b'{"ts": 0, "walk": 90, "sit %": 10, "p_value": "?"}\n'
    options = [*RENAMED, "--scores", "percent", "--classes", "walk,sit", "--half-life", "60s"]
    code, out, err = run("stream", *options, stdin=lines)
    assert code == 0, err
    f = cf.DirichletFilter(["walk", "sit"], half_life=60.0)
    assert f'"f_walk":{float(f.update([0.9, 0.1], dt=0.0)[0])!r},' in out


@pytest.mark.slow
def test_plot_in_a_time_zone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dates are drawn as such, in their own zone without --zone; numbers only with it."""
    from classfilter import plot

    labels, draw = [], plot.overview

    def overview(*arguments: Any, **more: Any) -> object:
        figure = draw(*arguments, **more)
        labels.append(figure.axes[-1].get_xlabel())
        return figure

    monkeypatch.setattr(plot, "overview", overview)
    times = ["2024-05-01T08:00:00", "2024-05-01T08:00:05", "2024-05-01T08:00:10"]
    for time in (times, [f"{at}+02:00" for at in times], [0, 5, 10]):
        df = pl.DataFrame({"time": time, "p_walk": [0.9, 0.4, 0.6], "p_sit": [0.1, 0.6, 0.4]})
        cf.write_table(df, "day.csv")
        for zone in ([], ["--zone", "Europe/Berlin"]):
            assert run("plot", "day.csv", "-o", "day.svg", "--gamma", "0.9", *zone)[0] == 0
    zoned = "Time (Europe/Berlin)"
    assert labels == ["Time (no zone)", zoned, "Time (UTC+02:00)", zoned, "Time (s)", zoned]


@pytest.mark.parametrize("command", ["plot", "tune", "compare"])
def test_names_cannot_control_the_terminal(run: Run, command: str) -> None:
    evil = "\x1b[2J\x9b31m\u202e"
    df = pl.DataFrame(
        {
            "time": [0.0, 1.0] * 2,
            "stream": [evil] * 2 + ["b"] * 2,
            "source": [evil, "weak"] * 2,
            f"p_{evil}": [0.5] * 4,
            "p_b": [0.5] * 4,
        }
    )
    cf.write_table(df, "day.parquet")
    options = ["-o", "out.png"] if command == "plot" else []
    options = ["-o", "out.json"] if command == "tune" else options
    _, out, err = run(command, "day.parquet", *options)
    shown = out + err
    assert "\\x1b[2J\\x9b31m\\u202e" in shown
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)


COMMANDS = [
    ["filter", "-o", "out.csv"],
    ["filter", "-o", "out.csv", "--smooth"],
    ["events", "-o", "out.csv", "--change-cost", "3s"],
    ["tune", "-o", "out.json"],
]


@pytest.mark.parametrize("command", COMMANDS)
def test_dates_that_go_back_are_shown_as_dates(run: Run, command: list[str]) -> None:
    name, *options = command
    for zone in ("", "+02:00"):
        times = [f"2024-10-27T02:59:00{zone}", f"2024-10-27T02:00:00{zone}"]
        rows = [f"{time},0.5,0.5\n" for time in times]
        Path("autumn.csv").write_text("".join(["time,p_a,p_b\n", *rows]))
        err = rejected(run, name, "autumn.csv", *options)
        assert f"is 2024-10-27 02:00:00{zone}, before 2024-10-27 02:59:00{zone}, the time" in err
        assert ("offset, such as +02:00" in err) == (not zone)


def test_streams_in_a_column_of_another_name(run: Run) -> None:
    pairs = {"p_a": [0.4] * 4, "p_b": [0.6] * 4, "Machine": ["x", "x", "y", "y"]}
    cf.write_table(pl.DataFrame({"time": [0, 5, 0, 5], **pairs}), "day.csv")
    err = rejected(run, "filter", "day.csv", "-o", "out.csv", "--gamma", "0.9")
    assert "'Machine' may be one: if the rows are of several streams" in err
    assert err.index("--columns stream=Machine") < err.index("give --sort")
    in_turn = {"time": [0, 0, 5, 5], **pairs, "Machine": ["x", "y", "x", "y"]}
    cf.write_table(pl.DataFrame(in_turn), "day.csv")
    filter_day = ["filter", "day.csv", "-o", "out.csv", "--gamma", "0.9", "--quiet"]
    code, _, err = run(*filter_day)
    assert code == 0
    assert err.count("--columns stream=Machine") == 1
    assert run(*filter_day, "--columns", "stream=Machine")[0] == 0
