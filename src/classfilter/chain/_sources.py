"""The weights and channels of a chain's sources, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._support.types import Weights
from .._validation import check_weight
from ._channel import Channels
from ._labels import channels_of_labels, weights_of_labels


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
