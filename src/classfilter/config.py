"""A filter as a small TOML file: its settings, the weights of its sources and a policy.

The file does not hold the state.

::

    classes = ["walk", "sit", "sleep"]
    filter = "dirichlet"

    [options]
    gamma = 0.95
    estimate = "mean"

    [beta]
    weak = 0.1
    strong = 1.0

    [channel.weak]
    matrix = [[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.1, 0.3, 0.6]]

    [policy]
    kind = "adaptive"
    budget = 0.08
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from .chain._chain import Chain
from .chain._toml import KINDS, POLICIES, parse
from .chain._toml import load as read

__all__ = ["KINDS", "POLICIES", "parse", "read", "save"]


def save(
    filter: Any,  # noqa: A002
    path: str | PathLike[str],
    *,
    beta: Any = None,
    channel: Any = None,
    policy: Any = None,
) -> None:
    """Write a filter, or a chain, the weights and channels of sources and a policy as TOML.

    The arguments are those of `classfilter.Chain`.
    """
    Chain.of(filter, beta=beta, channel=channel, policy=policy).save(path)
