"""What people use instead: the README's table, and the rivals that the library does not have."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from examples import rivals

README = Path(__file__).parents[2] / "README.md"


def test_the_readme_has_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    rivals.main()
    assert capsys.readouterr().out in README.read_text("utf-8")


@pytest.mark.parametrize("penalty", [0.1, 1.0, 3.0])
def test_viterbi_finds_the_best_of_all_paths(penalty: float) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 6)

    def value(path: tuple[int, ...]) -> float:
        changes = sum(a != b for a, b in itertools.pairwise(path))
        return float(np.log(probs[np.arange(6), path]).sum() - penalty * changes)

    best = max(itertools.product(range(3), repeat=6), key=value)
    assert tuple(rivals.viterbi(probs, penalty).argmax(axis=1)) == best


def test_the_centred_mode_counts_the_rows_around() -> None:
    classes = np.random.default_rng(1).integers(3, size=40)
    got = rivals.centred_mode(np.eye(3)[classes], 5).argmax(axis=1)
    for t in range(40):
        counts = np.bincount(classes[max(0, t - 2) : t + 3], minlength=3)
        assert counts[got[t]] == counts.max()
