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
from .multi_label import MultiLabelFilter, heads_of_filter, with_classes
from .rates import exponential, generator
from .runner import StreamRows, StreamRunner, pack_state, unpack_state
from .smoothing import (
    SmoothedGroup,
    Smoother,
    check_lag,
    check_smoother,
    likelihoods,
    smooth_one,
    smoothed_rows,
)
from .sticky import StickyFilter, StickyState

public(DirichletFilter, DirichletState, StickyFilter, StickyState, Filter, MultiLabelFilter)
public(EmaFilter, HoldFilter, MeanFilter, RawFilter, VoteFilter)
public(EmaState, HoldState, RawState, WindowState, module=__name__)
