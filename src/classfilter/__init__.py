"""Turn the flickering output of black-box classifiers into steady classes."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from ._version import __version__

# Where each public name lives; it is loaded when it is first used.
_HOME = {
    "ArgumentError": ".errors",
    "RowError": ".errors",
    "Bank": ".engine",
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
    "smooth": ".pipeline",
    "Pipeline": ".pipeline",
    "Channel": ".pipeline",
    "EventRule": ".events",
    "beta_from_confusion": ".pipeline",
    "softmax": ".inputs",
    "Rows": ".inputs",
    "filter_file": ".engine",
    "filter_table": ".engine",
    "read_table": ".inputs",
    "rows": ".inputs",
    "smooth_table": ".engine",
    "write_table": ".inputs",
    "Event": ".events",
    "Events": ".events",
    "ThresholdRule": ".events",
    "events": ".engine",
    "label_events": ".engine",
    "read_events": ".events",
    "write_events": ".events",
    "load": ".pipeline",
    "tune": ".tuning",
    "Comparison": ".compare",
    "compare": ".compare",
    "Cascade": ".live",
    "CascadeState": ".live",
    "Step": ".live",
    "Tracker": ".engine",
    "simulate": ".simulate",
    "report": ".report",
}
_MODULES = ("metrics", "plot", "policy", "sklearn", "spark")

__all__ = [
    "ArgumentError",
    "Bank",
    "Cascade",
    "CascadeState",
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
    "Pipeline",
    "RawFilter",
    "RowError",
    "Rows",
    "Step",
    "StickyFilter",
    "StickyState",
    "ThresholdRule",
    "Tracker",
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


class _Package(ModuleType):
    """The package: its functions go before rooms of the same name, such as `events`."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute, as each import of a module does, unless it would hide a function."""
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


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
