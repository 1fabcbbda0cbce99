"""Evaluation: filters compared on recordings, and policies replayed on them."""

from .._support.imports import public
from ._compare import compare
from ._comparison import Comparison, Measure, Row
from ._policy_curve import Point, PolicyCurve, policy_curve
from ._replay import Replay, replay

__all__ = [
    "Comparison",
    "Measure",
    "Point",
    "PolicyCurve",
    "Replay",
    "Row",
    "compare",
    "policy_curve",
    "replay",
]

public(Comparison, PolicyCurve, Replay)
public(Measure, Point, Row, module=__name__)
