"""What happens to a row: its channel, its weight, the filter; and smoothing."""

from .._support.imports import public
from ._channel import Channel, beta_from_confusion
from ._scores import softmax
from ._smoothing import smooth

__all__ = ["Channel", "beta_from_confusion", "smooth", "softmax"]

public(Channel)
