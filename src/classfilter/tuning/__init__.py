"""Tuning: settings without labels."""

from .._support.imports import public
from ._candidates import Candidate
from ._effect import Effect
from ._explanation import Assumptions
from ._objective import Trial
from ._result import Tuned
from ._streams_needed import Rival
from ._tune import tune

__all__ = ["Assumptions", "Candidate", "Effect", "Rival", "Trial", "Tuned", "tune"]

public(Tuned)
public(Assumptions, Candidate, Effect, Rival, Trial, module=__name__)
