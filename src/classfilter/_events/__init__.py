"""Events: a class of a stream, from a start to an end; decided, listed, and in files."""

from .._support.imports import public
from ..chain._event import Event
from ._decide import events, label_events
from ._files import read_events, write_events
from ._list import Events
from ._threshold_rule import ThresholdRule

__all__ = [
    "Event",
    "Events",
    "ThresholdRule",
    "events",
    "label_events",
    "read_events",
    "write_events",
]

public(Event, Events, ThresholdRule)
