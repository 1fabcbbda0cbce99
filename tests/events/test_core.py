"""The binding of the event rule: what it refuses, and states that come from a file."""

from __future__ import annotations

import contextlib
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import classfilter as cf
from classfilter import _core
from conftest import rejected
from event_streams import as_rows, random_rule, random_stream
from slow_events import plain_rule

RULE = plain_rule(3, 1.0).compiled()
GOOD = [0.2, 0.3, 0.5]


def some_state(rule: Any, rows: int = 40, seed: int = 0) -> bytes:
    times, probs = random_stream(np.random.default_rng(seed), 3, rows, missing=0)
    state: bytes = rule.run(rule.start(), times, probs)[0]
    return state


@pytest.mark.parametrize(
    ("row", "argument", "value"),
    [
        ([0.2, 0.3, -0.5], "probs", -0.5),
        ([0.2, math.nan, 0.8], "probs", None),
        ([0.2, 0.3, 0.6], "probs", 1.1),
        ([0.5, 0.5], "probs", 2),
        ([math.inf, 0.3, 0.6], "probs", math.inf),
    ],
)
def test_a_bad_row_is_named_and_changes_nothing(
    row: list[float], argument: str, value: float | None
) -> None:
    state = some_state(RULE)
    before = bytes(bytearray(state))
    with pytest.raises(cf.RowError) as error:
        RULE.update(state, 1e6, row)
    assert error.value.argument == argument
    assert error.value.row is None
    if value is not None:
        assert error.value.value == value
    assert state == before
    if len(row) == 3:
        with pytest.raises(cf.RowError) as error:
            RULE.run(state, [1e6, 1e6 + 1], [GOOD, row])
        assert error.value.row == 1
        assert error.value.argument == argument


@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf, 4.0, 1e301])
def test_a_time_must_not_go_back_and_be_finite(time: float) -> None:
    state, _ = RULE.update(RULE.start(), 5.0, GOOD)
    with rejected("time", cf.RowError) as error:
        RULE.update(state, time, GOOD)
    assert error.value.argument == "time"
    with rejected("time", cf.RowError) as error:
        RULE.run(RULE.start(), [4.0, 5.0, time], [GOOD] * 3)
    assert error.value.row == 2


def test_a_late_time_says_after_which() -> None:
    state, _ = RULE.update(RULE.start(), 5.25, GOOD)
    with pytest.raises(cf.RowError) as error:
        RULE.update(state, 4.0, GOOD)
    assert str(error.value) == (
        "time is 4.0; it must not be before the last one, 5.25: put the rows in order of time"
    )


def test_rows_without_times_are_refused() -> None:
    with pytest.raises(ValueError, match="times"):
        RULE.run(RULE.start(), [0.0, 1.0], [GOOD] * 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"enter": np.array([1.0, -1.0, 1.0])}, "enter and leave"),
        ({"leave": np.array([1.0, math.nan, 1.0])}, "enter and leave"),
        ({"enter": np.array([1.0, math.inf, 1.0])}, "enter and leave"),
        ({"enter": np.ones(4)}, "enter has 4 entries; it must have 3"),
        ({"bias": np.array([0.0, math.nan, 0.0])}, "bias"),
        ({"bias": np.zeros(2)}, "bias has 2 entries"),
        ({"min_duration": np.array([0.0, -1.0, 0.0])}, "min_duration"),
        ({"min_duration": np.full(3, 5.0), "max_delay": 4.0}, "max_delay"),
        ({"floor": 0.0}, "floor"),
        ({"min_probability": 1.5, "enter": np.ones(4), "leave": np.ones(4)}, "min_probability"),
        ({"min_probability": -0.5}, "min_probability"),
        ({"max_gap": -1.0}, "max_gap"),
        ({"max_duration": 0.0}, "max_duration"),
        ({"shift": math.inf}, "shift"),
    ],
)
def test_impossible_settings_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        plain_rule(3, 1.0).compiled(**change)


def test_a_rule_needs_two_classes_and_cannot_be_made_twice() -> None:
    with pytest.raises(ValueError, match="classes"):
        plain_rule(1, 1.0).compiled()
    options = vars(plain_rule(3, 1.0))
    with pytest.raises(RuntimeError, match="before"):
        RULE.__init__(3, False, **options)
    with pytest.raises(RuntimeError, match="not initialised"):
        _core.EventRule.__new__(_core.EventRule).start()


@pytest.mark.parametrize("method", ["update", "run", "finish", "current", "check"])
@pytest.mark.parametrize("state", [b"", b"no state", bytes(2000), None, bytearray(2000)])
def test_other_bytes_are_refused(method: str, state: Any) -> None:
    rest = {"update": (1.0, GOOD), "run": ([1.0], [GOOD])}.get(method, ())
    with pytest.raises((ValueError, TypeError), match="state"):
        getattr(RULE, method)(state, *rest)


def test_a_state_of_another_rule_is_refused() -> None:
    for other in (
        plain_rule(4, 1.0).compiled(),
        plain_rule(3, 1.0).compiled(True),
        plain_rule(3, 1.0, min_probability=0.4).compiled(),
        plain_rule(3, 1.0, min_duration=np.ones(3)).compiled(),
    ):
        with pytest.raises(ValueError, match="state"):
            RULE.check(other.start())


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
