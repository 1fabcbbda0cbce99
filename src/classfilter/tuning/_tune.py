"""Tuning without labels: the settings that agree best with the smoothed posterior.

There are no labels, but the rows after a row tell more about its class than was known at its time.
From the predictions of the best classifier, the *reference*, the class shares and transitions are
estimated. With them, a smoother gives the posterior of each row from the rows before and after it,
the reference's next prediction among them. A filter, which sees the past only, is good if it
predicts at once the classes of the smoothed posterior, which serve as pseudo-labels. The model for
each fold of the streams is estimated on the other fold.
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
    MIN_PREDICTIONS,
    as_list,
    count_predictions,
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
FAMILIES_OF: dict[str, tuple[str, ...]] = {
    "auto": FAMILIES,
    "sticky": ("transitions", "stay"),
    "dirichlet": ("dirichlet",),
}
MIN_REPEATED = 0.35
"""Where fewer predictions of the reference repeat the one before, smoothing is not reliable."""
SAFE_WEIGHT = 0.1
"""The weight of the other sources where there is too little data."""


def tune(
    recordings: Recording | Iterable[Recording] | Mapping[Any, Recording],
    filter: Kind = "auto",  # noqa: A002
    reference: str | None = None,
    *,
    channel: bool | None = None,
    labels: bool = False,
    progress: Progress | None = None,
) -> Tuned:
    """Choose a filter, its half-life, the sources' weights and their channels, without labels.

    Parameters
    ----------
    recordings : Recording, or several, or a mapping to them
        One per stream, all of the same classes; `recordings` makes them of a dataframe.
    filter : {"auto", "dirichlet", "sticky"}
        The family of filters; "auto" is the best of them.
    reference : str, optional
        The best source. By default, the one with by far the fewest predictions.
    channel : bool, optional
        Whether the predictions of the other sources go through their channels. By default,
        whatever is better.
    labels : bool, default False
        Choose by the labels of the recordings.
    progress : callable, optional
        Called with the share of the work that is done, 0 to 1.

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
    (1.0, 'smoothed posterior')
    >>> round(metrics.accuracy(day.truth, tuned.run(day.recording())), 2) > 0.8
    True
    """
    several = as_list(recordings)
    if filter not in FAMILIES_OF:
        raise ValueError(f"filter is {filter!r}; it must be one of {', '.join(FAMILIES_OF)}")
    best = find_reference(several, reference)
    with_reference = [rec for rec in several if rec.observed(best).any()]
    if labels and all(rec.label is None or (rec.label < 0).all() for rec in with_reference):
        raise ValueError(
            f"labels is True, but no recording with predictions of {best!r} has a label; leave it "
            "out"
        )
    prepared = prepare(several, best, labels=labels)
    if prepared is None:
        return _untuned(several, best, filter)
    same = repeated(with_reference, best)
    if same < MIN_REPEATED and not labels:
        warnings.warn(
            f"only {same:.0%} of the predictions of {best!r} repeat the class of the one before: "
            "the class changes between them, and these settings may be poor. Record with more of "
            "them.",
            stacklevel=2,
        )
    return choose(prepared, filter, channel, progress)


class Prepared(NamedTuple):
    """Streams with their models, ready for candidates to be tried."""

    objective: Objective
    criterion: str
    model: EstimatedModel
    step: float
    streams: int
    predictions: int


def prepare(
    recordings: Sequence[Recording], reference: str, *, labels: bool = False
) -> Prepared | None:
    """Estimate the models and smooth; None where there is too little data."""
    step = median_step(recordings)
    if 0.5 ** (1 / step) == 0:
        raise ValueError(
            f"recordings: {step:.3g} time units from row to row are too few; give times in a "
            "smaller unit, such as seconds"
        )
    count = count_predictions(recordings, reference)
    # a source may be in few streams: then half of each
    folds = two_folds(recordings, reference) or folds_within_streams(recordings, reference)
    if count < MIN_PREDICTIONS or folds is None:
        return None
    model = estimate_model(recordings, reference)
    unsupervised = "smoothed posterior" if model.channel else "next prediction"
    criterion = "labels" if labels else unsupervised
    objective = Objective(
        [Fold(fold, estimate_model(rest, reference), criterion, step) for fold, rest in folds]
    )
    return Prepared(objective, criterion, model, step, len(recordings), count)


def choose(
    prepared: Prepared, kind: Kind, channel: bool | None = None, progress: Progress | None = None
) -> Tuned:
    """Return the best filter of a kind."""
    objective, model = prepared.objective, prepared.model
    has_transitions = model.transitions is not None and objective.knows_transitions
    families = [f for f in FAMILIES_OF[kind] if f != "transitions" or has_transitions]
    if len(families) < len(FAMILIES_OF[kind]):
        warnings.warn(
            "the transitions could not be estimated: too much changes between two predictions of "
            f"{model.reference!r}; call it more often",
            stacklevel=3,
        )
    done = 0

    def report() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done / (STAGES * len(families)))

    others = list(model.channel)
    candidates = [
        search(objective, family, model.reference, others, prepared.step, channel, report)
        for family in families
    ]
    chosen = candidates[0]
    for other in candidates[1:]:
        if objective.mean(other) - objective.mean(chosen) > objective.error(other, chosen):
            chosen = other
    table = [trial for trial in objective.table() if trial.candidate.family in families]
    explanation = _explanation(prepared, chosen, candidates)
    return _result(model, chosen, prepared.criterion, table, explanation)


def _untuned(recordings: Sequence[Recording], reference: str, kind: str) -> Tuned:
    """Return safe settings, with a warning."""
    model = estimate_model(recordings, reference)
    count = count_predictions(recordings, reference)
    why = (
        f"there are {count} predictions of {reference!r}; tuning needs at least {MIN_PREDICTIONS}, "
        "and all sources in both halves of the data: these are safe settings. Record for longer."
    )
    warnings.warn(why, stacklevel=3)
    candidate = Candidate(
        "stay" if kind == "sticky" else "dirichlet",
        8 * median_step(recordings),
        ((reference, 1.0), *((name, SAFE_WEIGHT) for name in model.channel)),
        frozenset(),
    )
    equal = np.full_like(model.prior, 1 / model.prior.size)
    return _result(model._replace(prior=equal), candidate, "nothing", [], why)


def _result(
    model: EstimatedModel,
    candidate: Candidate,
    criterion: str,
    table: list[Trial],
    explanation: str,
) -> Tuned:
    channels = candidate.channels(model)
    beta = dict(candidate.beta)
    return Tuned(
        beta,
        {name: channels.get(name) for name in beta},
        model.reference,
        candidate,
        criterion,
        table,
        explanation,
        candidate.filter(model),
    )


_NAMES = {
    "transitions": "A sticky filter with estimated transitions",
    "stay": "A sticky filter",
    "dirichlet": "A Dirichlet filter",
}
_CRITERIA = {
    "smoothed posterior": "The smoothed posterior gives its predictions {} on average",
    "labels": "It predicts the labelled class in {} of all labelled rows",
    "next prediction": "It gives the next prediction {} as a geometric mean",
}


def _explanation(prepared: Prepared, chosen: Candidate, candidates: Sequence[Candidate]) -> str:
    """Return what was chosen, and how certain that is, as text."""
    objective, criterion, model = prepared.objective, prepared.criterion, prepared.model
    half_life = "" if chosen.family == "transitions" else f", half-life {chosen.half_life:.3g}"
    parts = [
        f"{name} {weight:.2g}" + (" through its channel" if name in chosen.channel else "")
        for name, weight in chosen.beta
    ]
    defaults = Candidate._field_defaults
    rare = (("floor", chosen.floor), ("anchor", chosen.anchor))
    more = "".join(f", {name} {value:g}" for name, value in rare if value != defaults[name])
    lines = [f"{_NAMES[chosen.family]}{half_life}{more}. Weights: {', '.join(parts)}."]

    def share(score: float) -> float:
        return math.exp(score) if criterion == "next prediction" else score

    score = objective.mean(chosen)
    error = share(score + objective.error(chosen)) - share(score)
    lines.append(_CRITERIA[criterion].format(f"{share(score):.1%} ± {error:.1%}") + ".")
    rivals = {
        _NAMES[other.family].replace("A ", "the best ", 1): other
        for other in candidates
        if other is not chosen
    }
    if model.channel:
        paper = ((model.reference, 1.0), *((name, 0.5) for name in model.channel))
        rivals["the paper's weights, 1 and 0.5"] = best_half_life(objective, paper, prepared.step)
    for name, rival in rivals.items():
        gap, error = score - objective.mean(rival), objective.error(chosen, rival)
        verdict = "a clear difference" if gap > 3 * error else "no clear difference"
        lines.append(f"Against {name}: {share(objective.mean(rival)):.1%}; {verdict}.")
    streams = f"{prepared.streams} stream" + ("s" if prepared.streams > 1 else "")
    with_labels = "by the labels" if criterion == "labels" else "without labels"
    lines.append(
        f"Chosen on {streams} with {prepared.predictions} predictions of {model.reference!r}, "
        f"{with_labels}."
    )
    return "\n".join(lines)
