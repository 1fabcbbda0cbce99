"""Async sources whose outputs come when a test releases them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import numpy as np
import pytest

LONG = 60.0  # a deadline that no test reaches


@pytest.fixture(autouse=True)
def no_lost_exceptions(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """asyncio logs exceptions that nobody retrieved; there may be none."""
    yield
    gc.collect()
    assert [record for record in caplog.records if record.name == "asyncio"] == []


def run_async(main: Callable[[], Awaitable[Any]]) -> Any:
    """Run a coroutine to its end; a hang is an error."""

    async def limited() -> Any:
        return await asyncio.wait_for(main(), 30)

    return asyncio.run(limited())


class GatedSource:
    """An async source; each output comes when it is released, by the number of the call."""

    def __init__(self) -> None:
        self.calls: list[asyncio.Future[Any]] = []

    async def __call__(self, window: Any) -> Any:
        self.calls.append(asyncio.get_running_loop().create_future())
        return await self.calls[-1]

    async def release(self, call: int, output: Any) -> None:
        if isinstance(output, BaseException):
            self.calls[call].set_exception(output)
        else:
            self.calls[call].set_result(output)
        await settle()


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


def random_row(seed: int) -> list[float]:
    return [float(p) for p in np.random.default_rng(seed).dirichlet([1, 1, 1])]
