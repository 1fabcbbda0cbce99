"""How many streams would settle which of two choices is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .objective import Gain

CLEAR = 2.0
"""Standard errors that a clear gain has."""
MOST = 1000
"""From here on, the number is not said."""
_LADDER = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)


class Rival(NamedTuple):
    """What the choice was compared with.

    Attributes
    ----------
    name : str
        The rival.
    gain : float
        By how much the choice scores higher; see `TuningRecord.criterion`.
    error : float
        Standard error of the gain, over streams; of a single stream, over its parts.
    streams_needed : float
        How many streams like these it takes until the gain, if it is what it seems, is two standard
        errors: ``streams * (2 error / gain) ** 2``. At most as many as there are where it is clear;
        infinite where nothing is gained or lost. If the gain is smaller, it takes more.
    """

    name: str
    gain: float
    error: float
    streams_needed: float = math.nan

    @classmethod
    def of(cls, name: str, gain: Gain, streams: int) -> Rival:
        """Return a rival whose gain was measured on so many streams."""
        ratio = CLEAR * gain.error / gain.gain if gain.gain else math.inf
        return cls(name, *gain, streams * ratio * ratio)

    @property
    def clear(self) -> bool:
        """Whether the difference is larger than chance makes likely."""
        return abs(self.gain) > CLEAR * self.error


def unsettled(rivals: Sequence[Rival], rules: Sequence[str], streams: int) -> str:
    """Say how many streams would settle whether the choice is better than the best simple rule.

    Empty where that is clear, or where no rule was compared.
    """
    compared = [rival for rival in rivals if rival.name.lower() in rules]
    if not compared:
        return ""
    best = min(compared, key=lambda rival: rival.gain)
    if best.clear:
        return ""
    there = "this stream does" if streams == 1 else f"these {streams} streams do"
    return (
        f"Whether it is better than {best.name}, {there} not settle; "
        f"it would take {about(best.streams_needed)} like {'it' if streams == 1 else 'these'}."
    )


def about(streams: float) -> str:
    """Return a number of streams in words, rounded up.

    Examples
    --------
    >>> about(8.4), about(43.0), about(320.0), about(5000.0)
    ('9 or more', '50 or more', '400 or more', 'more than a thousand')
    """
    if streams > MOST:
        return "more than a thousand"
    if streams <= 10:
        return f"{math.ceil(streams)} or more"
    scale = 10 ** math.floor(math.log10(streams) - 1)
    steps = (step * scale for step in (*_LADDER, 100))
    return f"{next(step for step in steps if step >= streams - 1e-9)} or more"
