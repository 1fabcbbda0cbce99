"""One event: a class of a stream, from a start to an end."""

from __future__ import annotations

from typing import Any, NamedTuple


class Event(NamedTuple):
    """A class of a stream, from its start to its end.

    Attributes
    ----------
    stream : hashable or None
        The name of the stream; None where there is only one.
    label : str
        The class.
    start : float
        When it begins, in the unit of the rows' times: UNIX seconds, where these were dates.
    end : float or None
        When it ends; None while it is provisional, that is, still going on or not yet confirmed.
    probability : float or None
        The mean probability of the class in it; None where it is not known, as in labelled data.

    Examples
    --------
    >>> event = Event("ann", "walk", 60.0, 90.0, 0.92)
    >>> event.label, event.duration
    ('walk', 30.0)
    """

    stream: Any
    label: str
    start: float
    end: float | None
    probability: float | None = None

    @property
    def duration(self) -> float | None:
        """How long it lasts; None while it is provisional."""
        return None if self.end is None else self.end - self.start
