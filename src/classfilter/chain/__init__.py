"""What happens to a row: its channel, its weight, the filter; and smoothing."""

from .._support.imports import public
from ._chain import Chain, Observation
from ._channel import Channel, beta_from_confusion
from ._event_rule import EventRule
from ._scores import softmax
from ._smoothing import smooth
from ._toml import load

__all__ = [
    "Chain",
    "Channel",
    "EventRule",
    "Observation",
    "beta_from_confusion",
    "load",
    "smooth",
    "softmax",
]

public(Chain, Channel, EventRule)
public(Observation, module=__name__)
