"""The result of tuning: a filter with its weights, channels and explanation."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any

from .._support.html import block, table
from .._support.imports import public_name
from .._support.types import Array
from ..chain._channel import Channel
from ..chain._settings import save
from ..config import Config, read
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
    policy : Policy or None
        The policy of the file; None after `tune`.
    """

    beta: dict[str, float]
    channel: dict[str, Channel | None]
    reference: str
    candidate: Candidate | None
    criterion: str
    table: list[Trial] = field(repr=False)
    explanation: str = field(repr=False)
    _fresh: Filter = field(repr=False)
    rivals: list[Rival] = field(default_factory=list, repr=False)
    assumptions: Assumptions | None = field(default=None, repr=False)
    policy: Policy | None = None
    _smoother: Tuned | None = field(default=None, repr=False)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes."""
        return tuple(self._fresh.classes)

    def filter(self) -> Any:
        """Return a fresh filter."""
        return self._fresh.copy()

    @property
    def smoother(self) -> Tuned:
        """What smooths: itself or, where a simple rule was chosen, the best sticky filter."""
        return self if self._smoother is None else self._smoother

    def run(self, rec: Recording) -> Array:
        """Run channel, weights and filter over a recording: (T, K)."""
        return rec.run(self)

    def smooth(self, rec: Recording, lag: int | None = None) -> Array:
        """Smooth a recording, with channel and weights, by its `smoother`: (T, K); see `smooth`."""
        return rec.smooth(self, lag=lag)

    def save(self, path: str | PathLike[str], policy: Policy | None = None) -> None:
        """Write the filter, the weights, the channels and a policy as a TOML file; see `load`.

        By default the policy is the one that was loaded.
        """
        save(self._fresh, fspath(path), self.beta, self.channel, policy or self.policy)

    def report(self, recordings: Any, path: str | PathLike[str], **options: Any) -> None:
        """Write a report on recordings with these settings; see `classfilter.report`."""
        public_name("report")(recordings, path, self, **options)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Tuned:
        """Return the filter, the weights, the channels and the policy of a file, ready to run.

        The file must name the weight of each source, as `save` does.
        """
        content = read(fspath(path))
        if not content.beta:
            raise ValueError(f"{path} has no section [beta]; name the weight of each source there")
        return cls._from_file(content, path)

    @classmethod
    def _from_file(cls, content: Config, path: str | PathLike[str]) -> Tuned:
        fresh, beta, channel, policy = content
        channels = {**dict.fromkeys(beta), **channel}
        # Of several, the first: a file names the reference first.
        reference = max(
            channels, key=lambda name: (name not in channel, beta.get(name, 1.0)), default=""
        )
        explanation = f"As in {path}."
        return cls(
            beta, channels, reference, None, "nothing", [], explanation, fresh, policy=policy
        )

    def __str__(self) -> str:
        return self.explanation

    def _repr_html_(self) -> str:
        rows = [
            [name, f"{weight:.3g}", "yes" if self.channel.get(name) is not None else "no"]
            for name, weight in self.beta.items()
        ]
        return block(self.explanation, table(["source", "weight", "channel"], rows))


def load(path: str | PathLike[str]) -> Any:
    """Return what a TOML file describes.

    Returns
    -------
    Tuned or Filter
        A `Tuned` where the file has weights, channels or a policy: they belong to the filter, and
        everything that takes a filter takes them with it. Otherwise the filter.

    Examples
    --------
    >>> import tempfile
    >>> from classfilter import DirichletFilter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     DirichletFilter(["walk", "sit"], 0.95).save(f"{folder}/bare.toml")
    ...     DirichletFilter(["walk", "sit"], 0.95).save(f"{folder}/walk.toml", {"weak": 0.1})
    ...     bare, walk = load(f"{folder}/bare.toml"), load(f"{folder}/walk.toml")
    >>> bare
    DirichletFilter(['walk', 'sit'], gamma=0.95, estimate='mode')
    >>> walk.filter(), walk.beta
    (DirichletFilter(['walk', 'sit'], gamma=0.95, estimate='mode'), {'weak': 0.1})
    """
    content = read(fspath(path))
    if content.beta or content.channel or content.policy is not None:
        return Tuned._from_file(content, path)
    return content.filter
