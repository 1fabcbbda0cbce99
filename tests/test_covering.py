"""What the quick suite runs, and what --rest runs of the others."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covering import covering


@pytest.mark.parametrize("sizes", [(5,), (3, 4), (2, 4, 3, 2), (4, 3, 3, 3)])
@pytest.mark.parametrize("strength", [1, 2])
def test_every_value_or_pair_of_values_is_there(sizes: tuple[int, ...], strength: int) -> None:
    grid = list(product(*map(range, sizes)))
    kept = covering([dict(zip("abcd", case, strict=False)) for case in grid], strength)
    for parameters in combinations(range(len(sizes)), min(strength, len(sizes))):
        every = set(product(*(range(sizes[p]) for p in parameters)))
        assert {tuple(grid[i][p] for p in parameters) for i in kept} == every
    largest = sorted(sizes)[-strength:]
    limit = max(sizes) if strength == 1 else 2 * largest[0] * largest[-1]
    assert len(kept) <= limit


@pytest.mark.covering(1)
@pytest.mark.parametrize("row", range(3))
@pytest.mark.parametrize("column", range(3))
def test_diagonal(row: int, column: int, request: pytest.FixtureRequest) -> None:
    """The quick suite runs the diagonal of it, --rest the other cases."""
    option = request.config.getoption
    assert option("--all") or (row != column) == option("--rest")


@given(st.integers())
def test_property(value: int) -> None:
    """The quick suite runs it, and --rest again, with more examples."""


@pytest.mark.slow
def test_every_test_is_in_one_suite_and_property_tests_are_in_both() -> None:
    every, quick, rest = (collected(*option) for option in (["--all"], [], ["--rest"]))
    assert quick | rest == every
    assert quick & rest == {"test_property"}
    assert {f"test_diagonal[{i}-{i}]" for i in range(3)} < quick
    assert {f"test_diagonal[{i}-{j}]" for i in range(3) for j in range(3) if i != j} < rest


def collected(*options: str) -> set[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "--collect-only", *options, __file__]
    root = Path(__file__).parents[1]
    run = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return {line.split("::")[1] for line in run.stdout.splitlines() if "::" in line}
