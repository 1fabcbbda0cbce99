"""TODO tuning._result."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any

from .._channel import Channel
from .._settings import save
from .._typing import Array
from ..config import read
from ..data._recording import Recording
from ..filters._base import Filter
from ..policy import Policy
from ._candidates import Candidate
from ._objective import Trial


@dataclass(frozen=True, eq=False)
class Tuned:
    """A filter with its settings found.

    Attributes
    ----------
    beta : dict of str to float
        The weight of each source.
    channel : dict of str to Channel or None
        The channel of each source, None where its answers are taken as they are.
    reference : str
        The source that the settings were found by.
    candidate : Candidate or None
        What was chosen; None of a file.
    criterion : {"hindsight", "next answer", "labels", "nothing"}
        What the score is: what hindsight gives, on average, to the class that the filter calls; the
        mean logarithm of what the filter gives to the reference's next answer; the accuracy; or
        nothing, where the data were too few.
    table : list of Trial
        All that was tried, the best first.
    explanation : str
        What was chosen, and how sure it is.
    """

    beta: dict[str, float]
    channel: dict[str, Channel | None]
    reference: str
    candidate: Candidate | None
    criterion: str
    table: list[Trial]
    explanation: str
    _fresh: Filter = field(repr=False)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes."""
        return tuple(self._fresh.classes)

    def filter(self) -> Any:
        """Return a fresh filter."""
        return self._fresh.copy()

    def run(self, rec: Recording) -> Array:
        """Run channel, weights and filter over a recording: (T, K)."""
        return rec.run(self._fresh, self.beta, self._channels())

    def smooth(self, rec: Recording, lag: int | None = None) -> Array:
        """Look back over a recording, with channel and weights: (T, K); see `smooth`."""
        return rec.smooth(self._fresh, self.beta, self._channels(), lag=lag)

    def save(self, path: str | PathLike[str], policy: Policy | None = None) -> None:
        """Write the filter, the weights, the channels and a policy as a TOML file; see `load`."""
        save(self._fresh, fspath(path), self.beta, self._channels(), policy)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Tuned:
        """Return the filter, the weights and the channels of a TOML file, ready to run.

        The file must name the weight of each source, as `save` does.
        """
        fresh, beta, channel, _ = read(fspath(path))
        if not beta:
            raise ValueError(f"{path} has no section [beta]; name the weight of each source there")
        channels = {name: channel.get(name) for name in beta}
        best = max(beta, key=lambda name: beta[name])
        return cls(beta, channels, best, None, "nothing", [], f"As in {path}.", fresh)

    def _channels(self) -> dict[str, Channel]:
        return {name: channel for name, channel in self.channel.items() if channel is not None}

    def __str__(self) -> str:
        return self.explanation
