"""A bank equals N filters, to the bit, whichever filter and however many threads."""

import pickle
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import expm

import classfilter as cf
from classfilter.filters import _bank
from markov import random_rates
from streams import options, random_stream

FILTERS: dict[str, Callable[[int], Any]] = {
    "dirichlet": lambda K: cf.DirichletFilter(K, anchor=0.3),
    "dirichlet, float32": lambda K: cf.DirichletFilter(K, dtype=np.float32),
    "sticky": lambda K: cf.StickyFilter(K, 0.95),
    "sticky, float32": lambda K: cf.StickyFilter(K, 0.95, dtype=np.float32),
    "transitions": lambda K: cf.StickyFilter(K, transitions=expm(random_rates(K, 1))),
    "transitions, float32": lambda K: cf.StickyFilter(
        K, transitions=expm(random_rates(K, 1)), dtype=np.float32
    ),
    "raw": cf.RawFilter,
    "mean": lambda K: cf.MeanFilter(K, window=3),
    "vote": lambda K: cf.VoteFilter(K, window=4),
    "ema": lambda K: cf.EmaFilter(K, 0.8),
    "hold": cf.HoldFilter,
}
every_filter = pytest.mark.parametrize("make", FILTERS.values(), ids=list(FILTERS))
some = settings(max_examples=10)


def same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Equal to the bit."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@given(
    st.integers(2, 12), st.integers(1, 40), options(), st.integers(0, 2**32 - 1), st.integers(1, 4)
)
@settings(max_examples=60)
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
        expected = [single[n].update(*row) for n, *row in zip(rows, probs, beta, dt, strict=True)]
        assert same(P, np.array(expected))
    assert same(bank.alpha, np.array([f.alpha for f in single]))
    assert bank.eta.tolist() == [f.eta for f in single]


def same_states(bank: Any, filters: list[Any]) -> bool:
    """Each stream in the state of its filter, to the bit."""
    return len(bank) == len(filters) and all(
        same(np.asarray(a), np.asarray(b))
        for n, f in enumerate(filters)
        for a, b in zip(bank.filter(n).state, f.state, strict=True)
    )


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


@every_filter
def test_the_order_of_rows_does_not_matter(make: Any) -> None:
    K, N = 5, 30
    rng = np.random.default_rng(3)
    a, b = cf.Bank(make(K), N), cf.Bank(make(K), N)
    for seed in range(3):
        stream, order = random_stream(K, N, seed), rng.permutation(N)
        P = a.update(*stream, rows=np.arange(N))
        assert same(b.update(*(x[order] for x in stream), rows=order), P[order])
    assert same_states(a, [b.filter(n) for n in range(N)])


@every_filter
def test_a_bad_row_or_call_changes_nothing(make: Any) -> None:
    bank = cf.Bank(make(3), 4)
    bank.update([[0.7, 0.2, 0.1]] * 4, 0.5)
    before = [bank.filter(n) for n in range(4)]
    good = [0.2, 0.3, 0.5]
    for arguments in (
        {"probs": [good, good, good, [-0.5, 1.0, 0.5]]},
        {"probs": [good] * 4, "beta": [1, 1, 1, 2]},
        {"probs": [good] * 4, "dt": [1, 1, 1, -1]},
        {"probs": [good] * 3},
        {"probs": [good] * 2, "rows": [2, 2]},
        {"probs": [good] * 2, "rows": [3, 4]},
    ):
        with pytest.raises(ValueError, match=r"probs|beta|dt|rows"):
            bank.update(**arguments)
    for change in (bank.drop, bank.reset):
        with pytest.raises(ValueError, match="rows names stream 4; the bank has streams 0 to 3"):
            change([0, 4])
    assert same_states(bank, before)


@every_filter
def test_saved_pickled_and_continued(make: Any, tmp_path: Path) -> None:
    bank, restored = cf.Bank(make(4), 20), cf.Bank(make(4), 0)
    bank.update(*random_stream(4, 20, 1))
    bank.save(tmp_path / "bank.npz")
    restored.restore(tmp_path / "bank.npz")
    pickled = pickle.loads(pickle.dumps(bank))
    later = random_stream(4, 20, 2)
    P = bank.update(*later)
    assert same(restored.update(*later), P)
    assert same(pickled.update(*later), P)
    pickled.reset()
    assert same_states(pickled, [make(4)] * 20)


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows are shared by threads, too."""
    monkeypatch.setattr(_bank, "MIN_ROWS_PER_THREAD", 100)


@every_filter
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.usefixtures("short_parts")
def test_threads_share_the_rows(threads: int, make: Any) -> None:
    N, K = 500, 5
    bank, single = cf.Bank(make(K), N), cf.Bank(make(K), N)
    probs, beta, dt = random_stream(K, N, 7)
    rows = np.random.default_rng(0).permutation(N)[:450]
    for _ in range(2):
        P = bank.update(probs, beta, dt, threads=threads)
        assert same(P, single.update(probs, beta, dt, threads=1))
        part = (probs[:450], beta[:450], dt[:450])
        P = bank.update(*part, rows=rows, threads=threads)
        assert same(P, single.update(*part, rows=rows, threads=1))
    assert same_states(bank, [single.filter(n) for n in range(N)])


@pytest.mark.usefixtures("short_parts")
def test_without_more_threads_the_rows_are_updated_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class NoThread(Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    bank, single = cf.Bank(cf.StickyFilter(3), 500), cf.Bank(cf.StickyFilter(3), 500)
    stream = random_stream(3, 500, 7)
    expected = single.update(*stream, threads=1)
    monkeypatch.setattr(_bank, "Thread", NoThread)
    assert same(bank.update(*stream, threads=4), expected)


# ---- several threads use one bank ----


@pytest.mark.parametrize("make", [cf.DirichletFilter, cf.StickyFilter, cf.EmaFilter])
def test_updates_of_several_threads_follow_each_other(make: Any, busy_threads: Any) -> None:
    """Equal rows commute: 3 x 20 updates at once are 60 in turn. None is lost, no state torn."""
    N = 30 if make is cf.EmaFilter else 1500
    row = np.array([0.6, 0.1, 0.1, 0.2])
    bank, one, states = cf.Bank(make(4), N), make(4), []
    probs = np.tile(row, (N, 1))
    steps = [tuple(map(np.asarray, one.state))]
    for _ in range(60):
        one.update(row, 0.5)
        steps.append(tuple(map(np.asarray, one.state)))

    def update() -> None:
        for _ in range(20):
            bank.update(probs, 0.5, threads=2)

    def read() -> None:
        for _ in range(40):
            states.append((bank.filter(0).state, bank.filter(N - 1).state))

    busy_threads(update, update, update, read)
    assert same_states(bank, [one] * N)
    known = {tuple(part.tobytes() for part in state) for state in steps}
    for pair in states:
        for state in pair:
            assert tuple(np.asarray(part).tobytes() for part in state) in known


def test_streams_come_and_go_during_updates(busy_threads: Any) -> None:
    N, K = 1000, 20
    bank = cf.Bank(cf.DirichletFilter(K), N)
    probs = np.full((N, K), 1 / K)

    def update() -> None:
        for _ in range(60):
            try:
                bank.update(probs[: len(bank)])
                bank.update(probs[:50], rows=np.arange(len(bank) - 50, len(bank)))
            except ValueError:
                pass  # the number of streams has changed in between

    def come_and_go() -> None:
        for _ in range(60):
            bank.drop(np.arange(100, len(bank)))
            bank.add(N - len(bank))

    busy_threads(update, update, come_and_go)
    assert len(bank) == N
    assert np.isfinite(bank.alpha).all()


def test_an_argument_that_changes_the_bank() -> None:
    """What an argument does while it becomes an array comes before the update."""
    bank = cf.Bank(cf.StickyFilter(2), 1000)

    class Dropping:
        def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
            bank.drop(np.arange(1, 1000))
            return np.full((1000, 2), 0.5)

    with pytest.raises(ValueError, match=r"shape \(1000, 2\); it must .* shape \(1, 2\)"):
        bank.update(Dropping())
    assert len(bank) == 1


@pytest.mark.parametrize("invalid", [0, 1999])
def test_an_invalid_row_changes_nothing(invalid: int) -> None:
    bank = cf.Bank(cf.DirichletFilter(3), 2000)
    probs = np.full((2000, 3), 1 / 3)
    bank.update(probs)
    before = bank.alpha
    probs[invalid, 1] = -0.5
    with pytest.raises(ValueError, match=rf"probs\[{invalid}, 1\] is -0.5"):
        bank.update(probs, threads=2)
    assert same(bank.alpha, before)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"probs": [[0.5, 0.5]]}, ValueError, r"probs has shape \(1, 2\); .*shape \(3, 2\)"),
        ({"probs": [[0.5, 0.5]], "rows": [3]}, ValueError, "rows names stream 3; .*0 to 2"),
        ({"probs": [[0.5, 0.5]], "rows": [-1]}, ValueError, "rows names stream -1"),
        (
            {"probs": [[0.5, 0.5]] * 2, "rows": [1, 1]},
            ValueError,
            "stream 1 more than once; give its rows in several updates",
        ),
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
def test_invalid_calls(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    bank = cf.Bank(cf.DirichletFilter(2), 3)
    before = bank.alpha
    with pytest.raises(error, match=message):
        bank.update(**arguments)
    assert same(bank.alpha, before)


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
    with pytest.raises(ValueError, match="is of DirichletFilter, the bank of StickyFilter"):
        cf.Bank(cf.StickyFilter(["a", "b", "c"], dtype=dtype), 1).restore(tmp_path / "bank.npz")
    with pytest.raises(ValueError, match=r"of a filter with gamma=0.9, the bank of .* gamma=0.95"):
        cf.Bank(cf.DirichletFilter(["a", "b", "c"], 0.95, dtype=dtype), 1).restore(
            tmp_path / "bank.npz"
        )
    np.savez(tmp_path / "other.npz", x=1)
    with pytest.raises(ValueError, match="is not a saved bank: it has no"):
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


@every_filter
@pytest.mark.parametrize(
    ("states", "message"),
    [
        (lambda good: good[:, :1], r"has states of shape \(4, 1\); a stream of the bank has"),
        (lambda good: good[0], "has states of shape"),
        (lambda good: np.where(np.arange(4)[:, None] == 2, np.nan, good), "damaged: .* stream 2:"),
        (lambda good: -1 - good, "damaged: the state of stream 0:"),
    ],
)
def test_a_damaged_file_changes_nothing(
    make: Any, states: Any, message: str, tmp_path: Path
) -> None:
    bank = cf.Bank(make(3), 4)
    bank.update(*random_stream(3, 4, 1))
    before = [bank.filter(n) for n in range(4)]
    bank.save(tmp_path / "bank.npz")
    with np.load(tmp_path / "bank.npz") as file:
        parts = dict(file)
    parts["states"] = states(parts["states"])
    np.savez(tmp_path / "bank.npz", **parts)
    with pytest.raises(ValueError, match=message):
        bank.restore(tmp_path / "bank.npz")
    assert same_states(bank, before)


def test_only_dirichlet_banks_have_alpha() -> None:
    with pytest.raises(AttributeError, match="a bank of StickyFilter has no alpha"):
        _ = cf.Bank(cf.StickyFilter(2), 1).alpha


@pytest.mark.parametrize("kept", [0, 1, 100, 0.5, 0.99])
def test_a_truncated_file_is_rejected(kept: float, tmp_path: Path) -> None:
    path = tmp_path / "bank.npz"
    bank = cf.Bank(cf.DirichletFilter(3), streams=2)
    bank.save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if 0 < kept < 1 else int(kept)])
    bank.update([[0.7, 0.2, 0.1]] * 2)
    before = bank.alpha.tobytes()
    with pytest.raises(ValueError, match=r"bank\.npz is damaged, or not a saved bank; give a file"):
        bank.restore(path)
    assert bank.alpha.tobytes() == before


@pytest.mark.parametrize("content", [b"some text", b"\x80\x04K\x01."])
def test_another_file_is_rejected(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ValueError, match="other is damaged, or not a saved bank"):
        cf.Bank(cf.DirichletFilter(3), streams=2).restore(tmp_path / "other")
    np.save(tmp_path / "array.npy", np.zeros(3))
    with pytest.raises(ValueError, match=r"array\.npy is damaged, or not a saved bank"):
        cf.Bank(cf.DirichletFilter(3), streams=2).restore(tmp_path / "array.npy")
