"""Turn the flickering output of black-box classifiers into a steady class track."""

from importlib import import_module
from typing import TYPE_CHECKING

from . import metrics, policy
from ._version import __version__
from .bank import Bank
from .baselines import EmaFilter, HoldFilter, MeanFilter, RawFilter, VoteFilter
from .channel import Channel, beta_from_confusion
from .compare import compare
from .comparison import Comparison
from .filters import DirichletFilter, DirichletState, Filter
from .recording import Recording
from .replay import Replay, replay
from .simulate import simulate
from .smooth import smooth
from .sticky import StickyFilter, StickyState
from .tune import Tuned, tune

if TYPE_CHECKING:
    from . import plot
    from .bulk import filter_file
    from .cascade import Cascade
    from .config import load
    from .curve import PolicyCurve, policy_curve
    from .files import read_table, write_table
    from .loop import CascadeState, Step
    from .realtime import AsyncCascade
    from .tables import filter_table, recordings
else:
    _LATER = {
        "AsyncCascade": ".realtime",
        "Cascade": ".cascade",
        "CascadeState": ".loop",
        "PolicyCurve": ".curve",
        "Step": ".loop",
        "filter_file": ".bulk",
        "filter_table": ".tables",
        "load": ".config",
        "plot": ".plot",
        "policy_curve": ".curve",
        "read_table": ".files",
        "recordings": ".tables",
        "write_table": ".files",
    }

    def __getattr__(name: str) -> object:
        """Load what takes long, and what few need, only where it is asked for."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(_LATER[name], __name__)
        return module if name == "plot" else getattr(module, name)


__all__ = [
    "AsyncCascade",
    "Bank",
    "Cascade",
    "CascadeState",
    "Channel",
    "Comparison",
    "DirichletFilter",
    "DirichletState",
    "EmaFilter",
    "Filter",
    "HoldFilter",
    "MeanFilter",
    "PolicyCurve",
    "RawFilter",
    "Recording",
    "Replay",
    "Step",
    "StickyFilter",
    "StickyState",
    "Tuned",
    "VoteFilter",
    "__version__",
    "beta_from_confusion",
    "compare",
    "filter_file",
    "filter_table",
    "load",
    "metrics",
    "plot",
    "policy",
    "policy_curve",
    "read_table",
    "recordings",
    "replay",
    "simulate",
    "smooth",
    "tune",
    "write_table",
]
