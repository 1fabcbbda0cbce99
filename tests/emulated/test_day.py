"""The example with events of docs/embedded.md on emulated boards: it prints what the page has."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import classfilter as cf
from classfilter.embedded import export
from emulated.board import HERE, M0, M4F, STRICT, THRIFTY, Target, emulate, missing, symbols

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "examples/predictions.csv"
DAY = ROOT / "examples/firmware"
pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> tuple[cf.Pipeline, Path]:
    """Return the settings, and the folder with the export and the rows."""
    folder = tmp_path_factory.mktemp("day")
    tuned = cf.tune(pl.read_csv(TABLE), reference="strong", event_duration="8min")
    tuned.save(folder / "day.json")
    pipe = cf.load(folder / "day.json")
    export(pipe, folder)
    command = [sys.executable, str(DAY / "rows.py"), str(TABLE), "dee"]
    rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (folder / "rows.h").write_text(rows)
    return pipe, folder


def printed(folder: Path, target: Target) -> str:
    program = folder / f"{target.name}.elf"
    sources = [DAY / "day.c", HERE / "board.c", HERE / "newlib.c", folder / "src/classfilter.c"]
    command = ["arm-none-eabi-gcc", *target.cpu, *STRICT, *THRIFTY, "-Os"]
    command += [f"-I{folder}", f"-I{folder / 'src'}", f"-I{HERE}", "-nostartfiles"]
    command += ["--specs=nano.specs", "--specs=nosys.specs", "-Wl,--gc-sections"]
    command += [f"-T{HERE / 'board.ld'}", *map(str, sources), "-o", str(program)]
    subprocess.run(command, check=True)
    assert not [name for name in symbols(program) if name.startswith("__aeabi_d")]
    code, output = emulate(program, target)
    assert code == 0, output
    return output


@pytest.mark.parametrize("target", [M4F, M0], ids=lambda target: target.name)
def test_the_board_prints_what_the_page_has(
    firmware: tuple[cf.Pipeline, Path], target: Target
) -> None:
    page = (ROOT / "docs/embedded.md").read_text()
    shown = re.search(r"\$ \./run\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert shown is not None
    assert printed(firmware[1], target) == shown[1]


def _percent(event: Any) -> int:
    return int(100 * event.probability + 0.5)


def test_the_board_reports_the_events_of_python(firmware: tuple[cf.Pipeline, Path]) -> None:
    """Python has seconds and float64, so the bits differ; the events are the same."""
    pipe, folder = firmware
    stream = pl.read_csv(TABLE).filter(pl.col("stream") == "dee")
    tracker = cf.Tracker(pipe, events=True)
    for row in stream.iter_rows(named=True):
        probs = [row[f"p_{name}"] for name in pipe.classes]
        tracker.update("dee", row["time"], row["source"], probs)
    tracker.drop(["dee"])

    def clock(seconds: Any) -> str:
        return f"{8 + int(seconds) // 3600:02}:{int(seconds) // 60 % 60:02}"

    expected = [
        f"       {clock(e.start)} to {clock(e.end)}  {e.label}, {_percent(e)} %"
        for e in tracker.pop_events()
    ]
    lines = printed(folder, M4F).splitlines()
    assert [line for line in lines if line.startswith(" ")] == expected
    assert len(expected) > 8
