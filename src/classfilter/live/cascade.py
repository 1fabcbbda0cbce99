"""The live loop: a policy chooses a source, and the filter takes its output."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..engine import Engine, Saved, Sight, StoreFile
from ..errors import ArgumentError
from ..filters import Filter, pack_state, unpack_state
from ..inputs import LABEL, Heads, head_prediction, positive_duration, prediction
from ..pipeline import Channels, Pipeline, from_builtin, to_builtin
from ..policy import Policy
from ..support.arrays import as_plain
from ..support.types import Array, Duration, Floats, Weights, is_number

Source = Callable[[Any], Any]


def parse_output(output: Any, heads: Heads) -> Any:
    """Return a source's output as floats in memory of their own, one for each column of the heads.

    A class, its name or its index, is returned as it is.

    Examples
    --------
    >>> heads = Heads.exclusive(["walk", "sit"])
    >>> parse_output([[0.25, 0.75]], heads)
    array([0.25, 0.75])
    >>> parse_output({"sit": 0.75, "walk": 0.25}, heads)
    array([0.25, 0.75])
    >>> parse_output("sit", heads)
    'sit'
    >>> parse_output({"wren": 0.8, "robin": None}, Heads.of_labels(["robin", "wren"]))
    array([nan, 0.8])
    """
    output, classes = as_plain(output), heads.shown
    if not heads.is_exclusive:
        if not isinstance(output, Mapping) and np.shape(output) == (1, len(classes)):
            output = np.asarray(output)[0]  # a batch of one, or a tensor
        return head_prediction(output, heads)
    if not isinstance(output, LABEL):
        output = prediction(output, classes)
    K, row = len(classes), np.asarray(output)
    if row.size == 1 and row.ndim < 2 and row.dtype.kind in "iuU":
        return row.reshape(()).item()
    if row.shape == (1, K):
        row = row[0]
    wanted = f"give {K} numbers, one probability per class, or a class"
    if row.ndim != 1 or row.dtype.kind not in "biufO":
        raise ValueError(f"it is {short(output)}; {wanted}")
    if row.size != K:
        raise ValueError(f"it has {row.size} entries, but the filter has {K} classes; {wanted}")
    try:
        return np.array(row, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"it is {short(output)}; {wanted}") from None


def describe_error(error: Exception) -> str:
    """Return what is wrong with a row, or with the only row of several, with `it` for it.

    Examples
    --------
    >>> from classfilter import RowError
    >>> must = "a probability must not be negative"
    >>> describe_error(RowError("probs", -0.2, must, row=0, entry=1))
    'it[1] is -0.2; a probability must not be negative'
    """
    if isinstance(error, ArgumentError) and error.argument == "probs":
        error = error.replaced(argument="it", row=None)
    return str(error)


class OnlySource:
    """The policy of a single source."""

    state = ()

    def __init__(self, source: str) -> None:
        self.source = source

    def choose(self, probs: ArrayLike, since: Mapping[str, float]) -> str:
        """Return the only source."""
        return self.source

    def called(self, source: str, observation: ArrayLike, probs: ArrayLike, dt: float) -> None:
        """Take note of nothing."""
        pass

    def reset(self) -> None:
        """Reset nothing."""
        pass

    def copy(self) -> OnlySource:
        """Return the same policy."""
        return OnlySource(self.source)

    def __repr__(self) -> str:
        return f"only {self.source!r}"


class Windows:
    """Cuts blocks of any size into the windows of steps, which do not depend on those sizes.

    Parameters
    ----------
    rate, step : float
        As in `Cascade.run`.
    keep : int
        The most samples of a window.
    """

    def __init__(self, rate: float, step: float, keep: int) -> None:
        self._rate, self._step, self._keep = rate, step, keep
        self._blocks: list[Array] = []
        self._first = self._seen = 0
        """The index of the first sample that is kept, and of the first that is still to come."""
        self._next = 1

    def add(self, block: Array) -> Iterator[tuple[int, Array]]:
        """Take a block, and yield the number and the window of each step that it completes."""
        if not len(block):
            return
        if self._blocks and block.shape[1:] != self._blocks[0].shape[1:]:
            raise ValueError(
                f"chunks has samples of shape {block.shape[1:]} after those of shape "
                f"{self._blocks[0].shape[1:]}; give the same channels in each block"
            )
        self._blocks.append(np.array(block))  # the caller may reuse its memory
        self._seen += len(block)
        while self._seen >= (end := self._end()):
            held = self._blocks[0] if len(self._blocks) == 1 else np.concatenate(self._blocks)
            stop = end - self._first
            yield self._next, held[max(0, stop - self._keep) : stop]
            self._next += 1
            past = max(0, self._end() - self._keep - self._first)
            self._blocks, self._first = [held[past:]], self._first + min(past, len(held))
        self._forget()

    def _end(self) -> int:
        return round(self._next * self._step * self._rate)

    def _forget(self) -> None:
        """Let go of the blocks that no step to come will see, and of what a block was cut from."""
        oldest = self._end() - self._keep
        while self._blocks and self._first + len(self._blocks[0]) <= oldest:
            self._first += len(self._blocks.pop(0))
        if self._blocks and self._blocks[0].base is not None:
            self._blocks[0] = self._blocks[0].copy()


LOG = logging.getLogger("classfilter")
LOGGED = 3
"""So many errors of a source are logged; after these, those whose count is a power of two."""


class Step(NamedTuple):
    """The result of one step.

    Attributes
    ----------
    time : float
        The time of the step.
    source : str or None
        The source whose output the filter took; None if there was none, and only time passed.
    probs : ndarray (K,)
        The filter's estimate: the class probabilities after the step.
    label : object
        The most probable class; of several labels at once, a tuple of those that are on.
    called : tuple of str
        The sources that were called.
    cost : float
        The cost of those calls.
    """

    time: float
    source: str | None
    probs: Array
    label: Any
    called: tuple[str, ...]
    cost: float


class CascadeState(NamedTuple):
    """The state of a live loop.

    Attributes
    ----------
    filter, policy : tuple
        The state of the filter, and that of the policy.
    time : float or None
        The time of the last step; None before the first.
    last : dict of str to float
        The time of each source's last call; sources that were never called are left out.
    """

    filter: Any
    policy: Any
    time: float | None
    last: dict[str, float]


class Cascade:
    """The live loop: each step calls the source that the policy chooses, and filters its output.

    Errors of a source do not end the loop. If it raises, or if its output is invalid, the logger
    ``"classfilter"`` warns, `errors` counts it, and the output is treated as missing: only time
    passes. Memory does not grow with the stream.

    Parameters
    ----------
    filter : Filter or Pipeline
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
        With a single source, or with a `Pipeline` that has one, none is needed. Of several labels
        at once, `Adaptive` sees the largest uncertainty and the largest disagreement of all labels.
    beta : mapping of str to float, or float, optional
        The weight of each source, or one for all; by default those of the `Pipeline`, or 1.
    channel : mapping of str to Channel or None, optional
        Corrects the outputs of a source before the filter takes them; None leaves them as they are.
        By default those of the `Pipeline`, or none.
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

    def __init__(
        self,
        filter: Filter | Pipeline,  # noqa: A002
        sources: Mapping[str, Source],
        *,
        beta: Weights | None = None,
        channel: Channels | None = None,
        policy: Policy | None = None,
        window: Mapping[str, int] | None = None,
        cost: Mapping[str, float] | None = None,
    ) -> None:
        if not sources:
            raise ValueError("sources is empty; give a callable for each source")
        for name, call in sources.items():
            if not callable(call):
                raise TypeError(f"sources[{name!r}] is {short(call)}; give a callable")
        names = list(sources)
        pipe = Pipeline.of(filter, beta=beta, channel=channel, policy=policy)
        policy = pipe.policy
        if policy is None:
            if len(names) > 1:
                raise ValueError(
                    f"policy is missing, but sources has {names}; give one, such as "
                    "policy.Periodic(every=12)"
                )
            policy = OnlySource(names[0])
        self._sources, self._pipe = dict(sources), pipe
        self._weights = {name: pipe.weight(name)[1] for name in names}
        self._window = _sizes(window or {}, names)
        if cost is None:
            cost = getattr(policy, "cost", None)
            prices = dict(cost) if isinstance(cost, Mapping) else {}
        else:
            prices = dict(cost)
            _require_known("cost", prices, names)
        self._cost = {name: _price(name, prices.get(name, 0.0)) for name in names}
        self._missing: Floats = np.full(len(pipe.classes), np.nan)
        self._missing.flags.writeable = False
        self.filter, self.policy = pipe.filter, policy.copy()
        """Copies that belong to the loop."""
        self._sight = Sight(policy, pipe.heads)
        self.reset()

    @property
    def calls(self) -> dict[str, int]:
        """How often each source was called."""
        return dict(self._calls)

    @property
    def errors(self) -> dict[str, int]:
        """How often each source raised, or gave an invalid output."""
        return dict(self._errors)

    @property
    def total_cost(self) -> float:
        """The cost of all calls."""
        return self._total_cost

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
                message = "raised %s: %s", type(error).__name__, error
                row = self._log_error(source, now, *message, cause=error)
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

    def reset(self) -> None:
        """Return to the start: no data, no calls, no errors."""
        self.filter.reset()
        self.policy.reset()
        self._time: float | None = None
        self._last: dict[str, float] = {}
        self._calls, self._errors = (dict.fromkeys(self._sources, 0) for _ in range(2))
        self._total_cost = 0.0
        self._shape: tuple[int, ...] | None = None

    @property
    def state(self) -> CascadeState:
        """All that the next step depends on; assign it to restore. Counts are not part of it."""
        return CascadeState(self.filter.state, self.policy.state, self._time, dict(self._last))

    @state.setter
    def state(self, state: tuple[Any, Any, float | None, Mapping[str, float]]) -> None:
        filter_state, policy_state, time, last = state
        times = {} if time is None else {"time": time}
        for what, at in (times | {f"last[{name!r}]": at for name, at in last.items()}).items():
            if not is_number(at) or not math.isfinite(at):
                raise ValueError(f"{what} is {at!r}; it must be a finite number")
        _require_known("last", last, list(self._sources))
        before = self.filter.state
        self.filter.state = filter_state
        try:
            self.policy.state = policy_state
        except BaseException:
            self.filter.state = before
            raise
        self._time = None if time is None else float(time)
        self._last = {name: float(at) for name, at in last.items()}

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to a file, a SQLite database; all of it or nothing; see `load`."""
        filter_state, policy_state, time, last = self.state
        table = Engine(self._pipe).table
        slot = table.add(None)
        table.columns.states[slot] = pack_state(filter_state, self.filter.probs.dtype)
        table.columns.times[slot] = math.nan if time is None else time
        meta = {"policy": to_builtin(policy_state), "last": last}
        saved = Saved("cascade", self._pipe, table.changes(whole=True), meta, [], 1)
        with StoreFile(path, "cascade") as file:
            file.write(saved, lambda i: b"", file.since(None))

    def load(self, path: str | PathLike[str]) -> None:
        """Take the state from a file written by `save`, or raise and say why that is impossible.

        The settings of filter, weights, channels and policy must be those that it was written with.
        """
        with StoreFile(path, "cascade", write=False) as file:
            read = file.read(self._pipe)
            with file.damage():
                saved, [numbers] = read.saved, read.states()
                [time] = saved.streams.columns.times.tolist()
                self.state = CascadeState(
                    unpack_state(self.filter, numbers),
                    from_builtin(saved.meta["policy"], self.policy.state),
                    None if math.isnan(time) else time,
                    dict(saved.meta["last"]),
                )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.filter!r}, {list(self._sources)}, {self.policy!r})"

    def _times(self, dt: float, time: float | None) -> tuple[float, float]:
        """Return the time of a step and the time since the step before it, validated."""
        if time is None:
            if not is_number(dt) or not 0 <= dt < math.inf:
                raise ValueError(f"dt is {dt!r}; it must be a number, 0 or more, and finite")
            return (self._time or 0.0) + float(dt), float(dt)
        if not is_number(time) or not math.isfinite(time):
            raise ValueError(f"time is {time!r}; it must be a finite number")
        now = float(time)
        before = now if self._time is None else self._time
        if now < before:
            raise ValueError(
                f"time is {now!r}, before {before!r}, that of the step before; give the steps in "
                "order of time"
            )
        return now, now - before

    def _samples(self, window: ArrayLike) -> Array:
        """Return the samples of a step as an array (n, ...), validated."""
        try:
            samples = np.asarray(window)
        except ValueError as error:
            raise ValueError(f"window is no array: {error}; give samples of one shape") from None
        if samples.ndim == 0 or samples.dtype.kind not in "biufc":
            raise ValueError(
                f"window is {short(window)}; give the newest samples, numbers of shape (n, ...)"
            )
        if len(samples) and self._shape not in (None, samples.shape[1:]):
            raise ValueError(
                f"window has samples of shape {samples.shape[1:]}, but in the step before they had "
                f"{self._shape}; give the same channels in each step"
            )
        return samples

    def _choose(self, now: float, rows: int) -> str | None:
        """Return the policy's choice, or the source that replaces it; None if there is none."""
        since = {name: now - self._last.get(name, -math.inf) for name in self._sources}
        probs = self.filter.probs
        choice = self.policy.choose(self._sight.of_estimate(probs), since)
        if choice not in self._sources:
            raise ValueError(
                f"policy chose {choice!r} at time {now}; sources has {list(self._sources)}: name "
                "the policy's sources as there"
            )
        length = {name: size or rows for name, size in self._window.items()}
        able = [
            name
            for name, size in self._window.items()
            if (size or 1) <= rows and length[name] <= length[choice]
        ]
        # Of several with the same length, the first one named.
        return choice if choice in able else max(able, key=length.__getitem__, default=None)

    def _window_of(self, source: str, samples: Array) -> Array:
        """Return a source's window as a copy, which it may change or keep."""
        size = self._window[source]
        return np.array(samples if size is None else samples[-size:])

    def _observation(self, source: str, output: Any, now: float) -> Floats:
        """Return a source's output as a row for the filter, its channel applied; or all NaN.

        Without a channel its values are not checked here: the filter does that.
        """
        try:
            row = parse_output(output, self._pipe.heads)
            return np.asarray(self._pipe.observe(source, row).probs)
        except Exception as error:
            return self._invalid(source, error, now)

    def _invalid(self, source: str, error: Exception, now: float) -> Floats:
        """Log an invalid output, and return what the filter takes instead."""
        reason = describe_error(error)
        return self._log_error(source, now, "gave an invalid output: %s", reason)

    def _log_error(
        self, source: str, now: float, what: str, *args: object, cause: Exception | None = None
    ) -> Floats:
        """Count an error of a source, log it, and return what the filter takes instead."""
        self._errors[source] += 1
        count = self._errors[source]
        if count <= LOGGED or count & (count - 1) == 0:
            message = f"source %r at time %s {what}; treated as missing (error no. %d)"
            LOG.warning(message, source, now, *args, count, exc_info=cause)
        return self._missing

    def _update(self, source: str | None, row: Floats, now: float, dt: float) -> Floats:
        """Update the filter with a row; return it, or all NaN where the filter rejected it."""
        beta = 1.0 if source is None else self._weights[source]
        try:
            self.filter.update(row, beta, dt)
            return row
        except ValueError as error:
            self.filter.update(self._missing, beta, dt)  # it raises if not the row is to blame
            assert source is not None
            return self._invalid(source, error, now)

    def _advance(
        self, source: str | None, row: Floats, now: float, dt: float, samples: Array
    ) -> Step:
        """Update the filter with the row of the source that was called, then the policy."""
        state, probs = self.filter.state, self.filter.probs
        row = self._update(source, row, now, dt)
        called: tuple[str, ...] = ()
        cost = 0.0
        if source is not None:
            try:
                self.policy.called(source, *self._sight.of_call(row, probs), dt)
            except BaseException:
                self.filter.state = state
                raise
            called, cost = (source,), self._cost[source]
            self._last[source] = now
            self._calls[source] += 1
            self._total_cost += cost
        self._time = now
        if len(samples):
            self._shape = samples.shape[1:]
        observed = None if np.isnan(row).all() else source
        return Step(now, observed, self.filter.probs, self.filter.label, called, cost)

    def _steps(
        self, windowing: Windows, chunks: Iterable[ArrayLike], step: float, start: float
    ) -> Iterator[Step]:
        for chunk in chunks:
            windows = windowing.add(self._samples(chunk))
            # No name holds on to the last window, and so to its block, until the next one comes.
            yield from (self.step(window, time=start + n * step) for n, window in windows)


def _require_known(argument: str, names: Mapping[str, Any], sources: list[str]) -> None:
    for name in names:
        if name not in sources:
            raise ValueError(
                f"{argument} names {name!r}, but sources has {sources}; name it as there"
            )


def _sizes(window: Mapping[str, Any], sources: list[str]) -> dict[str, int | None]:
    _require_known("window", window, sources)
    for name, size in window.items():
        whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
        if size is not None and not (whole and size >= 1):
            raise ValueError(
                f"window[{name!r}] is {size!r}; it counts samples and must be 1 or more"
            )
    return {name: None if window.get(name) is None else int(window[name]) for name in sources}


def _price(name: str, cost: Any) -> float:
    if not is_number(cost) or not 0 <= cost < math.inf:
        raise ValueError(f"cost[{name!r}] is {cost!r}; it must be 0 or more, and finite")
    return float(cost)
