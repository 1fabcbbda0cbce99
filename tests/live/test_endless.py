"""A few of the lines of ``python tests/endless.py 10000000``."""

import sys
from pathlib import Path

import pytest

from endless import ALLOWED, memory


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_does_not_grow_with_the_lines(tmp_path: Path) -> None:
    held = memory(60_000, tmp_path)
    assert max(held[2:]) - max(held[:2]) < ALLOWED
