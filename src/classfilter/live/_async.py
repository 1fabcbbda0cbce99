"""The live loop in real time: no step waits longer than its deadline, and late outputs count."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections import deque
from collections.abc import Awaitable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._errors import ArgumentError
from .._support.types import Array, Duration, Floats, Weights
from .._timestamps import duration
from ..chain._chain import Chain
from ..chain._channel import Channels
from ..filters._base import Filter
from ..policy import Policy
from ._base import LOG, BaseCascade, Step, is_missing
from ._source import Source

SECONDS_TO_CLOSE = 5.0
"""How long `aclose` waits for calls that it has cancelled."""


class AsyncCascade(BaseCascade):
    """A `Cascade` for real time: a step returns at its deadline, and late outputs still count.

    An output that comes after the deadline is taken at the next step, with the time that it belongs
    to: the filter goes back to that time, takes it, and takes again the observations since. Its
    state is then the same, to the bit, as if the output had come in time. Only what the policy
    chose meanwhile, without that output, stays as it was.

    A source that is still busy is not called again. If the policy chooses it, the free source with
    the longest window that is full is called instead, but none with a longer window than the chosen
    one. If there is none, only time passes.

    Parameters
    ----------
    filter, policy, beta, channel, window, cost
        As in `Cascade`.
    sources : mapping of str to callable
        As in `Cascade`; or async callables. Others run in a thread, one per source.
    deadline : float, str or timedelta
        How long a step waits for an output: seconds, ``"200ms"`` or a timedelta.
    keep : int, default 64
        Past steps that can still be corrected; outputs that are later are counted in `dropped`.

    Examples
    --------
    The first output comes after the deadline, the second in time; at the second step the filter has
    both.

    >>> import asyncio
    >>> import numpy as np
    >>> from classfilter import DirichletFilter
    >>> f = DirichletFilter(["rest", "move"], estimate="mean")
    >>> async def main():
    ...     ready = asyncio.Event()
    ...     async def slow(samples):
    ...         await ready.wait()
    ...         return [0.9, 0.1]
    ...     async with AsyncCascade(f, {"slow": slow}, deadline=0.01) as cascade:
    ...         for _ in range(2):
    ...             step = await cascade.step(np.zeros((50, 3)))
    ...             print(step.source, step.called, step.probs.round(2))
    ...             ready.set()
    ...             await asyncio.sleep(0.01)
    >>> asyncio.run(main())
    None ('slow',) [0.5 0.5]
    slow ('slow',) [0.74 0.26]
    >>> f.run([[0.9, 0.1], [0.9, 0.1]])[-1].round(2)
    array([0.74, 0.26])
    """

    def __init__(
        self,
        filter: Filter | Chain,  # noqa: A002
        sources: Mapping[str, Source],
        *,
        beta: Weights | None = None,
        channel: Channels | None = None,
        policy: Policy | None = None,
        deadline: Duration,
        keep: int = 64,
        window: Mapping[str, int] | None = None,
        cost: Mapping[str, float] | None = None,
    ) -> None:
        wait = duration("deadline", deadline)
        if not wait >= 0:
            raise ArgumentError("deadline", deadline, rule="it must be seconds, 0 or more")
        if isinstance(keep, bool) or not isinstance(keep, (int, np.integer)) or keep < 0:
            raise ValueError(f"keep is {keep!r}; it counts steps and must be 0 or more")
        self._timeout = None if math.isinf(wait) else wait
        self._past: deque[_Past] = deque(maxlen=int(keep))
        self._pending: dict[str, _Call] = {}
        self._workers: dict[str, ThreadPoolExecutor] = {}
        self._waiting = self._closed = False
        super().__init__(
            filter, sources, beta=beta, channel=channel, policy=policy, window=window, cost=cost
        )

    @property
    def dropped(self) -> dict[str, int]:
        """How many outputs of each source came too late to be used."""
        return dict(self._dropped)

    def reset(self) -> None:
        """Return to the start; pending calls go on, but their outputs are dropped."""
        super().reset()
        self._dropped = dict.fromkeys(self._sources, 0)

    async def step(self, window: ArrayLike, dt: float = 1.0, *, time: float | None = None) -> Step:
        """Let time pass, call a source, and take its output if it comes before the deadline.

        The arguments and the result are those of `Cascade.step`. One step at a time. A step that is
        cancelled changes nothing, and its output is dropped.
        """
        self._require_open()
        self._require_idle()
        now, dt = self._times(dt, time)
        samples = self._samples(window)
        self._take_late_outputs()
        source = self._choose(now, len(samples), self._pending)
        past = _Past(self.filter.state, source, self._missing, now, dt)
        row = self._missing
        if source is None:
            await self._wait(asyncio.sleep(0))  # a loop of steps must not starve other tasks
        else:
            task = asyncio.ensure_future(self._call(source, self._window_of(source, samples)))
            self._pending[source] = _Call(task, past)
            await self._wait(asyncio.wait({task}, timeout=self._timeout))
            if task.done():
                del self._pending[source]
                row = self._result(source, task, now)
        step = self._advance(source, row, now, dt, samples)
        if step.source is not None:
            past.row = row
        self._past.append(past)
        return step

    async def _wait(self, awaited: Awaitable[object]) -> None:
        self._waiting = True
        try:
            await awaited
        finally:
            self._waiting = False
        self._require_open()

    async def aclose(self) -> None:
        """Take the late outputs that are there, and end all calls; a thread ends with its call.

        A call that does not end within a few seconds of its cancellation is logged and left behind.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self._take_late_outputs()
        finally:
            tasks = {source: call.task for source, call in self._pending.items()}
            self._pending.clear()
            for task in tasks.values():
                task.cancel()
            for worker in self._workers.values():
                worker.shutdown(wait=False, cancel_futures=True)
            if tasks:
                await asyncio.wait(tasks.values(), timeout=SECONDS_TO_CLOSE)
            for source, task in tasks.items():
                if not task.done():
                    LOG.warning("source %r goes on, though its call was cancelled", source)

    async def __aenter__(self) -> AsyncCascade:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _forget(self) -> None:
        self._require_idle()
        self._past.clear()

    def _require_open(self) -> None:
        if self._closed:
            raise RuntimeError("the cascade is closed; make a new one")

    def _require_idle(self) -> None:
        if self._waiting:
            raise RuntimeError("a step is still waiting for its output; await it first")

    async def _call(self, source: str, window: Array) -> _Outcome:
        """Call a source; what it raises is returned, so that only `step` raises or logs it."""
        call = self._sources[source]
        try:
            if _is_async(call):
                return _Outcome(await call(window))
            if source not in self._workers:
                self._workers[source] = ThreadPoolExecutor(1, f"classfilter {source}")
            loop = asyncio.get_running_loop()
            outcome = await loop.run_in_executor(self._workers[source], _in_thread, call, window)
            output = outcome.output
            return _Outcome(await output) if inspect.isawaitable(output) else outcome
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            return _Outcome(error=error)

    def _result(self, source: str, task: asyncio.Future[_Outcome], now: float) -> Floats:
        """Return the row for the filter from a call that has ended."""
        if task.cancelled():
            return self._raised(source, asyncio.CancelledError("its call was cancelled"), now)
        output, error = task.result()
        if error is None:
            return self._observation(source, output, now)
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise error
        return self._raised(source, error, now)

    def _take_late_outputs(self) -> None:
        """Take the late outputs that are there, each at its own time."""
        late: list[_Past] = []
        try:
            for source, (task, past) in list(self._pending.items()):
                if not task.done():
                    continue
                del self._pending[source]
                row = self._result(source, task, past.now)
                if past in self._past:
                    past.row = row
                    late.append(past)
                elif not is_missing(self._update(self.filter.copy(), source, row, past.now, 0.0)):
                    self._dropped[source] += 1
        finally:
            if late:
                self._run_again(min(map(self._past.index, late)))

    def _run_again(self, first: int) -> None:
        """Go back to the state before a past step, and update with all rows since."""
        steps = list(self._past)[first:]
        self.filter.state = steps[0].state
        for past in steps:
            past.state = self.filter.state
            past.row = self._update(self.filter, past.source, past.row, past.now, past.dt)


@dataclass(eq=False, slots=True)
class _Past:
    """A step that can still be corrected: the filter's state before it, and what it took."""

    state: Any
    source: str | None
    row: Floats
    now: float
    dt: float


class _Outcome(NamedTuple):
    """What a source returned, or raised."""

    output: Any = None
    error: BaseException | None = None


class _Call(NamedTuple):
    """A pending call, and the step that it is for."""

    task: asyncio.Future[_Outcome]
    past: _Past


def _is_async(call: Source) -> bool:
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)


def _in_thread(call: Source, window: Array) -> _Outcome:
    try:
        return _Outcome(call(window))
    except BaseException as error:  # StopIteration too, which no future can hold
        return _Outcome(error=error)
