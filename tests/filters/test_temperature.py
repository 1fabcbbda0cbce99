"""Temperature: what a filter returns is p to the power 1 / T, normalised; its state has none."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import classfilter as cf
from classfilter import _core
from streams import Stream, random_stream, streams

Rows = NDArray[Any]
temperatures = st.floats(0.05, 20.0).filter(lambda t: t != 1)
both = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def some_rows(seed: int, dtype: Any, K: int = 5, T: int = 20) -> Rows:
    """Return estimates as filters have them: from all but equal to all but certain, with zeros."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(K, rng.choice([0.05, 0.3, 2.0, 1e6])), T)
    rows[(rng.random(rows.shape) < 0.1) | (rows < 1e-30)] = 0.0
    rows[0] = 1.0
    rows[:, 0] = np.maximum(rows[:, 0], 1e-30)
    tempered: Rows = (rows / rows.sum(axis=1, keepdims=True)).astype(dtype)
    return tempered


def by_definition(rows: Rows, temperature: float) -> Rows:
    """Return p^(1/T), normalised, of numbers as they are, in fifty digits."""
    found = np.empty(rows.shape, object)
    with mp.workdps(50):
        power = 1 / mp.mpf(float(rows.dtype.type(temperature)))
        for i, row in enumerate(rows.tolist()):
            raised = [mp.power(p, power) if p else mp.mpf(0) for p in row]
            found[i] = [q / mp.fsum(raised) for q in raised]
    return found


@both
@given(seed=st.integers(0, 2**32 - 1), temperature=temperatures)
def test_against_fifty_digits(dtype: Any, seed: int, temperature: float) -> None:
    """An error of a few roundings, and of as many for each unit of the logarithm."""
    rows, eps, tiny = some_rows(seed, dtype), np.finfo(dtype).eps, np.finfo(dtype).tiny
    got, right = _core.temper(rows, temperature), by_definition(rows, temperature)
    assert got.dtype == dtype
    for q, exact, p in zip(got.ravel(), right.ravel(), rows.ravel(), strict=True):
        if p == 0 or exact < tiny:
            assert q < 2 * tiny
        elif exact > 2 * tiny:
            off = float(abs(mp.mpf(float(q)) - exact) / exact)
            assert off <= 3 * eps * (1 + abs(float(mp.log(exact))))
            assert dtype == np.float32 or exact < 1e-6 or off < 1e-14


@both
def test_a_class_that_is_just_behind_stays_behind(dtype: Any) -> None:
    last = np.array([[0.25, 0.25, 0.5]], dtype)
    for k in (0, 1):
        last[0, k] = np.nextafter(dtype(0.5), dtype(0))
        for temperature in (0.05, 0.7, 1.4, 20.0):
            got = _core.temper(last, temperature)[0]
            assert got[2] > got[k], temperature
    np.testing.assert_array_equal(_core.temper(np.array([[0.5, 0.5]], dtype), 3.0), [[0.5, 0.5]])


@both
def test_numbers_with_fewer_digits_become_zero(dtype: Any) -> None:
    tiny = np.finfo(dtype).tiny
    rows = np.array([[0.5, 0.5, tiny / 2], [1.0, 1e-10, 1e-3]], dtype)
    assert _core.temper(rows, 20.0)[0].tolist() == [0.5, 0.5, 0.0]
    got = _core.temper(rows, 0.05)[1]  # 1e-200 is below those of single precision
    assert (got[1] == 0) == (dtype == np.float32)


@both
def test_a_temperature_of_one_copies_the_bits(dtype: Any) -> None:
    rows = some_rows(3, dtype)
    assert _core.temper(rows, 1.0).tobytes() == rows.tobytes()


MAKE: dict[str, Callable[..., Any]] = {
    "sticky": lambda K, **more: cf.StickyFilter(K, stay=0.5 ** (1 / 5), **more),
    "transitions": lambda K, **more: cf.StickyFilter(
        K, transitions=np.eye(K) * 0.7 + 0.3 / K, **more
    ),
    "dirichlet": lambda K, **more: cf.DirichletFilter(K, 0.9, **more),
    "mean": lambda K, **more: cf.DirichletFilter(K, 0.9, estimate="mean", **more),
}
every = pytest.mark.parametrize("make", MAKE.values(), ids=list(MAKE))


@every
@both
@given(stream=streams(6), temperature=temperatures)
def test_what_a_filter_returns_is_tempered(
    make: Any, dtype: Any, stream: Stream, temperature: float
) -> None:
    K = stream.probs.shape[1]
    plain, f, each = (
        make(K, dtype=dtype),
        *(make(K, temperature=temperature, dtype=dtype) for _ in "ab"),
    )
    right = _core.temper(plain.run(*stream), temperature)
    assert f.run(*stream).tobytes() == right.tobytes()
    got = np.array([each.update(*row) for row in zip(*stream, strict=True)])
    assert got.tobytes() == right.tobytes()
    for g in (f, each, f.copy(), pickle.loads(pickle.dumps(f))):
        assert g.probs.tobytes() == right[-1].tobytes()
        assert (g.label, g.temperature) == (plain.label, temperature)
        for a, b in zip(g.state, plain.state, strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@every
@both
def test_many_streams_in_any_order_and_in_threads(make: Any, dtype: Any) -> None:
    probs, beta, dt = random_stream(4, 6000, 1)
    rows = np.random.default_rng(1).integers(0, 7, 6000)
    plain = cf.Bank(make(4, dtype=dtype), streams=7).run(probs, beta, dt, rows=rows)
    bank: Any = cf.Bank(make(4, dtype=dtype, temperature=1.7), streams=7)
    got = bank.run(probs, beta, dt, rows=rows, threads=2)
    assert got.tobytes() == _core.temper(plain, 1.7).tobytes()
    some = bank.update(probs[:2], rows=[5, 2])
    assert some[0].tobytes() == bank.filter(5).probs.tobytes()


@every
@both
@pytest.mark.parametrize("lag", [None, 0, 1, 4, 100])
def test_smoothed_rows_are_tempered_last(make: Any, dtype: Any, lag: int | None) -> None:
    probs, beta, dt = random_stream(4, 30, 2)
    plain, f = make(4, dtype=dtype), make(4, dtype=dtype, temperature=1.4)
    for T in (1, 2, 30):
        part = probs[:T], beta[:T], dt[:T]
        got = cf.smooth(f, *part, lag=lag)
        assert got.tobytes() == _core.temper(cf.smooth(plain, *part, lag=lag), 1.4).tobytes()
        if lag == 0:
            assert got.tobytes() == f.copy().run(*part).tobytes()


@every
def test_files_and_representations(make: Any, tmp_path: Path) -> None:
    f = make(3, temperature=1.4)
    cf.Pipeline(f).save(tmp_path / "a.json")
    assert '"temperature": 1.4' in (tmp_path / "a.json").read_text()
    loaded: Any = cf.load(tmp_path / "a.json").filter
    assert loaded.temperature == 1.4
    assert repr(f).endswith(", temperature=1.4)")
    assert "temperature" not in repr(make(3))
    cf.Bank(f, streams=1).save(tmp_path / "bank")
    other: Any = cf.Bank(make(3), streams=1)
    with pytest.raises(ValueError, match=r"written with temperature 1\.4, but here it is 1\.0"):
        other.load(tmp_path / "bank")
