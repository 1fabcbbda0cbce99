"""The example page reads what the command line reads, and computes the same bits from it.

Chromium runs in a zone with summer time: a time without a zone must not depend on it.
"""

from __future__ import annotations

import csv
import json
import math
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import classfilter as cf
from classfilter.embedded._json import to_json
from conftest import Run

ROOT = Path(__file__).parents[2]
T = 60
FORMATS = ["csv", "tsv", "json", "txt", "rttm", "TextGrid", "vtt"]
PROBS = ["p_walk", "p_sit", "p_sleep"]
FILTER = cf.DirichletFilter(["walk", "sit", "sleep"], half_life=3.0)


def table(**changed: Any) -> pl.DataFrame:
    """Rows of one classifier, and what is changed of them; None drops a column."""
    rng = np.random.default_rng(5)
    probs = rng.dirichlet([1.0, 1.0, 1.0], T)
    probs[np.arange(T), np.arange(T) // 20] += 0.5
    probs /= probs.sum(axis=1, keepdims=True)
    columns: dict[str, Any] = {"time": np.cumsum(rng.choice([0.5, 1.0, 2.0], T))}
    columns |= dict(zip(PROBS, probs.T, strict=True))
    return pl.DataFrame({k: v for k, v in (columns | changed).items() if v is not None})


def seconds() -> Any:
    """Dates over the hour that New York's clocks leave out."""
    start = pd.Timestamp("2024-03-10 06:59:45.250")
    return [start + pd.Timedelta(seconds=float(i)) for i in range(T)]


def labels() -> list[str | None]:
    names = np.array(["walk", "sit", "sleep"])[table()[PROBS].to_numpy().argmax(axis=1)]
    return [None if i % 7 == 3 else str(name) for i, name in enumerate(names)]


def text(df: pl.DataFrame, separator: str = ",") -> str:
    return df.write_csv(separator=separator)


def several() -> pl.DataFrame:
    df = table(
        stream=[f"0{i % 3}" for i in range(T)],
        source=["camera" if i % 4 else "watch, left" for i in range(T)],
    )
    missing = pl.Series([i % 11 == 5 for i in range(T)])
    return df.with_columns(pl.when(~missing).then(pl.col(PROBS)))


def iso(zone: str) -> list[str]:
    return [f"{at:%Y-%m-%dT%H:%M:%S.%f}{zone}" for at in seconds()]


def commas() -> str:
    return text(table(), ";").replace(".", ",")


def quoted() -> str:
    note = [f'say "{i}",\nthen' for i in range(T)]
    return text(table(note=note)).replace("\n", "\r\n").replace(",\r\nthen", ",\nthen")


def percent() -> pl.DataFrame:
    return table().with_columns(pl.col(PROBS) * 100)


def scores() -> pl.DataFrame:
    rng = np.random.default_rng(6)
    on = rng.random((T, 2)) * 0.4 + 0.6 * (np.arange(T)[:, None] // [15, 25] % 2)
    return pl.DataFrame({"time": range(T), "p_robin": on[:, 0], "p_wren": on[:, 1]})


def spans() -> pl.DataFrame:
    at = pl.Series(seconds())
    return table(time=at - at[0])


def zoned(zone: str) -> pl.DataFrame:
    return table(time=pl.Series(seconds()).dt.replace_time_zone("UTC").dt.convert_time_zone(zone))


SHUFFLED = np.random.default_rng(0).permutation(T).tolist()

CASES: dict[str, tuple[str, Callable[[], Any], dict[str, Any]]] = {
    "plain": ("rows.csv", table, {}),
    "several": ("rows.csv", several, {}),
    "semicolons": ("rows.csv", lambda: text(table(), ";"), {}),
    "commas": ("rows.csv", commas, {}),
    "bars": ("rows.csv", lambda: text(table(), "|"), {}),
    "tabs": ("rows.tsv", lambda: text(table(), "\t"), {}),
    "mark": ("rows.csv", lambda: "\ufeff" + text(table()), {}),
    "returns": ("rows.csv", lambda: text(table()).replace("\n", "\r"), {}),
    "quoted": ("rows.csv", quoted, {}),
    "spaces": ("rows.csv", lambda: text(table()).replace("\n0", "\n 0 "), {}),
    "gzip": ("rows.csv.gz", table, {}),
    "zstd": ("rows.tsv.zst", table, {}),
    "ndjson": ("rows.ndjson", several, {}),
    "jsonl": ("rows.jsonl.gz", lambda: table(time=iso("")), {}),
    "big numbers": ("rows.ndjson", lambda: table(n=[2**60 + i for i in range(T)]), {}),
    "parquet": ("rows.parquet", several, {}),
    "dates": ("rows.parquet", lambda: table(time=seconds()), {}),
    "zone": ("rows.parquet", lambda: zoned("Europe/Berlin"), {}),
    "spans": ("rows.parquet", spans, {}),
    "iso": ("rows.csv", lambda: table(time=iso("")), {}),
    "iso utc": ("rows.csv", lambda: table(time=iso("Z")), {}),
    "iso offset": ("rows.csv", lambda: table(time=iso("-05:00")), {}),
    "days": (
        "rows.csv",
        lambda: table(time=pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 2, 29), eager=True)),
        {},
    ),
    "milliseconds": (
        "rows.csv",
        lambda: table(time=[1714550400000 + 500 * i for i in range(T)]),
        {"unit": "ms"},
    ),
    "columns": (
        "rows.csv",
        lambda: table().rename({"time": "ts", "p_walk": "A", "p_sit": "B", "p_sleep": "C"}),
        {"columns": "time=ts, p_walk=A, p_sit=B, C=p_sleep"},
    ),
    "classes": (
        "rows.csv",
        lambda: table().rename({"p_walk": "walk", "p_sit": "sit", "p_sleep": "sleep"}),
        {"classes": "sit,walk,sleep"},
    ),
    "some classes": (
        "rows.csv",
        lambda: table(p_value=[0.2] * T),
        {"classes": "sleep,walk,sit"},
    ),
    "labels": ("rows.csv", lambda: table(**dict.fromkeys(PROBS), prediction=labels()), {}),
    "numbers": (
        "rows.csv",
        lambda: table(**dict.fromkeys(PROBS), prediction=[(i // 9) % 3 + 8 for i in range(T)]),
        {},
    ),
    "confidence": (
        "rows.csv",
        lambda: table(
            **dict.fromkeys(PROBS),
            prediction=labels(),
            confidence=[None if i % 5 == 0 else 50 + i % 50 for i in range(T)],
        ),
        {"scores": "percent"},
    ),
    "either": (
        "rows.ndjson",
        lambda: several().with_columns(prediction=pl.Series(labels())),
        {},
    ),
    "percent": ("rows.csv", percent, {"scores": "percent"}),
    "logits": ("rows.csv", lambda: table().with_columns(pl.col(PROBS).log()), {"scores": "logits"}),
    "independent": ("rows.csv", scores, {"independent": True}),
    "one score": ("rows.parquet", lambda: scores().drop("p_wren"), {"independent": True}),
    "independent percent": (
        "rows.csv",
        lambda: scores().with_columns(pl.col("p_robin", "p_wren") * 100),
        {"independent": True, "scores": "percent"},
    ),
    "any order": ("rows.csv", lambda: several()[SHUFFLED], {"sort": True}),
    "separator": (
        "rows.csv",
        lambda: text(table(), "|").replace("|p_sit|", "|p_sit;x|", 1),
        {"separator": "|", "columns": "p_sit=p_sit;x"},
    ),
    "filtered before": ("rows.csv", lambda: cf.filter_table(table(), FILTER), {}),
}
CONTROLS = {
    "several": {"weight:watch, left": "0.25", "kind": "sticky", "halfLife": "1"},
    "independent": {"changeCost": "35", "minDuration": "45"},
    "plain": {"changeCost": "30", "minDuration": "50", "floor": "-2"},
    "iso": {"changeCost": "40"},
    "one score": {"changeCost": "35"},
}


def tuned_chain() -> cf.Chain:
    """Settings as `tune` finds them, with a rule, weights and a channel."""
    channel = cf.Channel([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    rule = cf.EventRule({"walk": 3.0, "sit": 2.0, "sleep": 4.0}, min_duration=1.5, max_gap=20.0)
    return cf.Chain(
        cf.StickyFilter(["sleep", "walk", "sit"], half_life=7.0, prior=[0.5, 0.3, 0.2]),
        beta={"camera": 0.3, "watch, left": 0.9}, channel={"camera": channel}, rule=rule,
    )  # fmt: skip


def moves() -> cf.Chain:
    """Settings whose filter no slider shows, for rows of one source."""
    rows = [[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.05, 0.05, 0.9]]
    f = cf.StickyFilter(["walk", "sit", "sleep"], transitions=rows, floor=0.01)
    return cf.Chain(f, rule=cf.EventRule(2.0))


def birds() -> cf.Chain:
    """Settings of two labels that differ."""
    filters = {"robin": cf.StickyFilter(2, half_life=4.0), "wren": cf.DirichletFilter(2, gamma=0.7)}
    f = cf.MultiLabelFilter(["robin", "wren"], filters)
    return cf.Chain(f, rule=cf.EventRule({"robin": 2.0, "wren": 1.0}))


CHAINS = {"tuned": (several, tuned_chain), "moves": (table, moves), "birds": (scores, birds)}
CASES |= {name: ("rows.csv", rows, {}) for name, (rows, _) in CHAINS.items()}

REFUSED: dict[str, tuple[str, Callable[[], Any], dict[str, Any], str]] = {
    "latin1": ("rows.csv", lambda: text(table(note=["é"] * T)).encode("latin1"), {}, "iconv"),
    "utf16": ("rows.csv", lambda: text(table()).encode("utf-16"), {}, "iconv -f UTF-16"),
    "twice": ("rows.csv", lambda: "time,p_a,p_a\n0,0.5,0.5\n", {}, "rename them, or keep one"),
    "no time": ("rows.csv", lambda: text(table().rename({"time": "Time"})), {}, "time=COLUMN"),
    "no classes": ("rows.csv", lambda: "time,x\n0,1\n", {}, "p_walk=COLUMN"),
    "one class": ("rows.csv", lambda: "time,p_x\n0,1\n", {}, "Several may be true"),
    "text": ("rows.csv", lambda: "time,p_a,p_b\n0,0.5,x\n", {}, "it must hold numbers"),
    "number text": ("rows.ndjson", lambda: '{"time":0,"p_a":"0.5","p_b":0.5}\n', {}, "numbers"),
    "sum": ("rows.csv", lambda: "time,p_a,p_b\n0,0.5,0.9\n", {}, "Several may be true"),
    "percentages": ("rows.csv", lambda: text(percent()), {}, "choose \"Scores\": percentages"),
    "negative": ("rows.csv", lambda: "time,p_a,p_b\n0,-1.5,0.9\n", {}, '"Scores": logits'),
    "some": ("rows.csv", lambda: "time,p_a,p_b\n0,,0.9\n", {}, "missing observation"),
    "back": ("rows.csv", lambda: "time,p_a,p_b\n1,0,1\n0,0,1\n", {}, "any order of time"),
    "blank line": ("rows.csv", lambda: "time,p_a,p_b\n1,0,1\n\n", {}, "leave the row out"),
    "date": ("rows.csv", lambda: "time,p_a,p_b\n2024-02-30,0,1\n", {}, "ISO 8601"),
    "time of day": ("rows.csv", lambda: "time,p_a,p_b\n08:00:00,0,1\n", {}, "ISO 8601"),
    "cells": ("rows.csv", lambda: "time,p_a,p_b\n1,0,1,2\n", {}, "quote a cell"),
    "marks": ("rows.csv", lambda: "time;p_a;p_b\n1;0.5;0,5\n", {}, "in one way"),
    "stream": ("rows.csv", lambda: "time,stream,p_a,p_b\n1,,0,1\n", {}, "fill it in"),
    "source": ("rows.csv", lambda: "time,source,p_a,p_b\n1,,0,1\n", {}, "fill it in"),
    "class": ("rows.csv", lambda: "time,prediction\n1,a\n2,a\n", {}, '"Classes"'),
    "unknown": ("rows.csv", lambda: "time,prediction\n1,a\n2,b\n", {"classes": "a,c"}, "a name"),
    "json": ("rows.ndjson", lambda: '{"time":0}\n[1]\n', {}, "one object per line"),
    "suffix": ("rows.xlsx", lambda: b"PK", {}, "save the table as CSV"),
    "cut off": ("rows.parquet", lambda: b"PAR1", {}, "cannot be read as .parquet"),
}  # fmt: skip


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, pl.DataFrame):
        cf.write_table(content, path)
    elif isinstance(content, str):
        path.write_bytes(content.encode())
    else:
        path.write_bytes(content)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """Return what the page said of each file, and the folder of the downloads."""
    if not (ROOT / "js/node_modules").exists():
        pytest.skip("there is no Playwright; make js/node_modules installs it")
    folder = tmp_path_factory.mktemp("files")
    cases: dict[str, Any] = {}
    for name, (file, content, form, *_) in (CASES | REFUSED).items():
        write(folder / name / file, content())
        formats = FORMATS if name in ("plain", "iso") else ["csv"]
        cases[name] = {
            "files": [f"{name}/{file}"], "form": form, "controls": CONTROLS.get(name),
            "downloads": formats,
        }  # fmt: skip
    for name, (_, chain) in CHAINS.items():
        chain().save(folder / name / "given.toml")
        (folder / name / "given.json").write_text(to_json(chain()))
        given = "given.json" if name == "moves" else "given.toml"  # TOML has no rates of moves
        cases[name]["files"].append(f"{name}/{given}")
    write(folder / "gzipped/rows.parquet", b"")
    table().write_parquet(folder / "gzipped/rows.parquet", compression="gzip")
    cases["gzipped"] = {"files": ["gzipped/rows.parquet"]}
    process = subprocess.run(
        ["node", str(ROOT / "tests/js/use_page.mjs"), str(folder)],
        input=json.dumps(cases), capture_output=True, text=True,
        env={**os.environ, "TZ": "America/New_York"},
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    told = json.loads(process.stdout)
    assert told["messages"] == []
    return told["results"], folder


def commands(said: dict[str, Any]) -> list[list[str]]:
    """The commands that the page shows, without their name."""
    return [shlex.split(line)[1:] for line in said["command"].splitlines()]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def same(one: str, other: str) -> bool:
    """Whether two cells are the same text, or the same number to the bit."""
    try:
        return one == other or float(one) == float(other)
    except ValueError:
        return False


@pytest.mark.parametrize("name", CASES)
def test_the_command_that_the_page_shows_gives_the_same(
    name: str, page: tuple[dict[str, Any], Path], run: Run
) -> None:
    said, folder = page[0][name], page[1] / name
    assert said["message"] == ""
    for path in folder.iterdir():
        shutil.copy(path, path.name)
    for command in commands(said):
        code, _, err = run(*command, "--quiet")
        assert code == 0, err
    if Path("filtered.parquet").exists():  # what CSV cannot hold, spans of time, is left out
        cf.write_table(cf.read_table("filtered.parquet").drop("time"), "filtered.csv")
    ours, theirs = rows_of(Path("page-filtered.csv")), rows_of(Path("filtered.csv"))
    assert [*ours[0]][len(ours[0]) - len(theirs[0]) :] == [*theirs[0]]
    assert len(ours) == len(theirs) == T
    for got, expected in zip(ours, theirs, strict=True):
        for column, cell in expected.items():
            if name == "logits" and column.startswith("f_"):  # the exponential of NumPy
                assert math.isclose(float(got[column]), float(cell), rel_tol=1e-12, abs_tol=1e-15)
            else:
                assert same(got[column], cell), (column, got, expected)
    ours, theirs = rows_of(Path("page-events.csv")), rows_of(Path("events.csv"))
    if name != "logits":
        assert Path("page-events.csv").read_bytes() == Path("events.csv").read_bytes()
    assert 0 < len(ours) == len(theirs)
    for path in Path().glob("page-events.*"):
        if path.suffix == ".csv":
            continue
        out = path.name.removeprefix("page-")
        start = ["--start", iso("")[0]] if name == "iso" and path.suffix != ".json" else []
        code, _, err = run(*commands(said)[1][:-1], out, "--quiet", *start)
        assert code == 0, err
        assert path.read_bytes() == Path(out).read_bytes()


@pytest.mark.parametrize("name", CHAINS)
def test_settings_that_were_dropped_are_saved_as_they_were(
    name: str, page: tuple[dict[str, Any], Path]
) -> None:
    saved, given = (page[1] / name / file for file in ("settings.toml", "given.toml"))
    if name == "moves":
        assert to_json(cf.load(saved)) == to_json(cf.load(given))
    else:
        assert saved.read_bytes() == given.read_bytes()


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_command_refuses_the_page_refuses_with_a_remedy(
    name: str, page: tuple[dict[str, Any], Path], run: Run
) -> None:
    file, _, form, remedy = REFUSED[name]
    said = page[0][name]
    assert remedy in said["message"]
    options = [f"--classes={form['classes']}"] if form else []
    code, _, err = run("filter", str(page[1] / name / file), "-o", "out.csv", *options)
    assert code == 1, err


def test_a_kind_that_only_the_command_reads(page: tuple[dict[str, Any], Path], run: Run) -> None:
    message = page[0]["gzipped"]["message"]
    assert message.endswith("write it as CSV: classfilter filter rows.parquet -o rows.csv")
    shutil.copy(page[1] / "gzipped/rows.parquet", "rows.parquet")
    code, _, err = run(*shlex.split(message.partition("classfilter ")[2]), "--quiet")
    assert code == 0, err


def test_weights_are_shown_for_several_sources_only(page: tuple[dict[str, Any], Path]) -> None:
    assert page[0]["several"]["visible"]
    assert not page[0]["plain"]["visible"]
