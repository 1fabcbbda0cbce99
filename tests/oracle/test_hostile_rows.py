"""One table of hostile rows, one model of the rules: all entry points agree to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from differences import part
from entry_points import ENTRY_POINTS, same
from expected_rows import expected
from hostile_rows import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_as_the_rules_and_plain_filters(name: str, case: Case, tmp_path: Path) -> None:
    run, differences = ENTRY_POINTS[name]
    applies = part(case, differences)
    same(run(applies, tmp_path), expected(applies))
