"""Filters: what turns a stream of class probabilities into a steady one."""

from ..support.imports import public
from .base import Filter, FilterType, with_options
from .baselines import (
    EmaFilter,
    EmaState,
    HoldFilter,
    HoldState,
    MeanFilter,
    RawFilter,
    RawState,
    VoteFilter,
    WindowState,
)
from .dirichlet import DirichletFilter, DirichletState, default_concentration
from .dirichlet_smoothing import decays, dirichlet_rows, in_two_searches
from .multi_label import MultiLabelFilter, heads_of_filter, with_classes
from .rates import exponential, generator
from .runner import StreamRows, StreamRunner, pack_state, unpack_state
from .smoothing import (
    Smoother,
    check_lag,
    check_smoother,
    in_double,
    likelihoods,
    smooth_one,
    smooth_streams,
    sticky_rows,
    untempered,
)
from .sticky import StickyFilter, StickyState

__all__ = [
    "DirichletFilter",
    "DirichletState",
    "EmaFilter",
    "EmaState",
    "Filter",
    "FilterType",
    "HoldFilter",
    "HoldState",
    "MeanFilter",
    "MultiLabelFilter",
    "RawFilter",
    "RawState",
    "Smoother",
    "StickyFilter",
    "StickyState",
    "StreamRows",
    "StreamRunner",
    "VoteFilter",
    "WindowState",
    "check_lag",
    "check_smoother",
    "decays",
    "default_concentration",
    "dirichlet_rows",
    "exponential",
    "generator",
    "heads_of_filter",
    "in_double",
    "in_two_searches",
    "likelihoods",
    "pack_state",
    "smooth_one",
    "smooth_streams",
    "sticky_rows",
    "unpack_state",
    "untempered",
    "with_classes",
    "with_options",
]

public(DirichletFilter, DirichletState, StickyFilter, StickyState, Filter, MultiLabelFilter)
public(EmaFilter, HoldFilter, MeanFilter, RawFilter, VoteFilter)
public(EmaState, HoldState, RawState, WindowState, module=__name__)
