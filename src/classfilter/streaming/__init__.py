"""Streaming: lines of predictions filtered as they come, and checkpoints for a restart."""

from .._public import public
from ._ndjson import Served, serve

__all__ = ["Served", "serve"]

public(Served, module=__name__)
