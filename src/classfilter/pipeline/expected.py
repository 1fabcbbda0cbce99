"""What a source did when the settings were tuned: what it is judged by later. It changes no bit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..support.types import is_number
from .settings import check_object


class Expected(NamedTuple):
    """What a source did in the recordings that the settings were tuned on; times as there.

    Attributes
    ----------
    interval : float
        The mean time from one prediction to the next.
    agreement : float
        How often it predicted the class of the estimate before it.
    longest_gap : float
        The longest time without a prediction of it, while other rows came.
    longest_runs : tuple of float (K,)
        The longest time for which it predicted a class without a change.
    longest_disagreement : float
        How long it disagreed at most, in excess of the usual, in its intervals.
    """

    interval: float
    agreement: float
    longest_gap: float
    longest_runs: tuple[float, ...]
    longest_disagreement: float

    def as_section(self) -> dict[str, Any]:
        """Return it as a section of a file."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in self._asdict().items()}


def all_expected(sections: Mapping[Any, Any], K: int) -> dict[str, Expected]:
    """Return what is expected of each source, checked."""
    return {
        str(name): _checked(str(name), x._asdict() if isinstance(x, Expected) else x, K)
        for name, x in sections.items()
    }


def _checked(source: str, section: Any, K: int) -> Expected:
    """Return the section of a source, or raise and say what is wrong with it."""
    title = f"expected.{source}"
    check_object(title, section, Expected._fields, needed=Expected._fields)
    for key, value in section.items():
        count = K if key == "longest_runs" else None
        numbers = [value] if count is None else value
        if not isinstance(numbers, (list, tuple)) or len(numbers) != (count or 1):
            raise ValueError(f"{title}.{key} is {value!r}; it must have a number for each class")
        for number in numbers:
            share = key == "agreement"
            real = is_number(number)
            if not real or not 0 <= number <= (1 if share else math.inf):
                rule = "from 0 to 1" if share else "0 or more"
                raise ValueError(f"{title}.{key} is {value!r}; numbers there must be {rule}")
    cells: dict[str, Any] = {k: tuple(map(float, v)) if isinstance(v, (list, tuple)) else float(v)
             for k, v in section.items()}  # fmt: skip
    return Expected(**cells)
