"""Evaluation: filters compared on recordings."""

from .._support.imports import public
from ._compare import compare
from ._comparison import Comparison, Measure, Row

__all__ = ["Comparison", "Measure", "Row", "compare"]

public(Comparison)
public(Measure, Row, module=__name__)
