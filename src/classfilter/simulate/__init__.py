"""Labelled streams of a weak and a strong classifier, simulated."""

from ..support.imports import public
from .days import Classifier, Simulation, simulate

__all__ = ["Classifier", "Simulation", "simulate"]

public(Classifier, Simulation, module=__name__)
