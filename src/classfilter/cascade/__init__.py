"""The live loop over classifiers: call a source, filter its output, decide whom to call next."""

from .._public import public
from ._async import AsyncCascade
from ._base import CascadeState, Step
from ._sync import Cascade

__all__ = ["AsyncCascade", "Cascade", "CascadeState", "Step"]

public(AsyncCascade, Cascade, CascadeState, Step)
