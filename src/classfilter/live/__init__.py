"""The live loop over classifiers, and lines filtered as they come."""

from ..support.imports import public
from .cascade import Cascade, CascadeState, Step
from .ndjson import Served, serve
from .pipes import ReaderBlocked

__all__ = [
    "Cascade",
    "CascadeState",
    "ReaderBlocked",
    "Served",
    "Step",
    "serve",
]

public(Cascade, CascadeState, Step)
public(Served, module=__name__)
