"""The methods that are compared: functions that tune each of them on some streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..filters import (
    DirichletFilter,
    EmaFilter,
    HoldFilter,
    MeanFilter,
    MultiLabelFilter,
    RawFilter,
    VoteFilter,
)
from ..inputs import Heads, Rows
from ..pipeline import Pipeline
from ..support.types import Array, Floats, Weights
from ..tuning import (
    HELD_BELOW,
    MAX_DIRICHLET_ROWS,
    WINDOW,
    LabelTuning,
    Prepared,
    best_half_life,
    choose,
    prepare,
    step_of,
    tune,
)

Method = Callable[[Rows], Array]
"""Returns the probabilities of classes or labels, (T, C)."""
SMOOTHED = ", smoothed"
"""How the name of a smoother ends."""
ENTER, LEAVE = 0.5, 0.35
"""A label is on from the upper threshold until it is below the lower one."""
TUNED_KINDS = {"Dirichlet, tuned": "dirichlet", "Sticky, tuned": "sticky"}


def tuners(train: Sequence[Rows], reference: str) -> dict[str, Callable[[], Method]]:
    """Return a function for each method, which tunes it on some streams."""
    heads, step = train[0].heads, step_of(train)
    sources = dict.fromkeys(name for rec in train for name in rec.sources)
    held = {name: 1.0 if name == reference else HELD_BELOW for name in sources}
    known: dict[tuple[str, ...], Prepared | None] = {}

    def prepared(rows: Sequence[Rows]) -> Prepared | None:
        classes = rows[0].classes
        if classes not in known:
            known[classes] = prepare(rows, reference, every=1)
        return known[classes]

    def tuned_head(rows: Sequence[Rows], kind: Any, channel: bool | None) -> Pipeline:
        enough = prepared(rows)
        return choose(enough, kind, channel) if enough else tune(rows, kind, reference, every=1)

    @cache
    def tuned(kind: Any, channel: bool | None = None) -> Pipeline:
        if heads.is_exclusive:
            return tuned_head(train, kind, channel)

        def tune_head(rows: list[Rows]) -> Pipeline:
            return tuned_head(rows, kind, channel)

        return LabelTuning(train, reference, tune_head, every=1).pipe()

    def baseline(make: Callable[[Any], Any], beta: Weights = 1.0) -> Callable[[], Method]:
        return lambda: Pipeline(_filter_of_heads(heads, make), beta=beta).run

    def with_best_half_life(beta: Mapping[str, float]) -> Method:
        half_life, enough = 8 * step, prepared(train)
        if enough is not None:
            few = enough.objective.sample(MAX_DIRICHLET_ROWS)
            half_life = best_half_life(few, tuple(beta.items()), step).half_life or half_life
        f = DirichletFilter(heads.shown, half_life=half_life, estimate="mean")
        return Pipeline(f, beta=beta).run

    raw = baseline(RawFilter)
    methods = {"Raw": raw}
    if len(heads.labels) == len(heads.names):
        methods["Threshold 0.5"] = lambda: _over_one_half(raw())
        methods[f"Thresholds {ENTER}/{LEAVE}"] = lambda: _between_thresholds(raw())
    methods[f"Mean of {WINDOW}"] = baseline(lambda classes: MeanFilter(classes, WINDOW))
    if heads.is_exclusive:
        methods[f"Vote of {WINDOW}"] = baseline(lambda classes: VoteFilter(classes, WINDOW))
    methods["Ema"] = baseline(lambda classes: EmaFilter(classes, 0.9 ** (1 / step)))
    if len(sources) > 1:  # or it is Raw
        methods["Hold"] = baseline(HoldFilter, held)
    if heads.is_exclusive:
        methods["Single"] = lambda: with_best_half_life(dict.fromkeys(sources, 1.0))
        if len(sources) > 1:
            methods["Multiple"] = lambda: with_best_half_life(held)
    for name, kind in TUNED_KINDS.items():
        channel = False if heads.is_exclusive else None
        methods[name] = lambda kind=kind, channel=channel: tuned(kind, channel).run  # type: ignore[misc]
        if len(sources) > 1 and heads.is_exclusive:
            methods[f"{name}, channel"] = lambda kind=kind: tuned(kind, True).run  # type: ignore[misc]
    methods["Tuned"] = lambda: tuned("auto").run
    for name, kind in {**TUNED_KINDS, "Tuned": "auto"}.items():
        methods[name + SMOOTHED] = lambda kind=kind: tuned(kind).smooth  # type: ignore[misc]
    return methods


def _filter_of_heads(heads: Heads, make: Callable[[Any], Any]) -> Any:
    """Return a filter, of classes or of their number, or one for each head."""
    if heads.is_exclusive:
        return make(heads.shown)
    by_size = {size: make(size) for size in heads.sizes}  # equal ones are one, which is faster
    filters = {name: by_size[size] for name, size in zip(heads.names, heads.sizes, strict=True)}
    return MultiLabelFilter(heads.layout, filters)


def _over_one_half(raw: Method) -> Method:
    return lambda rec: (raw(rec) > 0.5).astype(np.float64)


def _between_thresholds(raw: Method) -> Method:
    return lambda rec: two_thresholds(raw(rec))


def two_thresholds(P: Floats) -> Floats:
    """Return where each label is on, (T, L): from the upper threshold until below the lower.

    Examples
    --------
    >>> two_thresholds(np.array([[0.4], [0.5], [0.4], [0.3], [0.4]])).ravel().tolist()
    [0.0, 1.0, 1.0, 0.0, 0.0]
    """
    decides = (P >= ENTER) | (P < LEAVE)
    last = np.maximum.accumulate(np.where(decides, np.arange(len(P))[:, None], -1), axis=0)
    on = np.take_along_axis(P, np.maximum(last, 0), axis=0) >= ENTER
    return np.where(last >= 0, on, False).astype(np.float64)
