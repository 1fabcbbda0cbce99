"""Filters: what turns a stream of class probabilities into a steady one."""

from ..support.imports import public
from . import baselines
from .base import KINDS, CompiledFilter, Filter, FilterType, with_options
from .baselines import *  # noqa: F403
from .baselines import EmaState, HoldState, RawState, WindowState
from .dirichlet import DirichletFilter, DirichletState, default_concentration
from .multi_label import MultiLabelFilter, heads_of_filter, with_classes
from .rates import exponential, generator
from .runner import StreamRows, StreamRunner, pack_state, unpack_state
from .smoothing import (
    SmoothedGroup,
    Smoother,
    can_smooth,
    check_lag,
    check_smoother,
    likelihoods,
    smooth_one,
    smoothed_rows,
)
from .sticky import StickyFilter, StickyState

__all__ = [
    *baselines.__all__,
    "CompiledFilter",
    "DirichletFilter",
    "DirichletState",
    "EmaState",
    "Filter",
    "FilterType",
    "HoldState",
    "KINDS",
    "MultiLabelFilter",
    "RawState",
    "SmoothedGroup",
    "Smoother",
    "StickyFilter",
    "StickyState",
    "BASELINES",
    "StreamRows",
    "StreamRunner",
    "WindowState",
    "baselines",
    "check_lag",
    "can_smooth",
    "check_smoother",
    "default_concentration",
    "exponential",
    "generator",
    "heads_of_filter",
    "likelihoods",
    "pack_state",
    "smooth_one",
    "smoothed_rows",
    "unpack_state",
    "with_classes",
    "with_options",
]

public(*KINDS.values(), DirichletState, StickyState, Filter, MultiLabelFilter)
public(EmaState, HoldState, RawState, WindowState, module=__name__)

BASELINES = tuple(kind for kind, cls in KINDS.items() if not issubclass(cls, CompiledFilter))
"""The kinds of the simple filters."""
