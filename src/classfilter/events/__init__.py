"""Events: a class of a stream, from a start to an end; as lists, as tables and as files."""

from .._support.imports import public
from ._event import Event
from ._files import read_events, write_events
from ._list import Events

__all__ = ["Event", "Events", "read_events", "write_events"]

public(Event, Events)
