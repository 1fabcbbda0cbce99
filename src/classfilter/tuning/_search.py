"""The search for the candidate of the highest score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ._candidates import RULES, Candidate, rule
from ._objective import Gain, Objective

WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
"""Of the other sources."""
REFERENCE_WEIGHTS = (1.0, 0.5)
CHANNELS = ("near", "em")
HALF_LIVES = tuple(2.0**n for n in range(11))
"""Of one source, in median steps."""
DIRICHLET_HALF_LIVES = HALF_LIVES[:8]
DIRICHLET_WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0)
GUARD = 2.0
"""Standard errors by which what is less to be trusted must be ahead."""
FASTER = 3.0
"""Rates of change times this are tried too: few streams may show too few changes."""
FASTER_GUARD = 2.5
"""Standard errors by which faster rates must be ahead. Both were chosen on other sets, of gestures
and heart rhythm; on six other sets they change nothing."""
REWEIGHTED = 5
"""How many candidates are tried with less weight of the reference too."""
MAX_DIRICHLET_ROWS = 40_000
"""The Dirichlet filter is searched on some streams where there are more."""

Way = tuple[str | None, float]
"""How a source counts: through which channel, and its weight."""


class Found(NamedTuple):
    """What a search found.

    Attributes
    ----------
    chosen : Candidate
        The best, or a rival that is clearly ahead of it.
    sticky : Candidate or None
        The best sticky filter, which can smooth.
    rivals : dict of str to Candidate
        What it was compared with, by name.
    small : Objective
        The objective that Dirichlet filters were tried on, which may have fewer streams.
    """

    chosen: Candidate
    sticky: Candidate | None
    rivals: dict[str, Candidate]
    small: Objective


def search_several(objective: Objective, kind: str, channel: bool | None) -> Found:
    """Search where a reference judges the other sources."""
    rows = objective.runner.rows
    rules = {name.capitalize(): rule(name, rows.sources, rows.step) for name in RULES}
    sticky = dirichlet = None
    if kind != "dirichlet":
        sticky = faster_where_clear(objective, best_sticky(objective, rows.sources, channel))
    small = objective.sample(MAX_DIRICHLET_ROWS)
    if kind != "sticky":
        dirichlet = best_dirichlet(small, rows.sources, rows.step, channel)
    if kind == "auto":
        assert sticky is not None
        assert dirichlet is not None
        name = "the best Dirichlet filter"
        chosen, best = sticky, 0.0
        for rival in [*rules.values(), dirichlet]:
            if rival is dirichlet and not is_clear(small.gains(rival, sticky)):
                continue
            gains = objective.gains(rival, sticky)
            if is_clear(gains) and gains[0].gain > best:
                chosen, best = rival, gains[0].gain
        rivals = rules | {name: dirichlet, "the best sticky filter": sticky}
    else:
        chosen, rivals = sticky or dirichlet, rules  # type: ignore[assignment]
    if len(rows.sources) > 1:
        paper = tuple((name, 0.5 if i else 1.0) for i, name in enumerate(rows.sources))
        rivals = rivals | {
            "the paper's weights, 1 and 0.5": best_half_life(small, paper, rows.step)
        }
    return Found(chosen, sticky, {n: c for n, c in rivals.items() if c != chosen}, small)


def best_sticky(
    objective: Objective, sources: tuple[str, ...], channel: bool | None = None
) -> Candidate:
    """Return the best sticky filter: all other sources alike first, then one after the other."""
    reference, others = sources[0], sources[1:]
    ways: list[Way] = [(None, 0.0)]
    for name in (None,) if channel is False else CHANNELS:
        ways += [(name, weight) for weight in WEIGHTS[1:]]

    def candidate(reference_weight: float, chosen: dict[str, Way]) -> Candidate:
        return _candidate("transitions", (reference, reference_weight), chosen)

    def alike(reference_weight: float, way: Way) -> Candidate:
        return candidate(reference_weight, dict.fromkeys(others, way))

    alone = objective.best([alike(r, ways[0]) for r in REFERENCE_WEIGHTS])
    if not others:
        return alone
    tried = {alike(1.0, way): (1.0, way) for way in ways}
    for _, way in [tried[c] for c in objective.top(list(tried), REWEIGHTED)]:
        tried |= {alike(r, way): (r, way) for r in REFERENCE_WEIGHTS[1:]}
    best = objective.safest([alone, *tried], alone)
    if best != alone and len(others) > 1:
        r, way = tried[best]
        chosen = dict.fromkeys(others, way)
        for source in 2 * others:
            choices = {candidate(r, {**chosen, source: other}): other for other in ways}
            best = objective.safest(list(choices), alone)
            chosen[source] = choices[best]
    if channel is None:  # without channels only where that is clearly better
        plain = objective.best([alike(1.0, (None, weight)) for weight in WEIGHTS[1:]])
        best = plain if is_clear(objective.gains(plain, best)) else best
    return best


def faster_where_clear(objective: Objective, sticky: Candidate) -> Candidate:
    """Return the filter with faster rates of change where they are clearly ahead."""
    faster = sticky._replace(rate=FASTER * sticky.rate)
    return faster if is_clear(objective.gains(faster, sticky), FASTER_GUARD) else sticky


def is_clear(gains: Sequence[Gain], guard: float = GUARD) -> bool:
    """Whether a gain is clear by every criterion."""
    return all(gain > guard * error for gain, error in gains)


def best_dirichlet(
    objective: Objective, sources: tuple[str, ...], step: float, channel: bool | None = None
) -> Candidate:
    """Return the best Dirichlet filter, along its half-life and each other source in turn."""
    reference, others = (sources[0], 1.0), sources[1:]
    ways: list[Way] = []
    for name in {None: (None, "em"), True: CHANNELS, False: (None,)}[channel]:
        ways += [(name, weight) for weight in DIRICHLET_WEIGHTS if weight or not ways]
    chosen: dict[str, Way] = dict.fromkeys(others, (ways[0][0], 0.1))

    def candidate(chosen: dict[str, Way], half_life: float) -> Candidate:
        steps = half_life * step
        return _candidate("dirichlet", reference, chosen, steps, channel is True)

    def best_decay() -> float:
        return max(DIRICHLET_HALF_LIVES, key=lambda h: objective.mean(candidate(chosen, h)))

    half_life = best_decay()
    for source in others:
        choices = {candidate({**chosen, source: other}, half_life): other for other in ways}
        chosen[source] = choices[objective.best(list(choices))]
    return candidate(chosen, best_decay())


def best_half_life(
    objective: Objective, beta: tuple[tuple[str, float], ...], step: float
) -> Candidate:
    """Return the Dirichlet filter of the best half-life for these weights."""
    return objective.best([Candidate("dirichlet", beta, h * step) for h in DIRICHLET_HALF_LIVES])


def search_one(objective: Objective, kind: str) -> Found:
    """Search where all sources count as one."""
    rows = objective.runner.rows

    def alike(family: str, weight: float = 1.0, steps: float | None = None) -> Candidate:
        beta = tuple((name, weight) for name in rows.sources)
        return Candidate(family, beta, None if steps is None else steps * rows.step)

    raw = alike("raw")
    families: dict[str, Sequence[Candidate]] = {
        "the best Ema": [alike("ema", 1.0, h) for h in HALF_LIVES],
        "the best Dirichlet filter": [alike("dirichlet", 1.0, h) for h in HALF_LIVES],
        "the best sticky filter": [
            alike("stay", weight, h) for h in HALF_LIVES for weight in WEIGHTS[1:]
        ],
    }
    wanted = {"sticky": "the best sticky filter", "dirichlet": "the best Dirichlet filter"}
    best = {"Raw": raw} | {
        name: objective.safest(candidates, raw)
        for name, candidates in families.items()
        if kind == "auto" or name in ("the best Ema", wanted[kind])
    }
    sticky = best.get("the best sticky filter")
    chosen = best[wanted[kind]] if kind in wanted else objective.safest(list(best.values()), raw)
    return Found(chosen, sticky, {n: c for n, c in best.items() if c != chosen}, objective)


def _candidate(
    family: str,
    reference: tuple[str, float],
    others: dict[str, Way],
    half_life: float | None = None,
    keep: bool = False,
) -> Candidate:
    """Return a candidate; a source without weight needs no channel, unless it is to be kept."""
    beta = (reference, *((name, weight) for name, (_, weight) in others.items()))
    channel = tuple(
        (name, way) for name, (way, weight) in others.items() if way and (weight or keep)
    )
    return Candidate(family, beta, half_life, channel)
