"""Weights and channels of several heads: one for all, or one for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _core
from ..errors import ArgumentError
from ..inputs import Heads
from ..support.types import Array
from ..support.validation import check_weight
from .channel import Channel, corrected

Logarithms = tuple[tuple[Array, Array] | None, ...]
"""Of the channel of each head; None where it has none."""


def weights_of_heads(beta: Any, heads: Heads, source: str | None) -> Any:
    """Return the weight of a source: a float, or one for each head where they differ."""
    if heads.is_exclusive or not isinstance(beta, Mapping):
        return check_weight("beta", beta, source)
    by_head = _of_each("beta", beta, heads, source)
    weights = {name: check_weight("beta", by_head[name], name) for name in heads.names}
    same = set(weights.values())
    return same.pop() if len(same) == 1 else weights


def weight_array(weight: Any, heads: Heads) -> Any:
    """Return a weight as filters take it: a float, or (H,)."""
    return np.array([weight[n] for n in heads.names]) if isinstance(weight, Mapping) else weight


def channels_of_heads(channel: Any, heads: Heads, source: str) -> Any:
    """Return the channel of a source, checked: a Channel or None, or one for each head."""
    by_head = _of_each("channel", channel, heads, source) if isinstance(channel, Mapping) else {}
    of_heads = [by_head[name] for name in heads.names] if by_head else [channel] * len(heads.names)
    for one, size in zip(of_heads, heads.sizes, strict=True):
        if one is not None and (not isinstance(one, Channel) or len(one.prior) != size):
            problem = f"has {{}} classes, but the filter has {size}"
            count = len(one.prior) if isinstance(one, Channel) else one
            must = "" if heads.is_exclusive else "a label has two classes, off and on"
            fix = "give a Channel with that many"
            raise ArgumentError("channel", count, problem=problem, must=must, fix=fix, entry=source)
    if not by_head:
        return channel
    return None if all(one is None for one in of_heads) else dict(by_head)


def _of_each(
    argument: str, by_head: Mapping[Any, Any], heads: Heads, source: Any
) -> dict[str, Any]:
    named = {str(name): value for name, value in by_head.items()}
    if set(named) != set(heads.names):
        problem = f"names {{}}, but the labels are {list(heads.names)}"
        raise ArgumentError(
            argument, list(named), problem=problem, fix="name each label once", entry=source
        )
    return named


def of_head(part: Any, name: str) -> Any:
    """Return what a head has of a weight or a channel that all share, or that each has."""
    return part[name] if isinstance(part, Mapping) else part


def parts_of_head(pipe: Any, h: int) -> dict[str, Any]:
    """Return what a pipeline has of a head around its filter: weights, channels, policy, rule."""
    heads, beta, rule = pipe.heads, pipe.beta, pipe.rule
    name = heads.names[h]
    reported = rule is not None and not set(heads.columns[h]) <= set(rule.ignore)
    if isinstance(beta, dict):
        beta = {source: of_head(weight, name) for source, weight in beta.items()}
    return {
        "beta": beta,
        "channel": {source: of_head(one, name) for source, one in pipe.channel.items()},
        "policy": pipe.policy,
        "rule": rule.head(heads, h) if reported else None,
    }


def logarithms_of(channel: Any, heads: Heads, dtype: np.dtype[Any]) -> Logarithms:
    """Return the logarithms of a source's channel for each head."""
    of_heads = [of_head(channel, name) for name in heads.names]
    return tuple(None if one is None else one.logarithms_in(dtype) for one in of_heads)


def corrected_row(logarithms: Logarithms, row: Any, heads: Heads) -> Array:
    """Return one row as the filter gets it, corrected: (K,) of exclusive classes, or (H, K)."""
    if heads.is_exclusive:
        assert logarithms[0] is not None
        return corrected(logarithms[0], row)
    dtype = next(one[1].dtype for one in logarithms if one is not None)
    rows = corrected_rows(logarithms, heads.stacked(np.asarray(row, dtype))[None], heads)
    observed: Array = rows[0]
    return observed


def corrected_rows(logarithms: Logarithms, stack: Array, heads: Heads) -> Array:
    """Return rows of heads, (T, H, K), corrected, in the same array."""
    for h, (of_channel, size) in enumerate(zip(logarithms, heads.sizes, strict=True)):
        if of_channel is not None:
            rows = np.ascontiguousarray(stack[:, h, :size], of_channel[1].dtype)
            log_matrix, log_prior = of_channel
            stack[:, h, :size] = _core.apply_channel(log_matrix, log_prior, rows)
    return stack


def weight_text(weight: Any) -> str:
    """Return a weight in words: that of all heads, or the least and the largest."""
    if not isinstance(weight, Mapping):
        return f"{weight:.3g}"
    return f"{min(weight.values()):.3g} to {max(weight.values()):.3g}"
