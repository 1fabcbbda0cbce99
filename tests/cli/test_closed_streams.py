"""Standard input, output or error that a parent process has closed, or that cannot be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LINES = b'{"time":5,"p_a":0.8,"p_b":0.2}\nbad\n'
DAY = b"time,p_a,p_b\n0,0.9,0.1\n5,0.4,0.6\n"
STREAM = ("stream", "--half-life=60")
FILTER = ("filter", "-", "-o", "-", "--half-life=60", "--quiet")


def run(
    arguments: tuple[str, ...], given: bytes, closed: str
) -> subprocess.CompletedProcess[bytes]:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "classfilter"]
    return subprocess.run([*command, *arguments], input=given, capture_output=True, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "given", "closed", "name"),
    [
        (STREAM, LINES, "<&-", "input"),
        pytest.param(STREAM, LINES, ">&-", "output", marks=pytest.mark.slow),
        pytest.param(FILTER, DAY, "<&-", "input", marks=pytest.mark.slow),
        pytest.param(FILTER, DAY, ">&-", "output", marks=pytest.mark.slow),
    ],
)
def test_what_is_needed_must_be_open(
    arguments: tuple[str, ...], given: bytes, closed: str, name: str, tmp_path: Path
) -> None:
    state = (f"--state={tmp_path / 'state'}",) if arguments is STREAM else ()
    done = run((*arguments, *state), given, closed)
    text = f"classfilter: standard {name} is closed; open it, or give a file\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", text)
    assert not (tmp_path / "state").exists()


@pytest.mark.slow
@pytest.mark.parametrize("error", ["2>&-", "2>/dev/full"])
def test_messages_that_cannot_be_written_change_no_result(error: str) -> None:
    if "full" in error and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    done = run(STREAM, LINES + LINES.replace(b"5", b"9"), error)
    assert done.returncode == 3
    assert [line[:9] for line in done.stdout.splitlines()] == [b'{"time":5', b'{"time":9']
