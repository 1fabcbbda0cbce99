"""Events: the rule that decides them, lists of them, and their files."""

from ..support.imports import public
from .dates import date_text, microseconds
from .event import Event
from .files import event_format, read_events, write_events
from .list import Events
from .rule import Duration, EventRule
from .threshold_rule import ThresholdRule

__all__ = [
    "Duration",
    "Event",
    "EventRule",
    "Events",
    "ThresholdRule",
    "date_text",
    "event_format",
    "microseconds",
    "read_events",
    "write_events",
]

public(Event, EventRule, Events, ThresholdRule)
