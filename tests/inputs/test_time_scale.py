"""Times in milliseconds, and half-lives that do not fit the steps: a warning, or `unit`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.inputs import PER_SECOND, OddRowsWarning, seconds
from conftest import Run, rejected

NOW = 1_700_000_000.0
PROBS = np.random.default_rng(0).dirichlet([1.0, 1.0], 12)
STEP = 5.0 * np.arange(12)


def table(time: Any, stream: Any = None) -> pd.DataFrame:
    df = pd.DataFrame({"time": time, "p_walk": PROBS[:, 0], "p_sit": PROBS[:, 1]})
    return df if stream is None else df.assign(stream=stream)


def f(**options: Any) -> cf.DirichletFilter:
    return cf.DirichletFilter(["walk", "sit"], **options or {"half_life": 60.0})


def in_unit(time: Any, unit: str | None) -> Any:
    return table(time) if unit is None else cf.rows(table(time), unit=unit)


def tracked(time: Any, unit: str | None) -> cf.Tracker:
    tracker = cf.Tracker(f(), unit=unit)
    for at, probs in zip(time, PROBS, strict=True):
        tracker.update("ann", at, None, probs)
    return tracker


def tracked_many(time: Any, unit: str | None) -> cf.Tracker:
    tracker = cf.Tracker(f(), unit=unit)
    tracker.update_many(["ann"] * len(time), time, None, PROBS)
    return tracker


ENTRIES: dict[str, Callable[[Any, str | None], Any]] = {
    "filter_table": lambda time, unit: cf.filter_table(in_unit(time, unit), f()),
    "smooth_table": lambda time, unit: cf.smooth_table(in_unit(time, unit), f()),
    "rows of a table": lambda time, unit: cf.rows(table(time), unit=unit),
    "rows of arrays": lambda time, unit: cf.rows(time=time, probs=PROBS, classes=2, unit=unit),
    "Tracker.update": tracked,
    "Tracker.update_many": tracked_many,
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    ("unit", "name"), [("ms", "milliseconds"), ("us", "microseconds"), ("ns", "nanoseconds")]
)
def test_numbers_of_another_unit_are_named(entry: str, unit: str, name: str) -> None:
    time = (NOW + STEP) * PER_SECOND[unit]
    look = ENTRIES[entry]
    with pytest.warns(UserWarning, match=f'looks like {name}.*give unit="{unit}"') as caught:
        look(time, None)
    assert caught[0].filename == __file__  # the line of the caller
    assert len(caught) == 1
    look(time, unit)
    if entry not in ("filter_table", "smooth_table"):  # where the half-life does not fit
        look(time, "s")
    look(NOW + STEP, None)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    "time",
    [
        STEP,
        [datetime(9000, 1, 1, 0, 0, s, tzinfo=UTC) for s in range(12)],
        [f"9000-01-01T00:00:{s:02}Z" for s in range(12)],
        NOW + 86400.0 * np.repeat([0, 1], 6) + np.tile(STEP[:6], 2),  # a pause of a day
        np.repeat(STEP[:6], 2),  # two rows of each time
    ],
)
def test_sensible_times_give_no_warning(entry: str, time: Any) -> None:
    ENTRIES[entry](time, None)


def test_of_some_rows() -> None:
    time = NOW + STEP
    time[7] *= 1000
    with pytest.warns(UserWarning, match=r"^time in row 7 is .*; 1 of 12 rows do, .*: give all"):
        cf.filter_table(table(time, ["a"] * 7 + ["b"] + ["a"] * 4), f())


@pytest.mark.parametrize(
    ("time", "filter_"),
    [
        (STEP, f(half_life=0.5)),  # ten half-lives: a thousandth of the past is left
        (STEP, f(half_life=4e4)),  # 8,000 steps
        (STEP, f(gamma=1.0)),  # as it was wanted
        (STEP, f(gamma=0.0)),
        (
            STEP,
            cf.StickyFilter(["walk", "sit"], stay=0.5 ** (1 / 1e9)),
        ),  # a few rows still change it
        (1000 * STEP, cf.MeanFilter(["walk", "sit"])),  # time does not matter
    ],
)
def test_a_half_life_that_fits(time: Any, filter_: Any) -> None:
    cf.filter_table(table(time), filter_)


def test_the_median_is_within_streams() -> None:
    """Of pairs of rows with pauses between them, and of streams that follow on each other."""
    pairs = 1000.0 * np.repeat(np.arange(6), 2) + np.tile([0.0, 1.0], 6)
    cf.filter_table(table(pairs), f())
    stream = np.append(np.repeat(np.arange(5), 2), [5, 6])  # five steps within, six between
    cf.filter_table(table(10_000.0 * stream + np.tile([0.0, 5.0], 6), stream), f())


@given(
    st.lists(st.integers(0, 10**6), min_size=12, max_size=12),
    st.sampled_from(["ms", "us", "ns"]),
)
def test_a_unit_is_a_division(ticks: list[int], unit: str) -> None:
    """To the bit where the division is exact: multiples of 125 have few digits in base 2."""
    factor = PER_SECOND[unit]
    time = np.cumsum(ticks) * 125 * (factor / 1000)  # multiples of 1/8 s
    exact = np.cumsum(ticks) / 8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OddRowsWarning)  # any steps may come
        assert seconds(time, unit).tolist() == exact.tolist()
        out = cf.filter_table(cf.rows(table(time), unit=unit), f())
        expected = cf.filter_table(table(exact), f())
        assert out["time"].tolist() == time.tolist()
        assert out["f_walk"].tolist() == expected["f_walk"].tolist()
        one, other = tracked(time, unit), tracked(exact, None)
    assert one.probs("ann").tolist() == other.probs("ann").tolist()
    assert one.time("ann") == other.time("ann")


def test_only_numbers_have_a_unit() -> None:
    dates = pd.date_range("2024-05-01", periods=12, freq="5s")
    kinds: list[Any] = [
        dates,
        [str(date) for date in dates],
        pd.to_timedelta(STEP, "s"),
        dates.to_list(),
    ]
    for time in kinds:
        one = cf.rows(time=time, source="weak", probs=PROBS, classes=2, unit="ms")
        assert (
            one.time.tolist()
            == cf.rows(time=time, source="weak", probs=PROBS, classes=2).time.tolist()
        )
    text = [str(1000 * at) for at in STEP]
    assert (
        cf.rows(time=text, source="weak", probs=PROBS, classes=2, unit="ms").time.tolist()
        == STEP.tolist()
    )


@pytest.mark.parametrize("unit", ["min", "", 1000, ["ms"]])
def test_another_unit_is_refused(unit: Any) -> None:
    for look in ENTRIES.values():
        with rejected("unit"):
            look(STEP, unit)


def test_a_tracker_has_seconds_inside(tmp_path: Path) -> None:
    tracker = cf.Tracker(f(), unit="ms", expire_after="1min", max_jump=3600)
    tracker.update("ann", 1_700_000_000_000, None, [0.9, 0.1])
    tracker.update("bob", np.int64(1_700_000_030_000), None, [0.9, 0.1])
    assert (tracker.time("ann"), tracker.time("bob")) == (NOW, NOW + 30)
    tracker.update("bob", datetime.fromtimestamp(NOW + 40, UTC), None, [0.9, 0.1])
    tracker.update_many(["bob"], ["1700000050000"], None, [[0.9, 0.1]])
    assert tracker.time("bob") == NOW + 50
    tracker.save(tmp_path / "state")
    again = cf.Tracker.load(tmp_path / "state")
    assert again.unit == "ms"
    assert again.expire(1_700_000_061_000) == ["ann"]
    assert again.time("bob") == NOW + 50


def test_a_tracker_warns_once_and_nothing_has_changed() -> None:
    tracker, other = cf.Tracker(f()), cf.Tracker(f())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(OddRowsWarning):
            tracker.update("ann", 1.7e12, None, [0.9, 0.1])
        with pytest.raises(OddRowsWarning):
            other.update_many(["ann"], [1.7e12], None, [[0.9, 0.1]])
    assert len(tracker) == len(other) == 0
    tracker.update("ann", 1.7e12, None, [0.9, 0.1])  # it has been said
    tracker.update("bob", 1.7e12, None, [0.9, 0.1])
    assert len(tracker) == 2


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".ndjson"])
@pytest.mark.parametrize("more", [[], ["--lag", "2"], ["--smooth"]])
def test_on_the_command_line(run: Run, suffix: str, more: list[str]) -> None:
    ms = (1000 * (NOW + STEP)).astype(np.int64)
    for name, time in (("s", NOW + STEP), ("ms", ms)):
        cf.write_table(pl.from_pandas(table(time)), f"{name}{suffix}")
    options = ["--half-life", "60s", "--quiet", *more]
    assert run("filter", f"s{suffix}", "-o", "out_s.parquet", *options) == (0, "", "")
    code, _, err = run("filter", f"ms{suffix}", "-o", "wrong.parquet", *options)
    assert code == 0
    assert err == (
        f"classfilter: ms{suffix}: time is 1700000000000.0, which looks like milliseconds since "
        "1970; give --unit ms, or --unit s if the numbers are right as they are; the median step "
        "is 5000, 83.3 half-lives (60)\n"
    )
    done = run("filter", f"ms{suffix}", "-o", "out_ms.parquet", "--unit", "ms", *options)
    assert done == (0, "", "")
    names = ("out_ms", "wrong", "out_s")
    right, wrong, expected = (cf.read_table(f"{name}.parquet") for name in names)
    assert [int(at) for at in right["time"]] == ms.tolist()
    assert right["f_walk"].to_list() == expected["f_walk"].to_list()
    assert wrong["f_walk"].to_list() != expected["f_walk"].to_list()


@pytest.mark.parametrize("command", ["tune", "compare", "report", "plot"])
def test_every_command_takes_a_unit(run: Run, command: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert "--unit [s|ms|us|ns]" in out


def test_what_is_tuned_on_milliseconds(run: Run) -> None:
    day = cf.simulate("plain", hours=1.0, seed=1).rows(every=12)
    df = day.to_table()
    cf.write_table(df, "s.csv")
    cf.write_table(df.with_columns(pl.col("time") * 1000 + 1.7e12), "ms.csv")
    expected = run("tune", "s.csv", "-o", "s.json", "--quiet")
    code, _, err = run("tune", "ms.csv", "-o", "ms.json", "--quiet")
    assert code == 0
    assert "ms.csv: time is 1700000000000.0, which looks like milliseconds" in err
    code, out, err = run("tune", "ms.csv", "-o", "ms.json", "--quiet", "--unit", "ms")
    assert (code, out.replace("ms.", "s."), err) == expected


def test_from_and_to_of_a_plot_have_the_unit(run: Run) -> None:
    cf.write_table(pl.from_pandas(table(1000 * STEP)), "ms.csv")
    ends = ["--from", "5000", "--to", "20000"]
    plot = ["plot", "ms.csv", "-o", "ms.svg", "--half-life", "60s"]
    assert run(*plot, "--unit", "ms", *ends)[0] == 0
    code, _, err = run(*plot, "--unit", "ms", "--from", "90000")
    assert code == 1
    assert "no row has a time from 90.0 to 55.0" in err


def lines(time: Any) -> bytes:
    rows = zip(time, PROBS.tolist(), strict=True)
    cells = ({"time": at, "p_walk": p, "p_sit": q} for at, (p, q) in rows)
    return "".join(json.dumps(row) + "\n" for row in cells).encode()


@pytest.mark.parametrize(
    ("time", "err"),
    [
        (NOW + STEP, ""),
        (
            1000 * (NOW + STEP),
            "classfilter: time is 1700000000000.0, which looks like milliseconds since 1970; give "
            "--unit ms, or --unit s if the numbers are right as they are\n",
        ),
        (
            1000 * STEP,
            "classfilter: time does not fit the filter: the median step is 5000, 83.3 half-lives "
            "(60); each row stands alone, so nothing is filtered: give a half-life in the unit of "
            "the times, or their unit: --unit ms\n",
        ),
    ],
)
def test_a_stream_of_lines(run: Run, time: Any, err: str) -> None:
    code, _, errors = run("stream", "--half-life", "60s", stdin=lines(time.tolist()))
    assert (code, errors) == (0, err)


def test_lines_of_another_unit(run: Run) -> None:
    s = lines(STEP.tolist())
    ms = lines([*map(int, 1000 * STEP[:6]), *(1000 * STEP[6:]).tolist()])
    options = ["stream", "--half-life", "60s"]
    _, expected, _ = run(*options, stdin=s)
    code, out, err = run(*options, "--unit", "ms", "--state", "state", stdin=ms)
    assert (code, err) == (0, "")
    estimates = [[json.loads(line)["f_walk"] for line in x.splitlines()] for x in (out, expected)]
    assert estimates[0] == estimates[1]
    code, _, err = run(*options, "--state", "state", stdin=s)
    assert code == 1
    assert "state was written with unit 'ms', but here it is 's'; give the same, or move" in err
