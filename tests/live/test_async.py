"""Deadlines are kept, and late outputs count at their own time; events drive it, not clocks."""

from __future__ import annotations

import asyncio
import functools
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from async_sources import (
    LONG,
    GatedSource,
    no_lost_exceptions,  # noqa: F401
    random_row,
    run_async,
    settle,
)
from classfilter import AsyncCascade
from classfilter.policy import Periodic
from live_loop import (
    BETA,
    CHANNEL,
    CLASSES,
    FILTERS,
    INVALID_OUTPUTS,
    NAN,
    PER_STEP,
    SOURCES,
    STEP,
    WINDOW,
    loop_by_hand,
    make_cascade,
    run_steps,
    signal,
    snapshot,
    step_bits,
)
from streams import at_most

# --- in time: the same as a `Cascade` --------------------------------------------------------


async def awaited(window: Any, call: Callable[[Any], Any]) -> Any:
    await asyncio.sleep(0)
    return call(window)


@pytest.mark.covering(1)
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
        cascade = AsyncCascade(f(), sources, policy=policy, beta=BETA, deadline=LONG, **options)
        async with cascade:
            steps = [
                step_bits(await cascade.step(x[: n * PER_STEP], time=n * STEP))
                for n in range(1, 81)
            ]
        sync = make_cascade(f(), policy, cost={"weak": 0.25})
        assert steps == [step_bits(step) for step in run_steps(sync, x)]
        assert snapshot(cascade) == snapshot(sync)
        assert cascade.dropped == {"weak": 0, "strong": 0}

    run_async(main)


def test_a_thread_does_not_block_the_loop() -> None:
    gate = threading.Event()

    def slow(window: Any) -> list[float] | None:
        return random_row(0) if gate.wait(10) else None

    async def main() -> None:
        async with AsyncCascade(FILTERS[0](), {"slow": slow}, deadline=LONG) as cascade:
            asyncio.get_running_loop().call_soon(gate.set)
            assert (await cascade.step([1.0])).source == "slow"

    run_async(main)


@pytest.mark.parametrize("deadline", [0, 0.02])
def test_the_deadline_is_kept(deadline: float) -> None:
    gate = threading.Event()

    async def main() -> None:
        f = cf.DirichletFilter(CLASSES)
        async with AsyncCascade(
            f, {"stuck": lambda x: gate.wait(20)}, deadline=deadline
        ) as cascade:
            step = await cascade.step([1.0], 2.0)
        assert not gate.is_set()  # it did not wait for the source
        assert step[:2] == (2.0, None)
        assert step.called == ("stuck",)
        assert cascade.calls == {"stuck": 1}
        assert cascade.errors == {"stuck": 0}
        assert step.probs.tobytes() == f.update([NAN] * 3, 1.0, 2.0).tobytes()

    try:
        run_async(main)
    finally:
        gate.set()


# --- late outputs -----------------------------------------------------------------------------


@at_most(60)
@given(
    f=st.sampled_from(FILTERS),
    delays=st.lists(st.integers(0, 9), min_size=1, max_size=25),
    keep=st.integers(0, 12),
)
def test_late_outputs_count_at_their_own_time(
    f: Callable[[], cf.Filter], delays: list[int], keep: int
) -> None:
    """The output of step n comes d[n] steps later, in any order; each step has its own source.

    What is d steps late is used if d <= keep. At each step, the filter's estimate is then the one
    with all outputs that have come, each at its own time.
    """
    T = len(delays)
    names = [f"s{n}" for n in range(T)]
    rows = np.array([random_row(n) for n in range(T)])
    beta = {name: 0.1 + 0.9 * (n % 3) / 2 for n, name in enumerate(names)}
    dt = [float(n % 4) for n in range(T)]

    class InTurn(Periodic):
        def choose(self, probs: Any, since: Any) -> str:
            return next(name for name in names if name not in self.past)

        def called(self, source: str, observation: Any, probs: Any, dt: float) -> None:
            self.past.append(source)

        past: list[str]

    async def main() -> None:
        gated = {name: GatedSource() for name in names}
        policy = InTurn()
        policy.past = []
        options: dict[str, Any] = {"deadline": 0.0, "keep": keep}
        async with AsyncCascade(f(), gated, policy=policy, beta=beta, **options) as cascade:
            for n in range(T):
                step = await cascade.step([1.0], dt[n])
                assert step.called == (names[n],)
                await settle()
                # What came before the end of the last step, and was not too old then.
                seen = [m + d < n and d < keep for m, d in enumerate(delays[: n + 1])]
                hand = f()
                expected = hand.run(
                    np.where(np.array(seen)[:, None], rows[: n + 1], NAN),
                    beta=np.array(list(beta.values()))[: n + 1],
                    dt=dt[: n + 1],
                )
                assert step.probs.tobytes() == expected[-1].tobytes()
                assert step.label == hand.label
                for m in range(n + 1):
                    if m + delays[m] == n:
                        await gated[names[m]].release(0, rows[m])
        came = [(m, d) for m, d in enumerate(delays) if m + d < T]
        assert cascade.dropped == {
            n: int((i, delays[i]) in came and delays[i] >= keep) for i, n in enumerate(names)
        }

    run_async(main)


def test_an_hour_of_errors_and_delays() -> None:
    """Every valid output counts at its own time, late or not, and nothing else does."""
    rng = np.random.default_rng(4)
    x, T = signal(720, seed=2), 720
    invalid = [None, "flying", [0.5, 0.5], [NAN, 1.0, 0.0], [0.5, 0.5, 0.5], [NAN] * 3]
    errors = [KeyError("gone"), OSError("cable"), StopAsyncIteration(), ZeroDivisionError()]
    due: list[tuple[int, asyncio.Future[Any], Any]] = []
    rows: dict[int, Any] = {}
    wrong = {"weak": 0, "strong": 0}
    now = 0

    def source(name: str) -> Callable[[Any], Any]:
        async def call(window: Any) -> Any:
            kind = rng.random()
            output: Any = SOURCES[name](window)
            if kind < 0.2:
                output = invalid[rng.integers(len(invalid))]
            elif kind < 0.3:
                output = errors[rng.integers(len(errors))]
            if kind >= 0.3:
                rows[now] = CHANNEL["weak"].apply(output) if name == "weak" else output
            else:
                wrong[name] += output is not invalid[-1]
            if rng.random() < 0.4:
                late = asyncio.get_running_loop().create_future()
                due.append((now + int(rng.integers(8)), late, output))
                output = await late
            if isinstance(output, Exception):
                raise output
            return output

        return call

    async def main() -> None:
        nonlocal now
        steps, f = [], FILTERS[0]()
        sources = {name: source(name) for name in SOURCES}
        options: dict[str, Any] = {"channel": CHANNEL, "window": WINDOW, "deadline": 0.002}
        cascade = AsyncCascade(f, sources, policy=Periodic(every=4), beta=BETA, **options)
        async with cascade:
            for now in range(1, T + 1):
                steps.append(await cascade.step(x[: now * PER_STEP], time=now * STEP))
                for when, late, output in due:
                    if (when <= now or now == T) and not late.done():
                        late.set_result(output)
                due[:] = [entry for entry in due if not entry[1].done()]
                await settle()
        called = [step.called[0] if step.called else "weak" for step in steps]
        by_step = [rows.get(n, [NAN] * 3) for n in range(1, T + 1)]
        dt = [0.0] + [STEP] * (T - 1)
        f.run(by_step, beta=[BETA[name] for name in called], dt=dt)
        assert repr(cascade.filter.state.eta) == repr(f.state.eta)
        assert cascade.filter.state.alpha.tobytes() == f.state.alpha.tobytes()
        assert cascade.errors == wrong
        assert cascade.dropped == {"weak": 0, "strong": 0}
        assert cascade.calls == {n: sum(n in step.called for step in steps) for n in SOURCES}
        assert min(wrong.values()) > 15
        assert sum(step.source is None for step in steps) > 200

    run_async(main)


def test_an_output_too_late_to_be_used_is_dropped_or_an_error() -> None:
    """A valid one is dropped, an invalid one is an error, a missing one is neither."""

    async def main() -> None:
        gated = GatedSource()
        async with AsyncCascade(FILTERS[0](), {"net": gated}, deadline=0.0, keep=0) as cascade:
            for n, output in enumerate([random_row(0), [NAN, 0.5, 0.5], [0.5] * 3, [NAN] * 3]):
                await cascade.step([1.0])
                await settle()
                await gated.release(n, output)
            before = cascade.filter.state
            await cascade.aclose()
            assert repr(cascade.filter.state) == repr(before)
        assert cascade.dropped == {"net": 1}
        assert cascade.errors == {"net": 2}

    run_async(main)


def test_an_hour_of_errors_in_threads() -> None:
    x, errors = signal(720, seed=2), {"weak": 0, "strong": 0}

    def chance(window: Any) -> int:
        """Return a number that depends on the window alone, so that both loops draw the same."""
        return int(1e6 * abs(window[-1, 0]))

    def source(name: str) -> Callable[[Any], Any]:
        def call(window: Any) -> Any:
            n = chance(window)
            if n % 3:
                return SOURCES[name](window)
            errors[name] += 1
            output = INVALID_OUTPUTS[n // 3 % len(INVALID_OUTPUTS)][0]
            return output(window) if callable(output) else output

        return call

    def valid_only(name: str) -> Callable[[Any, int], Any]:
        return lambda window, _: SOURCES[name](window) if chance(window) % 3 else None

    async def main() -> None:
        sources, policy = {name: source(name) for name in SOURCES}, Periodic(every=5)
        options: dict[str, Any] = {"channel": CHANNEL, "window": WINDOW, "deadline": LONG}
        async with AsyncCascade(
            FILTERS[0](), sources, policy=policy, beta=BETA, **options
        ) as cascade:
            steps = [await cascade.step(x[: n * PER_STEP], time=n * STEP) for n in range(1, 721)]
        expected = loop_by_hand(
            FILTERS[0](), policy, x, {name: valid_only(name) for name in SOURCES}
        )
        assert np.array([step.probs for step in steps]).tobytes() == expected.probs.tobytes()
        assert cascade.errors == errors
        assert min(errors.values()) > 20

    run_async(main)


def test_asyncio_is_loaded_only_where_it_is_needed() -> None:
    code = "import sys, classfilter as cf; assert 'asyncio' not in sys.modules; cf.AsyncCascade"
    subprocess.run([sys.executable, "-c", code], check=True)
