"""The live loop: sources are called as a policy says, and a filter takes what they answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from numpy.typing import ArrayLike

from ._base import BaseCascade, Step
from ._windowing import Windows


class Cascade(BaseCascade):
    """The live loop: at each step the policy's source is called, and the filter takes its answer.

    What a source does wrong does not end the loop. If it raises, or if its answer cannot be used,
    that is logged as a warning of the logger ``"classfilter"``, counted in `faults`, and the answer
    is taken as missing: time passes. Memory does not grow with the stream.

    Parameters
    ----------
    filter : Filter
        Its settings are used, not its state.
    sources : mapping of str to callable
        Each takes an array of samples (n, ...) and returns K probabilities, in the filter's order
        of classes: anything like an array of shape (K,) or (1, K), or a torch tensor. All NaN
        means that nothing was seen. The array is its own: it may change or keep it.
    policy : Policy, optional
        Chooses the source of each step; see `classfilter.policy`. A copy is used, from its start.
        Only where there is one source, none is needed.
    beta : mapping of str to float, or float, default 1
        The weight of each source, or one for all.
    channel : mapping of str to Channel, optional
        Puts the answers of a source right before they go in; None leaves them as they are.
    window : mapping of str to int, optional
        How many of the newest samples a source gets; all that there are, unless given. While there
        are fewer, as at the start of a stream, it is not called: the source with the longest window
        that is full is called instead, and the policy is told so. If none is full, only time
        passes.
    cost : mapping of str to float, optional
        What a call costs, in any unit; 0 where it is not named. Unless given, the attribute
        ``cost`` of the policy, if it has such a mapping.

    Examples
    --------
    >>> from classfilter import DirichletFilter, policy
    >>> def weak(x):
    ...     return [0.75, 0.25] if x.std() < 1 else [0.25, 0.75]
    >>> def strong(x):
    ...     return [0.95, 0.05] if x.std() < 1 else [0.05, 0.95]
    >>> cascade = Cascade(
    ...     DirichletFilter(["rest", "move"], half_life=30.0),
    ...     {"weak": weak, "strong": strong},
    ...     policy.Periodic(every=3),
    ...     {"weak": 0.1, "strong": 1.0},
    ...     window={"weak": 50, "strong": 100},
    ... )
    >>> samples = np.random.default_rng(0).normal(0.0, 0.5, (300, 3))
    >>> for step in cascade.run([samples], rate=50, step=1.0):
    ...     print(step.time, step.source, step.label)
    1.0 weak rest
    2.0 strong rest
    3.0 weak rest
    4.0 weak rest
    5.0 strong rest
    6.0 weak rest
    >>> cascade.calls
    {'weak': 4, 'strong': 2}
    """

    def step(self, window: ArrayLike, dt: float = 1.0, *, time: float | None = None) -> Step:
        """Let time pass, call a source, and take its answer.

        Parameters
        ----------
        window : array_like (n, ...)
            The newest samples up to now; more than a source needs do no harm.
        dt : float, default 1
            The time since the step before.
        time : float, optional
            Instead of `dt`: when. The first step has no time before it: nothing passes.

        Returns
        -------
        Step
            The time, whose answer was taken, the filter's reading, who was called, and the cost.
        """
        now, dt = self._moment(dt, time)
        samples = self._samples(window)
        source = self._who(now, len(samples))
        answer = self._nothing
        if source is not None:
            given = self._given(source, samples)
            try:
                said = self._sources[source](given)
            except Exception as error:
                answer = self._failed(source, error, now)
            else:
                answer = self._read(source, said, now)
        return self._take(source, answer, now, dt, samples)

    def run(
        self, chunks: Iterable[ArrayLike], rate: float, step: float, start: float = 0.0
    ) -> Iterator[Step]:
        """Take samples in blocks of any size, and make a step at equal times.

        The steps are those of ``step(window, time=start + n * step)`` for n = 1, 2, ..., where the
        window ends behind ``round(n * step * rate)`` samples, whatever the sizes of the blocks.
        Only the samples that the next step can need are kept: the longest window, or, if that is
        less and a source has no window, those of one step.

        Parameters
        ----------
        chunks : iterable of array_like (n, ...)
            The samples, in order.
        rate : float
            Samples in a time unit, such as 100 where the unit is the second.
        step : float
            The time from step to step.
        start : float, default 0
            The time of the first sample.

        Yields
        ------
        Step
            One each `step` of the signal, as soon as its samples are there.
        """
        for name, value in (("rate", rate), ("step", step)):
            if not 0 < value < math.inf:
                raise ValueError(f"{name} is {value!r}; it must be positive and finite")
        if rate * step < 1:
            raise ValueError(
                f"step is {step!r}, less than a sample at rate {rate!r}; make it longer"
            )
        self._moment(0.0, start + step)
        return self._steps(Windows(rate, step, self._kept(round(rate * step))), chunks, step, start)

    def _steps(
        self, cut: Windows, chunks: Iterable[ArrayLike], step: float, start: float
    ) -> Iterator[Step]:
        for chunk in chunks:
            windows = cut.add(self._samples(chunk))
            # No name holds on to the last window, and so to its block, until the next one comes.
            yield from (self.step(window, time=start + n * step) for n, window in windows)

    def _kept(self, step: int) -> int:
        """Return how many samples the longest window needs, with so many a step."""
        return max(step if size is None else size for size in self._window.values())
