"""Turn the flickering output of black-box classifiers into a steady class track."""

from . import metrics, plot
from ._version import __version__
from .bank import Bank
from .config import load
from .filters import DirichletFilter, DirichletState, Filter
from .recording import Recording
from .simulate import simulate
from .tables import filter_table, read_table, recordings, write_table

__all__ = [
    "Bank",
    "DirichletFilter",
    "DirichletState",
    "Filter",
    "Recording",
    "__version__",
    "filter_table",
    "load",
    "metrics",
    "plot",
    "read_table",
    "recordings",
    "simulate",
    "write_table",
]
