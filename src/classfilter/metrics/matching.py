"""Which predicted events are which true ones, in one stream and class, by three conventions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..support.types import Bools, Floats, Ints


class Spans(NamedTuple):
    """Events of one stream and class, in order of their start."""

    start: Floats
    end: Floats


class Matched(NamedTuple):
    """What was found.

    Attributes
    ----------
    found : ndarray of bool (N,)
        Which true events were found.
    false : ndarray of bool (M,)
        Which predicted events are false.
    delay : ndarray (number found,)
        The start of what found each of them, less its own.
    """

    found: Bools
    false: Bools
    delay: Floats


def by_iou(true: Spans, predicted: Spans, iou: float) -> Matched:
    """Match by intersection over union, as MS-TCN does: predicted events in order of time.

    Each goes to the true event with the largest intersection over union, the first of several. It
    is correct if that is large enough and no earlier one was correct there.
    """
    partner = np.full(predicted.start.size, -1)
    is_taken = np.zeros(true.start.size, bool)
    first, last = _overlapping(true, predicted.start, predicted.end)
    for i, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        if a >= b:
            continue
        start, end = true.start[a:b], true.end[a:b]
        shared = np.minimum(end, predicted.end[i]) - np.maximum(start, predicted.start[i])
        union = np.maximum(end, predicted.end[i]) - np.minimum(start, predicted.start[i])
        ratio = np.divide(shared, union, out=np.zeros(b - a), where=union > 0)
        best = int(ratio.argmax())
        if ratio[best] >= iou and not is_taken[a + best]:
            is_taken[a + best] = True
            partner[i] = a + best
    return _of_pairs(true, predicted, partner)


def by_collar(true: Spans, predicted: Spans, collar: float, share: float | None) -> Matched:
    """Match as many pairs as can be, where starts and ends are near, as sed_eval does.

    The starts are at most `collar` apart, the ends at most `collar` or `share` of the length of the
    true event, whichever is more; with `share` None, ends do not matter.
    """
    slack = 4 * np.spacing(np.abs(predicted.start) + collar)  # the rule itself decides
    first = np.searchsorted(true.start, predicted.start - collar - slack, "left")
    last = np.searchsorted(true.start, predicted.start + collar + slack, "right")
    near: list[list[int]] = []
    for i, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        start, end = true.start[a:b], true.end[a:b]
        hit = np.abs(start - predicted.start[i]) <= collar
        if share is not None:
            limit = np.maximum(collar, share * (end - start))
            hit &= np.abs(end - predicted.end[i]) <= limit
        near.append((a + np.flatnonzero(hit)).tolist())
    return _of_pairs(true, predicted, np.array(maximum_matching(near, true.start.size), np.intp))


def by_tolerance(true: Spans, predicted: Spans, before: float, after: float) -> Matched:
    """Match where a predicted event overlaps a true one, extended by tolerances, as SzCORE does.

    Several predicted events may find one true event, and one may find several.
    """
    wide = Spans(true.start - before, true.end + after)
    delay = np.full(true.start.size, np.inf)
    false = np.zeros(predicted.start.size, bool)
    first, last = _overlapping(wide, predicted.start, predicted.end)
    for i, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        start, end = predicted.start[i], predicted.end[i]
        shared = np.minimum(wide.end[a:b], end) - np.maximum(wide.start[a:b], start)
        hit = shared > 8 * np.spacing(np.abs(wide.end[a:b]))  # 60.3 + 60 may exceed 120.3
        false[i] = not hit.any()
        late = start - true.start[a:b]
        delay[a:b] = np.where(hit, np.minimum(delay[a:b], late), delay[a:b])
    is_found = np.isfinite(delay)
    return Matched(is_found, false, delay[is_found])


def merged(spans: Spans, gap: float) -> Spans:
    """Join events that are less than `gap` apart."""
    if not spans.start.size:
        return spans
    reach = np.maximum.accumulate(spans.end)
    new = np.concatenate([[True], ~(spans.start[1:] - reach[:-1] < gap)])
    last = np.append(np.flatnonzero(new)[1:], new.size) - 1
    return Spans(spans.start[new], reach[last])


def cut_longer(spans: Spans, longest: float) -> Spans:
    """Cut events into parts of at most this length, from their start."""
    start, end = [], []
    for a, b in zip(spans.start.tolist(), spans.end.tolist(), strict=True):
        while b - a > longest:
            start.append(a)
            a += longest
            end.append(a)
        start.append(a)
        end.append(b)
    order = np.argsort(start, kind="stable")
    return Spans(np.array(start)[order], np.array(end)[order])


def maximum_matching(near: list[list[int]], n: int) -> list[int]:
    """Pair as many as can be; return the partner of each on the left, -1 where there is none.

    Parameters
    ----------
    near : list of M lists of int
        The possible partners of each on the left, among `n` on the right.
    n : int
        How many there are on the right.

    Examples
    --------
    >>> maximum_matching([[0], [0, 1]], 2), maximum_matching([[0, 1], [0]], 2)
    ([0, 1], [1, 0])
    """
    right = [-1] * n
    left = [-1] * len(near)
    for root in range(len(near)):
        came_from: dict[int, int] = {}
        queue = [root]
        free = -1
        for i in queue:  # it grows: breadth first, until a free one is reached
            for j in near[i]:
                if j not in came_from:
                    came_from[j] = i
                    if right[j] < 0:
                        free = j
                        break
                    queue.append(right[j])
            if free >= 0:
                break
        while free >= 0:
            i = came_from[free]
            right[free], left[i], free = i, free, left[i]
    return left


def edit_distance(a: list[str], b: list[str]) -> int:
    """Return how many names must be added, removed or replaced to make one list the other.

    Examples
    --------
    >>> edit_distance(["sit", "walk", "sit"], ["walk", "run", "sit"])
    2
    """
    codes = {name: code for code, name in enumerate(dict.fromkeys(a + b))}
    other = np.array([codes[name] for name in b], np.intp)
    place = np.arange(len(b) + 1)
    row = place.copy()
    for i, name in enumerate(a, 1):
        best = np.minimum(row[1:] + 1, row[:-1] + (other != codes[name]))
        row = np.minimum.accumulate(np.append(i, best) - place) + place
    return int(row[-1])


def _overlapping(true: Spans, start: Floats, end: Floats) -> tuple[Ints, Ints]:
    """Return for each predicted event a range of true ones; none outside it overlaps it."""
    reach = np.maximum.accumulate(true.end)
    return np.searchsorted(reach, start, "right"), np.searchsorted(true.start, end, "left")


def _of_pairs(true: Spans, predicted: Spans, partner: Ints) -> Matched:
    """Return the matches of pairs: the true event of each predicted one, or -1."""
    correct = partner >= 0
    is_found = np.zeros(true.start.size, bool)
    is_found[partner[correct]] = True
    delay = predicted.start[correct] - true.start[partner[correct]]
    return Matched(is_found, ~correct, delay)
