"""Several labels at once: weights and channels for each label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..errors import ArgumentError
from ..inputs import one_row, pairs
from ..support.types import Array, Floats
from ..support.validation import Factorized, check_weight
from .channel import Channel


class LabelChannels(NamedTuple):
    """The channels of a source, one per label: the logarithms of each, or None.

    A channel turns the score of its label into the probabilities of off and on.
    """

    labels: tuple[str, ...]
    logarithms: tuple[tuple[Array, Array] | None, ...]
    dtype: np.dtype[Any]

    def corrected(self, scores: Any) -> Array:
        """Return one row of scores, (L,), as probabilities of off and on, (L, 2)."""
        row = one_row(scores, self.labels)
        both: Array = self.corrected_rows(row[None])[0]
        return both

    def corrected_rows(self, scores: Floats) -> Array:
        """Return scores (T, L) as probabilities of off and on, (T, L, 2)."""
        both = pairs(np.asarray(scores, self.dtype))
        for i, logarithms in enumerate(self.logarithms):
            if logarithms is not None:
                both[:, i] = _core.apply_channel(*logarithms, np.ascontiguousarray(both[:, i]))
        return both


def weights_of_labels(beta: Any, labels: tuple[str, ...], source: str | None) -> Any:
    """Return the weight of a source: a float, or one for each label where they differ."""
    if not isinstance(beta, Mapping):
        return check_weight("beta", beta, source)
    by_label = _of_each("beta", beta, labels, source)
    weights = {name: check_weight("beta", by_label[name], name) for name in labels}
    same = set(weights.values())
    return same.pop() if len(same) == 1 else weights


def channels_of_labels(channel: Any, labels: tuple[str, ...], source: str) -> Any:
    """Return the channel of a source: a Channel or None, or one for each label."""
    by_label = _of_each("channel", channel, labels, source) if isinstance(channel, Mapping) else {}
    for one in [*by_label.values()] or [channel]:
        if one is not None and (not isinstance(one, Channel) or len(one.prior) != 2):
            rule = "a label has two classes, off and on"
            remedy = "give a Channel of two classes, or one for each label"
            raise ArgumentError("channel", one, rule=rule, remedy=remedy, entry=source)
    if not by_label:
        return channel
    of_labels = [by_label[name] for name in labels]
    return None if all(one is None for one in of_labels) else dict(by_label)


def _of_each(what: str, given: Mapping[Any, Any], labels: tuple[str, ...], source: Any) -> Any:
    named = {str(name): value for name, value in given.items()}
    if set(named) != set(labels):
        problem = f"names {{}}, but the labels are {list(labels)}"
        raise ArgumentError(what, list(named), problem, remedy="name each label once", entry=source)
    return named


def of_label(given: Any, label: str) -> Any:
    """Return what a label has of a weight or a channel that all share, or that each has."""
    return given[label] if isinstance(given, Mapping) else given


def lane_parts(parts: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Return what there is of a label around its filter: weights, channels, policy and rule."""
    beta, channel, rule = parts["beta"], parts["channel"], parts["rule"]
    if isinstance(beta, dict):
        beta = {name: of_label(weight, label) for name, weight in beta.items()}
    return {
        "beta": beta,
        "channel": {name: of_label(one, label) for name, one in channel.items()},
        "policy": parts["policy"],
        "rule": None if rule is None or label in rule.ignore else rule.lane(label),
    }


def label_channels(channel: Any, labels: tuple[str, ...], dtype: np.dtype[Any]) -> LabelChannels:
    """Return the channels of a source as the filter needs them."""
    of_labels = [of_label(channel, name) for name in labels]
    logs = tuple(None if one is None else one.logarithms_in(dtype) for one in of_labels)
    return LabelChannels(labels, logs, dtype)


def weight_array(weight: Any, labels: tuple[str, ...]) -> Any:
    """Return a weight as `MultiLabelFilter.update` takes it: a float, or (L,)."""
    if not isinstance(weight, Mapping):
        return weight
    return np.array([weight[name] for name in labels])


def observe_label_rows(
    source: Factorized, scores: Floats, weights: list[Any], channels: Mapping[str, LabelChannels]
) -> tuple[Floats, Floats]:
    """Return scores (T, L) as the filter gets them, and their weights, (T,) or (T, L).

    They are pairs of off and on, (T, L, 2), where a channel corrects some. `weights` are those of
    the sources' categories.
    """
    each: Any = weights
    if any(np.ndim(weight) for weight in weights):
        each = [np.broadcast_to(weight, scores.shape[1]) for weight in weights]
    beta = np.array(each, np.float64).reshape(len(weights), *np.shape(each)[1:])[source.codes]
    if not channels.keys() & set(source.categories):
        return scores, beta
    some = next(iter(channels.values()))
    both: Floats = pairs(np.asarray(scores, some.dtype))
    for i, name in enumerate(source.categories):
        if name in channels:
            rows = np.flatnonzero(source.codes == i)
            both[rows] = channels[name].corrected_rows(scores[rows])
    return both, beta


def weight_text(weight: Any) -> str:
    """Return a weight in words: that of all labels, or the least and the largest."""
    if not isinstance(weight, Mapping):
        return f"{weight:.3g}"
    return f"{min(weight.values()):.3g} to {max(weight.values()):.3g}"
