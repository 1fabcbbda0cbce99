"""Turn the flickering output of black-box classifiers into steady classes."""

from . import metrics as metrics
from . import plot as plot
from . import policy as policy
from . import sklearn as sklearn
from . import spark as spark
from ._errors import ArgumentError as ArgumentError
from ._errors import RowError as RowError
from ._events import Event as Event
from ._events import Events as Events
from ._events import ThresholdRule as ThresholdRule
from ._events import events as events
from ._events import label_events as label_events
from ._events import read_events as read_events
from ._events import write_events as write_events
from ._version import __version__ as __version__
from .chain import Chain as Chain
from .chain import Channel as Channel
from .chain import EventRule as EventRule
from .chain import beta_from_confusion as beta_from_confusion
from .chain import load as load
from .chain import smooth as smooth
from .chain import softmax as softmax
from .data import Recording as Recording
from .data import filter_file as filter_file
from .data import filter_table as filter_table
from .data import read_table as read_table
from .data import recordings as recordings
from .data import smooth_table as smooth_table
from .data import write_table as write_table
from .evaluation import Comparison as Comparison
from .evaluation import compare as compare
from .filters import DirichletFilter as DirichletFilter
from .filters import DirichletState as DirichletState
from .filters import EmaFilter as EmaFilter
from .filters import Filter as Filter
from .filters import HoldFilter as HoldFilter
from .filters import MeanFilter as MeanFilter
from .filters import MultiLabelFilter as MultiLabelFilter
from .filters import RawFilter as RawFilter
from .filters import StickyFilter as StickyFilter
from .filters import StickyState as StickyState
from .filters import VoteFilter as VoteFilter
from .live import Cascade as Cascade
from .live import CascadeState as CascadeState
from .live import Step as Step
from .simulation import simulate as simulate
from .streams import Bank as Bank
from .streams import Tracker as Tracker
from .tuning import Tuned as Tuned
from .tuning import tune as tune
from .web import report as report

__all__ = [
    "ArgumentError",
    "Bank",
    "Cascade",
    "CascadeState",
    "Chain",
    "Channel",
    "Comparison",
    "DirichletFilter",
    "DirichletState",
    "EmaFilter",
    "Event",
    "EventRule",
    "Events",
    "Filter",
    "HoldFilter",
    "MeanFilter",
    "MultiLabelFilter",
    "RawFilter",
    "Recording",
    "RowError",
    "Step",
    "StickyFilter",
    "StickyState",
    "ThresholdRule",
    "Tracker",
    "Tuned",
    "VoteFilter",
    "__version__",
    "beta_from_confusion",
    "compare",
    "events",
    "filter_file",
    "filter_table",
    "label_events",
    "load",
    "metrics",
    "plot",
    "policy",
    "read_events",
    "read_table",
    "recordings",
    "report",
    "simulate",
    "sklearn",
    "smooth",
    "smooth_table",
    "softmax",
    "spark",
    "tune",
    "write_events",
    "write_table",
]
