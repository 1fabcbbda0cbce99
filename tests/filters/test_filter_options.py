"""Every option of every filter changes what the filter gives."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from classfilter.filters import KINDS

_RANDOM = np.random.default_rng(0)
ROWS = np.vstack([
    _RANDOM.dirichlet([1.0, 1.0, 1.0], 40),
    np.tile([1.0, 0.0, 0.0], (50, 1)),
    np.eye(3)[_RANDOM.integers(3, size=60)],
])  # fmt: skip
BETA = _RANDOM.choice([0.0625, 0.5, 0.9375, 1.0], len(ROWS))
TRANSITIONS = [[0.9, 0.06, 0.04], [0.05, 0.85, 0.1], [0.05, 0.1, 0.85]]
VALUES: dict[str, Any] = {
    "window": 3,
    "gamma": 0.5,
    "stay": 0.6,
    "half_life": 2.0,
    "dwell": 2.0,
    "estimate": "mean",
    "floor": 0.2,
    "anchor": 0.5,
    "prior": [0.5, 0.3, 0.2],
    "prior_weight": 3.0,
    "max_concentration": 5.0,
    "tolerance": 0.05,
    "bounded": False,
    "transitions": TRANSITIONS,
    "interval": 2.0,
    "temperature": 2.0,
    "dtype": np.float32,
}
NEEDED = {"interval": {"transitions": TRANSITIONS}}
OPTIONS = [
    (kind, option)
    for kind, cls in KINDS.items()
    for option in list(inspect.signature(cls).parameters)[1:]
]


@pytest.mark.parametrize(("kind", "option"), OPTIONS)
def test_every_option_has_an_effect(kind: str, option: str) -> None:
    others: Any = NEEDED.get(option, {})
    plain, changed = KINDS[kind](3, **others), KINDS[kind](3, **others, **{option: VALUES[option]})
    assert plain.run(ROWS, BETA).tobytes() != changed.run(ROWS, BETA).tobytes()
