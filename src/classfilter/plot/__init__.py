"""Figures of class probabilities over time. Matplotlib is imported when a figure is drawn.

Colours are Okabe and Ito's, which the colour-blind can distinguish; lines differ in their dashes
and bands in their hatching too, for prints in grey. No legend covers data.
"""

from .figures import comparison, operating_curve, overview, probabilities, reliability, timeline
from .style import COLOURS, LINES

__all__ = [
    "COLOURS",
    "LINES",
    "comparison",
    "operating_curve",
    "overview",
    "probabilities",
    "reliability",
    "timeline",
]

__dir__ = __all__.copy  # completion shows the public names only
