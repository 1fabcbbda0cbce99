"""Commands that fail: what they print and leave behind."""

from __future__ import annotations

from pathlib import Path

from conftest import Run


def rejected(run: Run, *arguments: str) -> str:
    """Return the one line of error; no file is written or changed."""
    before = {path.name: path.stat() for path in Path().iterdir()}
    code, _, err = run(*arguments)
    assert code == 1, err
    assert err.startswith("classfilter: ")
    assert err.count("\n") == 1
    assert {path.name: path.stat().st_mtime_ns for path in Path().iterdir()} == {
        name: stat.st_mtime_ns for name, stat in before.items()
    }
    return err
