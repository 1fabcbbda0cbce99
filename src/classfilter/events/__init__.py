"""Events: the rule that decides them, lists of them, and their files."""

from ..support.imports import public
from .dates import date_text, microseconds
from .files import event_format, read_events, write_events
from .formats import FORMATS
from .list import CurrentEvent, Event, Events, event_of
from .rule import EVIDENCE, OPTIONS, EventRule, Option, Start
from .threshold_rule import ThresholdRule

__all__ = [
    "EVIDENCE",
    "FORMATS",
    "OPTIONS",
    "CurrentEvent",
    "Event",
    "EventRule",
    "Events",
    "Option",
    "Start",
    "ThresholdRule",
    "date_text",
    "event_format",
    "event_of",
    "microseconds",
    "read_events",
    "write_events",
]

public(Event, EventRule, Events, ThresholdRule)
