"""Tuning: settings without labels."""

from .._public import public
from ._candidates import Candidate
from ._objective import Trial
from ._result import Tuned
from ._tune import tune

__all__ = ["Candidate", "Trial", "Tuned", "tune"]

public(Tuned)
public(Candidate, Trial, module=__name__)
