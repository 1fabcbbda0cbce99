"""Sources whose answers come when a test lets them go."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import numpy as np
import pytest

LONG = 60.0  # a deadline that no test reaches


@pytest.fixture(autouse=True)
def nothing_is_lost(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No exception may end as one that was never retrieved, told by asyncio."""
    yield
    gc.collect()
    assert [record for record in caplog.records if record.name == "asyncio"] == []


def play(main: Callable[[], Awaitable[Any]]) -> Any:
    async def as_class_indices() -> Any:
        return await asyncio.wait_for(main(), 30)

    return asyncio.run(as_class_indices())


class Held:
    """An async source whose answers come when they are let go, by the number of the call."""

    def __init__(self) -> None:
        self.calls: list[asyncio.Future[Any]] = []

    async def __call__(self, window: Any) -> Any:
        self.calls.append(asyncio.get_running_loop().create_future())
        return await self.calls[-1]

    async def answer(self, call: int, said: Any) -> None:
        if isinstance(said, BaseException):
            self.calls[call].set_exception(said)
        else:
            self.calls[call].set_result(said)
        await breath()


async def breath() -> None:
    """Let all that can go on go on."""
    for _ in range(5):
        await asyncio.sleep(0)


def row(seed: int) -> list[float]:
    return [float(p) for p in np.random.default_rng(seed).dirichlet([1, 1, 1])]
