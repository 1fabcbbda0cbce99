"""Many streams in the core: a loop over each by itself, to the bit; or an error, and no change."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import classfilter as cf
from bank_filters import FILTERS, same
from classfilter import _core
from classfilter.filters import pack_state, unpack_state
from streams import random_stream

COMPILED = [name for name in FILTERS if name.startswith(("dirichlet", "sticky", "transitions"))]
every_compiled = pytest.mark.parametrize("name", COMPILED)
Numbers = NDArray[Any]


def some_states(f: Any, N: int, seed: int) -> Numbers:
    """States (N, S) that the filter reached."""
    reached = [pack_state(f.state, f.dtype)]
    for row in zip(*random_stream(len(f.classes), N - 1, seed), strict=True):
        f.update(*row)
        reached.append(pack_state(f.state, f.dtype))
    return np.array(reached)


def one_by_one(f: Any, state: Numbers, rows: Iterable[Any]) -> tuple[Numbers, list[Numbers]]:
    """Return the state after a loop of `update`, and the estimates."""
    f.state = unpack_state(f, state)
    estimates = [f.update(*row) for row in rows]
    return pack_state(f.state, f.dtype), estimates


@every_compiled
@given(
    K=st.sampled_from([2, 3, 4, 6, 7, 8, 9, 20]),
    counts=st.lists(st.integers(0, 6), max_size=45),
    seed=st.integers(0, 2**32 - 1),
    defaults=st.tuples(*[st.booleans()] * 4),
)
def test_many_streams_are_a_loop_over_each(
    name: str, K: int, counts: list[int], seed: int, defaults: tuple[bool, bool, bool, bool]
) -> None:
    one_each, in_order, all_states, one_weight = defaults
    rng, f = np.random.default_rng(seed), FILTERS[name](K)
    counts = [1] * len(counts) if one_each else counts
    M, T = len(counts), sum(counts)
    states = some_states(f, M + 1 + int(rng.integers(5)), seed)
    spare = 0 if in_order else 3  # rows that no stream has
    probs, beta, dt = (x.astype(f.dtype) for x in random_stream(K, T + spare, seed))
    beta = np.array(0.5, f.dtype) if one_weight else beta
    order = np.arange(T) if in_order else rng.permutation(T + spare)[:T]
    slots = np.arange(M) if all_states else rng.permutation(len(states))[:M]
    before = states.copy()
    out, after = np.full_like(probs, -1), np.empty((M, states.shape[1]), f.dtype)
    f._run_streams(
        states,
        None if all_states else slots,
        None if one_each else np.array(counts, np.intp),
        None if in_order else order,
        probs,
        beta,
        dt,
        out,
        after,
    )
    assert same(states, before)
    weights, place = np.broadcast_to(beta, len(probs)), 0
    for i, count in enumerate(counts):
        at = order[place : place + count]
        place += count
        rows = zip(probs[at], weights[at], dt[at], strict=True)
        state, estimates = one_by_one(f, states[slots[i]], rows)
        assert same(after[i], state)
        assert same(out[at], np.array(estimates, f.dtype).reshape(count, K))
    assert (np.delete(out, order, axis=0) == -1).all()


@every_compiled
@pytest.mark.parametrize("streams", [1, 3, 100])
def test_an_invalid_row_is_named_and_changes_no_state(name: str, streams: int) -> None:
    """The first one in the order of the streams, of two."""
    f = FILTERS[name](3)
    states = some_states(f, streams, 1)
    before = states.copy()
    probs, beta, dt = (x.astype(f.dtype) for x in random_stream(3, 4 * streams, 2))
    order = np.arange(4 * streams).reshape(4, streams).T.ravel().copy()  # in turns
    counts, out, after = np.full(streams, 4), np.empty_like(probs), np.empty_like(states)
    row, later = order[2], order[-1]
    probs[row], probs[later] = [0.5, -0.25, 0.75], [2.0, 0.0, 0.0]
    with pytest.raises(ValueError, match=rf"probs\[{row}, 1\] is -0.25"):
        f._run_streams(states, None, counts, order, probs, beta, dt, out, after)
    assert same(states, before)


GOOD: dict[str, Any] = {
    "states": np.ones((4, 4)),
    "slots": np.array([3, 0]),
    "counts": np.array([1, 2]),
    "order": np.array([0, 4, 2]),
    "probs": np.full((5, 3), 1 / 3),
    "beta": 1.0,
    "dt": np.ones(5),
    "out": np.zeros((5, 3)),
    "after": np.zeros((2, 4)),
}


def readonly(array: Numbers) -> Numbers:
    array.setflags(write=False)
    return array


@pytest.mark.parametrize(
    "change",
    [
        {"states": np.ones((4, 3))},
        {"states": np.ones(16)},
        {"states": np.ones((4, 4), np.float32)},
        {"states": np.ones((4, 8))[:, ::2]},
        {"states": [[1.0] * 4] * 4},
        {"states": np.ones((3, 4))},
        {"states": np.ones((1, 4)), "slots": None},
        {"slots": np.array([4, 0])},
        {"slots": np.array([-1, 0])},
        {"slots": np.array([0])},
        {"slots": np.array([0.0, 1.0])},
        {"slots": [3, 0]},
        {"counts": np.array([1, 1])},
        {"counts": np.array([2, 2])},
        {"counts": np.array([4, -1])},
        {"counts": np.array([2**62, 2**62])},
        {"counts": np.array([3])},
        {"counts": None},
        {"order": np.array([0, 5, 2])},
        {"order": np.array([0, -1, 2])},
        {"order": np.array([0, 1])},
        {"order": np.array([0, 1, 2], np.int32)},
        {"order": None},
        {"out": np.zeros((4, 3))},
        {"out": np.zeros((5, 3), order="F")},
        {"out": np.zeros((5, 3), np.float32)},
        {"out": readonly(np.zeros((5, 3)))},
        {"after": np.zeros((3, 4))},
        {"after": np.zeros((2, 4), np.float32)},
        {"after": readonly(np.zeros((2, 4)))},
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_do_not_reach_the_core(change: dict[str, Any]) -> None:
    f = cf.DirichletFilter(3)
    f._run_streams(*GOOD.values())
    with pytest.raises(ValueError, match=r"_run_streams\(\) takes C arrays"):
        f._run_streams(*(GOOD | change).values())
    with pytest.raises(TypeError, match=r"_run_streams\(\) takes states, slots"):
        f._run_streams(*list(GOOD.values())[:-1])


@pytest.mark.parametrize("wrong", [np.ones((4, 1)), np.ones(16), np.ones((4, 4), np.float32)])
def test_states_of_another_shape_are_not_checked(wrong: Numbers) -> None:
    with pytest.raises(ValueError, match="states must be a C array of the filter's precision"):
        cf.DirichletFilter(3)._check_states(wrong)


@every_compiled
def test_a_row_of_a_table_that_fails_changes_nothing(name: str) -> None:
    f = FILTERS[name](3)
    states, times, row = some_states(f, 2, 1), np.array([5.0, np.nan]), [0.5, 0.25, 0.25]
    before, logs = states.copy(), tuple(x.astype(f.dtype) for x in LOGARITHMS)
    for slot, at in ((0, 4.0), (0, np.nan), (0, np.inf), (0, -np.inf), (1, np.nan), (1, np.inf)):
        assert f._update_stream(states, times, slot, row, 1.0, at, None) is None
    far = np.array([-1.5e308, 0.0])
    assert f._update_stream(states, far, 0, row, 1.0, 1.5e308, None) is None
    for channel in (None, logs):
        with pytest.raises(ValueError, match=r"probs\[1\] is -0.25; a probability must not be"):
            f._update_stream(states, times, 0, [0.5, -0.25, 0.75], 1.0, 6.0, channel)
        with pytest.raises(ValueError, match=r"beta is 2\.0; it must lie"):
            f._update_stream(states, times, 0, row, 2.0, 6.0, channel)
        with pytest.raises(ValueError, match=r"dt is .*; it must lie"):
            f._update_stream(states, times, 0, row, 1.0, 1e31, channel)
        with pytest.raises(ValueError, match="probs has 2 entries"):
            f._update_stream(states, times, 0, [0.5, 0.5], 1.0, 6.0, channel)
    assert same(states, before)
    np.testing.assert_array_equal(times, [5.0, np.nan])


LOGARITHMS = cf.Channel(np.eye(3) + 0.1).logarithms


@pytest.mark.parametrize(
    "change",
    [
        {"states": np.ones((2, 3))},
        {"states": np.ones((2, 4), np.float32)},
        {"states": np.ones((4, 4))[::2]},
        {"states": readonly(np.ones((2, 4)))},
        {"states": [[1.0] * 4] * 2},
        {"times": np.zeros(3)},
        {"times": np.zeros(2, np.float32)},
        {"times": readonly(np.zeros(2))},
        {"times": [0.0, 0.0]},
        {"slot": 2},
        {"channel": LOGARITHMS[0]},
        {"channel": LOGARITHMS[::-1]},
        {"channel": tuple(x.astype(np.float32) for x in LOGARITHMS)},
        {"channel": list(LOGARITHMS)},
        {"channel": (np.zeros((2, 3)), LOGARITHMS[1])},
    ],
    ids=str,
)
def test_a_table_that_does_not_fit_does_not_reach_the_core(change: dict[str, Any]) -> None:
    f = cf.DirichletFilter(3)
    good: dict[str, Any] = {"states": np.ones((2, 4)), "times": np.zeros(2), "slot": 1}
    good |= {"probs": [0.5, 0.25, 0.25], "beta": 1.0, "at": 1.0, "channel": LOGARITHMS}
    f._update_stream(*good.values())
    with pytest.raises(ValueError, match=r"have no stream|channel must be None, or logarithms"):
        f._update_stream(*(good | change).values())
    with pytest.raises(TypeError, match=r"_update_stream\(\) takes states, times"):
        f._update_stream(*list(good.values())[:-1])


@pytest.mark.parametrize(
    "change",
    [
        {"states": np.zeros((3, 3))},
        {"states": np.zeros((3, 2), int)},
        {"states": readonly(np.zeros((3, 2)))},
        {"states": None},
        {"times": np.zeros(2)},
        {"times": None},
        {"times": readonly(np.zeros(3))},
        {"slots": np.array([0, 3])},
        {"slots": np.array([-1, 0])},
        {"slots": np.array([0])},
        {"slots": None},
        {"after": np.zeros((2, 2), np.float32)},
        {"after": np.zeros((2, 3))},
        {"last": np.zeros(3)},
        {"last": None},
    ],
    ids=str,
)
def test_nothing_is_committed_that_does_not_fit(change: dict[str, Any]) -> None:
    good: dict[str, Any] = {"states": np.ones((3, 2)), "times": np.ones(3)}
    good |= {"slots": np.array([2, 0]), "after": np.zeros((2, 2)), "last": np.zeros(2)}
    arguments = good | change
    with pytest.raises(ValueError, match=r"commit\(\) takes C arrays"):
        _core.commit(*arguments.values())
    for name in ("states", "times"):
        if name not in change:
            assert (arguments[name] == 1).all()
