"""A bank shared by threads, and rows shared among them."""

from contextlib import suppress
from threading import Thread
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf
from bank_filters import every_filter, same, same_states
from classfilter.filters import runner
from streams import random_stream


@pytest.mark.covering(1)
@every_filter
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.usefixtures("short_parts")
def test_threads_share_the_rows(threads: int, make: Any) -> None:
    N, K = 330, 5
    bank, single = cf.Bank(make(K), N), cf.Bank(make(K), N)
    probs, beta, dt = random_stream(K, N, 7)
    rows = np.random.default_rng(0).permutation(N)[:310]
    for _ in range(2):
        P = bank.update(probs, beta, dt, threads=threads)
        assert same(P, single.update(probs, beta, dt, threads=1))
        part = (probs[:310], beta[:310], dt[:310])
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
    monkeypatch.setattr(runner, "Thread", NoThread)
    assert same(bank.update(*stream, threads=4), expected)


@every_filter
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.usefixtures("short_parts")
def test_threads_share_the_streams_of_a_run(threads: int, make: Any) -> None:
    N, K = 100, 5
    bank, single = cf.Bank(make(K), N), cf.Bank(make(K), N)
    probs, beta, dt = random_stream(K, 600, 7)
    rows = np.random.default_rng(0).integers(N, size=600)
    for more in ((beta, dt), (), (0.5, dt)):
        P = bank.run(probs, *more, rows=rows, threads=threads)
        assert same(P, single.run(probs, *more, rows=rows, threads=1))
    assert same_states(bank, [single.filter(n) for n in range(N)])


def test_few_rows_start_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread takes longer to start than a thousand rows take."""
    started: list[Thread] = []
    start = Thread.start

    def counted(thread: Thread) -> None:
        started.append(thread)
        start(thread)

    monkeypatch.setattr(Thread, "start", counted)
    bank, stream = cf.Bank(cf.StickyFilter(3), 1000), random_stream(3, 1000, 7)
    bank.update(*stream)
    bank.run(*stream, rows=np.arange(1000))
    assert started == []
    stream = random_stream(3, 5000, 7)
    bank.run(*stream, rows=np.arange(5000) % 1000, threads=2)
    assert started  # one, if it ended before the next was needed


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

    with pytest.raises(ValueError, match="probs"):
        bank.update(Dropping())
    assert len(bank) == 1


def test_a_list_that_another_thread_changes(busy_threads: Any) -> None:
    """A row or the numbers of streams in a list: as they were before a change, or after it."""
    f, bank = cf.StickyFilter(3, 1.0), cf.Bank(cf.StickyFilter(3, 1.0), 8)
    row, streams, probs = [0.5, 0.25, 0.25], [0, 1], np.full((2, 3), 1 / 3)

    def change() -> None:
        for n in range(3000):
            row[:] = [0.25, 0.25, 0.5] if n % 2 else [0.5 + n * 1e-9, 0.25, 0.25]
            row.extend([0.1] * 40)
            del row[3:]
            streams[:] = [2 + n % 6, n % 2]
            streams.extend(range(1000, 1040))
            del streams[2:]

    def update() -> None:
        for _ in range(1000):
            with suppress(ValueError):  # it had more entries then
                f.update(row)
            with suppress(ValueError):
                bank.update(probs, rows=streams)

    busy_threads(change, update, update)
    assert f.probs.sum() == pytest.approx(1)
    assert all(bank.filter(n).probs.sum() == pytest.approx(1) for n in range(8))
