"""The engine: the streams and their states, in tables, in files and live."""

from ..support.imports import public
from . import store
from .bank import Bank
from .batch_smoother import BatchSmoother, smooth_rows
from .decide import (
    RULES,
    Decoder,
    Rule,
    chain_and_rule,
    events,
    events_of,
    filtered_classes,
    filtered_format,
    label_events,
    listed,
)
from .health import TITLES, Health, changed, episodes, expected
from .label_policy import least_certain, most_contradicted, sees_one_label
from .lagged_events import LaggedEvents, checked_lag
from .live_events import Confirmed, Known, LiveEvents
from .packed import REMEDY, StreamRow, pack, unpack
from .recording import Recording
from .recordings import recordings, recordings_of, streams_of
from .rows import group_and_sort, update_stream_of
from .streams import Columns, StreamTable
from .tables import (
    BatchFilter,
    Filtered,
    filter_file,
    filter_table,
    filter_to,
    format_for,
    smooth_table,
)
from .tracker import Tracker

__all__ = [
    "REMEDY",
    "RULES",
    "TITLES",
    "Bank",
    "BatchFilter",
    "BatchSmoother",
    "Columns",
    "Confirmed",
    "Decoder",
    "Filtered",
    "Health",
    "Known",
    "LaggedEvents",
    "LiveEvents",
    "Recording",
    "Rule",
    "StreamRow",
    "StreamTable",
    "Tracker",
    "chain_and_rule",
    "changed",
    "checked_lag",
    "episodes",
    "events",
    "events_of",
    "expected",
    "filter_file",
    "filter_table",
    "filter_to",
    "filtered_classes",
    "filtered_format",
    "format_for",
    "group_and_sort",
    "label_events",
    "least_certain",
    "listed",
    "most_contradicted",
    "pack",
    "recordings",
    "recordings_of",
    "sees_one_label",
    "smooth_rows",
    "smooth_table",
    "store",
    "streams_of",
    "unpack",
    "update_stream_of",
]

public(Bank, Recording, Tracker)
public(Filtered, module=__name__)
