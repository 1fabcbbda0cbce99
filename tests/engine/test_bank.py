"""A bank equals N filters, to the bit, whichever filter and however many threads."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from bank_filters import every_filter, same, same_states
from streams import at_most, random_stream

some = at_most(10)


@every_filter
@given(K=st.integers(2, 12), N=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))
@some
def test_a_bank_of_any_filter_is_n_filters(make: Any, K: int, N: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    filters = [make(K) for _ in range(N)]
    bank = cf.Bank(make(K), N)
    for step in range(3):
        rows = rng.permutation(N)[: rng.integers(1, N + 1)]
        stream = random_stream(K, len(rows), seed + step)
        P = bank.update(*stream, rows=rows)
        expected = [filters[n].update(*row) for n, *row in zip(rows, *stream, strict=True)]
        assert same(P, np.array(expected))
    assert same_states(bank, filters)
    everyone = random_stream(K, N, seed)
    P = bank.update(*everyone)
    assert same(P, np.array([f.update(*r) for f, *r in zip(filters, *everyone, strict=True)]))
    assert same_states(bank, filters)


def test_add_drop_reset_and_filter() -> None:
    bank = cf.Bank(cf.DirichletFilter(2), 3)
    bank.update([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    alpha = bank.alpha
    assert list(bank.add(2)) == [3, 4]
    assert same(bank.alpha, np.concatenate([alpha, np.ones((2, 2))]))
    bank.drop([1])
    assert same(bank.alpha, np.concatenate([alpha[[0, 2]], np.ones((2, 2))]))
    assert same(bank.filter(1).alpha, alpha[2])
    bank.reset([0])
    assert bank.alpha[0].tolist() == [1.0, 1.0]
    assert same(bank.alpha[1], alpha[2])
    bank.reset()
    assert (bank.alpha == 1).all()


def test_silent_streams_are_filters_to_the_sign_of_a_zero() -> None:
    """A crafted file can bring in a negative one; then it must be one everywhere, or nowhere."""
    N, row, f = 40, [0.7, 0.2, 0.1], cf.DirichletFilter(3, anchor=-0.0)
    bank = cf.Bank(f, N)
    f.state = cf.DirichletState(-0.0, np.ones(3))
    bank._states[:, 0] = f.eta
    bank.update([row] * N, beta=np.arange(N) % 2)
    f.update(row, beta=0.0)
    assert (np.signbit(bank._states[::2, 0]) == np.signbit(f.eta)).all()
