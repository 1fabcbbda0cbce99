"""No command replaces what it reads, whatever name leads to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import classfilter as cf
from commands import rejected
from conftest import Run

DAY = "time,p_walk,p_sit\n" + "".join(f"{i},0.{i % 8 + 1},0.{9 - i % 8}\n" for i in range(60))
CSV = ["--format", "csv"]
MEMORY = ["--half-life", "60s"]
RULE = ["--change-cost", "5s"]
COMMANDS = {
    "filter": ("day.csv", MEMORY),
    "events": ("day.csv", [*MEMORY, *RULE]),
    "plot": ("day.png", [*CSV, *MEMORY]),
    "tune": ("day.json", CSV),
    "compare": ("day.csv", []),
    "report": ("day.html", CSV),
}


@pytest.mark.parametrize("link", ["same", "relative", "symbolic", "hard"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_table_is_not_replaced(run: Run, command: str, link: str) -> None:
    name, options = COMMANDS[command]
    day = Path(name)
    day.write_text(DAY)
    out = {"same": name, "relative": f"../{Path.cwd().name}/{name}"}.get(link, f"other{day.suffix}")
    if link == "symbolic":
        Path(out).symlink_to(day)
    if link == "hard":
        os.link(day, out)
    err = rejected(run, command, name, "-o", out, *options)
    assert err.endswith(f"-o is {out!r}; it is the input as well: write to another file\n")
    assert day.read_text() == DAY


@pytest.mark.parametrize(
    ("option", "arguments"),
    [
        ("-o", ["filter", "-", *MEMORY]),
        ("--state", ["stream", *MEMORY]),
        ("--events", ["stream", *MEMORY, *RULE]),
    ],
)
def test_standard_input_from_a_file_is_not_replaced(
    tmp_path: Path, option: str, arguments: list[str]
) -> None:
    day = tmp_path / "day.csv"
    day.write_text(DAY)
    command = [sys.executable, "-m", "classfilter", *arguments, option, str(day)]
    with day.open("rb") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, text=True)
    said = f"classfilter: {option} is {str(day)!r}; it is the input as well: write to another file"
    assert (done.returncode, done.stderr) == (1, f"{said}\n")
    assert day.read_text() == DAY


@pytest.mark.parametrize(
    ("option", "arguments"),
    [
        ("-o", ["filter", "day.csv", "--config", "walk.csv"]),
        ("--state", ["stream", "--config", "walk.csv"]),
        ("--events", ["stream", "--config", "walk.csv", *RULE]),
    ],
)
def test_settings_are_not_replaced(run: Run, option: str, arguments: list[str]) -> None:
    Path("day.csv").write_text(DAY)
    cf.Pipeline(cf.DirichletFilter(["walk", "sit"], half_life=60.0)).save("walk.csv")
    err = rejected(run, *arguments, option, "walk.csv")
    assert err.endswith(f"{option} is 'walk.csv'; it is the input as well: write to another file\n")


def test_python_does_not_replace_a_file_either(tmp_path: Path) -> None:
    day = tmp_path / "day.csv"
    day.write_text(DAY)
    f = cf.DirichletFilter(["walk", "sit"], half_life=60.0)
    with pytest.raises(cf.ArgumentError, match="out"):
        cf.filter_file(str(day), day, f)
    assert day.read_text() == DAY
