"""Presets: the default settings of simulated streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Classifier:
    """The accuracy, stability and calibration of a simulated classifier.

    Attributes
    ----------
    accuracy : float or sequence of K floats
        Probability that the arg max is correct: one for all classes, or one per class
        (sensitivity).
    jitter : float
        Share of the noise that is new at every step, 0 to 1; the rest lasts `error_time`.
    sharpness : float
        Factor on the reported log-odds. At 1 the mean confidence equals the accuracy, above it the
        classifier is over-confident, below it under-confident.
    drift : float
        Change of the accuracy in 24 h, linear, zero in the middle of the stream.
    window : float
        Seconds of the past that it uses. Across a change of class it sees a mixture of both.
    """

    accuracy: float | Sequence[float] = 0.8
    jitter: float = 0.3
    sharpness: float = 1.0
    drift: float = 0.0
    window: float = 0.0


# Order: bicycling, mixed, sit-stand, sleep, vehicle, walking.
_NIGHT = (0.0, 0.05, 0.3, 10.0, 0.0, 0.05)
_RUSH = (0.05, 1.0, 1.0, 0.005, 0.15, 0.6)
_DAY = (0.01, 1.0, 1.1, 0.005, 0.04, 0.5)
_EVE = (0.005, 0.8, 1.3, 0.02, 0.03, 0.25)

PRESETS: dict[str, dict[str, Any]] = {
    "plain": {
        "classes": 4,
        "dwell": 300.0,
        "dwell_shape": 1.0,
        "prior": 1.0,
        "transitions": 1.0,
        "similarity": 1.0,
        "weak": Classifier(0.7, jitter=0.4),
        "strong": Classifier(0.9, jitter=0.2),
        "error_time": 60.0,
        "shared": 0.3,
        "start_hour": 0.0,
    },
    # Accuracies and errors fit the Raw columns of the paper's tables. Jitter and error_time are one
    # of several pairs that fit its Simple, chosen with Single and Multiple in view. The strong
    # classifier, which the paper does not describe, is assumed.
    "capture24": {
        "classes": ("bicycling", "mixed", "sit-stand", "sleep", "vehicle", "walking"),
        "dwell": (900, 300, 690, 7200, 1000, 240),
        "dwell_shape": (1.5, 0.7, 0.7, 2.0, 1.5, 0.7),
        "start_hour": 7.0,
        "prior": [_NIGHT] * 7 + [_RUSH] * 3 + [_DAY] * 6 + [_RUSH] * 3 + [_EVE] * 3 + [_NIGHT] * 2,
        "transitions": (
            (0, 2, 2, 0, 0, 2),
            (1, 0, 2, 1, 1, 1),
            (1, 2, 0, 1, 1, 2),
            (0, 2, 2, 0, 0, 1),
            (0, 1, 1, 0, 0, 3),
            (1, 2, 2, 1, 2, 0),
        ),
        "similarity": (
            (0.00, 0.40, 0.29, 0.00, 0.06, 0.25),
            (0.01, 0.00, 0.73, 0.02, 0.03, 0.21),
            (0.01, 0.46, 0.00, 0.39, 0.08, 0.06),
            (0.00, 0.09, 0.90, 0.00, 0.01, 0.00),
            (0.01, 0.16, 0.79, 0.02, 0.00, 0.02),
            (0.03, 0.60, 0.35, 0.00, 0.02, 0.00),
        ),
        "weak": Classifier((0.858, 0.67, 0.84, 0.80, 0.63, 0.305), jitter=0.2, sharpness=1.2),
        "strong": Classifier((0.88, 0.80, 0.94, 0.90, 0.88, 0.60), 0.1, sharpness=1.2, window=30.0),
        "error_time": 120.0,
        "shared": 0.3,
    },
}
