"""Metrics of class estimates: accuracy, calibration, stability and delay.

`event_scores` and `edit_score` take events, and `label_scores` several labels at once. The others
take the true classes ``truth`` (T,) and a prediction: class probabilities (T, K) or classes (T,).
Classes are indices, with -1 where unknown, or names, with None. The names of columns and indices
are ``classes``; by default, where all are names, those that occur, sorted. Rows without a true
class are left out. Of several equal probabilities the first counts.
"""

from ..support.imports import public
from .differences import Difference as Difference
from .differences import Sums as Sums
from .differences import paired as paired
from .events import edit_score, event_scores
from .labels import LabelScores, label_scores
from .labels import average_precision as average_precision
from .matching import Spans as Spans
from .matching import by_iou as by_iou
from .results import EventScores
from .results import mean_of_known as mean_of_known
from .rows import BINS as BINS
from .rows import (
    Delay,
    Reliability,
    accuracy,
    brier,
    calibration_error,
    confusion,
    count_switches,
    detection_delay,
    log_loss,
    macro_f1,
    precision,
    reliability,
    sensitivity,
    specificity,
    summary,
    switches_per_hour,
)

__all__ = [
    "Delay",
    "EventScores",
    "LabelScores",
    "Reliability",
    "accuracy",
    "brier",
    "calibration_error",
    "confusion",
    "count_switches",
    "detection_delay",
    "edit_score",
    "event_scores",
    "label_scores",
    "log_loss",
    "macro_f1",
    "precision",
    "reliability",
    "sensitivity",
    "specificity",
    "summary",
    "switches_per_hour",
]

public(EventScores, LabelScores, Reliability, module=__name__)

__dir__ = __all__.copy  # completion shows the public names only
