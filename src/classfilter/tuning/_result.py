"""The result of tuning: a filter with its weights, channels and explanation."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any

from .._channel import Channel
from .._html import block, table
from .._settings import save
from .._typing import Array
from ..config import read
from ..data._recording import Recording
from ..filters._base import Filter
from ..policy import Policy
from ._candidates import Candidate
from ._explanation import Assumptions, Rival
from ._objective import Trial


@dataclass(frozen=True, eq=False)
class Tuned:
    """A filter with its weights and channels, as tuned or loaded.

    Attributes
    ----------
    beta : dict of str to float
        The weight of each source.
    channel : dict of str to Channel or None
        The channel of each source, None where its predictions are not corrected.
    reference : str
        The source that the model was estimated from.
    candidate : Candidate or None
        The chosen settings; None after `load`.
    criterion : {"future predictions", "labels", "nothing"}
        What the score is: the mean logarithm of how much more likely later predictions of the
        reference are in the predicted class than on average; the accuracy; or nothing, where there
        was too little data.
    table : list of Trial
        The candidates that were tried, the best first.
    explanation : str
        What was chosen, how certain that is, and what would help.
    rivals : list of Rival
        Simple rules and other filters, and by how much the choice scores higher.
    assumptions : Assumptions or None
        What the settings rest on; None where nothing was tuned.
    """

    beta: dict[str, float]
    channel: dict[str, Channel | None]
    reference: str
    candidate: Candidate | None
    criterion: str
    table: list[Trial]
    explanation: str
    _fresh: Filter = field(repr=False)
    rivals: list[Rival] = field(default_factory=list)
    assumptions: Assumptions | None = None
    _smoother: Tuned | None = field(default=None, repr=False)

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
        """Smooth a recording, with channel and weights: (T, K); see `smooth`.

        Where a simple rule was chosen, the best sticky filter smooths.
        """
        if self._smoother is not None:
            return self._smoother.smooth(rec, lag)
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
        reference = max(beta, key=lambda name: (name not in channel, beta[name]))
        return cls(beta, channels, reference, None, "nothing", [], f"As in {path}.", fresh)

    def _channels(self) -> dict[str, Channel]:
        return {name: channel for name, channel in self.channel.items() if channel is not None}

    def __str__(self) -> str:
        return self.explanation

    def _repr_html_(self) -> str:
        rows = [
            [name, f"{weight:.3g}", "yes" if self.channel.get(name) is not None else "no"]
            for name, weight in self.beta.items()
        ]
        return block(self.explanation, table(["source", "weight", "channel"], rows))
