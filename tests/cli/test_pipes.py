"""Standard input and output, pipes, kinds and separators on the command line."""

from __future__ import annotations

import gzip
import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import classfilter as cf
from commands import rejected
from conftest import Run

DAY = b"time;p_a;p_b\n0;0,9;0,1\n5;0,4;0,6\n"
OPTIONS = ["--half-life", "60s", "--quiet"]
AB = cf.DirichletFilter(["a", "b"], half_life=60.0)


def expected() -> list[float]:
    df = pl.DataFrame({"time": [0, 5], "p_a": [0.9, 0.4], "p_b": [0.1, 0.6]})
    return list(cf.filter_table(df, AB)["f_a"])


def piped(data: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "classfilter", *arguments]
    return subprocess.run(command, input=data, capture_output=True, timeout=60, check=False)


def test_standard_input_and_output() -> None:
    done = piped(DAY, "filter", "-", "-o", "-", *OPTIONS)
    assert (done.returncode, done.stderr) == (0, b"")
    assert pd.read_csv(io.BytesIO(done.stdout))["f_a"].tolist() == expected()
    done = piped(gzip.compress(DAY), "filter", "/dev/stdin", "-o", "/dev/stdout", *OPTIONS)
    assert pd.read_csv(io.BytesIO(done.stdout))["f_a"].tolist() == expected()


@pytest.mark.slow
def test_standard_input_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "day").write_bytes(DAY)
    command = [sys.executable, "-m", "classfilter", "filter", "/dev/stdin", "-o", "-", *OPTIONS]
    with (tmp_path / "day").open("rb") as day:
        done = subprocess.run(command, stdin=day, capture_output=True, timeout=60, check=True)
    assert pd.read_csv(io.BytesIO(done.stdout))["f_a"].tolist() == expected()


def test_an_error_names_standard_input() -> None:
    done = piped(b"time,p_a,p_b\n0,0.5,0.9\n", "filter", "-", "-o", "-", *OPTIONS)
    assert (done.returncode, done.stdout) == (1, b"")
    start = b"classfilter: standard input: probs in row 0 (line 2) sums to 1.4"
    assert done.stderr.startswith(start)


@pytest.mark.slow
def test_a_reader_that_is_gone(tmp_path: Path) -> None:
    day = tmp_path / "day.csv"
    day.write_text("time,p_a,p_b\n" + "0,0.5,0.5\n" * 200_000)
    command = [sys.executable, "-m", "classfilter", "filter", str(day), "-o", "-", *OPTIONS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        message = process.stderr.read()
    assert process.returncode == 1
    assert message.startswith(b"classfilter: standard output cannot be written: ")


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "ndjson"])
def test_a_kind_for_files_whose_suffix_does_not_tell(kind: str, run: Run) -> None:
    cf.write_table(pl.read_csv(DAY, separator=";", decimal_comma=True), f"day.{kind}")
    Path(f"day.{kind}").rename("day.dat")
    assert "or give --format" in rejected(run, "filter", "day.dat", "-o", "out.csv")
    code, _, err = run("filter", "day.dat", "-o", "out.dat", "--format", kind, *OPTIONS)
    assert code == 0, err
    Path("out.dat").rename(f"out.{kind}")
    assert cf.read_table(f"out.{kind}")["f_a"].to_list() == expected()


def test_a_pipe_is_read_by_its_name(run: Run) -> None:
    os.mkfifo("day")
    with subprocess.Popen(["sh", "-c", "cat > day"], stdin=subprocess.PIPE) as writer:
        assert writer.stdin is not None
        writer.stdin.write(DAY)
        writer.stdin.close()
        code, _, err = run("filter", "day", "-o", "out.csv", *OPTIONS)
    assert (code, err) == (0, "")
    assert cf.read_table("out.csv")["f_a"].to_list() == expected()


def test_a_separator_is_said(run: Run) -> None:
    Path("day.csv").write_text("time,p_b,p_a;time\n0,0.5,0.5\n")
    assert run("filter", "day.csv", "-o", "out.csv", "--separator", "comma", *OPTIONS)[0] == 0
    assert cf.read_table("out.csv", separator=",")["f_a;time"].to_list() == [0.5]


@pytest.mark.slow
def test_other_commands_read_standard_input() -> None:
    table = cf.simulate("plain", seed=0, hours=2.0).rows().to_table()
    data = table.write_csv(separator=";").replace(".", ",").encode()
    done = piped(data, "compare", "-", "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().strip() == cf.compare(table).text(80).strip()


@pytest.mark.parametrize(
    ("arguments", "classes"),
    [
        (["--classes", "walk,sit", "--gamma", "0.9"], ["walk", "sit"]),
        (["--config", "walk.json"], ["walk", "sit"]),
    ],
)
def test_columns_named_as_the_classes(arguments: list[str], classes: list[str], run: Run) -> None:
    cf.Pipeline(cf.DirichletFilter(classes)).save("walk.json")
    Path("day.csv").write_text("ts,walk,sit\n0,0.9,0.1\n5,0.4,0.6\n")
    code, _, err = run("filter", "day.csv", "-o", "out.csv", "--columns", "ts=time", *arguments)
    assert code == 0, err
    plain = pl.DataFrame({"time": [0, 5], "p_walk": [0.9, 0.4], "p_sit": [0.1, 0.6]})
    results = cf.filter_table(plain, cf.DirichletFilter(classes))
    assert cf.read_table("out.csv")["f_walk"].to_list() == results["f_walk"].to_list()
    message = rejected(run, "filter", "day.csv", "-o", "out.csv", "--columns", "ts=time")
    assert "name them, --columns p_walk=COLUMN or" in message
    assert "have the names of the classes, give --classes walk,..." in message


def test_states_are_private_and_tables_are_not(run: Run) -> None:
    old = os.umask(0o022)
    try:
        Path("day.csv").write_bytes(DAY)
        cf.Tracker(AB).save("all.state")
        assert run("filter", "day.csv", "-o", "out.csv", *OPTIONS)[0] == 0
    finally:
        os.umask(old)
    assert stat.S_IMODE(Path("out.csv").stat().st_mode) == 0o644
    assert stat.S_IMODE(Path("all.state").stat().st_mode) == 0o600


@pytest.mark.slow
def test_completion_of_the_command_line() -> None:
    """As the shell asks for it; `docs/quickstart.md` says how to turn it on."""
    question = {"COMP_WORDS": "classfilter com", "COMP_CWORD": "1"}
    environment = os.environ | question | {"_CLASSFILTER_COMPLETE": "bash_complete"}
    code = "import sys; from classfilter.cli import main; sys.argv = ['classfilter']; main()"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "plain,compare\n"
