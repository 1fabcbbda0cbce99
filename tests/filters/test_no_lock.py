"""A bounded Dirichlet filter follows a change, whatever came before."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import classfilter as cf


@given(
    st.integers(2, 12),
    st.lists(st.integers(0, 11), min_size=1, max_size=12),
    st.sampled_from([0.5, 0.8, 0.9, 0.97]),
    st.sampled_from([0.02, 0.1, 0.5, 0.9, 1.0]),
)
@example(2, [0], 0.97, 0.1)
@example(6, [0, 1], 0.9, 0.5)
def test_a_change_is_seen_within_one_and_a_half_half_lives(
    K: int, period: list[int], gamma: float, beta: float
) -> None:
    """2000 one-hot rows that repeat a period, all of one weight; then another class for good."""
    rows = np.eye(K)
    f = cf.DirichletFilter(K, gamma)
    f.run(rows[np.resize(np.array(period) % K, 2000)], beta)
    half_life = math.log(0.5) / math.log(gamma)
    within = math.ceil(1.5 * half_life)
    for new in {0, K - 1} - {f.classes.index(f.label)}:
        P = f.copy().run(np.tile(rows[new], (within + 50, 1)), beta)
        assert (P.argmax(axis=1)[within - 1 :] == new).all()
