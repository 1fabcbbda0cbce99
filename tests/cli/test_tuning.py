"""The commands `tune` and `compare`: files that others take, tables, pictures, clear errors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import classfilter as cf
from commands import rejected
from conftest import Run

COMMAND = [sys.executable, "-m", "classfilter"]


@lru_cache
def plain_stream(seed: int) -> cf.Rows:
    return cf.simulate("plain", hours=1.0, seed=seed).rows()


def week(
    path: str, streams: int = 2, rows: int = 720, without: Sequence[str] = ()
) -> list[cf.Rows]:
    """Write some streams, without some columns."""
    recs = [plain_stream(seed) for seed in range(streams)]
    parts = [
        rec.to_table().head(rows).with_columns(stream=pl.lit(f"s{i}")) for i, rec in enumerate(recs)
    ]
    cf.write_table(pl.concat(parts).drop(without), path)
    return recs


# --- tune -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    ["auto", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("dirichlet", "sticky"))],
)
def test_tune_writes_settings_for_the_other_commands(run: Run, kind: str) -> None:
    recs = week("week.parquet")
    tuned = cf.tune(recs, kind, "strong")  # type: ignore[arg-type]
    arguments = ["--reference", "strong", "--filter", kind]
    following = "classfilter events week.parquet --config walk.json -o events.csv"
    expected_text = f"week.parquet   {tuned}\n\nSaved walk.json. Next: {following}\n"
    assert run("tune", "week.parquet", "-o", "walk.json", *arguments) == (0, expected_text, "")
    _, explained, _ = run("tune", "week.parquet", "-o", "walk.json", *arguments, "--explain")
    parts = expected_text.split("\n\n")
    assert explained == "\n\n".join([*parts[:2], tuned.tuning.explain(), parts[2]])
    read = cf.load("walk.json")
    assert read.beta == tuned.beta
    assert read.channel == tuned.channel
    expected = np.concatenate([tuned.run(rec) for rec in recs])

    settings = ["--config", "walk.json"]
    assert run("filter", "week.parquet", "-o", "out.parquet", *settings, "--quiet")[0] == 0
    names = [f"f_{name}" for name in recs[0].classes]
    got = cf.read_table("out.parquet").select(names).to_numpy()
    np.testing.assert_array_equal(got, expected)

    rows = cf.read_table("week.parquet").drop("label").head(30).to_dicts()
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    code, out, err = run("stream", *settings, stdin=lines.encode())
    assert (code, err) == (0, "")
    filtered = [[json.loads(line)[name] for name in names] for line in out.splitlines()]
    np.testing.assert_array_equal(filtered, expected[:30])

    picture = ["-o", "raw.png", "--stream", "s1", "--to", "600"]
    assert run("plot", "week.parquet", *picture, *settings) == (0, "", "")
    picture[1] = "out.png"
    assert run("plot", "out.parquet", *picture, *settings)[0] == 0
    assert Path("raw.png").read_bytes() == Path("out.png").read_bytes()


def test_tune_by_labels_with_rows_in_any_order(run: Run) -> None:
    recs = week("week.csv")
    tuned = cf.tune(recs, "sticky", labels=True)
    df = cf.read_table("week.csv")
    cf.write_table(df.sample(fraction=1.0, shuffle=True, seed=1), "mixed.csv")
    arguments = ["--filter", "sticky", "--labels", "--sort", "--quiet"]
    code, out, err = run("tune", "mixed.csv", "-o", "walk.json", *arguments)
    assert (code, err) == (0, "")
    assert re.search(r"^Chosen +using the labels$", out, re.MULTILINE)
    assert cf.load("walk.json").beta == tuned.beta
    assert "time" in rejected(run, "tune", "mixed.csv", "-o", "walk.json")


def test_tune_with_too_few_rows(run: Run) -> None:
    week("week.csv", streams=1, rows=100)
    code, out, err = run("tune", "week.csv", "-o", "walk.json")
    assert code == 0
    assert out.startswith("Filter   last prediction of 'strong'\n")
    assert err.startswith(
        "classfilter: there are 9 predictions of 'strong'; tuning needs at least 40"
    )
    assert err.count("\n") == 1
    assert cf.load("walk.json").beta == {"strong": 1.0, "weak": 0.5}


def test_tune_that_warns_still_prints_its_choice(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    week("week.parquet")
    monkeypatch.setattr(sys.modules["classfilter.tuning.tuner"], "agreement", lambda _: 0.0)
    code, out, err = run("tune", "week.parquet", "-o", "walk.json", "--filter", "sticky")
    assert code == 0
    assert err.startswith("classfilter: successive predictions of 'strong' agree hardly more")
    assert err.count("\n") == 1
    assert re.search(r"^Filter +sticky \(HMM\), estimated transitions", out, re.MULTILINE)


@pytest.mark.slow
def test_tune_for_a_rate_of_calls(run: Run) -> None:
    """The file has both sources at every time."""
    recs = [cf.simulate(hours=4.0, seed=seed).rows(every=None) for seed in range(3)]
    table = [rec.to_table().with_columns(stream=pl.lit(f"s{i}")) for i, rec in enumerate(recs)]
    cf.write_table(pl.concat(table), "both.parquet")
    arguments = ["both.parquet", "-o", "walk.json", "--reference", "strong"]
    code, out, err = run("tune", *arguments, "--every", "6", "--explain")
    assert (code, err) == (0, "")
    assert "For 'strong' at one step in 6, to which the recordings were thinned." in out
    assert cf.load("walk.json").beta == cf.tune(recs, reference="strong", every=6).beta
    code, out, err = run("tune", *arguments, "--explain")
    assert "For 'strong' at one step in 12, which was assumed" in out


def test_no_permission(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    week(str(tmp_path / "week.parquet"), streams=1, rows=100)
    folder.chmod(0o555)
    out = folder / "walk.json"
    command = [*COMMAND, "tune", str(tmp_path / "week.parquet"), "-o", str(out)]
    if os.getuid() == 0:  # who may do all, unless that right is taken away
        command = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", *command]
    done = subprocess.run(command, capture_output=True, text=True)
    folder.chmod(0o777)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"classfilter: {out}: Permission denied"
    assert not list(folder.iterdir())


# --- compare --------------------------------------------------------------------------------


def test_compare_prints_a_table_and_writes_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    recs = week("week.parquet")
    expected = cf.compare(recs, "strong")
    arguments = ["week.parquet", "--reference", "strong"]
    assert run("compare", *arguments) == (0, f"{expected}\n", "")
    for out in ("out.csv", "out.parquet"):
        assert run("compare", *arguments, "-o", out, "--quiet") == (0, f"{expected}\n", "")
        assert cf.read_table(out).equals(expected.to_table())
    timed = cf.compare(recs, "strong", events="5min")
    assert run("compare", *arguments, "--event-duration", "5min") == (0, f"{timed}\n", "")


@pytest.mark.slow
def test_compare_draws(run: Run) -> None:
    from matplotlib.image import imread

    week("week.parquet", without=["label"])
    for ending, start in [("png", b"\x89PNG"), ("PDF", b"%PDF"), ("svg", b"<?xml")]:
        code, out, err = run("compare", "week.parquet", "-o", f"out.{ending}")
        assert (code, err) == (0, "")
        assert "nothing here is accuracy" in " ".join(out.split())
        assert "accuracy (" not in out
        assert Path(f"out.{ending}").read_bytes().startswith(start)
    picture = imread("out.png")
    assert picture.shape[0] > 500
    assert picture.shape[1] == 1500
    assert np.ptp(picture[..., :3]) > 0.9  # from white to black


def test_compare_with_little_data(run: Run) -> None:
    week("week.csv", rows=240)
    code, out, err = run("compare", "week.csv")
    assert code == 0
    assert err.startswith(
        "classfilter: there are 20 predictions of 'strong'; tuning needs at least 40"
    )
    assert err.count("\n") == 1  # printed once
    assert out.startswith(" ")
    week("week.csv", rows=100)
    message = "week.csv: there are too few predictions of 'strong', or a source is in one"
    assert message in rejected(run, "compare", "week.csv", "-o", "out.csv")


def test_tune_takes_limits(run: Run) -> None:
    recs = week("week.parquet")
    limits = ["--max-switches-per-hour", "20", "--max-delay", "5min", "--quiet", "--explain"]
    code, out, err = run("tune", "week.parquet", "-o", "walk.json", *limits)
    assert (code, err) == (0, "")
    assert "It keeps to the limit, at most 20 switches per hour and a delay of at most 300 s" in out
    tuned = cf.tune(recs, max_switches_per_hour=20, max_delay=300)
    assert cf.load("walk.json").settings == tuned.settings


def test_tune_for_events_that_last_so_long(run: Run) -> None:
    recs = week("week.parquet")
    tune = ["tune", "week.parquet", "-o", "walk.json", "--quiet", "--reference", "strong"]
    tune += ["--filter", "sticky"]
    code, out, err = run(*tune, "--event-duration", "5min")
    assert (code, err) == (0, "")
    tuned = cf.tune(recs, "sticky", "strong", event_duration="5min")
    assert out.startswith(f"week.parquet   {tuned}\n")
    assert cf.load("walk.json").rule == tuned.rule
    assert run("events", "week.parquet", "-o", "e.csv", "--config", "walk.json")[0] == 0
    assert len(cf.read_events("e.csv")) == len(cf.events(recs, tuned))

    names = recs[0].classes
    each = [word for name in names for word in ("--event-duration", f"{name}=5min")]
    assert run(*tune, *each)[0] == 0
    assert set(cf.load("walk.json").rule.change_cost) == set(names)  # type: ignore[union-attr]
