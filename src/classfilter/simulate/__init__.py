"""Labelled streams of a weak and a strong classifier, simulated."""

from ..support.imports import public
from .presets import Classifier
from .simulate import Simulation, simulate

__all__ = [
    "Classifier",
    "Simulation",
    "simulate",
]

public(Classifier, Simulation, module=__name__)
