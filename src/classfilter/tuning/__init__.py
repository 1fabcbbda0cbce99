"""Tuning: settings without labels."""

from .._support.imports import public
from ._calibrate import Calibration
from ._candidates import Candidate
from ._effect import Effect
from ._event_effect import CostByLabels, EventEffect
from ._explanation import Assumptions
from ._objective import Trial
from ._result import Tuned
from ._streams_needed import Rival
from ._suggestion import Suggestion
from ._temperature import Temperature
from ._tune import tune

__all__ = [
    "Assumptions",
    "Calibration",
    "Candidate",
    "CostByLabels",
    "Effect",
    "EventEffect",
    "Rival",
    "Suggestion",
    "Temperature",
    "Trial",
    "Tuned",
    "tune",
]

public(Tuned)
public(Assumptions, Calibration, Candidate, Effect, Rival, Temperature, Trial, module=__name__)
public(CostByLabels, EventEffect, Suggestion, module=__name__)
