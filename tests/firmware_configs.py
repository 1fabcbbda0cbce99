"""Settings of filters of every kind, for tests of exported firmware."""

from __future__ import annotations

from typing import Any

import numpy as np

import classfilter as cf
from classfilter.policy import Periodic

NAMES = ("sleep", "sit", "walk", 'ride "?\\', "Läufer", "mixed")
MATRIX = np.eye(6) * 5 + np.arange(36).reshape(6, 6) % 7 + 0.1
STAYS = np.full((6, 6), 0.01) + np.eye(6) * 0.94
LABELS = ("robin", 'wren "?\\', "Läufer")
TURNING = [[0.9, 0.1], [0.3, 0.7]]
STEP = 0.5
"""The shortest time between two rows, which rules with a minimum duration are exported with."""
CHANNEL = cf.Channel([[8, 2], [3, 7]], [0.8, 0.2])


def configs(names: tuple[str, ...] = NAMES) -> dict[str, cf.Pipeline]:
    """Return a filter of each kind, with weights and channels."""
    prior = np.array([0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    both = {"weak": 0.1, "strong": 1.0}
    channel = {"weak": cf.Channel(MATRIX, prior)}
    return {
        "dirichlet": cf.Pipeline(cf.DirichletFilter(names, 0.95), beta=both),
        "dirichlet-anchored": cf.Pipeline(
            cf.DirichletFilter(names, 0.9, anchor=0.3, estimate="mean", prior=prior * 12),
            beta={"weak": 0.3, "strong": 1.0, "mute": 0.0},
            channel={"weak": cf.Channel(MATRIX), "strong": cf.Channel(np.eye(6) * 20 + 1)},
        ),
        "dirichlet-whole": cf.Pipeline(cf.DirichletFilter(3, half_life=7.0)),
        "dirichlet-loose": cf.Pipeline(
            cf.DirichletFilter(12, 0.97, tolerance=0.05), beta=both, channel={}
        ),
        "sticky": cf.Pipeline(
            cf.StickyFilter(names, stay=0.98, prior=prior), beta=both, channel=channel
        ),
        "sticky-whole": cf.Pipeline(
            cf.StickyFilter(2, stay=0.9, floor=0.01), beta={"only": 1.0}, channel={}
        ),
        "sticky-moving": cf.Pipeline(
            cf.StickyFilter(names, transitions=STAYS, interval=5.0, prior=prior),
            beta=both,
            channel=channel,
        ),
        "sticky-adaptive": cf.Pipeline(
            cf.StickyFilter(names, stay=0.98, prior=prior),
            beta=both,
            channel=channel,
            policy=cf.policy.Adaptive(1 / 6, max_gap=20),
        ),
        "dirichlet-adaptive": cf.Pipeline(
            cf.DirichletFilter(3, 0.95),
            beta={"small": 0.2, "third": 0.3, "big": 1.0},
            policy=cf.policy.Adaptive(
                0.3, cost={"small": 0.5, "big": 9.0}, horizon=3, strong="big", weak="small"
            ),
        ),
        "sticky-tempered": cf.Pipeline(
            cf.StickyFilter(names, stay=0.98, prior=prior, temperature=1.4),
            beta=both,
            policy=cf.policy.Adaptive(1 / 6, max_gap=20),
        ),
        "dirichlet-tempered": cf.Pipeline(cf.DirichletFilter(5, 0.95, temperature=0.6), beta=both),
        "sticky-periodic": cf.Pipeline(
            cf.StickyFilter(3, stay=0.98), beta=both, policy=cf.policy.Periodic(every=7)
        ),
        "dirichlet-timed": cf.Pipeline(
            cf.DirichletFilter(2, 0.98),
            beta=both,
            policy=cf.policy.Periodic(seconds=60.0),
        ),
        "events": cf.Pipeline(
            cf.StickyFilter(names, stay=0.98, prior=prior), beta=both, rule=cf.EventRule(4.0)
        ),
        "events-delay": cf.Pipeline(
            cf.StickyFilter(names, stay=0.9),
            beta={"only": 0.5},
            rule=cf.EventRule(3.0, leave_cost=0.5, max_gap=60.0, max_delay=20.0),
        ),
        "events-slow": cf.Pipeline(
            cf.DirichletFilter(["a", "b", "c"], 0.9, temperature=1.2),
            beta=both,
            rule=cf.EventRule(
                {"a": 1.0, "b": 2.5, "c": 0.7},
                leave_cost={"c": 0.3},
                min_duration={"a": 3.0, "c": 1.5},
                merge_gap=2.0,
                pad=(0.7, 0.4),
                shift=0.25,
                ignore=["b"],
                max_gap=100.0,
                max_duration=30.0,
            ),
        ),
        "events-uncertain": cf.Pipeline(
            cf.StickyFilter(4, stay=0.8),
            rule=cf.EventRule(
                0.5, bias={"1": 0.2, "3": -0.1}, evidence="log", min_probability=0.4, max_delay=30.0
            ),
        ),
    }


def label_configs() -> dict[str, cf.Pipeline]:
    """Return filters of several labels at once."""

    def each(*filters: Any) -> Any:
        return cf.MultiLabelFilter(LABELS, dict(zip(LABELS, filters, strict=True)))

    def by_label(*values: Any) -> Any:
        return dict(zip(LABELS, values, strict=True))

    return {
        "one": cf.Pipeline(
            cf.MultiLabelFilter(["speech"], cf.StickyFilter(2, stay=0.5 ** (1 / 5)))
        ),
        "sticky": cf.Pipeline(
            each(
                cf.StickyFilter(2, prior=[0.9, 0.1]),
                cf.StickyFilter(2, stay=0.9, floor=0.01, temperature=1.5),
                cf.StickyFilter(2, prior=[0.9, 0.1]),
            ),
            beta={"mic": by_label(0.1, 0.5, 1.0), "eye": 1.0},
            channel={"mic": by_label(CHANNEL, None, CHANNEL)},
            policy=Periodic(5, strong="eye", weak="mic"),
        ),
        "moving": cf.Pipeline(
            each(cf.StickyFilter(2, transitions=TURNING), *[cf.StickyFilter(2, stay=0.9)] * 2),
            beta={"mic": 0.3},
            channel={"mic": CHANNEL},
        ),
        "dirichlet": cf.Pipeline(
            each(
                cf.DirichletFilter(2, 0.9),
                cf.DirichletFilter(2, 0.95, anchor=0.3, estimate="mean", prior=[3.0, 1.0]),
                cf.DirichletFilter(2, 0.9, prior_weight=2.0, temperature=0.8),
            ),
            beta={"mic": by_label(0.2, 0.0, 1.0), "eye": 1.0},
            policy=Periodic(seconds=60.0, strong="eye", weak="mic"),
        ),
        "events": cf.Pipeline(
            cf.MultiLabelFilter(LABELS, cf.StickyFilter(2, stay=0.9)),
            rule=cf.EventRule(2.0, merge_gap=3.0, ignore=LABELS[1]),
        ),
        "events-unlike": cf.Pipeline(
            each(cf.StickyFilter(2, transitions=TURNING), *[cf.StickyFilter(2, stay=0.9)] * 2),
            beta={"mic": 0.3},
            rule=cf.EventRule(
                by_label(1.0, 2.0, 3.0),
                min_duration={LABELS[0]: 2.0},
                pad=(1.0, 1.0),
                bias={LABELS[2]: 0.1},
                max_duration=20.0,
            ),
        ),
    }


HEADS: dict[str, tuple[str, ...] | None] = {
    "activity": ("walk", "sit", "run"),
    "speech": None,
    "posture": ("up", "down"),
}


def head_configs() -> dict[str, cf.Pipeline]:
    """Return filters of heads of several classes, beside a label."""

    def each(*filters: Any) -> Any:
        return cf.MultiLabelFilter(HEADS, dict(zip(HEADS, filters, strict=True)))

    def by_head(*values: Any) -> Any:
        return dict(zip(HEADS, values, strict=True))

    turning = np.full((3, 3), 0.05) + np.eye(3) * 0.85
    return {
        "sticky": cf.Pipeline(
            each(
                cf.StickyFilter(3, stay=0.9, prior=[0.5, 0.3, 0.2]),
                cf.StickyFilter(2, stay=0.9, temperature=1.5),
                cf.StickyFilter(2, stay=0.9),
            ),
            beta={"mic": by_head(0.1, 0.5, 1.0), "eye": 1.0},
            channel={"mic": by_head(cf.Channel(np.eye(3) * 8 + 1), CHANNEL, None)},
            policy=Periodic(5, strong="eye", weak="mic"),
        ),
        "alike": cf.Pipeline(
            cf.MultiLabelFilter({"a": ("x", "y"), "b": ("x", "y")}, cf.StickyFilter(2, stay=0.9)),
            rule=cf.EventRule(3.0, max_duration=40.0),
        ),
        "dirichlet": cf.Pipeline(
            each(
                cf.DirichletFilter(3, 0.95, anchor=0.3, estimate="mean", prior=[3.0, 1.0, 2.0]),
                cf.DirichletFilter(2, 0.9),
                cf.DirichletFilter(2, 0.8, temperature=0.8),
            ),
            beta={"mic": by_head(0.2, 0.5, 1.0)},
            rule=cf.EventRule(4.0, pad=(1.0, 1.0), ignore=["speech", "posture:down"]),
        ),
        "moving": cf.Pipeline(
            each(
                cf.StickyFilter(3, transitions=turning),
                cf.StickyFilter(2, stay=0.9),
                cf.StickyFilter(2, transitions=TURNING),
            ),
            beta={"mic": 0.3},
            rule=cf.EventRule(
                {"activity:walk": 1.0, "activity:sit": 2.5, "activity:run": 0.7, "speech": 2.0,
                 "posture:up": 1.5, "posture:down": 3.0},
                min_duration={"activity:walk": 3.0, "speech": 1.5},
                bias={"posture:up": 0.1},
                max_duration=20.0,
            ),
        ),
    }  # fmt: skip


def all_configs() -> dict[str, cf.Pipeline]:
    """Return all of them."""
    every = {"labels": label_configs(), "heads": head_configs()}
    several = {f"{name}-{kind}": c for name, of in every.items() for kind, c in of.items()}
    return configs() | several
