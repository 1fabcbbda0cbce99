"""Turn the flickering output of black-box classifiers into steady classes."""

from . import metrics as metrics
from . import plot as plot
from . import policy as policy
from . import sklearn as sklearn
from . import spark as spark
from ._version import __version__ as __version__
from .compare import Comparison as Comparison
from .compare import compare as compare
from .engine import Bank as Bank
from .engine import Tracker as Tracker
from .engine import events as events
from .engine import filter_file as filter_file
from .engine import filter_table as filter_table
from .engine import label_events as label_events
from .engine import smooth_table as smooth_table
from .errors import ArgumentError as ArgumentError
from .errors import RowError as RowError
from .events import Event as Event
from .events import EventRule as EventRule
from .events import Events as Events
from .events import ThresholdRule as ThresholdRule
from .events import read_events as read_events
from .events import write_events as write_events
from .filters import DirichletFilter as DirichletFilter
from .filters import DirichletState as DirichletState
from .filters import Filter as Filter
from .filters import MultiLabelFilter as MultiLabelFilter
from .filters import StickyFilter as StickyFilter
from .filters import StickyState as StickyState
from .filters import baselines
from .filters.baselines import *  # noqa: F403
from .inputs import Rows as Rows
from .inputs import read_table as read_table
from .inputs import rows as rows
from .inputs import softmax as softmax
from .inputs import write_table as write_table
from .live import Cascade as Cascade
from .live import CascadeState as CascadeState
from .live import Step as Step
from .pipeline import Channel as Channel
from .pipeline import Pipeline as Pipeline
from .pipeline import beta_from_confusion as beta_from_confusion
from .pipeline import load as load
from .pipeline import smooth as smooth
from .report import report as report
from .simulate import simulate as simulate
from .tuning import tune as tune

__all__ = [
    "ArgumentError",
    "Bank",
    "Cascade",
    "CascadeState",
    "Channel",
    "Comparison",
    "DirichletFilter",
    "DirichletState",
    "Event",
    "EventRule",
    "Events",
    "Filter",
    "MultiLabelFilter",
    "Pipeline",
    "RowError",
    "Rows",
    "Step",
    "StickyFilter",
    "StickyState",
    "ThresholdRule",
    "Tracker",
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
    "report",
    "rows",
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
__all__ += baselines.__all__
