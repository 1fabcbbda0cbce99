"""Turn the flickering output of black-box classifiers into a steady class track."""

from . import metrics, plot
from ._version import __version__
from .bank import Bank
from .filters import DirichletFilter, DirichletState, Filter
from .simulate import simulate

__all__ = [
    "Bank",
    "DirichletFilter",
    "DirichletState",
    "Filter",
    "__version__",
    "metrics",
    "plot",
    "simulate",
]
