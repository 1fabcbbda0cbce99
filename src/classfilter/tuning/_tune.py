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
from typing import Any, Literal, NamedTuple

import numpy as np

from ..data._recording import Recording
from ._candidates import FAMILIES, Candidate
from ._estimate import estimate_model
from ._folds import (
    FEWEST,
    answers,
    as_list,
    find_reference,
    folds_within_streams,
    median_step,
    two_folds,
)
from ._model import EstimatedModel, repeated
from ._objective import Fold, Objective, Progress, Trial
from ._result import Tuned
from ._search import STAGES, best_half_life, search

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
    >>> tuned.beta["strong"], tuned.criterion
    (1.0, 'hindsight')
    >>> round(metrics.accuracy(day.truth, tuned.run(day.recording())), 2) > 0.8
    True
    """
    several = as_list(recordings)
    if filter not in TRIED:
        raise ValueError(f"filter is {filter!r}; it must be one of {', '.join(TRIED)}")
    best = find_reference(several, reference)
    asked = [rec for rec in several if rec.observed(best).any()]
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

    objective: Objective
    criterion: str
    model: EstimatedModel
    step: float
    streams: int
    answers: int


def prepare(
    recordings: Sequence[Recording], reference: str, *, labels: bool = False
) -> Prepared | None:
    """Learn from the reference and look back; None where there is too little data."""
    step = median_step(recordings)
    if 0.5 ** (1 / step) == 0:
        raise ValueError(
            f"recordings: {step:.3g} time units from row to row are too few; give times in a "
            "smaller unit, such as seconds"
        )
    count = answers(recordings, reference)
    # a source may be in few streams: then half of each
    halves = two_folds(recordings, reference) or folds_within_streams(recordings, reference)
    if count < FEWEST or halves is None:
        return None
    model = estimate_model(recordings, reference)
    judge = "labels" if labels else "hindsight" if model.channel else "next answer"
    objective = Objective(
        [Fold(mine, estimate_model(rest, reference), judge, step) for mine, rest in halves]
    )
    return Prepared(objective, judge, model, step, len(recordings), count)


def choose(
    trial: Prepared, kind: Kind, channel: bool | None = None, progress: Progress | None = None
) -> Tuned:
    """Return the best filter of a kind."""
    objective, model = trial.objective, trial.model
    follows = model.transitions is not None and objective.knows_transitions
    families = [f for f in TRIED[kind] if f != "transitions" or follows]
    if len(families) < len(TRIED[kind]):
        warnings.warn(
            f"what follows each class could not be model: too much changes between two answers of "
            f"{model.reference!r}; ask it more often",
            stacklevel=3,
        )
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done / (STAGES * len(families)))

    others = list(model.channel)
    found = [
        search(objective, family, model.reference, others, trial.step, channel, tell)
        for family in families
    ]
    chosen = found[0]
    for other in found[1:]:
        if objective.mean(other) - objective.mean(chosen) > objective.error(other, chosen):
            chosen = other
    table = [trial for trial in objective.table() if trial.candidate.family in families]
    return _made(model, chosen, trial.criterion, table, _explanation(trial, chosen, found))


def _untuned(recordings: Sequence[Recording], reference: str, kind: str) -> Tuned:
    """Return safe settings, and warn."""
    model = estimate_model(recordings, reference)
    count = answers(recordings, reference)
    why = (
        f"there are {count} answers of {reference!r}; at least {FEWEST} are needed, and all "
        "sources in both halves of the data, to tune: these are safe settings. Record for longer."
    )
    warnings.warn(why, stacklevel=3)
    candidate = Candidate(
        "stay" if kind == "sticky" else "dirichlet",
        8 * median_step(recordings),
        ((reference, 1.0), *((name, SAFE) for name in model.channel)),
        frozenset(),
    )
    equal = np.full_like(model.prior, 1 / model.prior.size)
    return _made(model._replace(prior=equal), candidate, "nothing", [], why)


def _made(
    model: EstimatedModel, candidate: Candidate, judge: str, table: list[Trial], explanation: str
) -> Tuned:
    channels = candidate.channels(model)
    beta = dict(candidate.beta)
    return Tuned(
        beta,
        {name: channels.get(name) for name in beta},
        model.reference,
        candidate,
        judge,
        table,
        explanation,
        candidate.filter(model),
    )


_NAMES = {
    "transitions": "A sticky filter with estimated transitions",
    "stay": "A sticky filter",
    "dirichlet": "A Dirichlet filter",
}
_JUDGES = {
    "hindsight": "Hindsight gives {:.1%} on average to what it calls at once",
    "labels": "It calls the labelled class in {:.1%} of all labelled rows",
    "next answer": "It gives {:.1%} to the next answer, as a geometric mean",
}


def _explanation(trial: Prepared, chosen: Candidate, found: Sequence[Candidate]) -> str:
    """Say what was chosen, and how sure it is."""
    objective, judge, reference = trial.objective, trial.criterion, trial.model.reference
    memory = "" if chosen.family == "transitions" else f", half-life {chosen.half_life:.3g}"
    parts = [
        f"{name} {weight:.2g}" + (" through its channel" if name in chosen.channel else "")
        for name, weight in chosen.beta
    ]
    usual = Candidate._field_defaults
    rare = (("floor", chosen.floor), ("anchor", chosen.anchor))
    more = "".join(f", {name} {value:g}" for name, value in rare if value != usual[name])
    lines = [f"{_NAMES[chosen.family]}{memory}{more}. Weights: {', '.join(parts)}."]

    def shown(score: float) -> float:
        return math.exp(score) if judge == "next answer" else score

    score = objective.mean(chosen)
    error = shown(score + objective.error(chosen)) - shown(score)
    lines.append(_JUDGES[judge].format(shown(score)) + f", give or take {error:.1%}.")
    rivals = {_NAMES[s.family].replace("A ", "the best ", 1): s for s in found if s is not chosen}
    if trial.model.channel:
        paper = ((reference, 1.0), *((name, 0.5) for name in trial.model.channel))
        rivals["the paper's weights, 1 and 0.5"] = best_half_life(objective, paper, trial.step)
    for name, rival in rivals.items():
        gap, doubt = score - objective.mean(rival), objective.error(chosen, rival)
        sure = "clear" if gap > 3 * doubt else "not sure"
        lines.append(f"Against {name}: {shown(objective.mean(rival)):.1%}; {sure}.")
    streams = f"{trial.streams} stream" + ("s" if trial.streams > 1 else "")
    with_labels = "by the labels" if judge == "labels" else "without labels"
    lines.append(
        f"Chosen on {streams} with {trial.answers} answers of {reference!r}, {with_labels}."
    )
    return "\n".join(lines)
