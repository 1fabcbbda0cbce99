"""The live loop over classifiers, and lines filtered as they come."""

from .._support.imports import public
from ._cascade import Cascade, CascadeState, Step
from ._ndjson import Served, serve

__all__ = ["Cascade", "CascadeState", "Served", "Step", "serve"]

public(Cascade, CascadeState, Step)
public(Served, module=__name__)
