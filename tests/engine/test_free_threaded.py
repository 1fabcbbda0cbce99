"""The tests of threads once more, in a Python without the GIL."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from source import copy_source

ROOT = Path(__file__).parents[2]
PYTHON = (
    os.environ.get("FREE_THREADED_PYTHON")
    or shutil.which("python3.14t")
    or shutil.which("python3.13t")
)
NEEDED = "numpy, setuptools, hypothesis, pytest"
TESTS = (
    "tests/engine/test_bank_threads.py",
    "tests/engine/test_tracker.py::test_threads_share_a_tracker",
)


def test_the_tests_are_there() -> None:
    """Where no such Python is, nothing else would tell."""
    for test in TESTS:
        path, _, name = test.partition("::")
        assert not name or f"def {name}(" in (ROOT / path).read_text()
        assert (ROOT / path).exists()


@pytest.mark.slow
@pytest.mark.skipif(
    PYTHON is None, reason="no python3.14t or python3.13t; FREE_THREADED_PYTHON may name one"
)
def test_threads_without_the_gil(tmp_path: Path) -> None:
    """The extension leaves the GIL off, without a warning, and every promise holds."""
    assert PYTHON is not None
    if subprocess.run([PYTHON, "-c", f"import {NEEDED}"], capture_output=True).returncode:
        pytest.skip(f"{PYTHON} lacks one of {NEEDED}")
    copy_source(tmp_path)
    shutil.copytree(ROOT / "tests", tmp_path / "tests")
    shutil.copy(ROOT / "conftest.py", tmp_path)
    variables = {**os.environ, "CFLAGS": "-DCF_ONE_TARGET", "PYTHONPATH": str(tmp_path / "src")}
    variables.pop("PYTHON_GIL", None)

    def python(*arguments: str) -> str:
        command = [str(PYTHON), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    python("setup.py", "-q", "build_ext", "--inplace")
    python("-W", "error", "-c", "import sys, classfilter._core; assert not sys._is_gil_enabled()")
    assert " passed" in python("-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS)
