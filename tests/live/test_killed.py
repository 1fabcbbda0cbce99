"""A few of the points of ``python tests/killed.py 200``."""

from pathlib import Path

import pytest

from killed import kill_savers, kill_streams


@pytest.mark.parametrize("numbered", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_killed_stream_loses_nothing_and_filters_nothing_twice(
    tmp_path: Path, numbered: bool
) -> None:
    kills = kill_streams(5, tmp_path, seed=3, numbered=numbered)
    assert (kills.lost, kills.wrong) == (0, 0)
    assert kills.states > 0, "hardly any file was written"


@pytest.mark.slow
def test_a_killed_tracker_has_all_that_was_saved(tmp_path: Path) -> None:
    kills = kill_savers(5, tmp_path, seed=4)
    assert (kills.lost, kills.wrong) == (0, 0)
    assert kills.states > 0, "hardly any file was written"
