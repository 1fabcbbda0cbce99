"""How right a filter is for so many strong calls an hour, periodic or adaptive."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data._frames import new_table
from ..data._recording import Recording
from ..filters._baselines import RawFilter
from ..policy import Adaptive, Periodic, Policy
from ..tuning._folds import as_list, find_reference, two_folds
from ..tuning._result import Tuned
from ..tuning._tune import tune
from ._replay import Replay, replay, steps

GAPS = (60, 48, 36, 24, 18, 12, 8, 6, 4)
"""Steps from one strong call to the next, on average, that are tried."""
TUNED_AT = 12
"""... and those at which the filter is tuned, if it is to be."""


class Point(NamedTuple):
    """What a policy reaches.

    Attributes
    ----------
    gap : int
        Steps from one strong call to the next, on average, that were asked for.
    calls : float
        Strong calls an hour.
    accuracy : float
        Share of the steps at which the filter calls the right class.
    """

    gap: int
    calls: float
    accuracy: float


@dataclass(frozen=True)
class PolicyCurve:
    """How right a filter is for so many strong calls an hour; print it for a table.

    Attributes
    ----------
    periodic, adaptive : list of Point
        Each policy, from few calls to many.
    strong_accuracy : float
        The share of steps at which the strong classifier, asked every time, is right by itself.
    labelled : bool
        Whether *right* is what the labels say; or else what the strong classifier says, asked
        every time.
    streams, steps : int
        How many there were.
    """

    periodic: list[Point]
    adaptive: list[Point]
    strong_accuracy: float
    labelled: bool
    streams: int
    steps: int

    def saved(self, point: Point) -> float | None:
        """Return the share of a periodic point's calls that `Adaptive` does without.

        That is, to be as right as there. The curve is straight between its points, over the
        logarithm of the calls; where its first point is already as right, that one counts, though
        fewer calls might do. None where it does not come so far.
        """
        before: Point | None = None
        for now in self.adaptive:
            if now.accuracy >= point.accuracy:
                calls = now.calls
                if before is not None:
                    part = (point.accuracy - before.accuracy) / (now.accuracy - before.accuracy)
                    calls = before.calls * (now.calls / before.calls) ** part
                return 1 - calls / point.calls
            before = now
        return None

    def ahead(self, point: Point) -> float:
        """Return how much more often an adaptive point is right than `Periodic` with as many calls.

        The periodic curve is straight between its points, over the logarithm of the calls.
        """
        calls = np.log([other.calls for other in self.periodic])
        right = [other.accuracy for other in self.periodic]
        return point.accuracy - float(np.interp(math.log(point.calls), calls, right))

    def saving(self, point: Point) -> str:
        """Return the same as text, empty where there is nothing to tell."""
        share = self.saved(point)
        at_least = self.adaptive[0].accuracy >= point.accuracy
        if share is None or (at_least and share <= 0):
            return ""
        return f"> {share:.0%}" if at_least else f"{share:.0%}"

    def to_table(self, kind: str = "polars") -> Any:
        """Return it as a dataframe of ``"polars"``, ``"pandas"`` or ``"pyarrow"``."""
        points = [("periodic", p) for p in self.periodic] + [("adaptive", p) for p in self.adaptive]
        columns: dict[str, list[Any]] = {"policy": [name for name, _ in points]}
        for i, field in enumerate(Point._fields):
            columns[field] = [float(point[i]) for _, point in points]
        return new_table(columns, kind, text=("policy",))

    def __str__(self) -> str:
        what = "accuracy" if self.labelled else "agreement"
        both = [cell for name in ("Periodic", "Adaptive") for cell in (f"{name}, calls/h", what)]
        lines = [["gap", *both, "saves"]]
        for one, other in zip(self.periodic, self.adaptive, strict=True):
            cells = [f"{one.gap}"]
            for point in (one, other):
                cells += [f"{point.calls:.1f}", f"{point.accuracy:.1%}"]
            lines.append([*cells, self.saving(one)])
        wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rows = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, wide, strict=True)).rstrip()
            for line in lines
        ]
        whom = "the labels say" if self.labelled else "the strong classifier says, asked every time"
        rows += [
            "",
            f"{self.streams} streams, {self.steps:,} steps; what is right, {whom}.",
            f"The strong classifier alone, asked every time: {self.strong_accuracy:.1%}.",
            "gap: steps from one strong call to the next, on average, as asked for.",
            "saves: strong calls that Adaptive does without, to be as right as Periodic there.",
        ]
        return "\n".join(rows)


def policy_curve(
    recordings: Recording | Iterable[Recording] | Mapping[Any, Recording],
    tuned: Tuned | None = None,
    *,
    strong: str = "strong",
    gaps: Sequence[int] = GAPS,
    progress: Callable[[float], None] | None = None,
) -> PolicyCurve:
    """Replay streams with `Periodic` and with `Adaptive`, with few strong calls and with many.

    Parameters
    ----------
    recordings : Recording, or several, or a mapping to them
        One a stream, with a row of both sources at every step; times in seconds.
    tuned : Tuned, optional
        The filter, its weights and channels. Unless given, each half of the streams is run with
        what `tune` finds on the other half, without labels, where the strong one is asked at every
        12th step.
    strong : str, default "strong"
        The source whose calls are counted.
    gaps : sequence of int
        Steps from one strong call to the next, on average.
    progress : callable, optional
        Is told the share of the work that is done.

    Examples
    --------
    >>> from classfilter import simulate
    >>> days = [simulate(hours=6.0, seed=i).recording(every=None) for i in (1, 2)]
    >>> curve = policy_curve(days, gaps=[24, 12])
    >>> [point.accuracy > other.accuracy for point, other in zip(curve.adaptive, curve.periodic)]
    [True, True]
    """
    several = [rec for rec in as_list(recordings) if len(rec)]
    find_reference(several, strong)
    for gap in gaps:
        if isinstance(gap, bool) or not isinstance(gap, (int, np.integer)) or gap < 2:
            raise ValueError(f"gaps has {gap!r}; it counts steps and must be 2 or more")
    weak = _weak(several, strong)
    for rec in several:
        steps(rec)
    groups = [(several, tuned)] if tuned is not None else _tuned_halves(several, strong, weak)
    truths = [_truth(rec, strong) for group, _ in groups for rec in group]
    points: dict[str, list[Point]] = {"periodic": [], "adaptive": []}
    wanted = sorted(map(int, gaps), reverse=True)
    for i, gap in enumerate(wanted):
        policies: dict[str, Policy] = {
            "periodic": Periodic(gap, strong=strong, weak=weak),
            "adaptive": Adaptive(1 / gap, strong=strong, weak=weak),
        }
        for j, (name, policy) in enumerate(policies.items()):
            points[name].append(_point(groups, truths, policy, gap, strong))
            if progress is not None:
                progress((2 * i + j + 1) / (2 * len(wanted)))
    always = [rec.probs[steps(rec)[strong]].argmax(axis=1) for group, _ in groups for rec in group]
    labelled = any(rec.label is not None and (rec.label >= 0).any() for rec in several)
    return PolicyCurve(
        points["periodic"],
        points["adaptive"],
        _share(truths, always),
        labelled,
        len(several),
        sum(truth.size for truth in truths),
    )


def _point(
    groups: Sequence[tuple[list[Recording], Tuned]],
    truths: Sequence[Any],
    policy: Policy,
    gap: int,
    strong: str,
) -> Point:
    done: list[Replay] = []
    for group, tuned in groups:
        f = tuned.filter()
        done += [replay(rec, policy, f, tuned.beta, tuned.channel) for rec in group]
    hours = sum(_hours(one.recording) for one in done)
    right = _share(truths, [one.probs.argmax(axis=1) for one in done])
    return Point(gap, sum(one.calls[strong] for one in done) / hours, right)


def _tuned_halves(
    recordings: list[Recording], strong: str, weak: str
) -> list[tuple[list[Recording], Tuned]]:
    """Return both halves of the streams, each with what was tuned on the other."""
    halves = two_folds(recordings, strong)
    if halves is None:
        raise ValueError(
            "recordings is too short to tune on one half and run on the other; record for longer, "
            "or give tuned"
        )
    rule = Periodic(TUNED_AT, strong=strong, weak=weak)
    found = []
    for mine, rest in halves:
        seen = [replay(rec, rule, RawFilter(rec.classes)).recording for rec in rest]
        found.append((mine, tune(seen, reference=strong)))
    return found


def _weak(recordings: Sequence[Recording], strong: str) -> str:
    others = {name for rec in recordings for name in rec.sources} - {strong}
    if len(others) != 1:
        raise ValueError(
            f"recordings has the sources {sorted({strong, *others})}; give {strong!r} and one other"
        )
    return str(others.pop())


def _truth(rec: Recording, strong: str) -> Any:
    """Return the true class at each step, -1 where unknown; or what the strong one says."""
    rows = steps(rec)[strong]
    if rec.label is not None and (rec.label >= 0).any():
        return rec.label[rows]
    said = rec.probs[rows]
    return np.where(np.isnan(said[:, 0]), -1, np.nan_to_num(said).argmax(axis=1))


def _share(truths: Sequence[Any], called: Sequence[Any]) -> float:
    truth, said = np.concatenate(truths), np.concatenate(called)
    known = truth >= 0
    return float((truth == said)[known].mean()) if known.any() else math.nan


def _hours(rec: Recording) -> float:
    """Return the length of a stream, its last step counted like the one before it; not pauses."""
    dt = rec.dt[1:]
    usual = float(np.median(dt)) if dt.size else 1.0
    return float(np.minimum(dt, 10 * usual).sum() + usual) / 3600
