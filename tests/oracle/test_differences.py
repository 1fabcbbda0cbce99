"""The page of differences has those that the tests of all entry points allow, and no other."""

from __future__ import annotations

from pathlib import Path

from differences import DIFFERENCES, OF
from entry_points import ENTRY_POINTS

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"


def test_the_page_has_each_difference() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    wanted = [f"| {d.where} | {d.what} |" for d in DIFFERENCES]
    assert rows == ["| where | what differs |", *wanted]


def test_each_difference_is_one_of_an_entry_point() -> None:
    used = {difference for differences in OF.values() for difference in differences}
    assert used == set(DIFFERENCES)
    assert set(ENTRY_POINTS) <= set(OF)
