"""The documentation's console blocks: each command, and what it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [path for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))) if path.exists()]


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```console\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


def commands(block: str) -> list[tuple[str, str]]:
    """Return each command of a block, and the output that follows it."""
    found = re.findall(r"^\$ (.*(?:\n> .*)*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    return [(command.replace("\n> ", "\n"), output) for command, output in found]


def test_commands_are_found() -> None:
    block = "$ cat << END\n> a\n> END\na\n$ true\n$ echo b\nb\n"
    assert commands(block) == [("cat << END\na\nEND", "a\n"), ("true", ""), ("echo b", "b\n")]
    assert sum(len(blocks(page)) for page in PAGES) >= 6


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name
)
def test_console(page: Path, tmp_path: Path) -> None:
    """The blocks of a page run in turn, in one folder and one shell."""
    told = [pair for block in blocks(page) for pair in commands(block)]
    marked = "".join(f"{command}\nset -- $?; echo '=='; (exit $1)\n" for command, _ in told)
    bin_folder = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "-c", marked],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"},
    )
    outputs = done.stdout.split("==\n")[:-1]
    assert list(zip([command for command, _ in told], outputs, strict=True)) == told
