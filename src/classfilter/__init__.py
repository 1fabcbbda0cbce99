"""Turn the flickering output of black-box classifiers into a steady class track."""

from typing import TYPE_CHECKING

from . import metrics, plot, policy
from ._version import __version__
from .bank import Bank
from .baselines import EmaFilter, HoldFilter, MeanFilter, RawFilter, VoteFilter
from .bulk import filter_file
from .cascade import Cascade
from .channel import Channel, beta_from_confusion
from .compare import compare
from .comparison import Comparison
from .config import load
from .curve import PolicyCurve, policy_curve
from .files import read_table, write_table
from .filters import DirichletFilter, DirichletState, Filter
from .loop import CascadeState, Step
from .recording import Recording
from .replay import Replay, replay
from .simulate import simulate
from .smooth import smooth
from .sticky import StickyFilter, StickyState
from .tables import filter_table, recordings
from .tune import Tuned, tune

if TYPE_CHECKING:
    from .realtime import AsyncCascade
else:

    def __getattr__(name: str) -> type:
        """Load asyncio, which takes as long as all the rest, only where it is needed."""
        if name == "AsyncCascade":
            from .realtime import AsyncCascade

            return AsyncCascade
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
