"""Deadlines are kept, and late answers end where they belong; events tell the time, no clocks."""

from __future__ import annotations

import asyncio
import functools
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cascade import FILTERS, NAN, RUBBISH, cascade, decay, run, to_builtin

import classfilter as cf
from awaiting import LONG, Held, breath, nothing_is_lost, play, row  # noqa: F401
from classfilter import AsyncCascade
from classfilter.policy import Periodic
from sensing import BETA, CHANNEL, CLASSES, EACH, SOURCES, STEP, WINDOW, by_hand, signal

# --- in time: the same as without a clock -----------------------------------------------------


async def awaited(window: Any, call: Callable[[Any], Any]) -> Any:
    await asyncio.sleep(0)
    return call(window)


@pytest.mark.parametrize("f", FILTERS)
@pytest.mark.parametrize("kind", ["threads", "async", "returns an awaitable"])
def test_in_time_it_is_a_cascade(f: Callable[[], cf.Filter], kind: str) -> None:
    sources: dict[str, Any] = SOURCES
    if kind == "async":
        sources = {name: functools.partial(awaited, call=call) for name, call in SOURCES.items()}
    elif kind == "returns an awaitable":
        sources = {n: lambda x, call=call: awaited(x, call) for n, call in SOURCES.items()}
    x = signal(80)
    policy = cf.policy.Adaptive(budget=1 / 5, horizon=20)
    options: dict[str, Any] = {"channel": CHANNEL, "window": WINDOW, "cost": {"weak": 0.25}}

    async def main() -> None:
        made = AsyncCascade(f(), sources, policy, BETA, deadline=LONG, **options)
        async with made:
            steps = [
                to_builtin(await made.step(x[: n * EACH], time=n * STEP)) for n in range(1, 81)
            ]
        plainly = cascade(f(), policy, cost={"weak": 0.25})
        assert steps == [to_builtin(step) for step in run(plainly, x)]
        assert decay(made) == decay(plainly)  # type: ignore[arg-type]
        assert made.dropped == {"weak": 0, "strong": 0}

    play(main)


def test_a_thread_does_not_block_the_loop() -> None:
    gate = threading.Event()

    def slow(window: Any) -> list[float] | None:
        return row(0) if gate.wait(10) else None

    async def main() -> None:
        async with AsyncCascade(FILTERS[0](), {"slow": slow}, deadline=LONG) as made:
            asyncio.get_running_loop().call_soon(gate.set)
            assert (await made.step([1.0])).source == "slow"

    play(main)


@pytest.mark.parametrize("deadline", [0, 0.02])
def test_the_deadline_is_kept(deadline: float) -> None:
    gate = threading.Event()

    async def main() -> None:
        f = cf.DirichletFilter(CLASSES)
        async with AsyncCascade(f, {"stuck": lambda x: gate.wait(20)}, deadline=deadline) as made:
            begin = time.monotonic()
            step = await made.step([1.0], 2.0)
            took = time.monotonic() - begin
        assert deadline <= took < deadline + 5
        assert step[:2] == (2.0, None)
        assert step.called == ("stuck",)
        assert made.calls == {"stuck": 1}
        assert made.errors == {"stuck": 0}
        assert step.probs.tobytes() == f.update([NAN] * 3, 1.0, 2.0).tobytes()

    try:
        play(main)
    finally:
        gate.set()


# --- late answers -----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    f=st.sampled_from(FILTERS),
    delays=st.lists(st.integers(0, 9), min_size=1, max_size=25),
    keep=st.integers(0, 12),
)
def test_late_answers_end_where_they_belong(
    f: Callable[[], cf.Filter], delays: list[int], keep: int
) -> None:
    """The answer to step n comes d[n] steps later, in any order; each step has its own source.

    What is d steps late is used if d <= keep, and the filter is then at each step where it would
    be with all the answers that have come, each at its own time.
    """
    T = len(delays)
    names = [f"s{n}" for n in range(T)]
    rows = np.array([row(n) for n in range(T)])
    beta = {name: 0.1 + 0.9 * (n % 3) / 2 for n, name in enumerate(names)}
    dt = [float(n % 4) for n in range(T)]

    class InTurn(Periodic):
        def choose(self, probs: Any, since: Any) -> str:
            return next(name for name in names if name not in self.past)

        def called(self, source: str, answer: Any, probs: Any, dt: float) -> None:
            self.past.append(source)

        past: list[str]

    async def main() -> None:
        held = {name: Held() for name in names}
        policy = InTurn()
        policy.past = []
        options: dict[str, Any] = {"deadline": 0.0, "keep": keep}
        async with AsyncCascade(f(), held, policy, beta, **options) as made:
            for n in range(T):
                step = await made.step([1.0], dt[n])
                assert step.called == (names[n],)
                await breath()
                # What came until the end of the last step, and was not too old then.
                seen = [m + d < n and d < keep for m, d in enumerate(delays[: n + 1])]
                hand = f()
                told = hand.run(
                    np.where(np.array(seen)[:, None], rows[: n + 1], NAN),
                    beta=np.array(list(beta.values()))[: n + 1],
                    dt=dt[: n + 1],
                )
                assert step.probs.tobytes() == told[-1].tobytes()
                assert step.label == hand.label
                for m in range(n + 1):
                    if m + delays[m] == n:
                        await held[names[m]].answer(0, rows[m])
        came = [(m, d) for m, d in enumerate(delays) if m + d < T]
        assert made.dropped == {
            n: int((i, delays[i]) in came and delays[i] >= keep) for i, n in enumerate(names)
        }

    play(main)


def test_an_hour_of_faults_and_delays() -> None:
    """Every good answer goes in at its own time, be it late or not, and nothing else does."""
    rng = np.random.default_rng(4)
    x, T = signal(720, seed=2), 720
    bad = [None, "walk", [0.5, 0.5], [NAN, 1.0, 0.0], [0.5, 0.5, 0.5], [NAN] * 3]
    errors = [KeyError("gone"), OSError("cable"), StopAsyncIteration(), ZeroDivisionError()]
    due: list[tuple[int, asyncio.Future[Any], Any]] = []
    told: dict[int, Any] = {}
    faulty = {"weak": 0, "strong": 0}
    now = 0

    def source(name: str) -> Callable[[Any], Any]:
        async def call(window: Any) -> Any:
            kind = rng.random()
            said: Any = SOURCES[name](window)
            if kind < 0.2:
                said = bad[rng.integers(len(bad))]
            elif kind < 0.3:
                said = errors[rng.integers(len(errors))]
            if kind >= 0.3:
                told[now] = CHANNEL["weak"].apply(said) if name == "weak" else said
            else:
                faulty[name] += said is not bad[-1]
            if rng.random() < 0.4:
                late = asyncio.get_running_loop().create_future()
                due.append((now + int(rng.integers(8)), late, said))
                said = await late
            if isinstance(said, Exception):
                raise said
            return said

        return call

    async def main() -> None:
        nonlocal now
        steps, f = [], FILTERS[0]()
        sources = {name: source(name) for name in SOURCES}
        options: dict[str, Any] = {"channel": CHANNEL, "window": WINDOW, "deadline": 0.002}
        made = AsyncCascade(f, sources, Periodic(every=4), BETA, **options)
        async with made:
            for now in range(1, T + 1):
                steps.append(await made.step(x[: now * EACH], time=now * STEP))
                for when, late, said in due:
                    if (when <= now or now == T) and not late.done():
                        late.set_result(said)
                due[:] = [one for one in due if not one[1].done()]
                await breath()
        who = [step.called[0] if step.called else "weak" for step in steps]
        rows = [told.get(n, [NAN] * 3) for n in range(1, T + 1)]
        dt = [0.0] + [STEP] * (T - 1)
        f.run(rows, beta=[BETA[name] for name in who], dt=dt)
        assert repr(made.filter.state.eta) == repr(f.state.eta)
        assert made.filter.state.alpha.tobytes() == f.state.alpha.tobytes()
        assert made.errors == faulty
        assert made.dropped == {"weak": 0, "strong": 0}
        assert made.calls == {n: sum(n in step.called for step in steps) for n in SOURCES}
        assert min(faulty.values()) > 15
        assert sum(step.source is None for step in steps) > 200

    play(main)


def test_an_hour_in_threads_with_faults() -> None:
    x, bad = signal(720, seed=2), {"weak": 0, "strong": 0}

    def chance(window: Any) -> int:
        """A number that only the window tells, so that both loops draw the same."""
        return int(1e6 * abs(window[-1, 0]))

    def source(name: str) -> Callable[[Any], Any]:
        def call(window: Any) -> Any:
            n = chance(window)
            if n % 3:
                return SOURCES[name](window)
            bad[name] += 1
            said = RUBBISH[n // 3 % len(RUBBISH)][0]
            return said(window) if callable(said) else said

        return call

    def good(name: str) -> Callable[[Any, int], Any]:
        return lambda window, _: SOURCES[name](window) if chance(window) % 3 else None

    async def main() -> None:
        sources, policy = {name: source(name) for name in SOURCES}, Periodic(every=5)
        options: dict[str, Any] = {"channel": CHANNEL, "window": WINDOW, "deadline": LONG}
        async with AsyncCascade(FILTERS[0](), sources, policy, BETA, **options) as made:
            steps = [await made.step(x[: n * EACH], time=n * STEP) for n in range(1, 721)]
        told = by_hand(FILTERS[0](), policy, x, {name: good(name) for name in SOURCES})
        assert np.array([step.probs for step in steps]).tobytes() == told.probs.tobytes()
        assert made.errors == bad
        assert min(bad.values()) > 20

    play(main)


def test_asyncio_is_loaded_only_where_it_is_needed() -> None:
    code = "import sys, classfilter as cf; assert 'asyncio' not in sys.modules; cf.AsyncCascade"
    subprocess.run([sys.executable, "-c", code], check=True)
