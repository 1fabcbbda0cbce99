"""What a better choice of strong calls could gain: ``python -m experiments.policy_limits SETS``.

Policies that know the truth bound what can be gained; others call where they suspect a change.
All have the same number of calls: `Adaptive` keeps the budget, and only what it takes for
uncertainty is replaced. The filter is tuned without labels on the other half of the streams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import classfilter as cf
from classfilter import Recording
from classfilter._support.types import Array, Floats
from classfilter.evaluation._change_measures import LabelledStream, change_measures
from classfilter.evaluation._policy_curve import _hours, _tuned_folds
from classfilter.evaluation._replay import Replay, steps

from .streams import arguments, splits

GAPS = (12, 48)
PERIODIC = (60, 48, 36, 24, 18, 12, 8, 6)
"""Gaps of the curve that the others are compared with, at their own number of calls."""
COSTS = (0, 1, 2, 4, 8, 16, 32, 64)
"""Of a change, in steps; the best by the labels with `Periodic` is kept for all policies."""
RECENT = 12
"""Steps after a true change that count as near it."""


class Suspecting(cf.policy.Adaptive):
    """`Adaptive` with another suspicion, 0 to 1, in place of the uncertainty."""

    def __init__(self, budget: float, label: Array, strong: Array) -> None:
        super().__init__(budget)
        self.label, self.strong_class = label, strong
        self.at = 0

    def suspicion(self, probs: Floats) -> float:
        """Return how much speaks for a call now."""
        raise NotImplementedError

    def note(self, strong: bool, observation: Floats, probs: Floats) -> None:
        """Take note of an observation."""

    def choose(self, probs: Any, since: Mapping[str, float]) -> str:
        """Give the suspicion to `Adaptive` as a distribution of that uncertainty."""
        return super().choose(_spread(self.suspicion(probs)), since)

    def called(self, source: str, observation: Any, probs: Any, dt: float) -> None:
        """Hide what it adds itself: the disagreement and what was uncertain after a call."""
        self.note(source == self.strong, observation, probs)
        super().called(source, [np.nan] * 100, _spread(0.0), dt)
        self.at += 1

    def copy(self) -> Suspecting:
        """Return a new one for the same stream."""
        return type(self)(self.budget, self.label, self.strong_class)


def _spread(uncertainty: float) -> list[float]:
    return [1 - uncertainty, *[uncertainty / 99] * 99]


class Wrong(Suspecting):
    """Knows where the filter is wrong."""

    def suspicion(self, probs: Floats) -> float:
        """Return 0.98 where it is."""
        truth = self.label[self.at]
        return 0.98 * float(truth >= 0 and probs.argmax() != truth)


class Mendable(Wrong):
    """Knows where the filter is wrong and the strong classifier is right."""

    def suspicion(self, probs: Floats) -> float:
        """Return 0.98 where both are so."""
        right = self.strong_class[self.at] == self.label[self.at]
        return super().suspicion(probs) if right else 0.0


class Changed(Suspecting):
    """Knows where the class changed: three calls from there on."""

    left = 0

    def suspicion(self, probs: Floats) -> float:
        """Return 0.98 until three calls were made."""
        before, now = self.label[max(self.at - 1, 0)], self.label[self.at]
        if now != before and min(now, before) >= 0:
            self.left = 3
        return 0.98 * float(self.left > 0)

    def note(self, strong: bool, observation: Floats, probs: Floats) -> None:
        """Count the calls."""
        self.left -= int(strong and self.left > 0)


class Disagreement(Suspecting):
    """Calls where the last few weak predictions disagree with the filter's class."""

    value = 0.0

    def suspicion(self, probs: Floats) -> float:
        """Return the mean of 1 - s of the filter's class, weighted by 0.7 a step."""
        return self.value

    def note(self, strong: bool, observation: Floats, probs: Floats) -> None:
        """Begin anew after a call."""
        against = 1 - float(observation[probs.argmax()])
        self.value = 0.0 if strong else min(0.7 * self.value + 0.3 * against, 0.98)


class Fall(Suspecting):
    """Calls where the filter's probability of its class fell since the last call."""

    top, k = 0.0, 0
    after_call = False

    def suspicion(self, probs: Floats) -> float:
        """Return by how much it fell."""
        if self.after_call:
            self.k, self.top = int(probs.argmax()), float(probs.max())
        self.top = max(self.top, float(probs[self.k]))
        return min(self.top - float(probs[self.k]), 0.98)

    def note(self, strong: bool, observation: Floats, probs: Floats) -> None:
        """Take the class after a call."""
        self.after_call = strong


class Checked(cf.policy.Adaptive):
    """`Adaptive` that checks a strong prediction that contradicts the filter, at once."""

    doubt = 0.0

    def choose(self, probs: Any, since: Mapping[str, float]) -> str:
        """Take probability from the most probable class."""
        probs = np.array(probs)
        taken = min(self.doubt, 0.98 * float(probs.max()))
        probs[probs.argmax()] -= taken
        return super().choose(np.append(probs, np.full(50, taken / 50)), since)

    def called(self, source: str, observation: Any, probs: Any, dt: float) -> None:
        """Keep how much the last strong prediction contradicted, 0.8 of it a step."""
        strong = source == self.strong
        against = 1 - float(observation[np.argmax(probs)])
        self.doubt = 0.5 * against if strong else 0.8 * self.doubt
        super().called(source, observation, probs, dt)

    def copy(self) -> Checked:
        """Return a new one."""
        return type(self)(self.budget)


POLICIES: dict[str, Any] = {
    "Adaptive": cf.policy.Adaptive,
    "weak disagrees for some rows": Disagreement,
    "filter's probability falls": Fall,
    "contradicted calls are repeated": Checked,
    "knows true changes": Changed,
    "knows where the filter is wrong": Wrong,
    "... and the strong one right": Mendable,
}


class Stream(NamedTuple):
    """A recording of both sources with its settings, and its steps with their labels."""

    rec: Recording
    tuned: cf.Chain
    truth: LabelledStream
    strong: Array

    @classmethod
    def all_of(cls, name: str, data: Any, count: int) -> list[Stream]:
        """Return the streams of a set that have labels."""
        streams = []
        for people in splits(name, data, count):
            recs = [person.recording(every=None) for person in people]
            for group, tuned in _tuned_folds(recs, "strong"):
                for rec in group:
                    rows = steps(rec)["strong"]
                    truth = LabelledStream.of(rec._take(rows))
                    if truth is not None:
                        streams.append(cls(rec, tuned, truth, rec.probs[rows].argmax(axis=1)))
        return streams

    @property
    def label(self) -> Array:
        """The label of each step."""
        assert self.truth.recording.label is not None
        return self.truth.recording.label

    def replay(self, policy: Any, gap: int) -> Replay:
        """Run a policy."""
        if policy is cf.policy.Periodic:
            return cf.replay(self.rec, self.tuned, policy=policy(gap))
        known = (self.label, self.strong) if issubclass(policy, Suspecting) else ()
        return cf.replay(self.rec, self.tuned, policy=policy(1 / gap, *known))


def measure(streams: Sequence[Stream], replays: Sequence[Replay], rule: cf.EventRule) -> Floats:
    """Return calls an hour, accuracy, F1 by the argmax and by the rule, delay and missed."""
    hours = sum(_hours(result.recording) for result in replays)
    calls = sum(result.calls["strong"] for result in replays) / hours
    right = np.concatenate(
        [
            (result.probs.argmax(axis=1) == stream.label)[stream.label >= 0]
            for stream, result in zip(streams, replays, strict=True)
        ]
    )
    truths, probs = [stream.truth for stream in streams], [result.probs for result in replays]
    by_argmax = change_measures(truths, probs, [None] * len(truths))
    by_rule = change_measures(truths, probs, [rule] * len(truths)).event_f1
    shares = 100 * np.array([right.mean(), by_argmax.event_f1, by_rule])
    return np.array([calls, *shares, by_argmax.delay, 100 * by_argmax.missed])


def best_rule(streams: Sequence[Stream], replays: Sequence[Replay]) -> cf.EventRule:
    """Return the rule of the highest F1 by the labels."""
    step = float(np.median(np.concatenate([s.truth.recording.dt[1:] for s in streams])))
    rules = [cf.EventRule(change_cost=cost * step) for cost in COSTS]
    return max(rules, key=lambda rule: measure(streams, replays, rule)[3])


def area(score: Floats, positive: Array) -> float:
    """Return the area under the ROC curve: how often a positive row scores higher; ties half."""
    _, rank, count = np.unique(score, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - (count - 1) / 2
    n = int(positive.sum())
    return float((middle[rank][positive].sum() - n * (n + 1) / 2) / (n * (positive.size - n)))


def reasons(streams: Sequence[Stream], replays: Sequence[Replay]) -> list[float]:
    """Return how often the strong one is right where the filter is right and wrong, and areas.

    Areas under the ROC curve: of the uncertainty for rows that are wrong, of the same for rows soon
    after a true change, and of the weak prediction's disagreement for these.
    """
    parts: dict[str, list[Any]] = {key: [] for key in ("wrong", "strong", "u", "d", "recent")}
    for stream, result in zip(streams, replays, strict=True):
        y, P = stream.label, np.asarray(result.probs, float)
        known = y >= 0
        weak = stream.rec.probs[steps(stream.rec)["weak"]]
        changed = np.append(False, (y[1:] != y[:-1]) & known[1:] & known[:-1])
        since = np.arange(y.size) - np.maximum.accumulate(
            np.where(changed, np.arange(y.size), -y.size)
        )
        values = (
            P.argmax(axis=1) != y,
            stream.strong == y,
            1 - P.max(axis=1),
            1 - weak[np.arange(y.size), P.argmax(axis=1)],
            since < RECENT,
        )
        for part, value in zip(parts.values(), values, strict=True):
            part.append(value[known])
    wrong, strong, u, d, recent = (np.concatenate(part) for part in parts.values())
    right = 100 * strong[~wrong].mean(), 100 * strong[wrong].mean()
    return [*right, area(u, wrong), area(u, recent), area(np.nan_to_num(d), recent)]


def print_set(name: str, streams: Sequence[Stream]) -> list[float]:
    """Print how far each policy is ahead of `Periodic`; return the reasons."""
    replays = {gap: [s.replay(cf.policy.Periodic, gap) for s in streams] for gap in PERIODIC}
    rule = best_rule(streams, replays[12])
    periodic = np.array([measure(streams, replays[gap], rule) for gap in PERIODIC])
    print(
        f"\n{name}, {len(streams)} streams; the rule has a change cost of {rule.change_cost:g} s\n"
    )
    heads = ["policy", "calls/h", "accuracy", "F1, argmax", "F1, rule", "delay", "missed, %"]
    for gap in GAPS:
        print(f"| one call in {gap}: {' | '.join(heads)} |\n{'|---' * len(heads)}|")
        calls, *values = periodic[PERIODIC.index(gap)]
        print(f"| Periodic | {calls:.1f} | " + " | ".join(f"{x:.1f}" for x in values) + " |")
        for title, policy in POLICIES.items():
            calls, *values = measure(streams, [s.replay(policy, gap) for s in streams], rule)
            at = [np.interp(np.log(calls), np.log(periodic[:, 0]), x) for x in periodic.T[1:]]
            cells = [f"{x - y:+.1f}" for x, y in zip(values, at, strict=True)]
            print(f"| {title} | {calls:.1f} | {' | '.join(cells)} |", flush=True)
        print()
    return reasons(streams, replays[12])


def main() -> None:
    """Print a table for each set, and then why."""
    args = arguments(__doc__, count=1).parse_args()
    rows = [
        (name, print_set(name, Stream.all_of(name, args.data, args.splits))) for name in args.sets
    ]
    print(
        "| | strong right where the filter is right | ... is wrong | uncertainty: wrong rows |",
        end="",
    )
    print(f" uncertainty: {RECENT} steps after a change | weak disagreement: the same |")
    print("|---" * 6 + "|")
    for name, (right, wrong, *areas) in rows:
        print(f"| {name} | {right:.1f} | {wrong:.1f} | {' | '.join(f'{a:.2f}' for a in areas)} |")


if __name__ == "__main__":
    main()
