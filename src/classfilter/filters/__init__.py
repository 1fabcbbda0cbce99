"""Filters: what turns a stream of class probabilities into a steady one."""

from .._support.imports import public
from ._base import Filter
from ._baselines import (
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
from ._dirichlet import DirichletFilter, DirichletState
from ._multi_label import MultiLabelFilter
from ._sticky import StickyFilter, StickyState

__all__ = [
    "DirichletFilter",
    "DirichletState",
    "EmaFilter",
    "EmaState",
    "Filter",
    "HoldFilter",
    "HoldState",
    "MeanFilter",
    "MultiLabelFilter",
    "RawFilter",
    "RawState",
    "StickyFilter",
    "StickyState",
    "VoteFilter",
    "WindowState",
]

public(DirichletFilter, DirichletState, StickyFilter, StickyState, Filter, MultiLabelFilter)
public(EmaFilter, HoldFilter, MeanFilter, RawFilter, VoteFilter)
public(EmaState, HoldState, RawState, WindowState, module=__name__)
