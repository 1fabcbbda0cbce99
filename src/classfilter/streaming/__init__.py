"""Streaming: lines of predictions filtered as they come, with states that survive a restart."""

from .._public import public
from ._ndjson import Served, serve

__all__ = ["Served", "serve"]

public(Served, module=__name__)
