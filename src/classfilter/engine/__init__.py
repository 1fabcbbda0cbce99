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
    label_events,
    listed,
)
from .health import TITLES, Health, changed, episodes, expected
from .label_policy import least_certain, most_contradicted, sees_one_label
from .lagged_events import LaggedEvents, checked_lag
from .live_events import Confirmed, Known, LiveEvents
from .packed import REMEDY, StreamRow, pack, unpack
from .rows import update_stream_of
from .streams import Columns, StreamTable
from .tables import (
    BatchFilter,
    Filtered,
    filter_file,
    filter_table,
    filter_to,
    format_for,
    rows_for,
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
    "format_for",
    "label_events",
    "least_certain",
    "listed",
    "most_contradicted",
    "pack",
    "rows_for",
    "sees_one_label",
    "smooth_rows",
    "smooth_table",
    "store",
    "unpack",
    "update_stream_of",
]

public(Bank, Tracker)
public(Filtered, module=__name__)
