"""The event rule in plain Python, from its definition: slow, and without survivors."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classfilter import _core
from classfilter.events import OPTIONS

Numbers = NDArray[Any]
AS_BY_DEFAULT: dict[str, float] = {
    name: x.core for name, x in OPTIONS.items() if x.core is not None
}
"""Of the options that this rule does not have, too."""


@dataclass(frozen=True)
class Rule:
    """The settings, as `_core.EventRule` has them; arrays have one entry per class."""

    enter: Numbers
    leave: Numbers
    min_duration: Numbers
    bias: Numbers
    ignore: Numbers
    log: bool = False
    floor: float = 1e-3
    min_probability: float = 0.0
    max_gap: float = math.inf
    max_delay: float = math.inf
    merge_gap: float = -1.0
    pad_before: float = 0.0
    pad_after: float = 0.0
    shift: float = 0.0
    max_duration: float = math.inf

    @property
    def classes(self) -> int:
        return len(self.bias)

    def compiled(self, single: bool = False, **changes: Any) -> Any:
        options = {**AS_BY_DEFAULT, **vars(replace(self, **changes))}
        return _core.EventRule(self.classes, single, **options)


def plain_rule(classes: int, enter: float = 1.0, **options: Any) -> Rule:
    """Return a rule that treats all classes alike."""
    zeros = np.zeros(classes)
    states = classes + ("min_probability" in options)
    default = {
        "enter": np.full(states, enter),
        "leave": np.zeros(states),
        "min_duration": zeros,
        "bias": zeros,
        "ignore": zeros,
    }
    return Rule(**{**default, **options})


class Segment(NamedTuple):
    """A part of the path: `stretch` is the start of its stretch, `last` says that it ends it."""

    label: int
    start: float
    end: float
    probability: float
    stretch: float = 0.0
    last: bool = False


@dataclass
class Stretch:
    """Rows without a gap: their times, how long each stands for, and its evidence (T, N)."""

    times: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    rows: list[Numbers] = field(default_factory=list)

    @property
    def end(self) -> float:
        return self.times[-1] + self.weights[-1]


def weights_of(times: Numbers, max_gap: float) -> list[float]:
    """Return the time that each row stands for."""
    steps = [min(b - a, max_gap) for a, b in itertools.pairwise(times)]
    return [*steps, steps[-1]] if steps else [0.0]


def stretches(rule: Rule, times: Numbers, probs: Numbers) -> list[Stretch]:
    weights, found, open_ = weights_of(times, rule.max_gap), [], False
    for i, row in enumerate(probs):
        if i > 0 and times[i] - times[i - 1] > rule.max_gap:
            open_ = False
        if np.isnan(row).all():
            open_ = False
            continue
        if not open_:
            found.append(Stretch())
            open_ = True
        found[-1].times.append(float(times[i]))
        found[-1].weights.append(weights[i])
        found[-1].rows.append(row)
    return found


def gains(rule: Rule, stretch: Stretch) -> Numbers:
    """Return w_t e_t(k): shape (T, N)."""
    p = np.array(stretch.rows, float)
    if rule.log:
        evidence = np.asarray(_core.log(np.maximum(p, rule.floor))) - rule.bias
        uncertain = math.log(rule.min_probability) if rule.min_probability > 0 else math.nan
    else:
        evidence = p - rule.bias
        uncertain = rule.min_probability
    if rule.min_probability > 0:
        evidence = np.column_stack([evidence, np.full(len(p), uncertain)])
    out: Numbers = evidence * np.array(stretch.weights)[:, None]
    return out


def durations(rule: Rule) -> Numbers:
    return np.append(rule.min_duration, 0.0)


def runs(path: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Return (class, first row, row after the last) of each run of a path."""
    out, at = [], 0
    for label, members in itertools.groupby(path):
        count = len(list(members))
        out.append((label, at, at + count))
        at += count
    return out


def without_empty_rows(stretch: Stretch) -> Stretch:
    """Leave out the rows that stand for no time."""
    rows = zip(stretch.times, stretch.weights, stretch.rows, strict=True)
    kept = [row for row in rows if row[1] > 0]
    return Stretch(*(list(column) for column in zip(*kept, strict=True))) if kept else Stretch()


def enumerate_paths(rule: Rule, stretch: Stretch) -> tuple[Numbers, Numbers]:
    """Return all paths (n, T) and their values; -inf where a segment is too short."""
    gain, at = gains(rule, stretch), np.array([*stretch.times, stretch.end])
    T, N = gain.shape
    paths = np.array(list(itertools.product(range(N), repeat=T)))
    values = sum(gain[t, paths[:, t]] for t in range(T))
    since = np.zeros(len(paths), int)
    for t in range(T):
        changed = paths[:, t] != paths[:, t - 1] if t > 0 else np.zeros(len(paths), bool)
        values = values - np.where(
            changed, rule.leave[paths[:, t - 1]] + rule.enter[paths[:, t]], 0
        )
        since = np.where(changed, t, since)
        ends = paths[:, t] != paths[:, t + 1] if t + 1 < T else np.ones(len(paths), bool)
        short = at[t + 1] - at[since] < durations(rule)[paths[:, t]]
        values = np.where(ends & short, -math.inf, values)
    return paths, values


def best_path(rule: Rule, stretch: Stretch) -> tuple[int, ...] | None:
    """Return the best path of a long stretch, segment by segment, by going back.

    ``ended[t, k]`` is the best value of the first t rows, where the last segment is of class k:
    the maximum over its first row s of ``begun[s, k]`` plus its gains.
    """
    T, N = len(stretch.times), len(rule.enter)
    total = np.vstack([np.zeros(N), np.cumsum(gains(rule, stretch), axis=0)])
    at = np.array([*stretch.times, stretch.end])
    ended = np.full((T + 1, N), -math.inf)
    begun = np.full((T + 1, N), -math.inf)
    came_from = np.zeros((T + 1, N), int)
    since = np.zeros((T + 1, N), int)
    begun[0] = 0
    for t in range(1, T + 1):
        for k in range(N):
            options = np.where(
                at[t] - at[:t] >= durations(rule)[k],
                begun[:t, k] - total[:t, k],
                -math.inf,
            )
            since[t, k] = np.argmax(options)
            ended[t, k] = options[since[t, k]] + total[t, k]
        for k in range(N):
            others = ended[t] - rule.leave
            others[k] = -math.inf
            came_from[t, k] = np.argmax(others)
            begun[t, k] = others.max() - rule.enter[k]
    k, t, path = int(np.argmax(ended[T])), T, []
    if ended[T, k] == -math.inf:
        return None
    while t > 0:
        s = since[t, k]
        path += [k] * (t - s)
        k, t = came_from[s, k], s
    return tuple(int(k) for k in path[::-1])


def segments(stretch: Stretch, path: tuple[int, ...] | None) -> list[Segment]:
    if path is None:
        return []
    at, out = [*stretch.times, stretch.end], []
    for label, first, after in runs(path):
        start, end, mean = at[first], at[after], math.nan
        if end > start and label < len(stretch.rows[0]):
            weights = np.array(stretch.weights[first:after])
            mean = float(np.array(stretch.rows)[first:after, label] @ weights) / (end - start)
        last = after == len(path)
        out.append(Segment(label, start, end, mean, stretch.times[0], last))
    return out


def reported(rule: Rule, found: list[Segment], first: float, end: float) -> list[Segment]:
    """Return the events of a whole stream: shifted, not ignored, merged, padded, divided."""
    moved = []
    for x in found:
        start = max(x.start - rule.shift, x.stretch)
        stop = x.end if x.last else max(x.end - rule.shift, x.stretch)
        kept = x.label < rule.classes and not rule.ignore[x.label]
        if kept and x.end > x.start and stop > start:
            moved.append((x.label, start, stop, [(x.probability, x.end - x.start)]))
    merged: list[tuple[int, float, float, list[tuple[float, float]]]] = []
    for label, start, stop, parts in moved:
        if merged and merged[-1][0] == label and start - merged[-1][2] <= rule.merge_gap:
            before = merged.pop()
            merged.append((label, before[1], stop, before[3] + parts))
        else:
            merged.append((label, start, stop, parts))
    out, both = [], rule.pad_before + rule.pad_after
    for i, (label, start, stop, parts) in enumerate(merged):
        a, b = max(start - rule.pad_before, first), min(stop + rule.pad_after, end)
        if i > 0 and start - merged[i - 1][2] < both:
            gap = start - merged[i - 1][2]
            a = merged[i - 1][2] + gap * (rule.pad_after / both)
        if i + 1 < len(merged) and merged[i + 1][1] - stop < both:
            b = stop + (merged[i + 1][1] - stop) * (rule.pad_after / both)
        mean = sum(p * w for p, w in parts) / sum(w for _, w in parts)
        length = rule.max_duration
        while b - a > 100_000 * length:
            length *= 2
        while b - a > length:
            out.append(Segment(label, a, a + length, mean))
            a += length
        out.append(Segment(label, a, b, mean))
    return out


def events(rule: Rule, times: Numbers, probs: Numbers) -> list[Segment]:
    """Return the events of a whole stream."""
    found = [x for s in stretches(rule, times, probs) for x in segments(s, best_path(rule, s))]
    if len(times) == 0:
        return []
    return reported(rule, found, times[0], times[-1] + weights_of(times, rule.max_gap)[-1])


def shared(paths: list[tuple[int, ...]]) -> list[tuple[int, int, int]]:
    """Return the runs that all paths have, each with its end."""
    out = []
    for label, first, after in runs(paths[0])[:-1] if paths else []:
        same = all(path[:after] == paths[0][:after] for path in paths)
        if not same or any(len(path) <= after or path[after] == label for path in paths):
            break
        out.append((label, first, after))
    return out


def live(rule: Rule, stretch: Stretch) -> list[tuple[int, int, float, float]]:
    """Return the segments of a stretch as (row that confirms it, class, start, end).

    Every open path is written out, row by row: one to each class that has lasted long enough, and
    one to each row at which a class may have been entered that has not. A segment is confirmed
    when all of them have it; `max_delay` drops those that differ from the best one.
    """
    gain, at, d = gains(rule, stretch), [*stretch.times, stretch.end], durations(rule)
    classes = range(len(rule.enter))
    out: list[tuple[int, int, float, float]] = []
    best: dict[int, tuple[float, tuple[int, ...]]] = {}
    entries: list[tuple[int, float, tuple[int, ...]]] = [(0, 0.0, ())]
    for t in range(len(stretch.times)):
        if best:
            j = max(best, key=lambda k: best[k][0] - rule.leave[k])
            entries.append((t, best[j][0] - rule.leave[j], best[j][1]))
        options: list[list[tuple[float, tuple[int, ...]]]] = [[] for _ in classes]
        for k, (value, path) in best.items():
            options[k].append((value + gain[t, k], (*path, k)))
        for s, value, path in entries:
            for k in classes:
                now = at[t] - at[s] < d[k] or s == t  # not long enough before this row
                if now and at[t + 1] - at[s] >= d[k] and (s == 0 or path[-1] != k):
                    total = value - (rule.enter[k] if s else 0) + gain[s : t + 1, k].sum()
                    options[k].append((total, (*path, *[k] * (t + 1 - s))))
        best = {k: max(paths) for k, paths in enumerate(options) if paths}
        entries = [e for e in entries if at[t + 1] - at[e[0]] < d.max()]
        if best:
            leader = max(best.values())[1]
            rows = sum(time < at[t + 1] - rule.max_delay for time in at[: t + 1])
            best = {k: x for k, x in best.items() if x[1][:rows] == leader[:rows]}
            entries = [e for e in entries if e[0] >= rows and e[2][:rows] == leader[:rows]]
        open_ = [path for _, path in best.values()] + [(*path, -1) for _, _, path in entries]
        found = shared(open_) if best else []
        out += [(t, label, at[i], at[j]) for label, i, j in found[len(out) :]]
    rest = runs(max(best.values())[1])[len(out) :] if best else []
    return out + [(len(stretch.times) - 1, label, at[i], at[j]) for label, i, j in rest]
