"""Settings without labels: those that agree best with hindsight.

Nobody has labels, but everybody has time: some rows later, more is known of a row than at once. The
answers of the best classifier, the *reference*, tell how often each class comes and what follows
it. With that, a smoother looks at each row from both sides; the reference's next answer is already
known to it. A filter, which sees the past only, is good if it calls at once what hindsight calls
later. Each half of the streams is judged by what the other half taught.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .channel import Channel
from .dynamics import repeated
from .filters import Array, Filter
from .halves import (
    FEWEST,
    answers,
    as_list,
    both_halves,
    halves_of_each,
    reference_of,
    usual_step,
)
from .judge import STAGES, Half, Jury, Progress, Trial, best_memory, search
from .policy import Policy
from .recording import Recording
from .setting import FAMILIES, Learnt, Setting, learn

Floats = NDArray[np.float64]
Kind = Literal["auto", "dirichlet", "sticky"]
TRIED: dict[str, tuple[str, ...]] = {
    "auto": FAMILIES,
    "sticky": ("transitions", "stay"),
    "dirichlet": ("dirichlet",),
}
RARELY = 0.35
"""Where fewer answers of the reference repeat the one before, hindsight is not to be trusted."""
SAFE = 0.1
"""The weight of the other sources then."""


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
    setting : Setting or None
        What was chosen; None of a file.
    judge : {"hindsight", "next answer", "labels", "nothing"}
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
    setting: Setting | None
    judge: str
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
        from .config import save

        save(self._fresh, fspath(path), self.beta, self._channels(), policy)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Tuned:
        """Return the filter, the weights and the channels of a TOML file, ready to run.

        The file must name the weight of each source, as `save` does.
        """
        from .config import read

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


def tune(
    recordings: Recording | Iterable[Recording] | Mapping[Any, Recording],
    filter: Kind = "auto",  # noqa: A002
    reference: str | None = None,
    *,
    channel: bool | None = None,
    labels: bool = False,
    progress: Progress | None = None,
) -> Tuned:
    """Find a filter, its memory, the weights of all sources and their channels, without labels.

    Parameters
    ----------
    recordings : Recording, or several, or a mapping to them
        One a stream, all of the same classes; what `recordings` makes of a dataframe will do.
    filter : {"auto", "dirichlet", "sticky"}
        The family of filters; or the best of them.
    reference : str, optional
        The best source. Unless given, the one that answers least often, by far.
    channel : bool, optional
        Whether the answers of the other sources go through their channels; whatever is better,
        unless given.
    labels : bool, default False
        Choose by the labels of the recordings.
    progress : callable, optional
        Is told the share of the work that is done.

    Returns
    -------
    Tuned
        With little data, safe settings, and a warning.

    Examples
    --------
    >>> from classfilter import metrics, simulate
    >>> day = simulate("capture24", hours=8.0)
    >>> tuned = tune(day.recording(), reference="strong")
    >>> tuned.beta["strong"], tuned.judge
    (1.0, 'hindsight')
    >>> round(metrics.accuracy(day.truth, tuned.run(day.recording())), 2) > 0.8
    True
    """
    several = as_list(recordings)
    if filter not in TRIED:
        raise ValueError(f"filter is {filter!r}; it must be one of {', '.join(TRIED)}")
    best = reference_of(several, reference)
    asked = [rec for rec in several if rec.answered(best).any()]
    if labels and all(rec.label is None or (rec.label < 0).all() for rec in asked):
        raise ValueError(
            f"labels is True, but no recording with answers of {best!r} has a label; leave it out"
        )
    trial = prepare(several, best, labels=labels)
    if trial is None:
        return _untuned(several, best, filter)
    same = repeated(asked, best)
    if same < RARELY and not labels:
        warnings.warn(
            f"only {same:.0%} of the answers of {best!r} name the class of the answer before: the "
            "class changes between them, and these settings may be poor. Record with more of them.",
            stacklevel=2,
        )
    return choose(trial, filter, channel, progress)


class Prepared(NamedTuple):
    """Streams that are ready for settings to be tried on them."""

    jury: Jury
    judge: str
    learnt: Learnt
    step: float
    streams: int
    answers: int


def prepare(
    recordings: Sequence[Recording], reference: str, *, labels: bool = False
) -> Prepared | None:
    """Learn from the reference and look back; None where there is too little data."""
    step = usual_step(recordings)
    if 0.5 ** (1 / step) == 0:
        raise ValueError(
            f"recordings: {step:.3g} time units from row to row are too few; give times in a "
            "smaller unit, such as seconds"
        )
    count = answers(recordings, reference)
    # a source may be in few streams: then half of each
    halves = both_halves(recordings, reference) or halves_of_each(recordings, reference)
    if count < FEWEST or halves is None:
        return None
    learnt = learn(recordings, reference)
    judge = "labels" if labels else "hindsight" if learnt.channel else "next answer"
    jury = Jury([Half(mine, learn(rest, reference), judge, step) for mine, rest in halves])
    return Prepared(jury, judge, learnt, step, len(recordings), count)


def choose(
    trial: Prepared, kind: Kind, channel: bool | None = None, progress: Progress | None = None
) -> Tuned:
    """Return the best filter of a kind."""
    jury, learnt = trial.jury, trial.learnt
    follows = learnt.transitions is not None and jury.knows_transitions
    families = [f for f in TRIED[kind] if f != "transitions" or follows]
    if len(families) < len(TRIED[kind]):
        warnings.warn(
            f"what follows each class could not be learnt: too much changes between two answers of "
            f"{learnt.reference!r}; ask it more often",
            stacklevel=3,
        )
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done / (STAGES * len(families)))

    others = list(learnt.channel)
    found = [
        search(jury, family, learnt.reference, others, trial.step, channel, tell)
        for family in families
    ]
    chosen = found[0]
    for other in found[1:]:
        if jury.mean(other) - jury.mean(chosen) > jury.error(other, chosen):
            chosen = other
    table = [trial for trial in jury.table() if trial.setting.family in families]
    return _made(learnt, chosen, trial.judge, table, _explanation(trial, chosen, found))


def _untuned(recordings: Sequence[Recording], reference: str, kind: str) -> Tuned:
    """Return safe settings, and warn."""
    learnt = learn(recordings, reference)
    count = answers(recordings, reference)
    why = (
        f"there are {count} answers of {reference!r}; at least {FEWEST} are needed, and all "
        "sources in both halves of the data, to tune: these are safe settings. Record for longer."
    )
    warnings.warn(why, stacklevel=3)
    setting = Setting(
        "stay" if kind == "sticky" else "dirichlet",
        8 * usual_step(recordings),
        ((reference, 1.0), *((name, SAFE) for name in learnt.channel)),
        frozenset(),
    )
    equal = np.full_like(learnt.prior, 1 / learnt.prior.size)
    return _made(learnt._replace(prior=equal), setting, "nothing", [], why)


def _made(
    learnt: Learnt, setting: Setting, judge: str, table: list[Trial], explanation: str
) -> Tuned:
    channels = setting.channels(learnt)
    beta = dict(setting.beta)
    return Tuned(
        beta,
        {name: channels.get(name) for name in beta},
        learnt.reference,
        setting,
        judge,
        table,
        explanation,
        setting.filter(learnt),
    )


_NAMES = {
    "transitions": "A sticky filter with learnt transitions",
    "stay": "A sticky filter",
    "dirichlet": "A Dirichlet filter",
}
_JUDGES = {
    "hindsight": "Hindsight gives {:.1%} on average to what it calls at once",
    "labels": "It calls the labelled class in {:.1%} of all labelled rows",
    "next answer": "It gives {:.1%} to the next answer, as a geometric mean",
}


def _explanation(trial: Prepared, chosen: Setting, found: Sequence[Setting]) -> str:
    """Say what was chosen, and how sure it is."""
    jury, judge, reference = trial.jury, trial.judge, trial.learnt.reference
    memory = "" if chosen.family == "transitions" else f", half-life {chosen.half_life:.3g}"
    parts = [
        f"{name} {weight:.2g}" + (" through its channel" if name in chosen.channel else "")
        for name, weight in chosen.beta
    ]
    usual = Setting._field_defaults
    rare = (("floor", chosen.floor), ("anchor", chosen.anchor))
    more = "".join(f", {name} {value:g}" for name, value in rare if value != usual[name])
    lines = [f"{_NAMES[chosen.family]}{memory}{more}. Weights: {', '.join(parts)}."]

    def shown(score: float) -> float:
        return math.exp(score) if judge == "next answer" else score

    score = jury.mean(chosen)
    error = shown(score + jury.error(chosen)) - shown(score)
    lines.append(_JUDGES[judge].format(shown(score)) + f", give or take {error:.1%}.")
    rivals = {_NAMES[s.family].replace("A ", "the best ", 1): s for s in found if s is not chosen}
    if trial.learnt.channel:
        paper = ((reference, 1.0), *((name, 0.5) for name in trial.learnt.channel))
        rivals["the paper's weights, 1 and 0.5"] = best_memory(jury, paper, trial.step)
    for name, rival in rivals.items():
        gap, doubt = score - jury.mean(rival), jury.error(chosen, rival)
        sure = "clear" if gap > 3 * doubt else "not sure"
        lines.append(f"Against {name}: {shown(jury.mean(rival)):.1%}; {sure}.")
    streams = f"{trial.streams} stream" + ("s" if trial.streams > 1 else "")
    with_labels = "by the labels" if judge == "labels" else "without labels"
    lines.append(
        f"Chosen on {streams} with {trial.answers} answers of {reference!r}, {with_labels}."
    )
    return "\n".join(lines)
