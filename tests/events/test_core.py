"""The binding of the event rule: what it refuses, and states that come from a file."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import classfilter as cf
from event_streams import as_rows, random_rule, random_stream
from slow_events import plain_rule

RULE = plain_rule(3, 1.0).compiled()
GOOD = [0.2, 0.3, 0.5]


def some_state(rule: Any, rows: int = 40, seed: int = 0) -> bytes:
    times, probs = random_stream(np.random.default_rng(seed), 3, rows, missing=0)
    state: bytes = rule.run(rule.start(), times, probs)[0]
    return state


@given(seed=st.integers(0, 2**32 - 1))
@example(677)  # an event that ends after the next one begins
@example(991)
def test_changed_bytes_are_refused_or_do_no_harm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rule = random_rule(rng, 3).compiled()
    state = bytearray(some_state(rule, 60, seed))
    refused = 0
    for _ in range(50):
        changed = bytearray(state)
        for place in rng.integers(0, len(state), rng.integers(1, 4)):
            changed[place] ^= 1 << rng.integers(8)
        foreign = bytes(changed)
        try:
            rule.check(foreign)
        except ValueError:
            refused += 1
            continue
        rule.current(foreign)
        with contextlib.suppress(cf.ArgumentError):  # its times are far away now
            rule.finish(foreign)
            foreign, *_ = rule.run(foreign, 1e9 + np.arange(50.0), np.tile(GOOD, (50, 1)))
        rule.check(foreign)
    assert refused > 0


@given(data=st.binary(max_size=2000))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="state"):
        RULE.check(data)


def test_an_old_state_can_go_on_another_way() -> None:
    state = some_state(RULE)
    one = RULE.update(state, 1e6, GOOD)
    RULE.update(state, 1e7, [0.9, 0.05, 0.05])
    assert RULE.update(state, 1e6, GOOD) == one


def test_a_state_grows_with_its_minimum_duration() -> None:
    rule = plain_rule(3, 1.0, min_duration=np.full(3, 40.0)).compiled()
    state = rule.start()
    small = len(state)
    state, *_ = rule.run(state, np.arange(1000.0), np.tile(GOOD, (1000, 1)))
    assert small < len(state) < 10_000
    assert as_rows(rule.finish(state)) == [(2, 0.0, 1000.0, 0.5, False)]


def test_nothing_is_an_event_without_time() -> None:
    for state in (RULE.start(), RULE.update(RULE.start(), 3.0, GOOD)[0]):
        assert as_rows(RULE.finish(state)) == []
        assert RULE.current(state) is None


@pytest.mark.parametrize("length", [1e-4, 1e-12, 5e-324])
@pytest.mark.parametrize("start", [0.0, 1.7e9])
def test_an_event_has_a_limited_number_of_pieces(length: float, start: float) -> None:
    rule = plain_rule(2, 1.0, max_duration=length).compiled()
    state, *_ = rule.run(rule.start(), start + np.arange(21.0), [[1.0, 0.0]] * 21)
    pieces = as_rows(rule.finish(state))
    assert 10_000 < len(pieces) <= 100_000
    assert (pieces[0][1], pieces[-1][2]) == (start, start + 21)
    assert all(a[2] == b[1] for a, b in itertools.pairwise(pieces))
    assert all(piece[1] < piece[2] for piece in pieces)


def test_pieces_are_whole_multiples_of_max_duration() -> None:
    rule = plain_rule(2, 1.0, max_duration=900.0).compiled()
    state, *_ = rule.run(rule.start(), [0.0, 1.7e9], [[1.0, 0.0]] * 2)
    lengths = {piece[2] - piece[1] for piece in as_rows(rule.finish(state))[:-1]}
    assert lengths == {32 * 900.0 * 2}
