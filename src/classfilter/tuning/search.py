"""The search for the candidate of the highest score."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import ArgumentError
from ..inputs import duration
from ..support.types import is_number
from .candidates import RULES, WINDOW, Candidate, Runner, rule
from .criterion import LABELS
from .effect import Effect
from .estimate import agreements
from .model import LABELS_WAY, MIN_AGREEMENT, TIED_WAY, WAYS, agreement
from .objective import CAUTION, SCREEN_ROWS, Objective

WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
"""Of one source."""
FAST_WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
SLOW_WEIGHTS = (1.0, 0.5, 0.25)
RATES = (1.0, 2.0, 4.0, 8.0)
"""What the estimated rates of change are multiplied by."""
HALF_LIVES = tuple(2.0**n for n in range(11))
"""Of one source, in median steps."""
DIRICHLET_HALF_LIVES = HALF_LIVES[:8]
DIRICHLET_WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0)
FEW_CHANGES, SOME_CHANGES = 10, 100
"""The guard: a filter is chosen where the smoothed class changes often, or not rarely and with a
score that is ahead of that of the safe rule by more than its standard error. In 71 draws of 1 to 8
streams of GeoLife and LTAFDB that pass, probabilities and labels, the filter is 2.7 points ahead of
the rule in the mean, and 2.9 behind in the worst; in 51 that do not, it is 14 behind in the
worst."""
NEARER = 1 / 4
"""The half-life of what smooths where nothing is tuned, as a share of the time between calls."""
LEAST_AGREED, MOST_AGREED = 1 / 16, 0.95
"""Bounds of the agreement of successive calls that the half-life beside the rule Hold follows."""
CHANCE = 4.0
"""Of one source: successive predictions that agree by fewer standard errors judge nothing."""
FIT_BEHIND = 0.02
"""The fit of one source may be so far behind another filter. Later predictions, which judge, do not
see a class that is shorter than the time for which they look away."""
FIT_WAYS = ("posterior", "best")
"""The channels of one source that are tried: its mean prediction in each class of the fit, and what
tells these classes best."""
FORGOTTEN = 1 / 9
"""The half-life in steps of a smoother that remembers next to nothing; it does not raise the
warning about rows that stand alone, which ten half-lives from row to row do."""
MAX_DIRICHLET_ROWS = 40_000
"""The Dirichlet filter is searched on some streams where there are more."""

PACES = tuple(4.0**n for n in range(-6, 7) if n)
"""Where there are limits, the best filters are also tried this many times faster."""
WEIGHT_ROUNDING = 1 + 1e-9
"""A sum of time steps may exceed a delay by rounding."""

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
    why_safe : str
        Why a safe rule was chosen instead of a filter, where it was.
    """

    chosen: Candidate
    sticky: Candidate | None
    rivals: dict[str, Candidate]
    small: Objective
    why_safe: str = ""


def search_several(objective: Objective, kind: str, channel: bool | None, doubt: str = "") -> Found:
    """Search where several sources are joined; the safe rule where the data are too few.

    Equally fast sources that are in `doubt` have a vote.
    """
    rows = objective.runner.rows
    rules = {name.capitalize(): rule(name, rows.sources, rows.step) for name in RULES}
    by_class = Objective(objective.runner, objective.criteria[-1:])
    small = by_class.sample(MAX_DIRICHLET_ROWS)
    sticky = None
    if kind != "dirichlet":
        some = objective.sample(SCREEN_ROWS)
        sticky = chosen = max(sticky_candidates(objective.runner, channel), key=some.mean)
        why = (why_nothing_tells(objective.runner, doubt) or why_unsafe(objective, sticky)) * (
            kind == "auto"
        )
        if why:
            chosen = rules[safe_rule(objective.runner)]
            sticky = safe_smoother(objective.runner)
    else:
        chosen, why = best_dirichlet(small, rows.sources, rows.step, channel), ""
    paper = tuple((name, 0.5 if i else 1.0) for i, name in enumerate(rows.sources))
    name = "the paper's weights, 1 and 0.5"
    rivals = rules | {name: best_half_life(small, paper, rows.step)}
    if sticky is not None and not why:
        rivals["the best sticky filter"] = sticky
    rivals = {n: c for n, c in rivals.items() if c != chosen}
    return Found(chosen, sticky, rivals, small, why)


def safe_rule(runner: Runner) -> str:
    """Return the rule that cannot lose much: the best source's last word, or a vote of equals."""
    line = runner.model.line
    return "Hold" if line is not None and line.slow[0] else "Vote"


def safe_smoother(runner: Runner) -> Candidate:
    """Return what smooths beside the safe rule: the best source, or equals as right as they are.

    The half-life is that of a class, were all predictions of the best source right: its errors make
    successive ones agree less, so that it is not too long.
    """
    rows, line = runner.rows, runner.model.line
    assert line is not None
    step = float(line.interval[0]) * line.tau
    if line.slow[0]:
        alone = tuple((name, float(name == rows.reference)) for name in rows.sources)
        agreed = min(max(agreement(rows), LEAST_AGREED), MOST_AGREED)
        return Candidate("stay", alone, -step / math.log2(agreed))
    beta = tuple((name, 1.0) for name in rows.sources)
    tied = tuple((name, TIED_WAY) for name in rows.sources)
    return Candidate("stay", beta, step * max(1.0, WINDOW / len(beta)), tied)


def why_nothing_tells(runner: Runner, doubt: str) -> str:
    """Say why no fit can be trusted: of equally fast sources, a `doubt`; nothing where one can."""
    assert runner.model.line is not None
    if agreements(runner.rows).max() < MIN_AGREEMENT:
        return "predictions agree hardly more than by chance, from row to row and among sources"
    return "" if runner.model.line.slow[0] else doubt


def why_unsafe(objective: Objective, sticky: Candidate) -> str:
    """Say why the data are too few to trust the filter; nothing where they are enough."""
    runner = objective.runner
    if objective.criteria[0].name == LABELS:
        return ""
    held = rule(safe_rule(runner).lower(), runner.rows.sources, runner.rows.step)
    assert runner.model.found is not None
    best = runner.model.found.posterior.argmax(axis=1)
    changes = int(((best[1:] != best[:-1]) & ~runner.rows.first[1:]).sum())
    gains = objective.gains(sticky, held)
    gain, error = gains[0]
    behind = any(gain < -error for gain, error in gains)
    if changes >= (FEW_CHANGES if gain > error else SOME_CHANGES) and not behind:
        return ""
    safe = "the last prediction" if held.family == "hold" else "a vote"
    if changes >= SOME_CHANGES:
        return f"a filter foretells later predictions less well than {safe} does"
    times = f"{changes} change{'s' * (changes != 1)} of class"
    few = f"there are only {times} in these streams, too few to trust more than"
    if changes >= FEW_CHANGES:
        few = f"with {times} in these streams, a filter is not clearly better than"
    return f"{few} {safe}. Record about {SOME_CHANGES} changes or more"


def sticky_candidates(runner: Runner, channel: bool | None = None) -> list[Candidate]:
    """Return the grid: how sources are corrected, rates of change, weights of fast and slow."""
    rows, line = runner.rows, runner.model.line
    assert line is not None
    slow = dict(zip(rows.sources, line.slow, strict=True))
    soft = [name for name in rows.sources[1:] if name not in rows.label_sources]
    ways: tuple[str | None, ...] = WAYS if soft and channel is not False else (None,)
    any_slow = any(slow.values())
    weights = [
        (fast, heavy)
        for fast in FAST_WEIGHTS
        for heavy in (SLOW_WEIGHTS if any_slow else SLOW_WEIGHTS[:1])
        if fast or any_slow
    ]
    grid: dict[Candidate, None] = {}
    for way in ways:
        for fast, heavy in weights:
            beta = tuple((name, heavy if slow[name] else fast) for name in rows.sources)
            ways_of = dict.fromkeys(soft, way) | dict.fromkeys(rows.label_sources, LABELS_WAY)
            used = [(name, ways_of.get(name)) for name, weight in beta if weight]
            through = tuple((name, one) for name, one in used if one is not None)
            for rate in RATES:
                grid[Candidate("transitions", beta, None, through, rate)] = None
    return list(grid)


def best_dirichlet(
    objective: Objective, sources: tuple[str, ...], step: float, channel: bool | None = None
) -> Candidate:
    """Return the best Dirichlet filter, along its half-life and each other source in turn."""
    reference, others = (sources[0], 1.0), sources[1:]
    ways: list[Way] = []
    for name in {None: (None, "best"), True: WAYS, False: (None,)}[channel]:
        ways += [(name, weight) for weight in DIRICHLET_WEIGHTS if weight or not ways]
    chosen: dict[str, Way] = dict.fromkeys(others, (ways[0][0], 0.1))

    def candidate(chosen: dict[str, Way], half_life: float) -> Candidate:
        steps = half_life * step
        labels = objective.runner.rows.label_sources
        return _candidate("dirichlet", reference, chosen, steps, channel is True, labels)

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
    chosen = best[wanted[kind]] if kind in wanted else objective.safest(list(best.values()), raw)
    fit = best_fit(objective, chosen) if kind != "dirichlet" else None
    if fit is not None:
        best["the best filter of one dwell time"], chosen = chosen, fit
    sticky = best.get("the best sticky filter")
    why = ""
    by_chance = min(MIN_AGREEMENT, CHANCE / math.sqrt(len(rows.first)))
    judged = objective.criteria[0].name == LABELS
    if not judged and agreement(rows) < by_chance:
        chosen = raw
        why = (
            f"successive predictions of {rows.reference!r} agree hardly more than by chance; "
            "no filter can know better. Check that rows are in order of time, or record more often"
        )
    if chosen == raw:  # of a row without memory, smoothing leaves the prediction
        sticky = alike("stay", 1.0, FORGOTTEN)
    return Found(chosen, sticky, {n: c for n, c in best.items() if c != chosen}, objective, why)


def best_fit(objective: Objective, chosen: Candidate) -> Candidate | None:
    """Return the filter of the fitted transitions, where it may be trusted.

    Errors that last look like changes of class to the fit. Then later predictions fit better to
    what it says at half the weight, or much better to another filter.
    """
    rows = objective.runner.rows
    (name,) = rows.sources

    def fit(way: str, weight: float = 1.0) -> Candidate:
        return Candidate("transitions", ((name, weight),), None, ((name, way),))

    ways = (LABELS_WAY,) if rows.label_sources else FIT_WAYS
    best = max(ways, key=lambda way: objective.mean(fit(way)))
    full, raw = fit(best), rule("raw", rows.sources, rows.step)
    ahead, over_raw = (objective.gains(full, other)[0] for other in (chosen, raw))
    if ahead.gain > CAUTION * ahead.error:
        return full
    short = objective.mean(full) > objective.mean(fit(best, 0.5)) and over_raw.gain > over_raw.error
    by_labels = objective.criteria[0].name == LABELS
    return full if short and not by_labels and ahead.gain > -FIT_BEHIND else None


def _candidate(
    family: str,
    reference: tuple[str, float],
    others: dict[str, Way],
    half_life: float | None = None,
    keep: bool = False,
    labels: tuple[str, ...] = (),
) -> Candidate:
    """Return a candidate; a source without weight needs no channel, unless it is to be kept."""
    beta = (reference, *((name, weight) for name, (_, weight) in others.items()))
    channel = tuple(
        (name, LABELS_WAY if name in labels else way)
        for name, (way, weight) in others.items()
        if way and (weight or keep)
    )
    return Candidate(family, beta, half_life, channel)


class Limits(NamedTuple):
    """What a filter must not exceed; None where it does not matter.

    Attributes
    ----------
    changes : float or None
        Changes of class an hour.
    delay : float or None
        In time units.
    """

    changes: float | None
    delay: float | None

    @classmethod
    def of(cls, max_switches_per_hour: object, max_delay: object) -> Limits:
        """Check what was given."""
        changes: Any = max_switches_per_hour
        number = is_number(changes)
        if changes is not None and not (number and 0 <= changes < math.inf):
            must = "it must be a number, 0 or more"
            raise ArgumentError("max_switches_per_hour", changes, must=must)
        delay = None if max_delay is None else duration("max_delay", max_delay)
        if delay is not None and not 0 <= delay < math.inf:
            raise ArgumentError("max_delay", max_delay, must="it must be 0 or more, and finite")
        return cls(None if changes is None else float(changes), delay)

    def __bool__(self) -> bool:
        return self != (None, None)

    def excess(self, effect: Effect) -> float:
        """Return how many times too often a filter changes, or too late; 1 where neither."""
        ratios = [1.0]
        if self.changes is not None:
            ratios.append((effect.changes_per_hour + 1) / (self.changes + 1))
        if self.delay is not None and not math.isnan(effect.delay):
            ratios.append((effect.delay + 1) / (self.delay * WEIGHT_ROUNDING + 1))
        return max(ratios)

    def in_words(self, effect: Effect | None, in_seconds: bool) -> str:
        """Return the limits, or what a filter has of what is limited."""
        most = "" if effect else "at most "
        parts = []
        if self.changes is not None:
            changes = effect.changes_per_hour if effect else self.changes
            parts.append(f"{most}{changes:.3g} switches per hour")
        if self.delay is not None:
            delay = effect.delay if effect else self.delay
            parts.append(f"a delay of {most}{delay:.3g}{' s' * in_seconds}")
        return " and ".join(parts)


def within(
    limits: Limits,
    found: Found,
    objective: Objective,
    kind: str,
    measure: Callable[[Candidate], Effect],
) -> tuple[Found, Effect, str]:
    """Return the best candidate that keeps to the limits, by the criterion; or the closest.

    With it come its effect and what to say of the limits. A simple rule is returned where no filter
    of the chosen family keeps to them.
    """
    free = found.chosen
    effects = {free: measure(free)}
    seconds = effects[free].in_seconds
    limit = limits.in_words(None, seconds)
    if limits.excess(effects[free]) <= 1:
        return found, effects[free], f"It keeps to the limit, {limit}, at no cost."
    judge = found.small if free.family == "dirichlet" else objective
    best = [c for c in (free, found.sticky) if c is not None and c.family not in RULES]
    scores = {trial.candidate: trial.score for trial in judge.table()}
    more = [_faster(c, pace) for c in best for pace in PACES]
    if kind == "auto":
        more += [c for c in found.rivals.values() if c.family in RULES]
    scores |= {c: judge.shown(c).gain for c in more}
    families = {c.family for c in (free, *best)}
    allowed = families | set(RULES if kind == "auto" else ())
    ranked = sorted(scores, key=lambda c: (c.family not in families, -scores[c]))
    for candidate in (c for c in ranked if c.family in allowed):
        effects[candidate] = measure(candidate)
        if limits.excess(effects[candidate]) <= 1:
            break
    chosen = min(effects, key=lambda c: limits.excess(effects[c]))
    effect = effects[chosen]
    has, text = limits.in_words(effect, seconds), f"It keeps to the limit, {limit}."
    if limits.excess(effect) > 1:
        text = f"The limit, {limit}, is exceeded: it has {has}."
        allow = ["more switches"] * (limits.changes is not None)
        allow += ["a longer delay"] * (limits.delay is not None)
        warnings.warn(
            f"nothing that was tried has {limit}; the closest, chosen, has {has}. Allow "
            f"{' or '.join(allow)}.",
            stacklevel=5,
        )
    rivals = {f"no limit, {limits.in_words(effects[free], seconds)}": free}
    rivals |= {name: c for name, c in found.rivals.items() if c not in (chosen, free)}
    return found._replace(chosen=chosen, rivals=rivals), effect, text


def _faster(candidate: Candidate, times: float) -> Candidate:
    """Return a filter whose memory is so many times as short."""
    if candidate.half_life is None:
        return candidate._replace(rate=candidate.rate * times)
    return candidate._replace(half_life=candidate.half_life / times)
