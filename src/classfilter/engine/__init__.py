"""The engine: the streams and their states, in tables, in files and live."""

from ..support.imports import public
from .bank import Bank
from .calls import Sight
from .decide import (
    decided,
    decided_as_they_are,
    events,
    events_of,
    label_events,
    pipe_and_rule,
)
from .engine import Engine, update_stream_of
from .health import TITLES, Health, changed, episodes, expected
from .known import KnownEvent, known_events
from .lag import checked_lag
from .packed import REMEDY, StreamRow, pack, unpack
from .stages import RULES, Rule
from .store import Read, Saved, StoreFile
from .table import Columns, StreamTable
from .tables import (
    Filtered,
    Parts,
    filter_file,
    filter_table,
    filter_to,
    format_for,
    rows_for,
    smooth_rows,
    smooth_table,
)
from .tracker import Tracker

__all__ = [
    "REMEDY",
    "RULES",
    "TITLES",
    "Bank",
    "Columns",
    "Engine",
    "Filtered",
    "Health",
    "KnownEvent",
    "Parts",
    "Read",
    "Rule",
    "Saved",
    "Sight",
    "StoreFile",
    "StreamRow",
    "StreamTable",
    "Tracker",
    "changed",
    "checked_lag",
    "decided",
    "decided_as_they_are",
    "episodes",
    "events",
    "events_of",
    "expected",
    "filter_file",
    "filter_table",
    "filter_to",
    "format_for",
    "known_events",
    "label_events",
    "pack",
    "pipe_and_rule",
    "rows_for",
    "smooth_rows",
    "smooth_table",
    "unpack",
    "update_stream_of",
]

public(Bank, Tracker)
public(Filtered, module=__name__)
