"""Many streams: a state each, by number or by name."""

from .._support.imports import public
from ._bank import Bank
from ._tracker import Tracker

__all__ = ["Bank", "Tracker"]

public(Bank, Tracker)
