"""Objects on a street, found by a simulated detector and tracked by a real ByteTrack.

``python -m examples.fields.video docs/fields/video.png`` draws what docs/fields/video.md shows. It
needs ``pip install supervision trackers opencv-python-headless``.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import supervision as sv
from trackers import ByteTrackTracker

import classfilter as cf

CLASSES = ["person", "bicycle", "car", "truck"]
TAKEN_FOR = np.array([1, 0, 3, 2])
FPS = 30
SIZES = np.array([(40, 90), (60, 80), (120, 70), (170, 90)])

Frame = tuple[float, sv.Detections]
Rule = Callable[[float, sv.Detections], np.ndarray]


def street(seconds: float = 120.0, seed: int = 0) -> Iterator[Frame]:
    """Yield the time and the detections of each frame, with the ids of ByteTrack.

    An object keeps its class. The detector takes it for another one in three frames of ten, for
    about half a second at a time. Every second object is hidden for a while, longer than ByteTrack
    waits, so that it comes back with another id. ``data`` has the object and its true class.
    """
    rng = np.random.default_rng(seed)
    byte_track = ByteTrackTracker(frame_rate=FPS, track_activation_threshold=0.25)
    objects = [_Object(rng, lane, start) for lane, start in _arrivals(rng, seconds)]
    for frame in range(int(seconds * FPS)):
        t = frame / FPS
        seen = [(i, o, o.look(t)) for i, o in enumerate(objects) if o.start <= t < o.end]
        found = [(i, o, *look) for i, o, look in seen if look is not None]
        detections = sv.Detections.empty()
        if found:
            detections = sv.Detections(
                xyxy=np.array([box for _, _, box, _, _ in found]),
                class_id=np.array([k for _, _, _, k, _ in found]),
                confidence=np.array([c for *_, c in found]),
                data={
                    "object": np.array([i for i, *_ in found]),
                    "truth": np.array([o.kind for _, o, *_ in found]),
                },
            )
        tracked = byte_track.update(detections)
        yield t, tracked[tracked.tracker_id != -1]


def _arrivals(rng: np.random.Generator, seconds: float) -> Iterator[tuple[int, float]]:
    for lane in range(4):
        start = rng.uniform(0.0, 4.0)
        while start < seconds:
            yield lane, start
            start += rng.uniform(9.0, 14.0)


class _Object:
    """It crosses the picture from left to right in its lane."""

    def __init__(self, rng: np.random.Generator, lane: int, start: float) -> None:
        self.rng, self.start, self.end = rng, start, start + rng.uniform(6.0, 9.0)
        self.kind = int(rng.integers(len(CLASSES)))
        self.top, self.speed = 60.0 + 240.0 * lane, rng.uniform(70.0, 100.0)
        self.hidden = (np.inf, np.inf)
        if rng.random() < 0.5:
            first = start + rng.uniform(2.0, 3.0)
            self.hidden = first, first + rng.uniform(1.2, 1.6)
        self.doubt = rng.normal()

    def look(self, t: float) -> tuple[np.ndarray, int, float] | None:
        """Return the box, the class and the confidence of the detector, or None."""
        kept = np.exp(-1.0 / (0.4 * FPS))  # what the detector gets wrong, it gets wrong for a while
        self.doubt = kept * self.doubt + np.sqrt(1.0 - kept**2) * self.rng.normal()
        noise, missed = self.rng.normal(scale=2.0, size=4), self.rng.random() < 0.03
        if missed or self.hidden[0] <= t < self.hidden[1]:
            return None
        width, height = SIZES[self.kind]
        x = 20.0 + self.speed * (t - self.start)
        margin = 0.55 + self.doubt
        kind = self.kind if margin > 0 else int(TAKEN_FOR[self.kind])
        confidence = 0.45 + 0.5 * (1.0 - np.exp(-abs(margin)))
        box = np.array([x, self.top, x + width, self.top + height]) + noise
        return box, kind, float(confidence)


class Switches:
    """Finds which lost id a new id continues: one that would have moved to about this place.

    Parameters
    ----------
    within : float
        The longest time that an object is hidden, in seconds.
    reach : float
        How far from its place, in diagonals of its box, an object may come back.
    """

    def __init__(self, within: float = 2.0, reach: float = 0.5) -> None:
        self.within, self.reach = within, reach
        self.first: dict[int, tuple[float, np.ndarray]] = {}
        self.last: dict[int, tuple[float, np.ndarray]] = {}

    def pairs(self, t: float, detections: sv.Detections) -> list[tuple[int, int]]:
        """Return pairs (old id, new id) for the ids that are new in this frame."""
        self.last = {i: seen for i, seen in self.last.items() if t - seen[0] <= self.within}
        ids = [] if detections.tracker_id is None else detections.tracker_id.tolist()
        lost, found = set(self.last) - set(ids), []
        for i, box in zip(ids, detections.xyxy, strict=True):
            centre, size = (box[:2] + box[2:]) / 2, np.hypot(*(box[2:] - box[:2]))
            if i not in self.first:
                self.first[i] = t, centre
                far = {old: np.hypot(*(self._place(old, t) - centre)) for old in lost}
                old = min(far, key=far.__getitem__, default=None)
                if old is not None and far[old] <= self.reach * size:
                    found.append((old, i))
                    lost.remove(old)
                    self.first[i] = self.first[old]
            self.last[i] = t, centre
        return found

    def _place(self, i: int, t: float) -> np.ndarray:
        (t0, start), (t1, end) = self.first[i], self.last[i]
        return np.asarray(end + (end - start) * (t - t1) / max(t1 - t0, 1e-9))


def as_found(_: float, detections: sv.Detections) -> np.ndarray:
    """Return the class of the detector."""
    return np.asarray(detections.class_id, int)


def latest() -> Rule:
    """Return what DetectionsSmoother shows: mean boxes, and the class of the last frame."""
    smoother = sv.DetectionsSmoother(length=5)

    def classes(_: float, detections: sv.Detections) -> np.ndarray:
        smoothed = smoother.update_with_detections(detections)
        shown = dict(zip(smoothed.tracker_id, smoothed.class_id, strict=True))
        return np.array([shown[i] for i in detections.tracker_id], int)

    return classes


def majority(frames: int) -> Rule:
    """Return the class that most of a track's last frames have; of several, the later one."""
    last: dict[int, deque[int]] = defaultdict(lambda: deque(maxlen=frames))

    def one(i: int, k: int, _: float) -> int:
        last[i].append(k)
        return Counter(reversed(last[i])).most_common(1)[0][0]

    return _each(one)


def class_lock(
    min_votes: int = 10, lead_margin: int = 3, switch_after: int = 30, vote_confidence: float = 0.5
) -> Rule:
    """Lock a class once it leads by enough votes, and change it after as many in a row.

    Only frames with enough confidence vote.
    """
    votes: dict[int, Counter[int]] = defaultdict(Counter)
    locked: dict[int, int] = {}
    others: dict[int, tuple[int, int]] = {}

    def one(i: int, k: int, confidence: float) -> int:
        if confidence < vote_confidence:
            return locked.get(i, votes[i].most_common(1)[0][0] if votes[i] else k)
        votes[i][k] += 1
        (first, most), *rest = votes[i].most_common(2)
        if i not in locked:
            if most >= min_votes and most - (rest[0][1] if rest else 0) >= lead_margin:
                locked[i] = first
            return first
        other, count = others.get(i, (k, 0))
        count = count + 1 if k == other and k != locked[i] else int(k != locked[i])
        others[i] = k, count
        if count >= switch_after:
            locked[i], others[i] = k, (k, 0)
        return locked[i]

    return _each(one)


def _each(one: Callable[[int, int, float], int]) -> Rule:
    def classes(_: float, detections: sv.Detections) -> np.ndarray:
        columns = detections.tracker_id, detections.class_id, detections.confidence
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return np.array([one(*row) for row in rows], int)

    return classes


def joined(rule: Rule) -> Rule:
    """Give a rule the first id of each object, by the same hand-over."""
    switches = Switches()
    first: dict[int, int] = {}

    def classes(t: float, detections: sv.Detections) -> np.ndarray:
        first.update({new: first.get(old, old) for old, new in switches.pairs(t, detections)})
        ids = [first.get(i, i) for i in detections.tracker_id.tolist()]
        renamed = sv.Detections(
            detections.xyxy,
            class_id=detections.class_id,
            confidence=detections.confidence,
            tracker_id=np.array(ids, int),
        )
        return rule(t, renamed)

    return classes


def score(rule: Rule, frames: list[Frame]) -> tuple[float, float]:
    """Return the share of frames that are right, and the changes of class for each object."""
    shown: dict[int, list[int]] = defaultdict(list)
    right: list[bool] = []
    for t, detections in frames:
        classes = rule(t, detections)
        right += (classes == detections.data.get("truth", np.empty(0))).tolist()
        for o, k in zip(detections.data.get("object", ()), classes, strict=True):
            shown[int(o)].append(int(k))
    return float(np.mean(right)), float(np.mean([_changes(ks) for ks in shown.values()]))


def _changes(classes: list[int]) -> int:
    return int((np.diff(classes) != 0).sum())


def draw(path: str, which: int = 41) -> None:
    """Draw one object whose id changes: the detector's class, four rules, and its events."""
    frames = [(t, d) for t, d in street() if len(d)]
    f = cf.DirichletFilter(CLASSES, half_life="20s")
    tracker = cf.Tracker(f, events=cf.EventRule("500ms"), expire_after="5s")
    switches = Switches()

    def filtered(t: float, detections: sv.Detections) -> np.ndarray:
        for old, new in switches.pairs(t, detections):
            tracker.hand_over(old, new)
        given = detections.tracker_id, t, None, detections.class_id, detections.confidence
        return np.asarray(tracker.update_many(*given).argmax(axis=1))

    rules: dict[str, Rule] = {
        "class_id": as_found,
        "majority of 90": majority(90),
        "class lock": class_lock(),
        "filtered, handed over": filtered,
    }
    shown: dict[str, list[int]] = {name: [] for name in rules}
    times, truth, ids = [], [], []
    for t, d in frames:
        here = np.flatnonzero(d.data["object"] == which)
        classes = {name: rule(t, d) for name, rule in rules.items()}
        for i in here:
            times.append(t)
            truth.append(d.data["truth"][i])
            ids.append(d.tracker_id[i])
            for name in rules:
                shown[name].append(classes[name][i])
    tracker.drop(tracker.streams)
    start = times[0]
    found = [e for e in tracker.pop_events() if e.stream == ids[-1]]
    moved = [e._replace(start=e.start - start, end=(e.end or e.start) - start) for e in found]
    lanes: dict[str, Any] = {**shown, "events": cf.Events(moved)}
    figure = cf.plot.timeline(np.array(times) - start, truth, lanes, CLASSES)
    figure.set_size_inches(9.0, 3.2)
    axes = figure.axes[0]
    for row, side in ((0, "left"), (-1, "right")):
        axes.text(
            times[row] - start, 0.0, f" tracker_id {ids[row]} ", ha=side, va="center", color="white"
        )
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    draw(sys.argv[1])
