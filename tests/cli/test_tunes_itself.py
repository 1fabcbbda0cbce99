"""Commands without settings: they tune by themselves, as `tune` does, or ask for settings."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import polars as pl
import pytest

import classfilter as cf
from commands import rejected
from conftest import Run

EVENTS = ["events", "week.csv", "-o", "events.csv"]


@pytest.fixture(autouse=True)
def files(run: Run) -> None:
    cf.write_table(week(), "week.csv")


@lru_cache
def week() -> pl.DataFrame:
    recs = [cf.simulate("plain", hours=1.0, seed=seed).rows() for seed in range(2)]
    parts: list[pl.DataFrame] = [
        rec.to_table().with_columns(stream=pl.lit(f"s{i}")) for i, rec in enumerate(recs)
    ]
    return pl.concat(parts)


@lru_cache
def settings(event_duration: str | None = None) -> cf.Pipeline:
    return cf.tune(week(), event_duration=event_duration)


def test_one_command_to_events(run: Run) -> None:
    code, out, err = run(*EVENTS, "--event-duration", "5min")
    assert (code, out) == (0, "")
    found = cf.events(week(), settings("5min"))
    assert err.splitlines()[0].startswith("classfilter: tuned without labels: sticky (HMM), ")
    assert err.splitlines()[1:] == [f"events.csv: {len(found)} events"]
    cf.write_events(found, "expected.csv")
    assert Path("events.csv").read_bytes() == Path("expected.csv").read_bytes()
    assert run(*EVENTS, "--event-duration", "5min", "--smooth", "--quiet") == (0, "", "")
    smoothed = cf.events(week(), settings("5min"), smooth=True)
    assert len(cf.read_events("events.csv")) == len(smoothed)
    longer = ["--event-duration", "5min", "--min-duration", "2min", "--reference", "strong"]
    assert run(*EVENTS, *longer)[0] == 0
    assert all((event.duration or 0) >= 120 for event in cf.read_events("events.csv"))


def test_the_report_has_as_many_events(run: Run) -> None:
    page = ["report", "week.csv", "-o", "page.html", "--event-duration", "5min"]
    assert run(*page, "--quiet") == (0, "page.html: open it in a browser\n", "")
    (shown,) = re.findall(r"<dt>Events</dt><dd><span>(\d+)</span>", Path("page.html").read_text())
    assert int(shown) == len(cf.events(week(), settings("5min")))


def test_events_without_any_option(run: Run) -> None:
    code, _, err = run(*EVENTS)
    assert code == 0
    assert "say how long an event lasts: --event-duration 5min" in err
    assert len(cf.read_events("events.csv")) == len(cf.events(week(), settings()))
    _, _, err = run(*EVENTS, "--change-cost", "30s")
    assert "--event-duration" not in err
    rule = cf.EventRule("30s")
    assert len(cf.read_events("events.csv")) == len(cf.events(week(), settings(), rule))


def test_filter_and_plot_use_what_tune_finds(run: Run) -> None:
    settings().save("tuned.json")
    code, _, err = run("filter", "week.csv", "-o", "alone.csv")
    assert code == 0
    note, summary = err.splitlines()
    assert note.startswith("classfilter: tuned without labels: sticky (HMM), ")
    assert summary.startswith("alone.csv: 1,440 rows, streams: 2;")
    assert run("filter", "week.csv", "-o", "told.csv", "--config", "tuned.json", "--quiet")[2] == ""
    assert Path("alone.csv").read_bytes() == Path("told.csv").read_bytes()
    assert run("filter", "week.csv", "-o", "quiet.csv", "--quiet") == (0, "", "")
    for name, options in {"alone": [], "told": ["--config", "tuned.json"]}.items():
        assert run("plot", "week.csv", "-o", f"{name}.png", "--stream", "s1", *options)[0] == 0
    assert Path("alone.png").read_bytes() == Path("told.png").read_bytes()


def test_labels_that_may_be_true_at_once(run: Run) -> None:
    scores = week().select("time", "stream", pl.col("p_class 0", "p_class 1"), "source")
    cf.write_table(scores, "week.csv")
    code, _, err = run("filter", "week.csv", "-o", "out.csv", "--scores", "independent")
    assert code == 0, err
    assert "; one for each of 2 labels\n" in err
    assert cf.read_table("out.csv").columns[-3:] == ["f_class 0", "f_class 1", "labels"]


@pytest.mark.parametrize("command", ["filter", "events", "plot"])
def test_where_it_cannot_tune_it_asks(run: Run, command: str) -> None:
    cf.write_table(week().head(200), "week.csv")
    err = rejected(run, command, "week.csv", "-o", "out.png" if command == "plot" else "out.csv")
    said = "too few predictions to tune a filter on: 17 of 'strong'; give its settings"
    assert said in err
    assert err.startswith("classfilter: week.csv: ")
    assert "--half-life 60s or --config FILE, or more rows" in err


def test_many_rows_are_not_tuned_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classfilter.cli.MAX_TUNED", 1000)
    err = rejected(run, "filter", "week.csv", "-o", "out.csv")
    assert "week.csv: there are more than 1,000 rows" in err
    assert "run classfilter tune on some of the streams, and give --config" in err
    assert run("filter", "week.csv", "-o", "out.csv", "--gamma", "0.9")[0] == 0


def test_two_sources_alike_need_no_reference(run: Run) -> None:
    names = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("left")).otherwise(pl.lit("right"))
    cf.write_table(week().with_columns(source=names), "week.csv")
    for command, out in (("filter", "out.csv"), ("events", "out.csv"), ("report", "out.html")):
        assert run(command, "week.csv", "-o", out, "--quiet")[0] == 0
        assert run(command, "week.csv", "-o", out, "--reference", "left", "--quiet")[0] == 0


def test_rows_that_are_filtered_are_taken_unless_it_shall_tune(run: Run) -> None:
    assert run("filter", "week.csv", "-o", "out.csv", "--gamma", "0", "--quiet")[0] == 0
    of_filtered = ["events", "out.csv", "-o", "events.csv"]
    assert "there is no rule for events" in run(*of_filtered)[2]
    assert "tuned" not in run(*of_filtered, "--change-cost", "30s")[2]
    assert "tuned" in run(*of_filtered, "--event-duration", "5min")[2]
    assert len(cf.read_events("events.csv")) == len(cf.events(week(), settings("5min")))
