from collections.abc import Callable, Mapping, Sequence
from typing import Any, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import disjoint_base

from .support.types import FrameType

@disjoint_base
class Dirichlet:
    def __init__(
        self,
        prior: ArrayLike,
        prior_weight: float,
        gamma: float,
        floor: float,
        anchor: float,
        max_concentration: float,
        mean: bool,
        tolerance: float,
        bounded: bool,
        temperature: float,
        single: bool,
    ) -> None: ...
    def update(
        self, probs: ArrayLike | Mapping[Any, float] | None, beta: float = 1.0, dt: float = 1.0
    ) -> NDArray[Any]: ...
    @overload
    def run(self, probs: FrameType, beta: ArrayLike = 1.0, dt: ArrayLike = 1.0) -> FrameType: ...
    @overload
    def run(
        self,
        probs: ArrayLike | Sequence[Mapping[Any, float]] | Mapping[Any, ArrayLike],
        beta: ArrayLike = 1.0,
        dt: ArrayLike = 1.0,
    ) -> NDArray[Any]: ...
    def reset(self) -> None: ...
    def _run_streams(
        self,
        states: NDArray[Any],
        slots: NDArray[np.intp] | None,
        counts: NDArray[np.intp] | None,
        order: NDArray[np.intp] | None,
        probs: NDArray[Any],
        beta: NDArray[Any],
        dt: NDArray[Any],
        out: NDArray[Any],
        after: NDArray[Any],
        /,
    ) -> None: ...
    def _update_chain(
        self,
        states: NDArray[Any],
        before: NDArray[np.intp],
        probs: NDArray[Any],
        beta: NDArray[Any],
        dt: NDArray[Any],
        /,
    ) -> None: ...
    def _join(
        self,
        states: NDArray[np.float64],
        slots: NDArray[np.intp],
        dt: NDArray[np.float64],
        eta: NDArray[np.float64],
        nu: NDArray[np.float64],
        probs: NDArray[np.float64],
        beta: NDArray[np.float64],
        out: NDArray[np.float64],
        /,
    ) -> NDArray[np.bool_]: ...
    def _means(self, states: NDArray[np.float64], /) -> NDArray[np.float64]: ...
    def _update_stream(
        self,
        states: NDArray[Any],
        times: NDArray[np.float64],
        slot: int,
        probs: ArrayLike,
        beta: float,
        at: float,
        channel: tuple[NDArray[Any], NDArray[Any]] | None,
        counts: NDArray[np.float64] | None = None,
        source: int = 0,
        /,
    ) -> NDArray[Any] | None: ...
    def _check_states(self, states: NDArray[Any], /) -> None: ...
    def _restore(self, eta: float, alpha: ArrayLike, /) -> None: ...
    @property
    def probs(self) -> NDArray[Any]: ...
    @property
    def alpha(self) -> NDArray[Any]: ...
    @property
    def eta(self) -> float: ...
    @property
    def nu(self) -> NDArray[Any]: ...
    @property
    def _bound(self) -> float: ...

@disjoint_base
class Sticky:
    def __init__(
        self,
        prior: ArrayLike,
        stay: float,
        rates: ArrayLike | None,
        floor: float,
        temperature: float,
        single: bool,
    ) -> None: ...
    def update(
        self, probs: ArrayLike | Mapping[Any, float] | None, beta: float = 1.0, dt: float = 1.0
    ) -> NDArray[Any]: ...
    @overload
    def run(self, probs: FrameType, beta: ArrayLike = 1.0, dt: ArrayLike = 1.0) -> FrameType: ...
    @overload
    def run(
        self,
        probs: ArrayLike | Sequence[Mapping[Any, float]] | Mapping[Any, ArrayLike],
        beta: ArrayLike = 1.0,
        dt: ArrayLike = 1.0,
    ) -> NDArray[Any]: ...
    def reset(self) -> None: ...
    def _transitions(self, dt: float, /) -> NDArray[Any]: ...
    def _set_modes(self, numbers: NDArray[np.float64], pairs: int, /) -> None: ...
    def _backward(self, likelihood: ArrayLike, dt: ArrayLike, /) -> NDArray[Any]: ...
    def _backward_windows(
        self, likelihood: ArrayLike, dt: ArrayLike, first: NDArray[Any], last: NDArray[Any], /
    ) -> NDArray[Any]: ...
    def _run_streams(
        self,
        states: NDArray[Any],
        slots: NDArray[np.intp] | None,
        counts: NDArray[np.intp] | None,
        order: NDArray[np.intp] | None,
        probs: NDArray[Any],
        beta: NDArray[Any],
        dt: NDArray[Any],
        out: NDArray[Any],
        after: NDArray[Any],
        /,
    ) -> None: ...
    def _update_stream(
        self,
        states: NDArray[Any],
        times: NDArray[np.float64],
        slot: int,
        probs: ArrayLike,
        beta: float,
        at: float,
        channel: tuple[NDArray[Any], NDArray[Any]] | None,
        counts: NDArray[np.float64] | None = None,
        source: int = 0,
        /,
    ) -> NDArray[Any] | None: ...
    def _check_states(self, states: NDArray[Any], /) -> None: ...
    def _restore(self, probs: ArrayLike, /) -> None: ...
    @property
    def probs(self) -> NDArray[Any]: ...
    @property
    def _state(self) -> NDArray[Any]: ...
    @property
    def prior(self) -> NDArray[Any]: ...
    @property
    def _prepared(
        self,
    ) -> tuple[float, float, NDArray[Any], NDArray[Any] | None]: ...

@final
class Heads:
    def __init__(
        self, filters: tuple[Any, ...], labels: tuple[bool, ...], read: Callable[[Any], Any]
    ) -> None: ...
    def _run_streams(
        self,
        states: NDArray[Any],
        slots: NDArray[np.intp] | None,
        counts: NDArray[np.intp] | None,
        order: NDArray[np.intp] | None,
        probs: NDArray[Any],
        beta: NDArray[Any],
        dt: NDArray[Any],
        out: NDArray[Any],
        after: NDArray[Any],
        /,
    ) -> None: ...
    def _update_stream(
        self,
        states: NDArray[Any],
        times: NDArray[np.float64],
        slot: int,
        probs: Any,
        beta: Any,
        at: float,
        channel: tuple[Any, ...] | None,
        counts: NDArray[np.float64] | None = None,
        source: int = 0,
        /,
    ) -> NDArray[Any] | None: ...

@final
class Lag:
    def __init__(
        self, filters: tuple[tuple[Any, Any, Callable[..., Any] | None], ...], lag: int
    ) -> None: ...
    def update(
        self,
        state: bytes,
        time: float,
        dt: float,
        probs: NDArray[np.float64],
        weights: NDArray[np.float64],
        likelihoods: NDArray[np.float64],
        decays: NDArray[np.float64],
        /,
    ) -> tuple[bytes, float, NDArray[Any] | None]: ...

@disjoint_base
class Adaptive:
    def __init__(
        self,
        budget: float,
        weak: float,
        min_gap: float,
        max_gap: float,
        disagreement: float,
        floor: float,
        horizon: float,
        timed: bool,
        single: bool,
    ) -> None: ...
    def _choose(self, probs: ArrayLike, since: float, /) -> bool: ...
    def _called(
        self, strong: bool, observation: ArrayLike, probs: ArrayLike, dt: float, /
    ) -> None: ...
    def reset(self) -> None: ...
    def _restore(
        self,
        threshold_offset: float,
        median_step: float,
        steps_since_strong: float,
        disagreement: float,
        residual_uncertainty: float,
        accrued_budget: float,
        /,
    ) -> None: ...
    def _numbers(self) -> tuple[float, float, float, float, float, float]: ...
    @property
    def _prepared(
        self,
    ) -> tuple[float, float, float, float, float, float, float, int, float, float, float]: ...

EVENT_TIMES: tuple[str, ...]

@disjoint_base
class EventRule:
    def __init__(
        self,
        classes: int,
        single: bool,
        enter: ArrayLike,
        leave: ArrayLike,
        min_duration: ArrayLike,
        bias: ArrayLike,
        ignore: ArrayLike,
        log: bool,
        floor: float,
        min_probability: float,
        nodes: int = ...,
        slots: int = ...,
        **times: float,
    ) -> None: ...
    def start(self) -> bytes: ...
    def update(
        self,
        state: bytes,
        time: float,
        probs: ArrayLike,
        starts: list[tuple[int, float]] | None = None,
        /,
    ) -> tuple[bytes, tuple[tuple[int, float, float, float, bool], ...]]: ...
    def update_stream(
        self,
        update: Callable[..., NDArray[Any] | None],
        column: NDArray[np.object_],
        confirmed: list[tuple[Any, Any]],
        started: dict[tuple[Any, int, float], None],
        stream: Any,
        states: NDArray[Any],
        times: NDArray[np.float64],
        slot: int,
        probs: ArrayLike,
        beta: float,
        at: float,
        /,
        *more: Any,
    ) -> NDArray[Any] | None: ...
    def run(
        self,
        state: bytes,
        times: ArrayLike,
        probs: ArrayLike,
        starts: list[tuple[int, float]] | None = None,
        /,
    ) -> tuple[
        bytes,
        NDArray[np.intp],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.bool_],
    ]: ...
    def finish(
        self, state: bytes, starts: list[tuple[int, float]] | None = None, /
    ) -> tuple[
        NDArray[np.intp],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.bool_],
    ]: ...
    def current(self, state: bytes, /) -> tuple[int, float, float, bool] | None: ...
    def check(self, state: bytes, /) -> None: ...

def check_row(
    classes: int, probs: ArrayLike, beta: float, dt: float, /
) -> tuple[NDArray[np.float64], float, float]: ...
def check_rows(
    classes: int, probs: ArrayLike, beta: ArrayLike, dt: ArrayLike, /
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
def decayed_sums(
    start: float, before: NDArray[np.intp], decay: ArrayLike, added: ArrayLike, /
) -> NDArray[np.float64]: ...
def smooth_estimates(
    estimates: NDArray[Any], messages: NDArray[np.float64], /
) -> NDArray[np.float64]: ...
def check_no_booleans(probs: object, /) -> None: ...
def as_streams(rows: ArrayLike, /) -> NDArray[np.intp]: ...
def check_streams(which: NDArray[np.intp], streams: int, /) -> None: ...
def as_batch(
    classes: int,
    single: bool,
    probs: ArrayLike,
    beta: ArrayLike,
    dt: ArrayLike,
    rows: ArrayLike | None,
    /,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[np.intp] | None]: ...
def check_batch(
    streams: int,
    single: bool,
    probs: NDArray[Any],
    beta: NDArray[Any],
    dt: NDArray[Any],
    which: NDArray[np.intp] | None,
    /,
) -> NDArray[Any]: ...
def commit(
    states: NDArray[Any],
    times: NDArray[np.float64] | None,
    slots: NDArray[np.intp],
    after: NDArray[Any],
    last: NDArray[np.float64] | None,
    /,
) -> None: ...
def count_rows(counts: NDArray[np.float64], classes: int, rows: NDArray[np.float64], /) -> None: ...
def apply_channel(
    log_matrix: ArrayLike, log_prior: ArrayLike, probs: ArrayLike, /
) -> NDArray[Any]: ...
def hmm_pass(
    start: ArrayLike,
    powers: ArrayLike,
    kind: NDArray[np.intp],
    likelihood: ArrayLike,
    backward: bool,
    /,
) -> NDArray[np.float64]: ...
def temper(probs: NDArray[Any], temperature: float, /) -> NDArray[Any]: ...
def log(x: ArrayLike, /) -> NDArray[Any]: ...
def exp(x: ArrayLike, /) -> NDArray[Any]: ...
def digamma(x: ArrayLike, /) -> NDArray[Any]: ...
def trigamma(x: ArrayLike, /) -> NDArray[Any]: ...

@disjoint_base
class HeadRules:
    def __init__(self, rules: tuple[EventRule | None, ...], columns: tuple[int, ...]) -> None: ...
    def start(self) -> tuple[bytes, ...]: ...
    def update(
        self,
        state: tuple[bytes, ...],
        time: float,
        probs: ArrayLike,
        starts: list[tuple[int, float]] | None = None,
        /,
    ) -> tuple[tuple[bytes, ...], tuple[tuple[int, float, float, float, bool], ...]]: ...
    def update_stream(
        self,
        update: Callable[..., NDArray[Any] | None],
        column: NDArray[np.object_],
        confirmed: list[tuple[Any, Any]],
        started: dict[tuple[Any, int, float], None],
        stream: Any,
        states: NDArray[Any],
        times: NDArray[np.float64],
        slot: int,
        probs: ArrayLike,
        beta: Any,
        at: float,
        /,
        *more: Any,
    ) -> NDArray[Any] | None: ...
