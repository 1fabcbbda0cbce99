"""The live loop over classifiers, and lines filtered as they come."""

from .._support.imports import public
from ._async import AsyncCascade
from ._base import CascadeState, Step
from ._cascade import Cascade
from ._ndjson import Served, serve

__all__ = ["AsyncCascade", "Cascade", "CascadeState", "Served", "Step", "serve"]

public(AsyncCascade, Cascade, CascadeState, Step)
public(Served, module=__name__)
