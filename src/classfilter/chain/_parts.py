"""The parts of a chain, checked: its filter, weights, channels, policy and rule."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from .._support.types import Weights
from .._validation import check_weight
from ..policy import Adaptive, Periodic, Policy
from ._channel import Channels
from ._event_rule import EventRule
from ._labels import channels_of_labels, weights_of_labels


def require_filter(filter: Any) -> Any:  # noqa: A002
    """Return a filter, or say what else was given."""
    if isinstance(filter, (str, PathLike)):
        raise TypeError(f"filter is {str(filter)!r}; read the file first: classfilter.load(...)")
    if hasattr(filter, "observe_rows"):
        raise TypeError("filter is a Chain; give its filter: chain.filter()")
    if not hasattr(filter, "update"):
        raise TypeError(f"filter is {filter!r}; give a filter, or a chain as of load or tune")
    return filter


def checked_policy(policy: Policy | None, weights: Any) -> Policy | None:
    """Return a policy in its initial state, if its sources have weights."""
    if policy is None:
        return None
    policy = policy.copy()
    policy.reset()
    own = isinstance(policy, (Adaptive, Periodic)) and "_kind" in vars(type(policy))
    for role in ("strong", "weak") if own else ():  # a subclass may call others
        source = getattr(policy, role)
        if isinstance(weights, dict) and source not in weights:
            raise ValueError(
                f"policy calls {source!r}, but beta names {list(weights)}: add it there"
            )
    return policy


def check_rule(rule: Any, classes: tuple[Any, ...], independent: bool) -> None:
    """Raise unless a rule fits the classes of a filter."""
    if rule is None:
        return
    if not isinstance(rule, EventRule):
        raise TypeError(f"rule is {rule!r}; give an EventRule")
    rule.check(classes, independent)


def most_trusted(channels: Mapping[str, Any], weights: Mapping[str, Any]) -> str:
    """Return the source without a channel and of the largest weight; "" if there are none."""
    # Of several, the first: a file names the reference first.
    return max(
        channels,
        key=lambda name: (channels[name] is None, float(np.mean(weights.get(name, 1.0)))),
        default="",
    )


def checked_sources(
    beta: Weights, channel: Channels | None, names: tuple[str, ...], independent: bool
) -> tuple[Any, dict[str, Any]]:
    """Return the weights, by source or one for all, and the channel of each source.

    `names` are the classes; where they are `independent`, weights and channels may be by label.
    """

    def weight(value: Any, source: str | None = None) -> Any:
        if independent:
            return weights_of_labels(value, names, source)
        return check_weight("beta", value, source)

    weights: Any
    if isinstance(beta, Mapping):
        weights = {str(name): weight(value, str(name)) for name, value in beta.items()} or 1.0
    else:
        weights = weight(beta)
    channels: dict[str, Any] = dict.fromkeys(weights) if isinstance(weights, dict) else {}
    channels |= {str(name): one for name, one in (channel or {}).items()}
    if independent:
        return weights, {n: channels_of_labels(one, names, n) for n, one in channels.items()}
    for name, one in channels.items():
        if one is not None and len(one.prior) != len(names):
            raise ValueError(
                f"channel[{name!r}] has {len(one.prior)} classes, but the filter has {len(names)}"
            )
    return weights, channels
