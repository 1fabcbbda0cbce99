"""The cases of a grid that the quick suite runs."""

from __future__ import annotations

from itertools import combinations, product

import pytest

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
def test_the_quick_suite_runs_a_diagonal(
    row: int, column: int, request: pytest.FixtureRequest
) -> None:
    assert row == column or request.config.getoption("--all")
