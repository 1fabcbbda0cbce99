"""Random rules for several labels at once, and the same for one label, written out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

import classfilter as cf
import live_event_cases
from classfilter.policy import Periodic
from live_event_cases import Live, Row
from slow_events import Rule

LABELS = ("robin", "wren", "tit")
BETA = {"weak": 0.25, "strong": 1.0}
FILTERS: dict[str, Any] = {
    "sticky": lambda: cf.StickyFilter(2, stay=0.5 ** (1 / 6)),
    "single": lambda: cf.StickyFilter(2, stay=0.5 ** (1 / 6), dtype="float32"),
    "dirichlet": lambda: cf.DirichletFilter(2, half_life=6.0),
    "ema": lambda: cf.EmaFilter(2, half_life=6.0),
}


def random_rule(rng: np.random.Generator) -> cf.EventRule:
    return live_event_cases.random_rule(rng, LABELS, labels=True)


def of_label(value: Any, label: str, default: Any = 0.0) -> Any:
    return value.get(label, default) if isinstance(value, dict) else value


def lane_rule(rule: cf.EventRule, label: str) -> cf.EventRule:
    """Return the rule of two classes that decides a label by itself."""
    return cf.EventRule(
        of_label(rule.change_cost, label),
        leave_cost={label: of_label(rule.leave_cost, label)},
        min_duration={label: of_label(rule.min_duration, label)},
        merge_gap=of_label(rule.merge_gap, label, None),
        bias={label: of_label(rule.bias, label)},
        evidence=rule.evidence,
        min_probability=rule.min_probability,
        pad=rule.pad,
        shift=rule.shift,
        ignore=f"not {label}",
        max_gap=rule.max_gap,
        max_duration=rule.max_duration,
        max_delay=rule.max_delay,
    )


def slow_rule(rule: cf.EventRule, label: str) -> Rule:
    """Return the same for `slow_events`: off is the first class."""

    def limit(value: float | None) -> float:
        return np.inf if value is None else value

    cost, gap = of_label(rule.change_cost, label), of_label(rule.merge_gap, label, None)
    uncertain = rule.min_probability is not None
    return Rule(
        enter=np.full(2 + uncertain, cost),
        leave=np.array([0.0, of_label(rule.leave_cost, label), *[0.0] * uncertain]),
        min_duration=np.array([0.0, of_label(rule.min_duration, label)]),
        bias=np.array([0.0, of_label(rule.bias, label)]),
        ignore=np.array([1.0, 0.0]),
        log=rule.evidence == "log",
        min_probability=0.0 if rule.min_probability is None else rule.min_probability,
        max_gap=limit(rule.max_gap),
        merge_gap=-1.0 if gap is None else gap,
        pad_before=rule.pad[0],
        pad_after=rule.pad[1],
        shift=rule.shift,
        max_duration=limit(rule.max_duration),
    )


def random_scores(rng: np.random.Generator, rows: int, missing: float = 0.05) -> Any:
    """Return scores (T, L) that follow labels which go on and off, some NaN."""
    on = np.cumsum(rng.random((rows, len(LABELS))) < 0.12, axis=0) % 2
    sure = rng.choice([0.5, 3.0], (rows, 1))
    scores = rng.beta(0.7 + sure * on, 0.7 + sure * (1 - on))
    scores[rng.random(scores.shape) < missing] = np.nan
    return scores


def random_times(rng: np.random.Generator, rows: int) -> Any:
    return np.cumsum(rng.choice([0.0, 0.25, 0.5, 1.0, 1.0, 3.0, 5.0], rows)) - 4.0


def random_recording(rng: np.random.Generator, rows: int = 60) -> cf.Rows:
    source = rng.choice(list(BETA), rows)
    truth = rng.choice([1, 1, 0, 0, -1], (rows // 4 + 1, len(LABELS))).repeat(4, axis=0)[:rows]
    time, scores = random_times(rng, rows), random_scores(rng, rows)
    return cf.rows(
        time=time, source=source, probs=scores, classes=LABELS, label=truth, scores="independent"
    )


def random_pipe(rng: np.random.Generator, rule: cf.EventRule | None = None) -> cf.Pipeline:
    """Return a pipeline of several labels, with a filter for each, or one for all."""
    names = [list(FILTERS)[i] for i in rng.integers(len(FILTERS), size=len(LABELS))]
    filters: Any = {name: FILTERS[kind]() for name, kind in zip(LABELS, names, strict=True)}
    if rng.random() < 0.6 or "single" in names:
        filters = FILTERS[names[0]]()
    f = cf.MultiLabelFilter(LABELS, filters)
    channel = {"weak": cf.Channel([[0.8, 0.2], [0.3, 0.7]])} if rng.random() < 0.3 else None
    return cf.Pipeline(f, beta=BETA, channel=channel, rule=rule)


def random_labels(seed: int, rows: int = 35, **limits: Any) -> Live:
    """Return a tracker of several labels, and rows of two streams and sources."""
    rng = np.random.default_rng(seed)
    pipe = random_pipe(rng, random_rule(rng))
    if rng.random() < 0.2:
        pipe = cf.Pipeline.of(pipe, policy=Periodic(every=3))
    names = [("ann", 7)[i] for i in rng.integers(2, size=rows)]
    source = rng.choice(list(BETA), rows).tolist()
    columns = names, random_times(rng, rows).tolist(), source, random_scores(rng, rows).tolist()
    return Live(pipe, [Row(*row) for row in zip(*columns, strict=True)], limits)


def random_lagged_labels(seed: int, rows: int = 35, **limits: Any) -> Live:
    """Return the same with a smoother of its own for each label."""
    rng = np.random.default_rng(seed)
    live = random_labels(seed, rows, **limits)
    filters = {
        "robin": cf.StickyFilter(2, stay=0.5 ** (1 / 1)),
        "wren": cf.DirichletFilter(2, 0.5),
        "tit": cf.StickyFilter(2, transitions=[[0.6, 0.4], [0.4, 0.6]]),
    }
    beta: Any = {"weak": {"robin": 0.5, "wren": 0.25, "tit": 1.0}, "strong": 1.0}
    channel = {"weak": {"robin": cf.Channel([[8, 2], [3, 7]]), "wren": None, "tit": None}}
    smoother = cf.Pipeline(
        cf.MultiLabelFilter(LABELS, filters),
        beta=beta,
        channel=channel if rng.random() < 0.5 else None,
        rule=random_rule(rng),
    )
    pipe = cf.Pipeline(live.pipe.filter, beta=BETA, smoother=smoother)
    return live._replace(pipe=pipe, lag=int(rng.choice([1, 2, 5, 30])))
