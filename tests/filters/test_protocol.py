"""The protocol of filters: what holds for every one of them."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import expm

import classfilter as cf
from classfilter.filters import KINDS
from conftest import rejected
from invalid_input import INVALID_NUMBERS, INVALID_ROWS, VALID_ROW
from streams import Stream, at_most, random_stream, streams

Order = NDArray[np.intp]
Make = Callable[[Order], Any]


def transitions(K: int) -> NDArray[np.float64]:
    """A matrix of transitions that has exact rates."""
    rates = 0.1 * np.random.default_rng(K).random((K, K)) ** 3
    np.fill_diagonal(rates, 0)
    matrix: NDArray[np.float64] = expm(rates - np.diag(rates.sum(axis=1)))
    return matrix


def dirichlet(**options: Any) -> Make:
    return lambda order: cf.DirichletFilter(
        len(order), prior=np.linspace(1, 2, len(order))[order], **options
    )


def sticky(dtype: DTypeLike) -> Make:
    def make(order: Order) -> cf.StickyFilter:
        prior = np.linspace(1, 2, len(order))[order] / np.linspace(1, 2, len(order)).sum()
        return cf.StickyFilter(len(order), 0.95, prior=prior, dtype=dtype)

    return make


def sticky_transitions(dtype: DTypeLike) -> Make:
    def make(order: Order) -> cf.StickyFilter:
        matrix = transitions(len(order))[order][:, order]
        return cf.StickyFilter(len(order), transitions=matrix, dtype=dtype)

    return make


FILTERS: dict[str, Make] = {
    "dirichlet": dirichlet(),
    "dirichlet, anchored": dirichlet(anchor=0.5, floor=1e-9),
    "dirichlet, float32": dirichlet(dtype=np.float32),
    "dirichlet that forgets at once": dirichlet(gamma=0.0, estimate="mean"),
    "dirichlet that forgets soon": dirichlet(gamma=0.01, anchor=2.0, dtype=np.float32),
    "dirichlet that forgets nothing": dirichlet(gamma=1.0, estimate="mean", floor=1e-9),
    "sticky": sticky(np.float64),
    "sticky, float32": sticky(np.float32),
    "transitions": sticky_transitions(np.float64),
    "transitions, float32": sticky_transitions(np.float32),
    "raw": lambda order: cf.RawFilter(len(order)),
    "mean": lambda order: cf.MeanFilter(len(order), window=3),
    "ema": lambda order: cf.EmaFilter(len(order), 0.8),
    "vote": lambda order: cf.VoteFilter(len(order), window=4),
    "hold": lambda order: cf.HoldFilter(len(order)),
}
_TESTED = {type(make(np.arange(2))) for make in FILTERS.values()}
for _kind, _cls in KINDS.items():  # a new filter has no line here
    if _cls not in _TESTED:
        FILTERS[_kind] = lambda order, cls=_cls: cls(len(order))  # type: ignore[misc]
every_filter = pytest.mark.parametrize("make", FILTERS.values(), ids=list(FILTERS))
some = at_most(25)


def fresh(make: Make, K: int) -> Any:
    return make(np.arange(K))


def same(a: Any, b: Any) -> bool:
    """Equal to the bit."""
    a, b = np.asarray(a), np.asarray(b)
    return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def same_state(f: Any, g: Any) -> bool:
    return all(same(a, b) for a, b in zip(f.state, g.state, strict=True)) and same(f.probs, g.probs)


def precise(f: Any) -> bool:
    return bool(f.probs.dtype == np.float64)


def test_every_kind_is_tested() -> None:
    public = {getattr(cf, name) for name in cf.__all__ if name.endswith("Filter")}
    tested = {type(fresh(make, 3)) for make in FILTERS.values()}
    assert tested == public - {cf.Filter, cf.MultiLabelFilter}


@every_filter
@given(stream=streams(12), data=st.data())
@some
def test_any_chunking_gives_the_same_bits(make: Make, stream: Stream, data: st.DataObject) -> None:
    T, K = stream.probs.shape
    whole, single, chunked = (fresh(make, K) for _ in range(3))
    P = whole.run(*stream)
    assert P.shape == (T, K)
    assert same(P, np.array([single.update(*row) for row in zip(*stream, strict=True)]))
    assert same_state(whole, single)
    cuts = sorted(data.draw(st.lists(st.integers(0, T), max_size=5)))
    parts = [
        chunked.run(*(a[i:j] for a in stream)) for i, j in zip([0, *cuts], [*cuts, T], strict=True)
    ]
    assert same(P, np.concatenate(parts))
    assert same_state(whole, chunked)


@every_filter
@given(stream=streams(12))
@some
def test_simplex(make: Make, stream: Stream) -> None:
    f = fresh(make, stream.probs.shape[1])
    P = np.vstack([f.probs[None], f.run(*stream)])
    assert (P >= 0).all()
    sums = P.sum(axis=1, dtype=np.float64)
    np.testing.assert_allclose(sums, 1, rtol=0, atol=1e-12 if precise(f) else 1e-6)
    assert same(f.probs, P[-1])
    assert not isinstance(f, cf.DirichletFilter) or f.alpha.sum() <= f.max_concentration * (
        1 + 1e-5
    )
    assert f.probs[f.classes.index(f.label)] == f.probs.max()


@every_filter
@given(stream=streams(12), cut=st.integers(0, 20))
@some
def test_restored_filters_continue_with_the_same_bits(make: Make, stream: Stream, cut: int) -> None:
    K = stream.probs.shape[1]
    f = fresh(make, K)
    start = copy.deepcopy(f.state)
    f.run(*(a[:cut] for a in stream))
    by_state, by_tuple, by_options = fresh(make, K), fresh(make, K), None
    by_state.state = f.state
    by_tuple.state = tuple(f.state)
    by_options = type(f)(f.classes, **vars(f)["_options"])
    by_options.state = f.state
    others = [by_state, by_tuple, by_options, f.copy(), copy.copy(f), copy.deepcopy(f)]
    others.append(pickle.loads(pickle.dumps(f)))
    for g in others:
        assert type(g) is type(f)
        assert g.classes == f.classes
        assert same_state(f, g)
    rest = [a[cut:] for a in stream]
    before = f.state
    P = f.run(*rest)
    for g in others:
        assert same(P, g.run(*rest))
        assert same_state(f, g)
    f.state = before
    assert same(P, f.run(*rest))
    f.reset()
    assert all(same(a, b) for a, b in zip(f.state, start, strict=True))


@every_filter
@given(stream=streams(6), seed=st.integers(0, 2**32 - 1))
@some
def test_permuting_classes(make: Make, stream: Stream, seed: int) -> None:
    K = stream.probs.shape[1]
    order = np.random.default_rng(seed).permutation(K)
    f, g = fresh(make, K), make(order)
    if not precise(f):
        return  # single precision would need wide tolerances
    for s, beta, dt in zip(*stream, strict=True):
        p, q = f.update(s, beta, dt), g.update(s[order], beta, dt)
        if isinstance(f, cf.DirichletFilter) and np.abs(f.alpha - 1).min() < 1e-3:
            continue  # the mode of alphas just above 1 magnifies their rounding
        np.testing.assert_allclose(q, p[order], rtol=0, atol=1e-11)


@every_filter
@given(
    stream=streams(6),
    a=st.floats(0, 30, allow_subnormal=False),
    b=st.floats(0, 30, allow_subnormal=False),
)
@some
def test_time_splits(make: Make, stream: Stream, a: float, b: float) -> None:
    K = stream.probs.shape[1]
    f = fresh(make, K)
    f.run(*stream)
    g = f.copy()
    f.update([np.nan] * K, dt=a)
    f.update([np.nan] * K, dt=b)
    g.update([np.nan] * K, dt=a + b)
    limit = 1e-13
    if isinstance(f, cf.DirichletFilter):
        limit = 1e-8 if f.alpha.sum() < 1e4 else 1e-3
    for x, y in zip(f.state, g.state, strict=True):
        np.testing.assert_allclose(x, y, rtol=limit if precise(f) else 1e-3, atol=1e-30)


@every_filter
@given(stream=streams(8))
@some
def test_zero_weight_and_nan_are_the_same(make: Make, stream: Stream) -> None:
    K = stream.probs.shape[1]
    f, g = fresh(make, K), fresh(make, K)
    f.run(*stream)
    g.run(*stream)
    p, q = f.update(np.eye(K)[1], beta=0, dt=2.5), g.update([np.nan] * K, beta=0.7, dt=2.5)
    assert same(p, q)
    assert same_state(f, g)
    before = f.state
    f.update([np.nan] * K, dt=0.0)
    for x, y in zip(before, f.state, strict=True):
        if "anchor" in vars(f)["_options"]:  # an anchored mode is searched again, to rounding
            np.testing.assert_allclose(x, y, rtol=1e-9 if precise(f) else 1e-4)
        else:
            assert same(x, y)


def started(make: Make) -> Any:
    f = fresh(make, 3)
    f.run([VALID_ROW, [0.8, 0.1, 0.1]], beta=0.5, dt=1.5)
    return f


def state_bytes(f: Any) -> list[bytes]:
    return [np.asarray(x).tobytes() for x in f.state] + [f.probs.tobytes()]


CALLS: list[tuple[Callable[[Any], Any], Any, str]] = [
    (lambda f: f.update("abc"), ValueError, "probs"),
    (lambda f: f.update([VALID_ROW] * 3), ValueError, "probs"),
    (lambda f: f.update(VALID_ROW, beta="x"), TypeError, "beta"),
    (lambda f: f.update(VALID_ROW, dt=[1.0]), TypeError, "dt"),
    (lambda f: f.update(), TypeError, "probs"),
    (lambda f: f.update(VALID_ROW, weight=1), TypeError, "weight"),
    (lambda f: f.run(VALID_ROW), ValueError, "probs"),
    (lambda f: f.run([[0.5, 0.5]]), ValueError, "probs"),
    (lambda f: f.run([VALID_ROW], beta=[1, 1]), ValueError, "beta"),
    (lambda f: f.run([VALID_ROW], dt="x"), TypeError, "dt"),
    (lambda f: setattr(f, "state", ()), ValueError, "unpack|argument"),
    (
        lambda f: setattr(f, "state", [[1.0]] * len(f.state)),
        (ValueError, TypeError),
        "shape|entries|real number",
    ),
    (lambda f: setattr(f, "state", [x - 9 for x in f.state]), ValueError, "negative|must lie"),
    (lambda f: type(f)("abc"), TypeError, "classes"),
    (lambda f: type(f)(1), ValueError, "classes"),
    (lambda f: type(f)(["a", "a"]), ValueError, "classes"),
]


@every_filter
def test_what_is_invalid_changes_nothing(make: Make) -> None:
    f = started(make)
    before = state_bytes(f)
    for row in INVALID_ROWS:
        for form in (list, tuple, np.array):
            with rejected("probs", cf.RowError):
                f.update(form(row))
        if len(row) == len(VALID_ROW):
            with rejected("probs", cf.RowError, row=2):
                f.run([VALID_ROW, VALID_ROW, row, VALID_ROW])
    for index in (7, 8, 21, 39):
        rows = [VALID_ROW] * 40
        rows[index] = [0.5, -0.5, 1.0]
        with rejected("probs", row=index, entry=1):
            f.run(rows, beta=[0.5, 1.0] * 20)
    for name, value in INVALID_NUMBERS:
        with rejected(name, cf.RowError):
            f.update(VALID_ROW, **{name: value})
        with rejected(name, cf.RowError, row=2):
            f.run([VALID_ROW] * 4, **{name: [1.0, 1.0, value, 1.0]})
    for call, error, argument in CALLS:
        with pytest.raises(error, match=argument):
            call(f)
    assert state_bytes(f) == before


@every_filter
def test_results_are_not_views_of_the_filter(make: Make) -> None:
    f = started(make)
    before = state_bytes(f)
    for a in (f.update([0.7, 0.2, 0.1], dt=0.0, beta=0.0), f.probs, *f.state):
        if np.ndim(a):
            a[:] = 99
    assert state_bytes(f) == before


@every_filter
def test_a_run_does_not_change_its_arguments(make: Make) -> None:
    f = fresh(make, 3)
    stream = random_stream(3, 30, 5)
    arguments = [a.astype(f.probs.dtype) for a in stream]
    copies = [a.copy() for a in arguments]
    f.run(*arguments)
    for a, b in zip(arguments, copies, strict=True):
        assert same(a, b)


@every_filter
def test_save_and_load(make: Make, tmp_path: Path) -> None:
    f = fresh(make, 4)
    cf.Pipeline(f).save(tmp_path / "filter.json")
    g = cf.load(tmp_path / "filter.json")
    stream = random_stream(4, 30, 6)
    assert type(g.filter) is type(f)
    assert same(f.run(*stream), g.filter.run(*stream))
