"""The program that runs threads with sanitizers, for a moment."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_threads_with_sanitizers() -> None:
    program = Path(__file__).with_name("sanitized.py")
    done = subprocess.run(
        [sys.executable, str(program), "3"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "nothing torn, nothing reported" in done.stdout
