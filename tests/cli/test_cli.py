"""The command line: its results, its messages, and its exit codes."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import classfilter as cf
from conftest import Run

COMMAND = [sys.executable, "-m", "classfilter"]
OPTIONS = ["--beta", "weak=0.1", "--beta", "strong=1", "--half-life", "60s"]
BETA = {"weak": 0.1, "strong": 1.0}
COMMANDS = ["filter", "stream", "plot", "tune", "compare", "report", "export", "verify"]
COMMANDS += ["demo", "events"]


def day(hours: float = 0.1) -> cf.Rows:
    simulated = cf.simulate("capture24", seed=0, hours=hours)
    source, probs = simulated.mixed(every=12)
    return cf.rows(
        time=simulated.time,
        source=source,
        probs=probs,
        classes=simulated.classes,
        label=simulated.truth,
    )


@pytest.mark.parametrize("ending", ["csv", "parquet", "ndjson", "jsonl"])
def test_filter(run: Run, ending: str) -> None:
    rec = day()
    cf.write_table(rec.to_table(), f"day.{ending}")
    code, out, err = run("filter", f"day.{ending}", "-o", f"out.{ending}", *OPTIONS)
    assert (code, out) == (0, "")
    assert err.startswith(f"out.{ending}: 72 rows, streams: 1;")
    assert err.rstrip().endswith("rows per second")
    f = cf.DirichletFilter(rec.classes, half_life=60.0)
    want = f.run(rec.probs, np.where(rec.of_source("strong"), 1.0, 0.1), rec.dt)
    result = cf.read_table(f"out.{ending}")
    np.testing.assert_array_equal(
        result.select([f"f_{name}" for name in rec.classes]).to_numpy(), want
    )


def test_filter_with_a_file_of_settings(run: Run) -> None:
    rec = day()
    cf.write_table(rec.to_table(), "day.csv")
    f = cf.DirichletFilter(rec.classes[::-1], half_life=30.0, estimate="mean")
    cf.Pipeline(f, beta={"weak": 0.3, "strong": 1.0}).save("walk.json")
    assert run("filter", "day.csv", "-o", "out.csv", "--config", "walk.json", "--quiet") == (
        0,
        "",
        "",
    )
    names = [f"f_{name}" for name in rec.classes]
    result = cf.read_table("out.csv").select(names).to_numpy()
    np.testing.assert_array_equal(
        result, cf.Pipeline.of(f, beta={"weak": 0.3, "strong": 1.0}).run(rec)
    )
    # an option counts more than the file
    run("filter", "day.csv", "-o", "out.csv", "--config", "walk.json", "--beta", "weak=0.05")
    result = cf.read_table("out.csv").select(names).to_numpy()
    np.testing.assert_array_equal(
        result, cf.Pipeline.of(f, beta={"weak": 0.05, "strong": 1.0}).run(rec)
    )


@pytest.mark.parametrize(
    ("text", "half_life"),
    [
        ("60s", 60),
        ("60", 60),
        ("1m", 60),
        ("1.5min", 90),
        ("500ms", 0.5),
        ("2h", 7200),
        ("1d", 86400),
    ],
)
def test_durations(run: Run, text: str, half_life: float) -> None:
    rec = day(0.02)
    cf.write_table(rec.to_table(), "day.csv")
    assert run("filter", "day.csv", "-o", "out.csv", "--half-life", text)[0] == 0
    want = cf.Pipeline.of(cf.DirichletFilter(rec.classes, half_life=half_life)).run(rec)
    result = cf.read_table("out.csv").select([f"f_{name}" for name in rec.classes]).to_numpy()
    np.testing.assert_array_equal(result, want)


GOOD = "time,source,p_walk,p_sit\n" + "".join(f"{i},weak,0.5,0.5\n" for i in range(10))


@pytest.mark.parametrize("kept", [4, 100, 2000, -1])
def test_a_truncated_parquet_file(run: Run, kept: int) -> None:
    cf.write_table(day().to_table(), "day.parquet")
    Path("day.parquet").write_bytes(Path("day.parquet").read_bytes()[:kept])
    code, _, err = run("filter", "day.parquet", "-o", "out.csv", "--gamma", "0.9")
    assert code == 1
    assert "day.parquet cannot be read as .parquet" in err
    assert err.count("\n") == 1
    assert not Path("out.csv").exists()


@pytest.mark.parametrize("forbidden", ["in", "out"])
def test_no_permission(tmp_path: Path, forbidden: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    day_csv, out = folder / "day.csv", folder / "out.csv"
    day_csv.write_text(GOOD)
    closed = day_csv if forbidden == "in" else folder
    closed.chmod(0o000 if forbidden == "in" else 0o555)
    command = [*COMMAND, "filter", str(day_csv), "-o", str(out), "--gamma", "0.9"]
    if os.getuid() == 0:  # who may do all, unless that right is taken away
        command = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", *command]
    done = subprocess.run(command, capture_output=True, text=True)
    folder.chmod(0o777)
    denied = day_csv if forbidden == "in" else out
    assert done.returncode == 1
    assert done.stderr == f"classfilter: {denied}: Permission denied\n"
    assert [p.name for p in folder.iterdir()] == ["day.csv"]


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
@pytest.mark.parametrize("columns", ["80", "50"])
def test_help_has_an_example_to_copy(
    run: Run, command: list[str], columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    code, out, _ = run(*command, "--help")
    assert code == 0
    text, _, example = out.partition("\n  Example:\n")
    lines = example.replace("\\\n", "").splitlines()
    assert lines
    assert all(len(line) <= 80 for line in example.splitlines())
    for line in lines:
        words = shlex.split(line)
        at = words.index("classfilter")
        assert words[at + 1] in (command or COMMANDS)
        options = [word for word in words if word.startswith("-")]
        known = run(words[at + 1], "--help")[1] if not command else text
        assert all(f" {option}" in known or option == "-C" for option in options)


def test_help_lists_every_command_by_what_it_is_for(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    parts = re.split(r"^(Prepare|Run|Deploy):$", out, flags=re.MULTILINE)
    assert parts[1::2] == ["Prepare", "Run", "Deploy"]
    listed = [re.findall(r"^  (\w+)  ", part, re.MULTILINE) for part in parts[2::2]]
    assert listed[1] == ["filter", "events", "stream"]
    assert sorted(name for names in listed for name in names) == sorted(COMMANDS)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_filter_ends_at_a_signal_and_leaves_nothing(sent: signal.Signals, tmp_path: Path) -> None:
    rows = 3_000_000
    columns = {"time": np.arange(rows) * 1.0, "p_walk": np.full(rows, 0.5)}
    frame = pl.DataFrame(columns).with_columns(p_sit=pl.col("p_walk"))
    frame.write_parquet(tmp_path / "day.parquet")
    child = subprocess.Popen(
        [*COMMAND, "filter", "day.parquet", "-o", "out.parquet", "--gamma", "0.9"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    # It takes signals before it makes its draft; on a busy machine that may take a minute.
    while not list(tmp_path.glob(".out*")) and child.poll() is None:
        time.sleep(0.02)
    child.send_signal(sent)
    _, err = child.communicate()
    assert child.returncode == 128 + sent
    word = "interrupted" if sent == signal.SIGINT else "terminated"
    assert err.strip() == f"classfilter: {word}"
    assert [p.name for p in tmp_path.iterdir()] == ["day.parquet"]


def test_stream(tmp_path: Path) -> None:
    rec = day()
    names = [f"p_{name}" for name in rec.classes]
    lines = [
        json.dumps({"time": t, "source": s, **dict(zip(names, p, strict=True))})
        for t, s, p in zip(
            rec.time.tolist(), rec.source_names.tolist(), rec.probs.tolist(), strict=True
        )
    ]
    lines[3:3] = ["invalid"]
    command = [*COMMAND, "stream", *OPTIONS, "--state", "walk.state"]
    done = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 3
    assert done.stderr.startswith("line 4: ")
    f = cf.DirichletFilter(rec.classes, half_life=60.0)
    want = cf.Pipeline.of(f, beta=BETA).run(rec)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    got = [[result[f"f_{name}"] for name in rec.classes] for result in results]
    np.testing.assert_array_equal(got, want)
    again = subprocess.run(
        command, input="\n".join(lines[:3]), capture_output=True, text=True, cwd=tmp_path
    )
    assert (again.returncode, again.stdout) == (3, "")
    begins, *late = again.stderr.splitlines()
    assert begins == f"walk.state: 1 stream, {len(lines)} lines taken; give the lines after those"
    assert [line.partition(", the time")[0] for line in late] == [
        f"line {n}: time is {5.0 * (n - 1)}, before 355.0" for n in (1, 2, 3)
    ]
    other = [*COMMAND, "stream", "--half-life", "61s", "--state", "walk.state"]
    rejected = subprocess.run(other, input=lines[0], capture_output=True, text=True, cwd=tmp_path)
    assert rejected.returncode == 1
    assert rejected.stderr.startswith("classfilter: walk.state")
    assert rejected.stderr.count("\n") == 1


def test_stream_drops_streams(run: Run) -> None:
    """A stream that was dropped begins anew: its result is that of its first line."""
    probs = '"p_walk": 0.75, "p_sit": 0.25}'
    rows = ((0, "a"), (1, "b"), (200, "b"), (201, "c"), (202, "a"))
    lines = "".join(f'{{"time": {t}, "stream": "{name}", {probs}\n' for t, name in rows).encode()

    def last(*options: str) -> str:
        code, out, err = run("stream", "--gamma", "0.9", *options, stdin=lines)
        assert code == 0, err
        first, *_, end = out.splitlines()
        return "anew" if first.partition('"f_')[2] == end.partition('"f_')[2] else "on"

    assert last() == "on"
    assert last("--expire-after", "1m") == "anew"
    assert last("--expire-after", "1h") == "on"
    assert last("--max-streams", "2") == "anew"
    assert last("--max-streams", "3") == "on"


def test_stream_whose_reader_is_gone(tmp_path: Path) -> None:
    line = '{"time": 0, "p_walk": 0.5, "p_sit": 0.5}\n'
    child = subprocess.Popen(
        [*COMMAND, "stream", "--gamma", "0.9", "--state", "walk.state"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert child.stdout is not None
    child.stdout.close()
    child.stdout = None
    _, err = child.communicate(line.encode())
    assert (child.returncode, err) == (1, b"classfilter: the reader of the results is gone\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_plot(run: Run) -> None:
    rec = day()
    cf.write_table(rec.to_table(), "day.csv")
    assert run("plot", "day.csv", "-o", "raw.png", *OPTIONS) == (0, "", "")
    run("filter", "day.csv", "-o", "out.csv", *OPTIONS)
    assert run("plot", "out.csv", "-o", "out.png", *OPTIONS)[0] == 0
    # drawn from the columns f_<class>, or filtered again: the same picture
    assert Path("raw.png").read_bytes() == Path("out.png").read_bytes()
    assert Path("out.png").read_bytes().startswith(b"\x89PNG")
    assert run("plot", "out.csv", "-o", "out.svg", "--from", "60", "--to", "120")[0] == 0
    assert Path("out.svg").read_text().startswith("<?xml")


def test_plot_one_stream_of_several(run: Run) -> None:
    table = day().to_table()
    both = pl.concat([table.with_columns(stream=pl.lit(name)) for name in ("ann", "bob")])
    cf.write_table(both, "day.csv")
    assert run("plot", "day.csv", "-o", "out.png", "--stream", "bob", "--gamma", "0.9")[0] == 0


@pytest.mark.slow
def test_demo(run: Run) -> None:
    code, out, _ = run("demo", "-o", "demo.png", "--days", "1")
    assert code == 0
    assert "Hold last strong" in out
    assert Path("demo.png").stat().st_size > 10_000


def test_without_its_libraries(tmp_path: Path) -> None:
    body = "import sys; sys.modules['click'] = None; from classfilter.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        "classfilter: the command line needs click: pip install 'classfilter[cli]'\n"
    )
