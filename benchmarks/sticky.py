"""The sticky filter against a hidden Markov model's compiled forward pass."""

import numpy as np
from hmmlearn import _hmmc

from classfilter import StickyFilter
from classfilter.support.types import Floats

from .cases import example_stream
from .harness import Call, race, report


def stream(T: int, K: int) -> None:
    """Time a whole stream in one call; hmmlearn gets precomputed likelihoods."""
    probs, strong = example_stream(T, K)
    start, matrix = np.full(K, 1 / K), np.full((K, K), 0.01 / K) + 0.99 * np.eye(K)
    floored = np.maximum(probs, 1e-3)
    mixed = np.where(strong, 1.0, 0.5)
    jitter = np.random.default_rng(0).uniform(0.9, 1.1, T)
    stay, change = StickyFilter(K), StickyFilter(K, transitions=matrix)

    def forward_of_power() -> None:
        _hmmc.forward_scaling(start, matrix, np.maximum(probs, 1e-3) ** 0.5)

    def ours(f: StickyFilter, beta: float | Floats, dt: float | Floats = 1.0) -> Call:
        def call() -> None:
            f.reset()
            f.run(probs, beta, dt)

        return call

    peers: dict[str, Call] = {
        "hmmlearn forward_scaling": lambda: _hmmc.forward_scaling(start, matrix, floored),
        "hmmlearn forward_scaling, and max(s, floor) ** 0.5": forward_of_power,
    }
    own = {
        "run, stay, beta 1": ours(stay, 1.0),
        "run, transitions, beta 1": ours(change, 1.0),
        "run, transitions, beta 1, dt 5": ours(change, 1.0, 5.0),
    }
    powers = {
        "run, stay, beta 0.5": ours(stay, 0.5),
        "run, stay, beta 1 each 12th row, else 0.5": ours(stay, mixed),
        "run, transitions, beta 0.5": ours(change, 0.5),
        "run, stay, beta 1, every dt different": ours(stay, 1.0, jitter),
        "run, transitions, beta 1, every dt different": ours(change, 1.0, jitter),
    }
    best = race({**peers, **own, **powers}, seconds=3.0)
    times = {name: seconds / T for name, seconds in best.items()}
    goals = dict.fromkeys([*own, *powers], "<= 1") if K == 6 else {}
    goals["run, transitions, beta 1, every dt different"] = "<= 3 x beta 1, dt 5"
    report(f"The sticky filter, K = {K}, T = {T:,}, per step", times, goals)
