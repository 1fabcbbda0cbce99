"""Comparison of all filters on the same recordings.

Filters are tuned on one fold of the streams and run on the other, without labels. Labels, if there
are any, are for the measures only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import metrics
from ..errors import ArgumentError, names_keywords
from ..events import EventRule
from ..inputs import Rows
from ..support.types import Array
from ..tuning import GAP, Progress, as_list, find_reference, step_of, two_folds
from .comparison import Comparison, Row
from .event_measures import METHODS, count_events, decide_all, event_rules, event_values
from .row_measures import judge, last_of_each_time, measured, measures
from .tuners import SMOOTHED, Method, tuners

RESAMPLED_SETS = 1000


@names_keywords
def compare(
    rows: Any,
    reference: str | None = None,
    *,
    events: bool | EventRule = False,
    extra: Mapping[str, Method] | None = None,
    progress: Progress | None = None,
    seed: int = 0,
) -> Comparison:
    """Run every filter over the rows and measure it.

    Parameters
    ----------
    rows : Rows, dataframe, str or Path
        Predictions, as for `filter_table`, with times in seconds. With labels, the measures are
        those of `metrics`; without, how much more likely later predictions of the reference are in
        the filter's class than on average, as in `tune`. They are taken as they are; where the
        reference will be called less often, thin them first. Of several labels at once, with
        independent scores, the measures are averages over labels, and each row has `by_head`.
    reference : str, optional
        The best source. By default, the one with by far the fewest predictions.
    events : bool or EventRule, default False
        Compare the events of a few methods instead of their rows: by the argmax, by two thresholds
        with minimum durations, by the majority of the last nine rows, and by this rule; with True,
        by the rule at three costs. With labels, an event is found if a predicted one of its class
        has an intersection over union of 0.5 with it.
    extra : mapping of str to callable, optional
        Other methods: functions that return class probabilities, (T, K), for the `Rows` of one
        stream. A name that ends in ", smoothed" is that of a smoother.
    progress : callable, optional
        Called with the share of the work that is done, 0 to 1.
    seed : int, default 0
        Seed of the resampling.

    Returns
    -------
    Comparison
        One row per method, without those that are the same with one source. *Single* and
        *Multiple* are the paper's: weights of 1, and of 1 and 0.5; it states no half-life, so
        theirs is tuned. Events of rows are those of their most probable class, without a rule.

    Examples
    --------
    >>> from classfilter import simulate
    >>> days = [simulate("capture24", hours=4.0, seed=i).rows() for i in range(4)]
    >>> comparison = compare(days, "strong")
    >>> [row.name for row in comparison.rows][:5]
    ['Raw', 'Mean of 5', 'Vote of 5', 'Ema', 'Hold']
    >>> comparison.best("accuracy") not in ("Raw", "Hold", "Single", "Multiple")
    True
    """
    if not isinstance(events, (bool, EventRule)):
        raise ArgumentError("events", events, must="it must be True, False or an EventRule")
    several = as_list(rows)
    best = find_reference(several, reference)
    heads = several[0].heads
    if events and not heads.is_exclusive:
        why = "events of several labels at once are not compared"
        fix = "compare those of one label: compare(rows.head(label), events=True)"
        raise ArgumentError("events", events, must=why, fix=fix)
    folds = two_folds(several, best)
    if folds is None:
        raise ValueError(
            f"there are too few predictions of {best!r}, or a source is in one stream only: "
            "nothing can be tuned on one half and measured on the other; record for longer"
        )
    streams = [rec for fold, _ in folds for rec in fold]
    labelled = any(rec.label is not None and (rec.label >= 0).any() for rec in streams)
    probs: dict[str, list[Array]] = {}
    scores: Any = [None] * len(streams)
    if not labelled:
        scores = judge(streams, best)
    if scores is None:
        raise ValueError(
            f"the predictions of {best!r} are too few to judge without labels; record for longer"
        )
    of_classes = [None if of_heads is None else of_heads[0] for of_heads in scores]
    for number, (fold, rest) in enumerate(folds):
        methods = tuners(rest, best)
        for done, (name, tune_method) in enumerate(methods.items()):
            method = tune_method()
            probs.setdefault(name, []).extend(method(rec) for rec in fold)
            if progress is not None:
                progress((number + (done + 1) / len(methods)) / len(folds))
    if len({name for rec in streams for name in rec.sources}) == 1:
        for name in (name for name in ("Tuned", f"Tuned{SMOOTHED}") if name in probs):
            for other in [other for other in probs if ", tuned" in other]:
                if all(map(np.array_equal, probs[name], probs[other])):
                    del probs[other]
    for name, method in (extra or {}).items():
        if name in probs:
            raise ValueError(f"extra has {name!r}, a method of the table; give it another name")
        probs[name] = [_checked_probs(name, method(rec), rec) for rec in streams]
    sets = np.random.default_rng(seed).integers(len(streams), size=(RESAMPLED_SETS, len(streams)))
    rows, true_events = [], float("nan")
    if events:
        kept = {name: P for name, P in probs.items() if name in METHODS or name in (extra or {})}
        rule = events if isinstance(events, EventRule) else None
        rules = event_rules(_call(streams, best), step_of(streams), rule)
        for title, counts in decide_all(streams, kept, of_classes, rules).items():
            smoothed = title.partition(": ")[0].endswith(SMOOTHED)
            rows.append(Row(title, smoothed, measures(counts, sets, event_values)))
    for name, arrays in probs.items() if not events else ():
        smoothed = name.endswith(SMOOTHED)
        row = measured(name, smoothed, streams, arrays, scores, sets)
        rows.append(row)
        if not heads.is_exclusive:
            continue
        of_events = [
            count_events(rec, np.asarray(P, np.float64), EventRule(), score)
            for rec, P, score in zip(streams, arrays, of_classes, strict=True)
        ]
        by_events = measures(of_events, sets, event_values)
        row.measures.update({k: by_events[k] for k in ("events", "event_f1") if k in by_events})
        if labelled:
            true_events = sum(c.true for c in of_events) / sum(c.hours for c in of_events)
    rows.sort(key=lambda row: row.smoothed)
    steps = sum(map(len, streams))
    seen = sum(bool(rec.observed(best).any()) for rec in several)
    labels = () if heads.is_exclusive else heads.names
    return Comparison(rows, seen, steps, best, _true_switches(streams), labels, true_events)


def _call(streams: Sequence[Rows], reference: str) -> float:
    """Return the median time from one call of the reference to the next."""
    gaps = [np.diff(rec.time[rec.observed(reference)]) for rec in streams]
    return float(np.median(np.concatenate(gaps)))


def _true_switches(streams: Sequence[Rows]) -> float:
    counts = [
        metrics.count_switches(label, rec.time[last], max_gap=GAP * rec.step)
        for rec in streams
        if rec.label is not None
        for last in [last_of_each_time(rec)]
        for label in rec.label[last].reshape(int(last.sum()), -1).T
    ]
    switches, hours = np.sum(counts, axis=0) if counts else (0.0, 0.0)
    return float(switches / hours) if hours else float("nan")


def _checked_probs(name: str, probs: Any, rec: Rows) -> Array:
    """Return what a method gave for a stream, if it is probabilities."""
    P = np.asarray(probs, np.float64)
    if P.shape != rec.probs.shape:
        raise ValueError(
            f"extra[{name!r}] returned shape {P.shape} for a stream of {len(rec)} rows and "
            f"{len(rec.classes)} classes"
        )
    bad = ~np.isfinite(P).all(axis=1)
    if bad.any():
        raise ValueError(
            f"extra[{name!r}] returned row {int(bad.argmax())} that is not finite; give "
            "probabilities"
        )
    return P
