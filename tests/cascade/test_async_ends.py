"""Busy sources, late faults, cancelled steps and the end: nothing is lost, nothing hangs."""

from __future__ import annotations

import asyncio
import re
import threading
from typing import Any

import numpy as np
import pytest
from test_cascade import FILTERS, NAN, decay

from awaiting import LONG, Held, breath, nothing_is_lost, play, row  # noqa: F401
from classfilter import AsyncCascade
from classfilter.policy import Periodic
from sensing import SOURCES

# --- busy sources -----------------------------------------------------------------------------


def test_a_busy_source_is_not_called_again() -> None:
    class Wish(Periodic):
        said = "long"
        told: list[str] = []  # noqa: RUF012

        def choose(self, probs: Any, since: Any) -> str:
            return Wish.said

        def called(self, source: str, answer: Any, probs: Any, dt: float) -> None:
            self.told.append(source)

    async def main() -> None:
        held = {name: Held() for name in ("short", "long", "middle")}
        window = {"short": 1, "long": 9, "middle": 5}
        made = AsyncCascade(FILTERS[0](), held, Wish(), deadline=0.0, window=window)
        async with made:
            seen = []
            for wish in ("long", "long", "long", "long", "middle"):
                Wish.said = wish
                seen.append((await made.step(np.zeros(9))).called)
            await held["long"].answer(0, row(0))
            for wish in ("middle", "short", "long"):  # a longer one does not stand in
                Wish.said = wish
                seen.append((await made.step(np.zeros(9))).called)
        assert seen == [("long",), ("middle",), ("short",), (), (), (), (), ("long",)]
        assert Wish.told == ["long", "middle", "short", "long"]
        assert made.calls == {"short": 1, "long": 2, "middle": 1}

    play(main)


# --- ends -------------------------------------------------------------------------------------


def test_late_rubbish_and_late_errors_are_faults(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        held, f = Held(), FILTERS[0]()
        async with AsyncCascade(f, {"net": held}, deadline=0.0) as made:
            for n, said in enumerate(["walk", OSError("gone"), asyncio.CancelledError(), row(0)]):
                await made.step([1.0], time=n)
                await made.step([1.0], time=n + 0.5)  # it is still busy
                await breath()
                await held.answer(n, said)
            step = await made.step([1.0], time=9)
        rows = np.full((9, 3), NAN)
        rows[6] = row(0)
        assert step.probs.tobytes() == f.run(rows, dt=[0] + [0.5] * 7 + [5.5])[-1].tobytes()
        assert made.errors == {"net": 3}

    play(main)
    told = [record.getMessage() for record in caplog.records]
    assert [re.sub(";.*", "", line) for line in told] == [
        "source 'net' at time 0.0 gave an answer that cannot be used: it is 'walk'",
        "source 'net' at time 1.0 raised OSError: gone",
        "source 'net' at time 2.0 raised CancelledError: its call was cancelled",
    ]


@pytest.mark.parametrize("late", [False, True])
def test_what_ends_a_program_ends_it(late: bool) -> None:
    gate = threading.Event()

    def quitting(window: Any) -> Any:
        gate.wait(20)
        raise SystemExit(7)

    async def main() -> None:
        deadline = 0.0 if late else LONG
        async with AsyncCascade(FILTERS[0](), {"net": quitting}, deadline=deadline) as made:
            if late:
                await made.step([1.0])
            gate.set()
            for _ in range(2000):
                await made.step([1.0])
                await asyncio.sleep(0.001)

    with pytest.raises(SystemExit) as stop:
        asyncio.run(main())
    assert stop.value.code == 7


def test_a_cancelled_step_has_not_been() -> None:
    async def main() -> None:
        held = Held()
        async with AsyncCascade(FILTERS[0](), {"net": held}, deadline=LONG) as made:
            before = decay(made)  # type: ignore[arg-type]
            step = asyncio.ensure_future(made.step([1.0]))
            await breath()
            step.cancel()
            await asyncio.wait([step])
            assert step.cancelled()
            assert decay(made) == before  # type: ignore[arg-type]
            await held.answer(0, row(0))
            step = asyncio.ensure_future(made.step([1.0], 3.0))
            await breath()
            await held.answer(1, row(1))
            told = FILTERS[0]().update(row(1), dt=3.0)
            assert (await step).probs.tobytes() == told.tobytes()
            assert made.dropped == {"net": 1}

    play(main)


def test_one_step_at_a_time_and_none_after_the_end() -> None:
    async def main() -> None:
        made = AsyncCascade(FILTERS[0](), {"net": Held()}, deadline=LONG)
        step = asyncio.ensure_future(made.step([1.0]))
        await breath()
        waiting = "a step is still waiting for its answer; await it first"
        with pytest.raises(RuntimeError, match=waiting):
            await made.step([1.0])
        with pytest.raises(RuntimeError, match=waiting):
            made.reset()
        with pytest.raises(RuntimeError, match=waiting):
            made.state = made.state
        await made.aclose()
        await made.aclose()
        for ended in (step, made.step([1.0])):
            with pytest.raises(RuntimeError, match="the cascade is closed; make a new one"):
                await ended

    play(main)


@pytest.mark.parametrize("how", ["reset", "state"])
def test_a_new_start_has_no_late_answers(how: str) -> None:
    async def main() -> None:
        held = Held()
        async with AsyncCascade(FILTERS[0](), {"net": held}, deadline=0.0) as made:
            start = made.state
            await made.step([1.0])
            await breath()
            if how == "reset":
                made.reset()
            else:
                made.state = start
            await held.answer(0, row(0))
            step = await made.step([1.0])
            assert step.probs.tobytes() == FILTERS[0]().update([NAN] * 3).tobytes()
            assert step.called == ("net",)
            assert made.dropped == {"net": 1}

    play(main)


def test_closed_while_a_thread_works_on_its_error_goes_nowhere() -> None:
    gate, done = threading.Event(), threading.Event()

    def slow(window: Any) -> Any:
        gate.wait(20)
        done.set()
        raise OSError("too late for anybody")

    async def main() -> None:
        async with AsyncCascade(FILTERS[0](), {"slow": slow}, deadline=0.0) as made:
            await made.step([1.0])
            await asyncio.sleep(0.01)
        assert made.errors == {"slow": 0}

    play(main)
    gate.set()
    assert done.wait(20)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"deadline": -1}, "deadline is -1; it must be seconds, 0 or more"),
        ({"deadline": NAN}, "deadline is nan; it must be seconds, 0 or more"),
        ({"deadline": 1, "keep": -1}, "keep is -1; it counts steps and must be 0 or more"),
        ({"deadline": 1, "keep": 2.5}, "keep is 2.5; it counts steps and must be 0 or more"),
        ({"deadline": 1, "sources": {}}, "sources is empty"),
    ],
)
def test_bad_arguments(given: dict[str, Any], why: str) -> None:
    usual: dict[str, Any] = {"filter": FILTERS[0](), "sources": {"net": SOURCES["weak"]}}
    with pytest.raises(ValueError, match=re.escape(why)):
        AsyncCascade(**usual | given)
