"""Tuning without labels: the settings whose classes fit best what the reference predicts later.

There are no labels, but a class lasts. So what the best classifier, the *reference*, predicts after
a row tells of the class in that row. Its past predictions cannot judge: the filter has seen them.
From its predictions the class shares and transitions are estimated, and how likely they are in
each class; from the predictions of the other sources near them, what those confuse. The settings
that predict the classes in which the future is likely are chosen, and a simple rule where it is
clearly better. A single source judges itself, with predictions so much later that its errors have
faded.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal, NamedTuple

import numpy as np

from ..engine import expected
from ..errors import names_keywords
from ..inputs import Rows, at_reliability
from ..pipeline import Channel, Pipeline
from ..policy import Policy
from ..support.types import Duration
from .candidates import RULES, Candidate, Runner, rule
from .criterion import by_future, by_labels, by_target, later_target
from .effect import Effect, Effects, require_seconds
from .event_duration import EventDurations
from .event_rule import with_event_rule
from .expected_events import ExpectedCalls, estimate_calls
from .explanation import HIGH_CORRELATION, Assumptions, explain, temperatures_in_words
from .folds import (
    MIN_PREDICTIONS,
    as_list,
    count_predictions,
    find_reference,
    step_of,
    without_silent,
)
from .label_tuning import LabelTuning
from .memory import estimate_memory
from .model import (
    MIN_AGREEMENT,
    PRIOR_POWER,
    EstimatedModel,
    agreement,
    estimate_model,
    mean_shares,
)
from .objective import Objective, Progress
from .operating import limits_of, with_operating_point
from .passes import Passes
from .record import TuningRecord, noted, record_of
from .rows import LABEL_RELIABILITY, JoinedRows, concatenate
from .search import NEARER, Found, Limits, search_one, search_several, within
from .sources import (
    contradiction,
    facts_of_sources,
    most_accurate,
    useless_sources,
    warning_of_contradiction,
)
from .streams_needed import Rival
from .temperature import with_temperatures
from .thinning import steps_between_calls, thin


def tuned_as(
    model: EstimatedModel,
    classes: tuple[str, ...],
    candidate: Candidate,
    reference: str,
    criterion: str,
    label_sources: Sequence[str] = (),
    smoother: Pipeline | None = None,
    **facts: Any,
) -> Pipeline:
    """Return the pipeline of a candidate, with what is known of it."""
    channels: dict[str, Channel | None] = dict.fromkeys(dict(candidate.beta))
    channels |= candidate.channels(model)
    plain = [name for name in label_sources if channels[name] is None]
    channels |= {name: for_labels(len(classes)) for name in plain}
    return Pipeline(
        candidate.filter(model, classes),
        beta=dict(candidate.beta),
        channel=channels,
        smoother=smoother,
        tuning=TuningRecord(reference, candidate=candidate, criterion=criterion, **facts),
    )


def for_labels(classes: int) -> Channel:
    """Return the channel that makes of a label probabilities of `LABEL_RELIABILITY`."""
    return Channel(at_reliability(np.eye(classes), np.ones(classes, bool), LABEL_RELIABILITY))


def untuned(
    recordings: Sequence[Rows], reference: str, every: int | None, limited: bool
) -> Pipeline:
    """Return the last prediction of the reference, or of the only source, with a warning.

    What smooths is nearly that, too: it has no memory of the only source, and among several that
    of the reference's last call and of its next one.
    """
    called = thin(recordings, reference, every).recordings
    count = count_predictions(called, reference)
    sources = tuple(
        dict.fromkeys([reference, *(name for rec in recordings for name in rec.sources)])
    )
    more = f"record {MIN_PREDICTIONS - count} more"
    if count >= MIN_PREDICTIONS:
        more = "record longer streams, so that later predictions can judge"
    why = (
        f"there are {count} predictions of {reference!r}; tuning needs at least "
        f"{MIN_PREDICTIONS} at the rate at which it will be called: {more}. Until then, the safe "
        f"settings are the last prediction of {reference!r}, unfiltered"
        f"{', and the limits were not looked at' * limited}."
    )
    warnings.warn(why, stacklevel=5)
    step, K = step_of(called), len(recordings[0].classes)
    model = EstimatedModel(np.full(K, 1 / K), np.full(K, 1 / K), None, {})
    held = rule("hold" if len(sources) > 1 else "raw", sources, step)
    alone = tuple((name, float(name == reference)) for name in sources)
    memory = step / 30
    if len(sources) > 1:
        calls = [rec.take(rec.of_source(reference)) for rec in called]
        memory = max(step, NEARER * step_of(calls))
    classes = recordings[0].classes
    smoother = tuned_as(model, classes, Candidate("stay", alone, memory), reference, "nothing")
    return tuned_as(model, classes, held, reference, "nothing", smoother=smoother, text=why)


Kind = Literal["auto", "dirichlet", "sticky"]
KINDS = ("auto", "sticky", "dirichlet")
ONE_SOURCE_POWER = 0.25
"""The prior of the sticky filter is the mean prediction to this power, of one source."""
MOSTLY = 2 / 3
"""A class that loses more of its predicted rows, in runs, is warned of; with a limit, that is told
in the table only."""
EXPECTED = {"auto": 80, "sticky": 40, "dirichlet": 40}
"""About how many candidates are tried."""


@names_keywords
def tune(
    rows: Any,
    filter: Kind = "auto",  # noqa: A002
    reference: str | None = None,
    *,
    every: int | None = None,
    budget: float | None = None,
    policy: Policy | None = None,
    channel: bool | None = None,
    labels: bool = False,
    max_switches_per_hour: float | None = None,
    max_delay: float | str | timedelta | None = None,
    event_duration: Duration | Mapping[str, Duration] | None = None,
    max_false_events_per_day: float | None = None,
    detect_within: Duration | None = None,
    progress: Progress | None = None,
) -> Pipeline:
    """Choose a filter, the sources' weights and their channels, without labels.

    Parameters
    ----------
    rows : Rows, dataframe, str or Path
        Predictions, as for `filter_table`. Of several labels at once, read with
        ``rows(..., scores="independent")``, each is tuned by itself; those with little data are
        tuned together.
    filter : {"auto", "dirichlet", "sticky"}
        The family of filters; "auto" is the sticky filter, or another filter or a simple rule where
        that is clearly better.
    reference : str, optional
        The best source. By default, the one with by far the fewest predictions or, where there is
        none, the one that is right most often by a fit of all: `Pipeline.tuning.sources`.
    every : int, optional
        Steps from one call of the reference to the next, as it will be called. Recordings that have
        it more often are thinned. By default they are taken as they are; where the reference is
        at more than half of the times of the others, it is 12.
    budget : float, optional
        Instead of every: the share of the steps at which the reference will be called.
    policy : Policy, optional
        Instead of every: the `Periodic` or `Adaptive` that will call the reference.
    channel : bool, optional
        Whether the predictions of the other sources go through their channels. By default, a sticky
        filter has them, and a Dirichlet filter where they help.
    labels : bool, default False
        Choose by the labels of the recordings: the filter by its accuracy, and the rule for events
        by F1@50 (see `metrics.event_scores`), where no `event_duration` is given.
    max_switches_per_hour : float, optional
        A limit: the filtered class, or each label, may change at most so often, on these
        recordings, whose times are seconds. The best filter that keeps to it is chosen. If none
        does, the closest is, and a warning says what it has.
    max_delay : float, str or timedelta, optional
        A limit: once the predictions change class, the filter must follow within this time:
        ``"30s"``, a timedelta, or a number in the unit of the times.
    event_duration : float, str, timedelta, or mapping of every class to one, optional
        How long an event usually lasts: ``"15min"``, a timedelta, or a number in the unit of the
        times; of several labels at once, how long one is on. It sets the rule for events, so that
        there are as many on these recordings as the time of each class by its duration leads to
        expect. With a duration for each class, costs are in the same ratio as durations, and the
        number of all events is matched. If in doubt, give a shorter one.
    max_false_events_per_day, detect_within : float; float, str or timedelta, optional
        With `labels`: the rule for live events that finds most events, of those with at most so
        many false ones a day; an event counts if its start is reported within this time. The curve
        is ``pipe.tuning.operating``. If no rule keeps to the limit, the closest is chosen, and a
        warning says what it does.
    progress : callable, optional
        Called with the share of the work that is done, 0 to 1.

    Returns
    -------
    Pipeline
        Its `tuning` says how it was found. With fewer than 40 predictions of the reference,
        whatever `filter` is: its last prediction, unfiltered, and a warning.

    Examples
    --------
    >>> from classfilter import metrics, simulate
    >>> day = simulate("capture24")
    >>> pipe = tune(day.rows(), reference="strong")
    >>> pipe.reference, pipe.tuning.criterion
    ('strong', 'future predictions')
    >>> round(metrics.accuracy(day.truth, pipe.run(day.rows())), 2) > 0.8
    True
    """
    several = as_list(rows)
    if filter not in KINDS:
        raise ValueError(f"filter is {filter!r}; it must be one of {', '.join(KINDS)}")
    limits = Limits.of(max_switches_per_hour, max_delay)
    point = limits_of(max_false_events_per_day, detect_within, labels)
    everything = several
    several, useless = _without_useless(several)
    if reference in useless:
        reference = None
    named = reference is not None or not _equal_sources(several)
    best = find_reference(several, reference) if named else most_accurate(several)
    durations = EventDurations.of(event_duration, several[0].classes)
    several, silent = without_silent(several)
    if silent:
        warnings.warn(
            f"sources without any prediction: {', '.join(map(repr, silent))}. They get no weight; "
            "leave their rows out.",
            stacklevel=3,
        )
    with_reference = [rec for rec in several if rec.observed(best).any()]
    if labels and all(rec.label is None or (rec.label < 0).all() for rec in with_reference):
        raise ValueError(
            f"labels is True, but no recording with predictions of {best!r} has a label; leave it "
            "out"
        )
    rate = steps_between_calls(every, budget, policy, step_of(several))
    if not named and rate is None:
        rate = 1  # no source is called instead of another
    if useless:  # their rows are steps, too
        several, rate = _without(thin(everything, best, rate).recordings, useless), 1
    how = rate, channel, labels, max_switches_per_hour, max_delay
    if not several[0].heads.is_exclusive:

        def tune_lanes(lanes: list[Rows]) -> Pipeline:
            return _tune_classes(lanes, filter, best, *how)

        by_label = LabelTuning(several, best, tune_lanes, every=rate, labels=labels)
        result = by_label.result(limits.changes, progress)
    else:
        result = _tune_classes(several, filter, best, *how, progress, reference is not None)
        if filter != "dirichlet" and not limits:
            _warn_of_lost_classes(record_of(result).effect)
    recordings = thin(several, best, rate).recordings
    result = with_event_rule(result, recordings, durations, labels)
    if point is not None:
        result = with_operating_point(result, recordings, *point)
    return _without_weight(result, useless) if useless else result


def _warn_of_lost_classes(effect: Effect | None) -> None:
    """Warn of classes that are predicted in runs and that the filter mostly overrules."""
    mostly = [one for one in effect.lost if one.gone > MOSTLY * one.predicted] if effect else []
    lost = [one for one in mostly if one.in_runs]
    if lost:
        warnings.warn(
            f"{'; '.join(map(str, lost))}, though they come in runs, which errors seldom do. If "
            "they matter, set a dwell that is no longer than theirs, such as StickyFilter(classes, "
            'dwell="15s").',
            stacklevel=4,
        )


def _without_useless(several: list[Rows]) -> tuple[list[Rows], list[str]]:
    """Return rows without the sources that tell nothing, which are warned of."""
    names = dict.fromkeys(name for rec in several for name in rec.sources)
    observed = [rec for rec in several if rec.observed().any()]
    if len(names) < 2 or not observed or not several[0].heads.is_exclusive:
        return several, []
    useless = useless_sources(observed, _equal_sources(several))
    for source, why in useless.items():
        warnings.warn(
            f"source {source!r} {why}, so that it is not trusted and gets no weight. Check it, or "
            "leave its rows out.",
            stacklevel=4,
        )
    return _without(several, list(useless)), list(useless)


def _without(several: list[Rows], sources: list[str]) -> list[Rows]:
    """Return rows of other sources, of the streams that have any."""
    if not sources:
        return several
    kept = [rec.take(~np.isin(rec.source_names, sources)) for rec in several]
    return [rec for rec in kept if len(rec)]


def _without_weight(pipe: Pipeline, sources: Sequence[str]) -> Pipeline:
    """Return a pipeline that knows some more sources, and does not listen to them."""
    smoother = None if pipe.smoother is None else _without_weight(pipe.smoother, sources)
    beta = pipe.beta | dict.fromkeys(sources, 0.0)
    none: dict[str, Channel | None] = dict.fromkeys(sources)
    return replace(pipe, beta=beta, channel=pipe.channel | none, smoother=smoother)


def _equal_sources(several: Sequence[Rows]) -> bool:
    """Whether there are sources, none with by far the fewest predictions, as `find_reference`."""
    if not several or not several[0].heads.is_exclusive:
        return False
    names = dict.fromkeys(name for rec in several for name in rec.sources)
    counts = sorted(count for name in names if (count := count_predictions(several, name)))
    return len(counts) > 1 and counts[0] >= MIN_PREDICTIONS and 2 * counts[0] > counts[1]


def _tune_classes(
    several: list[Rows],
    filter: Kind,  # noqa: A002
    best: str,
    rate: int | None,
    channel: bool | None,
    labels: bool,
    max_switches_per_hour: float | None,
    max_delay: float | str | timedelta | None,
    progress: Progress | None = None,
    trusted: bool = False,
) -> Pipeline:
    """Return the pipeline of classes that exclude each other, without a rule for events.

    The best source is `trusted` if it was named.
    """
    limits = Limits.of(max_switches_per_hour, max_delay)
    prepared = prepare(several, best, every=rate, labels=labels)
    if prepared is None:
        return untuned(several, best, rate, bool(limits))
    if prepared.several:
        of_reference = warning_of_contradiction(prepared.rows, prepared.objective.runner.model)
        if of_reference:
            warnings.warn(of_reference, stacklevel=4)
    if prepared.several and prepared.assumptions.agreement < MIN_AGREEMENT:
        warnings.warn(
            f"successive predictions of {best!r} agree hardly more than by chance: the class "
            "changes between them, or they are wrong, and they cannot judge. Later predictions of "
            f"all sources judge instead. Record with more predictions of {best!r}, or check it.",
            stacklevel=4,
        )
    doubt = ""
    if prepared.several and not labels and not trusted:
        against = contradiction(prepared.rows)
        if against:
            warnings.warn(
                f"{against.text}. Check both, or name the right one as reference.", stacklevel=4
            )
            doubt = against.text if against.best_alone else ""
    correlation = prepared.assumptions.error_correlation
    if prepared.several and not labels and correlation >= HIGH_CORRELATION:
        warnings.warn(
            f"errors of {best!r} last: their correlation is about {correlation:.1f} from one "
            "prediction to the next, so it judges others by its own errors. Check the choice on a "
            "few labelled streams, with compare.",
            stacklevel=4,
        )
    found = _search(prepared, filter, channel, progress, doubt)
    if found.why_safe and not prepared.several:
        warnings.warn(found.why_safe + ". They are left as they are.", stacklevel=4)
    effects = Effects(prepared.recordings, prepared.rows.step)

    def measure(candidate: Candidate) -> Effect:
        return effects.measure(
            _pipe(prepared, candidate, smoother=_smoother(prepared, found, candidate))
        )

    if not limits:
        result = _result(prepared, found, measure(found.chosen))
    else:
        given = {"max_switches_per_hour": max_switches_per_hour, "max_delay": max_delay}
        for name, value in given.items():
            if value is not None:
                require_seconds(name, value, effects.in_seconds, prepared.rows.step)
        found, effect, text = within(limits, found, prepared.objective, filter, measure)
        result = _result(prepared, found, effect, text)
    if progress is not None:
        progress(1.0)
    usual, stuck = expected(result, prepared.recordings)
    for source, verdict in stuck.items():
        warnings.warn(
            f"source {source!r}: {verdict}. It cannot tell the classes apart: check it, or leave "
            "its rows out.",
            stacklevel=4,
        )
    return replace(result, expected=usual)


class Prepared(NamedTuple):
    """Streams with their model and criterion, ready for candidates to be tried.

    Attributes
    ----------
    recordings : list of Rows
        The streams, with the reference at the rate at which it will be called.
    rows : JoinedRows
        The observations.
    objective : Objective
        What is maximised.
    assumptions : Assumptions
        What it rests on.
    assumed : bool
        Whether the rate of calls was assumed.
    several : bool
        Whether the reference judges others; or else all sources count as one.
    calls : ExpectedCalls
        How often the class changes between calls of the reference, and how far its errors last.
    """

    recordings: list[Rows]
    rows: JoinedRows
    objective: Objective
    assumptions: Assumptions
    assumed: bool
    several: bool
    calls: ExpectedCalls


def prepare(
    recordings: Sequence[Rows],
    reference: str,
    *,
    every: int | None = None,
    labels: bool = False,
    min_predictions: int = MIN_PREDICTIONS,
) -> Prepared | None:
    """Estimate the model and the criterion; None where there is too little data."""
    thinned = thin(recordings, reference, every)
    rows = concatenate(thinned.recordings, reference)
    if 0.5 ** (1 / rows.step) == 0:
        raise ValueError(
            f"recordings: {rows.step:.3g} time units from row to row are too few; give times in a "
            "smaller unit, such as seconds"
        )
    passes, agreed = Passes(rows), agreement(rows)
    several = len(rows.sources) > 1
    if rows.of_reference.sum() < max(min_predictions, 2):
        return None
    model = estimate_model(rows, power=PRIOR_POWER if several else ONE_SOURCE_POWER)
    if labels:
        criteria = [by_labels(rows)]
    elif several:
        criteria = by_future(rows, model, agreed >= MIN_AGREEMENT)
    else:
        shares = mean_shares(rows.probs)
        memory = estimate_memory(rows, shares)
        criteria = [by_target(rows, *later_target(rows, passes, shares, memory))]
        if not criteria[0].judged.any():
            return None
    calls = estimate_calls(rows)
    assumptions = Assumptions(thinned.every, thinned.thinned, agreed, calls.error_correlation)
    objective = Objective(Runner(rows, passes, model), criteria)
    how = thinned.assumed, several, calls
    return Prepared(thinned.recordings, rows, objective, assumptions, *how)


def _search(
    prepared: Prepared,
    kind: Kind,
    channel: bool | None,
    progress: Progress | None = None,
    doubt: str = "",
) -> Found:
    objective, done = prepared.objective, 0

    def report() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done / max(EXPECTED[kind], done + 1))

    objective.on_new = report
    found = search_several(objective, kind, channel, doubt) if prepared.several else None
    return found or search_one(objective, kind)


def _pipe(prepared: Prepared, candidate: Candidate, **more: Any) -> Pipeline:
    """Return the pipeline of a candidate."""
    rows, objective = prepared.rows, prepared.objective
    parts = rows.classes, candidate, rows.reference, objective.criteria[0].name
    return tuned_as(objective.runner.model, *parts, rows.label_sources, **more)


def _smoother(prepared: Prepared, found: Found, candidate: Candidate) -> Pipeline | None:
    """Return what smooths beside a simple rule."""
    if candidate.family not in RULES or found.sticky is None:
        return None
    return _pipe(prepared, found.sticky)


def _result(
    prepared: Prepared, found: Found, effect: Effect | None = None, limit: str = ""
) -> Pipeline:
    rows, objective = prepared.rows, prepared.objective
    chosen, rivals = found.chosen, []
    for name, rival in found.rivals.items():
        judge = found.small if "dirichlet" in (chosen.family, rival.family) else objective
        streams, gain = judge.runner.rows.streams, judge.gain_over_streams(chosen, rival)
        rivals.append(Rival.of(name, gain, streams))
    judge = found.small if chosen.family == "dirichlet" else objective
    score = judge.shown(chosen)
    criterion = objective.criteria[0].name
    smoother = _smoother(prepared, found, chosen)
    one, model = not prepared.several, objective.runner.model
    tried = {
        trial.candidate: trial for judge in (objective, found.small) for trial in judge.table()
    }
    table = sorted(tried.values(), key=lambda trial: -trial.score)
    tuned = _pipe(
        prepared,
        chosen,
        smoother=smoother,
        table=tuple(table),
        rivals=tuple(rivals),
        effect=effect,
        assumptions=prepared.assumptions,
        expected_calls=None if one else prepared.calls,
        sources=() if one else facts_of_sources(rows, model, dict(chosen.beta)),
    )
    best = None if one else rows.reference
    tuned = with_temperatures(tuned, prepared.recordings, rows, objective.criteria[0], best)
    facts = rows, chosen, criterion, score, rivals, prepared.assumptions, prepared.assumed, one
    safe = f"The safe rule: {found.why_safe}." if found.why_safe else ""
    limit = " ".join(filter(None, [safe, limit]))
    temperatures = temperatures_in_words(tuned)
    text = explain(*facts, effect, limit, temperatures, filter=tuned.filter)
    return noted(tuned, text=text, why_safe=found.why_safe)
