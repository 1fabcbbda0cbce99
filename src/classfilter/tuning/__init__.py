"""Tuning: settings without labels."""

from .._support.imports import public
from ._candidates import Candidate
from ._explanation import Assumptions, Rival
from ._objective import Trial
from ._result import Tuned
from ._tune import tune

__all__ = ["Assumptions", "Candidate", "Rival", "Trial", "Tuned", "tune"]

public(Tuned)
public(Assumptions, Candidate, Rival, Trial, module=__name__)
