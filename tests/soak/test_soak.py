"""A short soak, bounded by counts: each kind of end is there, and each event once."""

from collections import Counter
from pathlib import Path

import pytest

from .__main__ import ENDS, Life, soak


@pytest.mark.slow
def test_each_event_once_whatever_happens(tmp_path: Path) -> None:
    ways = [*ENDS, *ENDS]
    count = (lambda lines: lines >= 20_000, lambda lines: lines >= 10_000)
    soaked = soak(Life(tmp_path, seed=4, pause=0.0), ways, count)
    assert soaked.ends == Counter(ways)
    assert soaked.events > 500
    assert (soaked.lost, soaked.twice, soaked.wrong) == (0, 0, 0)
