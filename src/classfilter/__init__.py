"""Turn the flickering output of black-box classifiers into steady classes."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from ._version import __version__ as __version__

# Where each public name lives; it is loaded when it is first used. Classes of filters are not
# listed: each has a `_kind`, which registers it.
_HOME = {
    "ArgumentError": ".errors",
    "RowError": ".errors",
    "Bank": ".engine",
    "DirichletState": ".filters",
    "Filter": ".filters",
    "MultiLabelFilter": ".filters",
    "StickyState": ".filters",
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
    value: Any
    if name == "__all__":
        kinds = import_module(".filters", __name__).KINDS.values()
        value = sorted([*_HOME, *_MODULES, "__version__", *(kind.__name__ for kind in kinds)])
    else:
        home = ".filters" if name.endswith("Filter") else _HOME.get(name)
        if home is None or not hasattr(import_module(home, __name__), name):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
