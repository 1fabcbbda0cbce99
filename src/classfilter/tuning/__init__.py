"""Tuning: settings without labels."""

from .._support.imports import public
from ._calibrate import Calibration
from ._candidates import Candidate
from ._effect import Effect
from ._explanation import Assumptions, Rival
from ._objective import Trial
from ._result import Tuned
from ._temperature import Temperature
from ._tune import tune

__all__ = [
    "Assumptions", "Calibration", "Candidate", "Effect", "Rival", "Temperature", "Trial", "Tuned",
    "tune",
]  # fmt: skip

public(Tuned)
public(Assumptions, Calibration, Candidate, Effect, Rival, Temperature, Trial, module=__name__)
