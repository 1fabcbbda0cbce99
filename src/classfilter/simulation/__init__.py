"""Simulation: labelled streams of a weak and a strong classifier."""

from .._support.imports import public
from ._presets import Classifier
from ._simulate import Simulation, simulate

__all__ = ["Classifier", "Simulation", "simulate"]

public(Classifier, Simulation, module=__name__)
