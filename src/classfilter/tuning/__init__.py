"""Tuning: settings without labels."""

from ..support.imports import public
from .calibrate import Calibration
from .candidates import HELD_BELOW, WINDOW, Candidate
from .effect import GAP, Effect, count_changes, last_predictions
from .event_effect import CostByLabels, EventEffect
from .explanation import Assumptions
from .folds import as_list, find_reference, step_of, two_folds
from .label_tuning import LabelTuning
from .objective import Progress, Trial
from .operating import OperatingCurve, OperatingPoint
from .record import TuningRecord, calibrated, record_of, untempered
from .sources import SourceFacts
from .streams_needed import Rival
from .suggestion import Suggestion
from .summary import filter_in_words
from .temperature import Temperature
from .thinning import thin
from .tuner import prepare, tune

__all__ = [
    "GAP",
    "HELD_BELOW",
    "WINDOW",
    "Assumptions",
    "Calibration",
    "Candidate",
    "CostByLabels",
    "Effect",
    "EventEffect",
    "LabelTuning",
    "OperatingCurve",
    "OperatingPoint",
    "Progress",
    "Rival",
    "SourceFacts",
    "Suggestion",
    "Temperature",
    "Trial",
    "TuningRecord",
    "as_list",
    "calibrated",
    "count_changes",
    "filter_in_words",
    "find_reference",
    "last_predictions",
    "prepare",
    "record_of",
    "step_of",
    "thin",
    "tune",
    "two_folds",
    "untempered",
]

public(Assumptions, Calibration, Candidate, Effect, Rival, Temperature, Trial, module=__name__)
public(SourceFacts, module=__name__)
public(CostByLabels, EventEffect, Suggestion, TuningRecord, module=__name__)
