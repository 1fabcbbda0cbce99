"""A bank is N filters, to the bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import classfilter as cf
from streams import options, random_stream


def same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Equal to the bit."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@given(
    st.integers(2, 12), st.integers(1, 40), options(), st.integers(0, 2**32 - 1), st.integers(1, 4)
)
@settings(max_examples=60, deadline=None)
def test_a_bank_is_n_filters(
    K: int, N: int, settings: dict[str, Any], seed: int, threads: int
) -> None:
    rng = np.random.default_rng(seed)
    single = [cf.DirichletFilter(K, **settings) for _ in range(N)]
    bank = cf.Bank(single[0], N)
    for step in range(4):
        rows = rng.permutation(N)[: rng.integers(1, N + 1)] if step % 2 else np.arange(N)
        probs, beta, dt = random_stream(K, len(rows), seed + step)
        P = bank.update(probs, beta, dt, rows=rows if step % 2 else None, threads=threads)
        expected = [single[n].update(*one) for n, *one in zip(rows, probs, beta, dt, strict=True)]
        assert same(P, np.array(expected))
    assert same(bank.alpha, np.array([f.alpha for f in single]))
    assert bank.eta.tolist() == [f.eta for f in single]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_share_the_rows(threads: int, dtype: Any) -> None:
    N, K = 2000, 5
    f = cf.DirichletFilter(K, dtype=dtype)
    bank, one = cf.Bank(f, N), cf.Bank(f, N)
    probs, beta, dt = random_stream(K, N, 7)
    rows = np.random.default_rng(0).permutation(N)[:1500]
    for _ in range(3):
        assert same(
            bank.update(probs, beta, dt, threads=threads), one.update(probs, beta, dt, threads=1)
        )
        part = (probs[:1500], beta[:1500], dt[:1500])
        assert same(
            bank.update(*part, rows=rows, threads=threads),
            one.update(*part, rows=rows, threads=1),
        )
    assert same(bank.alpha, one.alpha)


@pytest.mark.parametrize("bad_row", [0, 1999])
def test_a_bad_row_changes_nothing(bad_row: int) -> None:
    bank = cf.Bank(cf.DirichletFilter(3), 2000)
    probs = np.full((2000, 3), 1 / 3)
    bank.update(probs)
    before = bank.alpha
    probs[bad_row, 1] = -0.5
    with pytest.raises(ValueError, match=rf"probs\[{bad_row}, 1\] is -0.5"):
        bank.update(probs, threads=2)
    assert same(bank.alpha, before)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"probs": [[0.5, 0.5]]}, ValueError, r"probs has shape \(1, 2\); .*shape \(3, 2\)"),
        ({"probs": [[0.5, 0.5]], "rows": [3]}, ValueError, "rows names stream 3; .*0 to 2"),
        ({"probs": [[0.5, 0.5]], "rows": [-1]}, ValueError, "rows names stream -1"),
        ({"probs": [[0.5, 0.5]] * 2, "rows": [1, 1]}, ValueError, "stream 1 more than once"),
        (
            {"probs": [[0.5, 0.5]], "rows": [0.5]},
            TypeError,
            "rows must be a list of stream",
        ),
        ({"probs": [[0.5, 0.5]] * 3, "beta": [1, 2, 1]}, ValueError, "beta in row 1 is 2.0"),
        ({"probs": [[0.5, 0.5]] * 3, "dt": [1.0, 1.0]}, ValueError, "dt has 2 entries"),
        ({"probs": [[0.5, 0.5]] * 3, "threads": 0}, ValueError, "threads is 0"),
        ({"probs": [[1.0]] * 3}, ValueError, "probs has 1 entries, but the filter has 2 classes"),
    ],
)
def test_bad_calls(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    bank = cf.Bank(cf.DirichletFilter(2), 3)
    before = bank.alpha
    with pytest.raises(error, match=message):
        bank.update(**arguments)
    assert same(bank.alpha, before)


def test_add_drop_reset_and_take_out() -> None:
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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_saved_banks_continue_with_the_same_bits(dtype: Any, tmp_path: Path) -> None:
    f = cf.DirichletFilter(["a", "b", "c"], dtype=dtype)
    bank, other = cf.Bank(f, 50), cf.Bank(f, 0)
    first, second = random_stream(3, 50, 1), random_stream(3, 50, 2)
    bank.update(*first)
    bank.save(tmp_path / "bank.npz")
    other.restore(tmp_path / "bank.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["bank.npz"]
    assert same(bank.update(*second), other.update(*second))
    with pytest.raises(ValueError, match="has the classes"):
        cf.Bank(cf.DirichletFilter(3, dtype=dtype), 1).restore(tmp_path / "bank.npz")
    np.savez(tmp_path / "other.npz", x=1)
    with pytest.raises(ValueError, match="no saved bank"):
        other.restore(tmp_path / "other.npz")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: Any) -> None:
    bank = cf.Bank(cf.DirichletFilter(2), 3)
    bank.save(tmp_path / "bank.npz")
    before = (tmp_path / "bank.npz").read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="no space"):
        bank.save(tmp_path / "bank.npz")
    assert (tmp_path / "bank.npz").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1
