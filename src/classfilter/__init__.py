"""Turn the flickering output of black-box classifiers into steady classes."""

from importlib import import_module
from typing import Any

from ._version import __version__

# Where each public name lives; it is loaded when it is first used.
_HOME = {
    "ArgumentError": "._errors",
    "RowError": "._errors",
    "Bank": ".streams",
    "DirichletFilter": ".filters",
    "DirichletState": ".filters",
    "EmaFilter": ".filters",
    "Filter": ".filters",
    "HoldFilter": ".filters",
    "MeanFilter": ".filters",
    "MultiLabelFilter": ".filters",
    "RawFilter": ".filters",
    "StickyFilter": ".filters",
    "StickyState": ".filters",
    "VoteFilter": ".filters",
    "smooth": ".chain",
    "Chain": ".chain",
    "Channel": ".chain",
    "EventRule": ".chain",
    "beta_from_confusion": ".chain",
    "softmax": ".chain",
    "Recording": ".data",
    "filter_file": ".data",
    "filter_table": ".data",
    "read_table": ".data",
    "recordings": ".data",
    "smooth_table": ".data",
    "write_table": ".data",
    "Event": "._events",
    "Events": "._events",
    "ThresholdRule": "._events",
    "events": "._events",
    "label_events": "._events",
    "read_events": "._events",
    "write_events": "._events",
    "Tuned": ".tuning",
    "load": ".chain",
    "tune": ".tuning",
    "Comparison": ".evaluation",
    "compare": ".evaluation",
    "Cascade": ".live",
    "CascadeState": ".live",
    "Step": ".live",
    "Tracker": ".streams",
    "simulate": ".simulation",
    "report": ".web",
}
_MODULES = ("metrics", "plot", "policy", "sklearn", "spark")

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


def __getattr__(name: str) -> Any:
    """Load a public name and keep it."""
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
