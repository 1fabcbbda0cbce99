"""Turn the flickering output of black-box classifiers into a steady class track."""

from ._version import __version__
from .filters import DirichletFilter, DirichletState, Filter

__all__ = ["DirichletFilter", "DirichletState", "Filter", "__version__"]
