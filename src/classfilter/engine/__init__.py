"""The engine: the streams and their states, in tables, in files and live."""

from ..support.imports import public
from .bank import Bank
from .calls import Sight
from .decide import decided_as_they_are, events, label_events, pipe_and_rule
from .engine import Engine, update_stream_of
from .health import TITLES, Health, changed, episodes, expected
from .known import known_events
from .lag import checked_lag
from .packed import REMEDY, StreamRow, pack, unpack
from .stages import RULES, Rule
from .store import Read, Saved, StoreFile
from .table import Columns
from .tables import Filtered, Parts, filter_file, filter_table, filter_to, format_for, smooth_table
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
    "Parts",
    "Read",
    "Rule",
    "Saved",
    "Sight",
    "StoreFile",
    "StreamRow",
    "Tracker",
    "changed",
    "checked_lag",
    "decided_as_they_are",
    "episodes",
    "events",
    "expected",
    "filter_file",
    "filter_table",
    "filter_to",
    "format_for",
    "known_events",
    "label_events",
    "pack",
    "pipe_and_rule",
    "smooth_table",
    "unpack",
    "update_stream_of",
]

public(Bank, Tracker)
public(Filtered, module=__name__)
