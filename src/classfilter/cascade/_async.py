"""The live loop in real time: no step waits longer than its deadline, and no answer is lost."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._channel import Channel
from .._typing import NUMBER, Array, Floats, Weights
from ..filters._base import Filter
from ..policy import Policy
from ._base import BaseCascade, Step
from ._source import Source


class AsyncCascade(BaseCascade):
    """A `Cascade` for real time: a step returns at its deadline, and late answers still count.

    An answer that comes behind the deadline goes in at the next step, with the time that it belongs
    to: the filter goes back to there, takes it, and takes again what came since. It is then, to the
    bit, where it would be had the answer been in time; only what the policy chose meanwhile, not
    knowing it, stays as it was.

    A source that is still busy is not called again. If the policy wants it, the free source with
    the longest window that is full is called instead, but none with a longer window than the one
    wanted. If there is none, only time passes.

    Parameters
    ----------
    filter, policy, beta, channel, window, cost
        As in `Cascade`.
    sources : mapping of str to callable
        As in `Cascade`; or async callables. Others run in a thread, one a source.
    deadline : float
        Seconds that a step waits for an answer.
    keep : int, default 64
        Past steps that can still be corrected; later answers are counted in `dropped`.

    Examples
    --------
    The first answer comes behind the deadline, the second in time; at the second step the filter
    has both.

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
        filter: Filter,  # noqa: A002
        sources: Mapping[str, Source],
        policy: Policy | None = None,
        beta: Weights = 1.0,
        *,
        deadline: float,
        keep: int = 64,
        channel: Mapping[str, Channel | None] | None = None,
        window: Mapping[str, int] | None = None,
        cost: Mapping[str, float] | None = None,
    ) -> None:
        if isinstance(deadline, bool) or not isinstance(deadline, NUMBER) or not deadline >= 0:
            raise ValueError(f"deadline is {deadline!r}; it must be seconds, 0 or more")
        if isinstance(keep, bool) or not isinstance(keep, (int, np.integer)) or keep < 0:
            raise ValueError(f"keep is {keep!r}; it counts steps and must be 0 or more")
        self._timeout = None if math.isinf(deadline) else float(deadline)
        self._past: deque[_Past] = deque(maxlen=int(keep))
        self._under_way: dict[str, _Call] = {}
        self._workers: dict[str, ThreadPoolExecutor] = {}
        self._waiting = self._closed = False
        super().__init__(filter, sources, policy, beta, channel=channel, window=window, cost=cost)

    @property
    def dropped(self) -> dict[str, int]:
        """How many answers of each source came too late to be used."""
        return dict(self._dropped)

    def reset(self) -> None:
        """Return to the start; calls under way go on, but their answers are dropped."""
        super().reset()
        self._dropped = dict.fromkeys(self._sources, 0)

    async def step(self, window: ArrayLike, dt: float = 1.0, *, time: float | None = None) -> Step:
        """Let time pass, call a source, and take its answer if it comes before the deadline.

        The arguments and the result are those of `Cascade.step`. One step at a time. Where a step
        is cancelled, it is as if it had not been, and the answer is dropped.
        """
        self._require_open()
        self._require_idle()
        now, dt = self._moment(dt, time)
        samples = self._samples(window)
        self._catch_up()
        source = self._who(now, len(samples), self._under_way)
        past = _Past(self.filter.state, source, self._nothing, now, dt)
        answer = self._nothing
        if source is not None:
            task = asyncio.ensure_future(self._ask(source, self._given(source, samples)))
            self._under_way[source] = _Call(task, past)
            self._waiting = True
            try:
                await asyncio.wait({task}, timeout=self._timeout)
            finally:
                self._waiting = False
            self._require_open()
            if task.done():
                del self._under_way[source]
                answer = self._outcome(source, task, now)
        step = self._take(source, answer, now, dt, samples)
        if step.source is not None:
            past.answer = answer
        self._past.append(past)
        return step

    async def aclose(self) -> None:
        """Take the late answers that are there, and end all calls; a thread ends with its call."""
        if self._closed:
            return
        self._closed = True
        try:
            self._catch_up()
        finally:
            tasks = [call.task for call in self._under_way.values()]
            self._under_way.clear()
            for task in tasks:
                task.cancel()
            for worker in self._workers.values():
                worker.shutdown(wait=False, cancel_futures=True)
            await asyncio.gather(*tasks, return_exceptions=True)

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
            raise RuntimeError("a step is still waiting for its answer; await it first")

    async def _ask(self, source: str, given: Array) -> _Outcome:
        """Call a source; what it raises is returned, so that only `step` raises it, or tells it."""
        call = self._sources[source]
        try:
            if _is_async(call):
                return _Outcome(await call(given))
            if source not in self._workers:
                self._workers[source] = ThreadPoolExecutor(1, f"classfilter {source}")
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._workers[source], _in_thread, call, given)
            said = found.said
            return _Outcome(await said) if inspect.isawaitable(said) else found
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            return _Outcome(error=error)

    def _outcome(self, source: str, task: asyncio.Future[_Outcome], now: float) -> Floats:
        """Return what the filter takes of a call that has ended."""
        if task.cancelled():
            return self._failed(source, asyncio.CancelledError("its call was cancelled"), now)
        said, error = task.result()
        if error is None:
            return self._read(source, said, now)
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise error
        return self._failed(source, error, now)

    def _catch_up(self) -> None:
        """Take the late answers that are there, each at its own time."""
        late: list[_Past] = []
        try:
            for source, (task, past) in list(self._under_way.items()):
                if not task.done():
                    continue
                del self._under_way[source]
                answer = self._outcome(source, task, past.now)
                if np.isnan(answer[0]):
                    continue
                if past in self._past:
                    past.answer = answer
                    late.append(past)
                else:
                    self._dropped[source] += 1
        finally:
            if late:
                self._again(min(map(self._past.index, late)))

    def _again(self, first: int) -> None:
        """Go back to a past step, and take from there on what was answered."""
        steps = list(self._past)[first:]
        self.filter.state = steps[0].state
        for past in steps:
            past.state = self.filter.state
            past.answer = self._update(past.source, past.answer, past.now, past.dt)


@dataclass(eq=False, slots=True)
class _Past:
    """A step that can still be corrected: the filter before it, and what it took then."""

    state: Any
    source: str | None
    answer: Floats
    now: float
    dt: float


class _Outcome(NamedTuple):
    """What a source said, or raised."""

    said: Any = None
    error: BaseException | None = None


class _Call(NamedTuple):
    """A call under way, and the step that it is for."""

    task: asyncio.Future[_Outcome]
    past: _Past


def _is_async(call: Source) -> bool:
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)


def _in_thread(call: Source, given: Array) -> _Outcome:
    try:
        return _Outcome(call(given))
    except BaseException as error:  # StopIteration too, which no future can hold
        return _Outcome(error=error)
