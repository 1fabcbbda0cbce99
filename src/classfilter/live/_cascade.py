"""The live loop: a policy chooses a source, and the filter takes its output."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from numpy.typing import ArrayLike

from .._support.types import Duration
from .._timestamps import positive_duration
from ._base import BaseCascade, Step
from ._windowing import Windows


class Cascade(BaseCascade):
    """The live loop: each step calls the source that the policy chooses, and filters its output.

    Errors of a source do not end the loop. If it raises, or if its output is invalid, the logger
    ``"classfilter"`` warns, `errors` counts it, and the output is treated as missing: only time
    passes. Memory does not grow with the stream.

    Parameters
    ----------
    filter : Filter or Tuned
        Its settings are used, not its state.
    sources : mapping of str to callable
        Each takes an array of samples (n, ...) and returns K probabilities, in the filter's order
        of classes: anything like an array of shape (K,) or (1, K), or a torch tensor; or by the
        names of the classes, as a mapping or a Series; or a class, by name or index, for which it
        should have a channel. All NaN means that nothing was observed. For a `MultiLabelFilter` it
        returns L scores in [0, 1], or one number for one label; NaN is a label that was not
        observed. The array is a copy: the source may change or keep it.
    policy : Policy, optional
        Chooses the source of each step; see `classfilter.policy`. A copy is used, from its start.
        With a single source, or with a `Tuned` that has one, none is needed. Of several labels at
        once, `Adaptive` sees the largest uncertainty and the largest disagreement of all labels.
    beta : mapping of str to float, or float, optional
        The weight of each source, or one for all; by default those of the `Tuned`, or 1.
    channel : mapping of str to Channel or None, optional
        Corrects the outputs of a source before the filter takes them; None leaves them as they are.
        By default those of the `Tuned`, or none.
    window : mapping of str to int, optional
        How many of the newest samples a source gets; by default all. While there are fewer, as at
        the start of a stream, it is not called: the source with the longest window that is full is
        called instead, and the policy gets its name. If none is full, only time passes.
    cost : mapping of str to float, optional
        The cost of a call, in any unit; 0 for sources not named. By default the attribute ``cost``
        of the policy, if it has such a mapping.

    Examples
    --------
    >>> import numpy as np
    >>> from classfilter import DirichletFilter, policy
    >>> def weak(x):
    ...     return [0.75, 0.25] if x.std() < 1 else [0.25, 0.75]
    >>> def strong(x):
    ...     return [0.95, 0.05] if x.std() < 1 else [0.05, 0.95]
    >>> cascade = Cascade(
    ...     DirichletFilter(["rest", "move"], half_life=30.0),
    ...     {"weak": weak, "strong": strong},
    ...     beta={"weak": 0.1, "strong": 1.0},
    ...     policy=policy.Periodic(every=3),
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
        """Let time pass, call a source, and take its output.

        Parameters
        ----------
        window : array_like (n, ...)
            The newest samples up to now; there may be more than a source needs.
        dt : float, default 1
            The time since the step before.
        time : float, optional
            Instead of `dt`: the time of this step. Before the first step no time passes.

        Returns
        -------
        Step
            The time, the source observed, the filter's estimate, the calls and their cost.
        """
        now, dt = self._times(dt, time)
        samples = self._samples(window)
        source = self._choose(now, len(samples))
        row = self._missing
        if source is not None:
            own_window = self._window_of(source, samples)
            try:
                output = self._sources[source](own_window)
            except Exception as error:
                row = self._raised(source, error, now)
            else:
                row = self._observation(source, output, now)
        return self._advance(source, row, now, dt, samples)

    def run(
        self, chunks: Iterable[ArrayLike], rate: float, step: Duration, start: float = 0.0
    ) -> Iterator[Step]:
        """Take samples in blocks of any size, and do a step at regular times.

        The steps are those of ``step(window, time=start + n * step)`` for n = 1, 2, ..., where the
        window ends after ``round(n * step * rate)`` samples, whatever the sizes of the blocks.
        Only the samples that the next step can need are kept: the longest window, or, if that is
        less and a source has no window, those of one step.

        Parameters
        ----------
        chunks : iterable of array_like (n, ...)
            The samples, in order.
        rate : float
            Samples per time unit, such as 100 where the unit is the second.
        step : float, str or timedelta
            The time from step to step: time units, ``"5s"`` or a timedelta.
        start : float, default 0
            The time of the first sample.

        Yields
        ------
        Step
            One per `step` of the signal, as soon as its samples are there.
        """
        step = positive_duration("step", step)
        if not 0 < rate < math.inf:
            raise ValueError(f"rate is {rate!r}; it must be positive and finite")
        if rate * step < 1:
            raise ValueError(
                f"step is {step!r}, less than a sample at rate {rate!r}; make it longer"
            )
        self._times(0.0, start + step)
        per_step = round(rate * step)
        keep = max(per_step if size is None else size for size in self._window.values())
        return self._steps(Windows(rate, step, keep), chunks, step, start)

    def _steps(
        self, windowing: Windows, chunks: Iterable[ArrayLike], step: float, start: float
    ) -> Iterator[Step]:
        for chunk in chunks:
            windows = windowing.add(self._samples(chunk))
            # No name holds on to the last window, and so to its block, until the next one comes.
            yield from (self.step(window, time=start + n * step) for n, window in windows)
