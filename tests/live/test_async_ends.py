"""Busy sources, late errors, cancelled steps and the end: nothing is lost, nothing hangs."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from typing import Any

import numpy as np
import pytest

from async_sources import (
    LONG,
    GatedSource,
    no_lost_exceptions,  # noqa: F401
    random_row,
    run_async,
    settle,
)
from classfilter import AsyncCascade
from classfilter.live import _async
from classfilter.policy import Periodic
from live_loop import FILTERS, NAN, SOURCES, snapshot

# --- busy sources -----------------------------------------------------------------------------


def test_a_busy_source_is_not_called_again() -> None:
    class Fixed(Periodic):
        choice = "long"
        calls: list[str] = []  # noqa: RUF012

        def choose(self, probs: Any, since: Any) -> str:
            return Fixed.choice

        def called(self, source: str, observation: Any, probs: Any, dt: float) -> None:
            self.calls.append(source)

    async def main() -> None:
        gated = {name: GatedSource() for name in ("short", "long", "middle")}
        window = {"short": 1, "long": 9, "middle": 5}
        cascade = AsyncCascade(FILTERS[0](), gated, policy=Fixed(), deadline=0.0, window=window)
        async with cascade:
            seen = []
            for choice in ("long", "long", "long", "long", "middle"):
                Fixed.choice = choice
                seen.append((await cascade.step(np.zeros(9))).called)
            await gated["long"].release(0, random_row(0))
            for choice in ("middle", "short", "long"):  # a longer one does not replace it
                Fixed.choice = choice
                seen.append((await cascade.step(np.zeros(9))).called)
        assert seen == [("long",), ("middle",), ("short",), (), (), (), (), ("long",)]
        assert Fixed.calls == ["long", "middle", "short", "long"]
        assert cascade.calls == {"short": 1, "long": 2, "middle": 1}

    run_async(main)


def test_steps_without_a_free_source_leave_others_their_turn() -> None:
    async def main() -> None:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async with AsyncCascade(FILTERS[0](), {"net": GatedSource()}, deadline=0.0) as cascade:
            await cascade.step([1.0])
            beating = asyncio.ensure_future(other())
            for _ in range(100):
                assert (await cascade.step([1.0])).called == ()
            beating.cancel()
        assert turns >= 100

    run_async(main)


# --- ends -------------------------------------------------------------------------------------


def test_late_invalid_outputs_and_late_exceptions_are_errors(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        gated, f = GatedSource(), FILTERS[0]()
        async with AsyncCascade(f, {"net": gated}, deadline=0.0) as cascade:
            for n, output in enumerate(
                ["flying", OSError("gone"), asyncio.CancelledError(), random_row(0)]
            ):
                await cascade.step([1.0], time=n)
                await cascade.step([1.0], time=n + 0.5)  # it is still busy
                await settle()
                await gated.release(n, output)
            step = await cascade.step([1.0], time=9)
        rows = np.full((9, 3), NAN)
        rows[6] = random_row(0)
        assert step.probs.tobytes() == f.run(rows, dt=[0] + [0.5] * 7 + [5.5])[-1].tobytes()
        assert cascade.errors == {"net": 3}

    run_async(main)
    messages = [record.getMessage() for record in caplog.records]
    assert [re.sub(";.*", "", line) for line in messages] == [
        "source 'net' at time 0.0 gave an invalid output: it is 'flying'",
        "source 'net' at time 1.0 raised OSError: gone",
        "source 'net' at time 2.0 raised CancelledError: its call was cancelled",
    ]


@pytest.mark.parametrize("late", [False, True])
def test_exceptions_that_end_a_program_pass(late: bool) -> None:
    gate = threading.Event()

    def quitting(window: Any) -> Any:
        gate.wait(20)
        raise SystemExit(7)

    async def main() -> None:
        deadline = 0.0 if late else LONG
        async with AsyncCascade(FILTERS[0](), {"net": quitting}, deadline=deadline) as cascade:
            if late:
                await cascade.step([1.0])
            gate.set()
            for _ in range(2000):
                await cascade.step([1.0])
                await asyncio.sleep(0.001)

    with pytest.raises(SystemExit) as stop:
        asyncio.run(main())
    assert stop.value.code == 7


def test_a_cancelled_step_changes_nothing() -> None:
    async def main() -> None:
        gated = GatedSource()
        async with AsyncCascade(FILTERS[0](), {"net": gated}, deadline=LONG) as cascade:
            before = snapshot(cascade)
            step = asyncio.ensure_future(cascade.step([1.0]))
            await settle()
            step.cancel()
            await asyncio.wait([step])
            assert step.cancelled()
            assert snapshot(cascade) == before
            await gated.release(0, random_row(0))
            step = asyncio.ensure_future(cascade.step([1.0], 3.0))
            await settle()
            await gated.release(1, random_row(1))
            expected = FILTERS[0]().update(random_row(1), dt=3.0)
            assert (await step).probs.tobytes() == expected.tobytes()
            assert cascade.dropped == {"net": 1}

    run_async(main)


def test_one_step_at_a_time_and_none_after_the_end() -> None:
    async def main() -> None:
        cascade = AsyncCascade(FILTERS[0](), {"net": GatedSource()}, deadline=LONG)
        step = asyncio.ensure_future(cascade.step([1.0]))
        await settle()
        waiting = "a step is still waiting for its output; await it first"
        with pytest.raises(RuntimeError, match=waiting):
            await cascade.step([1.0])
        with pytest.raises(RuntimeError, match=waiting):
            cascade.reset()
        with pytest.raises(RuntimeError, match=waiting):
            cascade.state = cascade.state
        await cascade.aclose()
        await cascade.aclose()
        for ended in (step, cascade.step([1.0])):
            with pytest.raises(RuntimeError, match="the cascade is closed; make a new one"):
                await ended

    run_async(main)


@pytest.mark.parametrize("how", ["reset", "state"])
def test_late_outputs_do_not_outlive_a_reset(how: str) -> None:
    async def main() -> None:
        gated = GatedSource()
        async with AsyncCascade(FILTERS[0](), {"net": gated}, deadline=0.0) as cascade:
            start = cascade.state
            await cascade.step([1.0])
            await settle()
            if how == "reset":
                cascade.reset()
            else:
                cascade.state = start
            await gated.release(0, random_row(0))
            step = await cascade.step([1.0])
            assert step.probs.tobytes() == FILTERS[0]().update([NAN] * 3).tobytes()
            assert step.called == ("net",)
            assert cascade.dropped == {"net": 1}

    run_async(main)


def test_a_source_that_swallows_its_cancellation_is_left_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_async, "SECONDS_TO_CLOSE", 0.01)

    async def main() -> None:
        over = asyncio.Event()

        async def stubborn(window: Any) -> Any:
            while not over.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await over.wait()

        async with AsyncCascade(FILTERS[0](), {"net": stubborn}, deadline=0.0) as cascade:
            await cascade.step([1.0])
            await settle()
        over.set()
        await settle()

    run_async(main)
    assert [record.getMessage() for record in caplog.records] == [
        "source 'net' goes on, though its call was cancelled"
    ]


def test_an_exception_after_the_end_is_ignored() -> None:
    gate, done = threading.Event(), threading.Event()

    def slow(window: Any) -> Any:
        gate.wait(20)
        done.set()
        raise OSError("too late for anybody")

    async def main() -> None:
        async with AsyncCascade(FILTERS[0](), {"slow": slow}, deadline=0.0) as cascade:
            await cascade.step([1.0])
            await asyncio.sleep(0.01)
        assert cascade.errors == {"slow": 0}

    run_async(main)
    gate.set()
    assert done.wait(20)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"deadline": -1}, "deadline is -1; it must be seconds, 0 or more"),
        ({"deadline": NAN}, "deadline is nan; it must be seconds, 0 or more"),
        ({"deadline": 1, "keep": -1}, "keep is -1; it counts steps and must be 0 or more"),
        ({"deadline": 1, "keep": 2.5}, "keep is 2.5; it counts steps and must be 0 or more"),
        ({"deadline": 1, "sources": {}}, "sources is empty"),
    ],
)
def test_invalid_arguments(arguments: dict[str, Any], why: str) -> None:
    usual: dict[str, Any] = {"filter": FILTERS[0](), "sources": {"net": SOURCES["weak"]}}
    with pytest.raises(ValueError, match=re.escape(why)):
        AsyncCascade(**usual | arguments)
