"""Single precision against double: an update whose mode lies beyond the limit of concentration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import classfilter as cf
from streams import random_stream


@given(
    st.sampled_from([2, 3, 6, 20]), st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.3, 0.4, 0.9])
)
@example(6, 571, 0.3)  # the search overflowed, and all classes became alike
@example(20, 43, 0.35)
@example(6, 1010, 0.4)
def test_probabilities_are_those_of_double_precision(K: int, seed: int, gamma: float) -> None:
    """Up to the noise of a large sum of alpha, which the next observations inherit."""
    stream = random_stream(K, 17, seed)
    for beta in (stream.beta, np.ones(17)):
        single, double = (
            cf.DirichletFilter(K, gamma, estimate="mean", dtype=dtype).run(
                stream.probs, beta, stream.dt
            )
            for dtype in (np.float32, np.float64)
        )
        np.testing.assert_allclose(single, double, rtol=0, atol=0.02)


def test_the_same_row_after_a_long_pause() -> None:
    row = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    f = cf.DirichletFilter(6, 0.4, estimate="mean", dtype=np.float32)
    for _ in range(5):
        assert f.update(row, dt=12.0)[0] == pytest.approx(0.995, abs=0.001)
