"""Filters compared on the same streams."""

from ..support.imports import public
from .comparison import MEASURE_TITLES, Comparison, Measure, Row
from .methods import compare

__all__ = [
    "MEASURE_TITLES",
    "Comparison",
    "Measure",
    "Row",
    "compare",
]

public(Comparison)
public(Measure, Row, module=__name__)
