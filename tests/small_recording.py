"""A small valid recording."""

from __future__ import annotations

from typing import Any

from classfilter.engine.recording import Recording

NAN, INF = float("nan"), float("inf")


CLASSES = ("walk", "sit", "sleep")


VALID = [0.2, 0.3, 0.5]


def recording(**changed: Any) -> Recording:
    """Three valid rows, except for the changed arguments."""
    valid: dict[str, Any] = {
        "time": [0.0, 5.0, 5.0],
        "source": ["weak", "strong", "weak"],
        "probs": [VALID, [0.8, 0.1, 0.1], VALID],
        "classes": CLASSES,
    }
    return Recording(**(valid | changed))
