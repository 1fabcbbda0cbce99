"""The live loop over classifiers, and lines filtered as they come."""

from ..support.imports import public
from .cascade import Cascade, CascadeState, Step
from .ndjson import Served, serve
from .pipes import ReaderBlocked
from .streams import description

__all__ = [
    "Cascade",
    "CascadeState",
    "ReaderBlocked",
    "Served",
    "Step",
    "description",
    "serve",
]

public(Cascade, CascadeState, Step)
public(Served, module=__name__)
