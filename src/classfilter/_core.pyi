from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import disjoint_base

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
        single: bool,
    ) -> None: ...
    def update(self, probs: ArrayLike, beta: float = 1.0, dt: float = 1.0) -> NDArray[Any]: ...
    def run(self, probs: ArrayLike, beta: ArrayLike = 1.0, dt: ArrayLike = 1.0) -> NDArray[Any]: ...
    def reset(self) -> None: ...
    def _update_many(
        self,
        states: NDArray[Any] | None,
        which: NDArray[np.uintp] | None,
        probs: ArrayLike,
        beta: ArrayLike,
        dt: ArrayLike,
        out: NDArray[Any] | None,
        start: int,
        stop: int,
        /,
    ) -> None: ...
    def _restore(self, eta: float, alpha: ArrayLike, /) -> None: ...
    @property
    def probs(self) -> NDArray[Any]: ...
    @property
    def alpha(self) -> NDArray[Any]: ...
    @property
    def eta(self) -> float: ...
    @property
    def nu(self) -> NDArray[Any]: ...

def log(x: ArrayLike, /) -> NDArray[Any]: ...
def exp(x: ArrayLike, /) -> NDArray[Any]: ...
def digamma(x: ArrayLike, /) -> NDArray[Any]: ...
def trigamma(x: ArrayLike, /) -> NDArray[Any]: ...
