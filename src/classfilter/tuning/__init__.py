"""Tuning: settings without labels."""

from .._support.imports import public
from ._candidates import Candidate
from ._effect import Effect
from ._event_effect import CostByLabels, EventEffect, EventsAtCost
from ._explanation import Assumptions, Rival
from ._objective import Trial
from ._result import Tuned
from ._suggestion import Suggestion
from ._tune import tune

__all__ = [
    "Assumptions",
    "Candidate",
    "CostByLabels",
    "Effect",
    "EventEffect",
    "EventsAtCost",
    "Rival",
    "Suggestion",
    "Trial",
    "Tuned",
    "tune",
]

public(Tuned)
public(Assumptions, Candidate, Effect, Rival, Trial, module=__name__)
public(CostByLabels, EventEffect, EventsAtCost, Suggestion, module=__name__)
