"""Streaming: many live streams, lines filtered as they come, and checkpoints for a restart."""

from .._public import public
from ._ndjson import Served, serve
from ._tracker import Tracker

__all__ = ["Served", "Tracker", "serve"]

public(Served, module=__name__)
