"""Labelled streams of a weak and a strong classifier, simulated."""

from ..support.imports import public
from .days import Simulation, simulate
from .presets import Classifier

__all__ = [
    "Classifier",
    "Simulation",
    "simulate",
]

public(Classifier, Simulation, module=__name__)
