"""Wishes: at most so many changes of class an hour, or a delay of at most so long.

What meets them costs as little as can be, by the criterion. Beside what the search has tried,
slower filters and smaller weights are tried for fewer changes, and the opposite for less delay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from .._errors import ArgumentError
from .._support.types import NUMBER, Ints
from .._timestamps import duration
from ..chain._chain import Chain
from ._candidates import RULES, Candidate
from ._effect import GAP, Effect, Effects
from ._objective import Gain, Objective
from ._rows import JoinedRows
from ._search import Found, is_clear

STEADIER = (0.7, 0.5, 0.35, 0.2, 0.14, 0.1, 0.07, 0.05, 0.03)
"""What the weights are multiplied by, for fewer changes."""
QUICKER = (2.0, 5.0)
"""And for less delay; at most to 1."""
SLOWEST, FASTEST = 30, -20
"""A filter is tried up to so many times twice as slow, or as fast."""
BASES = 4
"""How many of the candidates tried are made slower, or faster, beside the best."""
ALIKE = 1.0
"""Standard errors within which two scores are alike."""
ROUNDING = 1 + 1e-9
"""A sum of time steps may exceed a delay by rounding."""


class Wish(NamedTuple):
    """What the user asks for; None where it does not matter.

    Attributes
    ----------
    max_changes : float or None
        Changes of class an hour.
    max_delay : float or None
        In time units.
    """

    max_changes: float | None
    max_delay: float | None

    @classmethod
    def of(cls, max_changes_per_hour: object, max_delay: object) -> Wish:
        """Check what was given."""
        name, changes = "max_changes_per_hour", max_changes_per_hour
        if changes is not None and not (
            isinstance(changes, NUMBER) and not isinstance(changes, bool) and 0 <= changes < np.inf
        ):
            raise ArgumentError(name, changes, rule="it must be a number, 0 or more")
        delay = None if max_delay is None else duration("max_delay", max_delay)
        if delay is not None and not 0 <= delay < math.inf:
            raise ArgumentError("max_delay", max_delay, rule="it must be 0 or more, and finite")
        return cls(None if changes is None else float(changes), delay)

    def __bool__(self) -> bool:
        return self != (None, None)

    def text(self, in_seconds: bool) -> str:
        """Return the wish in words."""
        return _figures(self.max_changes, self.max_delay, in_seconds, "at most ")

    def excess(self, changes: float, delay: float) -> float:
        """Return how many times too many changes there are, or too much delay; 1 where met."""
        ratios = [1.0]
        if self.max_changes is not None:
            ratios.append((changes + 1) / (self.max_changes + 1))
        if self.max_delay is not None and not math.isnan(delay):
            ratios.append((delay + 1) / (self.max_delay * ROUNDING + 1))
        return max(ratios)


class Granted(NamedTuple):
    """What a wish led to.

    Attributes
    ----------
    found : Found
        With the choice that meets the wish; the one without it is among its rivals.
    effect : Effect
        What the choice does.
    text : str
        Whether the wish is met, for the explanation.
    warning : str
        What is missing, where it is not met.
    """

    found: Found
    effect: Effect
    text: str
    warning: str = ""


def grant(
    wish: Wish,
    found: Found,
    objective: Objective,
    effects: Effects,
    chain_of: Callable[[Candidate], Chain],
    kind: str,
) -> Granted:
    """Return the best candidate of a kind that meets a wish, by the criterion; or the closest."""
    free, seconds = found.chosen, effects.in_seconds
    effect = without = effects.measure(chain_of(free))
    if wish.excess(effect.changes_per_hour, effect.delay) <= 1:
        return Granted(found, effect, f"It meets the wish, {wish.text(seconds)}, at no cost.")
    judge = found.small if free.family == "dirichlet" else objective
    count = Neighbours(judge.runner.rows)

    @cache
    def changes(candidate: Candidate) -> float:
        return count.changes_per_hour(judge.runner.predict(candidate))

    @cache
    def delay(candidate: Candidate) -> float:
        return effects.delay(chain_of(candidate))[0]

    def excess(candidate: Candidate) -> float:
        late = 0.0 if wish.max_delay is None else delay(candidate)
        return wish.excess(changes(candidate), late)

    def meets(candidate: Candidate) -> bool:  # a delay takes longer to find
        return wish.excess(changes(candidate), 0.0) <= 1 and excess(candidate) <= 1

    trusted = [c for c in (free, found.sticky) if c is not None and slower(c, 0) is not None]
    families = {c.family for c in trusted}
    tried = [trial.candidate for trial in judge.table() if trial.candidate.family in families]
    bases = [*trusted, *tried[:BASES]]
    pool = list(bases)
    if wish.max_changes is not None:
        most = wish.max_changes
        for base in dict.fromkeys([*bases, *(scaled(c, x) for c in trusted for x in STEADIER)]):
            pool.append(_first(base, SLOWEST, lambda c: changes(c) <= most))
    if wish.max_delay is not None:
        longest = ROUNDING * wish.max_delay
        for base in dict.fromkeys([*bases, *(scaled(c, x) for c in trusted for x in QUICKER)]):
            pool.append(_first(base, FASTEST, lambda c: delay(c) <= longest))
    rivals = (free, *found.rivals.values()) if kind == "auto" else ()
    rules = [c for c in rivals if c.family in RULES]
    pool = list(dict.fromkeys([*pool, *rules]))

    meeting = [c for c in pool if meets(c)]
    chosen = None
    while meeting and chosen is None:
        best = _cheapest(judge, meeting, free, families, delay)
        # The candidates run with rounded times, and without the rows that have no prediction.
        effect = effects.measure(chain_of(best))
        if wish.excess(effect.changes_per_hour, effect.delay) <= 1:
            chosen = best
        meeting.remove(best)
    text, warning = f"It meets the wish, {wish.text(seconds)}.", ""
    if chosen is None:
        chosen = min(pool, key=lambda c: (excess(c), -judge.mean(c)))
        effect = effects.measure(chain_of(chosen))
        text = f"The wish, {wish.text(seconds)}, is not met: it has {_figures_of(wish, effect)}."
        warning = _unmet(wish, effect, [(changes(c), delay(c)) for c in pool])
    compared = {f"no wish, {_figures_of(wish, without)}": free}
    compared |= {n: c for n, c in found.rivals.items() if c not in (chosen, free)}
    return Granted(found._replace(chosen=chosen, rivals=compared), effect, text, warning)


class Neighbours:
    """Counts changes of class between neighbouring rows, as `metrics.switches_per_hour` does."""

    def __init__(self, rows: JoinedRows) -> None:
        last = np.flatnonzero(np.append(rows.first[1:] | (rows.dt[1:] > 0), True))
        before, after = last[:-1], last[1:]
        time = rows.time
        apart = time[after] - time[before]
        same = (rows.stream[before] == rows.stream[after]) & (apart <= GAP * rows.step)
        self._before, self._after = before[same], after[same]
        self._hours = float(apart[same].sum()) / 3600

    def changes_per_hour(self, predicted: Ints) -> float:
        """Return the rate of changes of a class of each row (T,)."""
        changes = int((predicted[self._before] != predicted[self._after]).sum())
        return changes / self._hours if self._hours else 0.0


def require_seconds(effects: Effects, changes: object, delay: object) -> None:
    """Raise where a wish is in hours or seconds, and the times cannot be."""
    if effects.in_seconds or (changes is None and has_no_unit(delay)):
        return
    name = "max_delay" if changes is None else "max_changes_per_hour"
    value = delay if changes is None else changes
    problem = f"is {{}}, but times {effects.rows.step:.3g} apart do not look like seconds"
    raise ArgumentError(name, value, problem, remedy="give times as dates or in seconds")


def has_no_unit(duration: object) -> bool:
    """Whether a duration has no unit, so that it is in that of the times."""
    if isinstance(duration, str):
        return not duration.rstrip()[-1:].isalpha()
    return isinstance(duration, NUMBER)


def slower(candidate: Candidate, doublings: int) -> Candidate | None:
    """Return a filter that is twice as slow, so many times; None of a rule without a memory."""
    if candidate.family == "transitions":
        return candidate._replace(rate=candidate.rate * 0.5**doublings)
    if candidate.half_life is None:
        return None
    return candidate._replace(half_life=candidate.half_life * 2.0**doublings)


def scaled(candidate: Candidate, factor: float) -> Candidate:
    """Return the candidate with all weights multiplied, at most to 1."""
    return candidate._replace(beta=tuple((n, min(1.0, w * factor)) for n, w in candidate.beta))


def _first(base: Candidate, furthest: int, meets: Callable[[Candidate], bool]) -> Candidate:
    """Return the least slowed (or sped up) candidate that meets something, or the furthest."""
    sign = 1 if furthest > 0 else -1

    def at(steps: int) -> Candidate:
        candidate = slower(base, sign * steps)
        assert candidate is not None
        return candidate

    if meets(at(0)):
        return base
    low, high = 0, 1
    while high < abs(furthest) and not meets(at(high)):
        low, high = high, min(2 * high, abs(furthest))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if meets(at(middle)) else (middle, high)
    return at(high)


def _cheapest(
    judge: Objective,
    meeting: Sequence[Candidate],
    free: Candidate,
    families: set[str],
    delay: Callable[[Candidate], float],
) -> Candidate:
    """Return the candidate that loses least by the criterion; a rule only if clearly better.

    Of those that lose as little, but for a standard error, the one that follows soonest.
    """
    trusted = [c for c in meeting if c.family in families]
    rules = [c for c in meeting if c.family not in families]
    if not trusted:
        return judge.best(rules)
    best = judge.safest(trusted, free)
    alike = [c for c in trusted if _is_alike(judge.gains(best, c)[0])]
    best = min(alike, key=delay)
    for rule in rules:
        if is_clear(judge.gains(rule, best)):
            best = rule
    return best


def _unmet(wish: Wish, effect: Effect, tried: Sequence[tuple[float, float]]) -> str:
    """Say what is missing, given the changes an hour and the delay of all that was tried."""
    seconds = effect.in_seconds
    text = (
        f"nothing that was tried has {wish.text(seconds)}; the closest, chosen, has "
        f"{_figures_of(wish, effect)}. "
    )
    if wish.max_changes is None or wish.max_delay is None:
        more = "a longer delay" if wish.max_changes is None else "more changes"
        return f"{text}Allow {more}."
    within = [changes for changes, delay in tried if delay <= ROUNDING * wish.max_delay]
    steady = [delay for changes, delay in tried if changes <= wish.max_changes]
    if within and steady:
        text += (
            "The wishes contradict each other: with that delay there are at least "
            f"{min(within):.3g} changes an hour, and with so few changes the delay is at least "
            f"{min(steady):.3g}{' s' * seconds}. "
        )
    return f"{text}Allow more changes or a longer delay."


def _is_alike(gain: Gain) -> bool:
    return gain.gain <= ALIKE * gain.error


def _figures_of(wish: Wish, effect: Effect) -> str:
    changes = None if wish.max_changes is None else effect.changes_per_hour
    delay = None if wish.max_delay is None else effect.delay
    return _figures(changes, delay, effect.in_seconds)


def _figures(
    changes: float | None, delay: float | None, in_seconds: bool, at_most: str = ""
) -> str:
    """Return changes an hour and a delay in words."""
    parts = []
    if changes is not None:
        parts.append(f"{at_most}{changes:.3g} changes an hour")
    if delay is not None:
        parts.append(f"a delay of {at_most}{delay:.3g}{' s' * in_seconds}")
    return " and ".join(parts)
