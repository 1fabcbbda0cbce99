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
CHANNEL = cf.Channel([[8, 2], [3, 7]], [0.8, 0.2])


def configs(names: tuple[str, ...] = NAMES) -> dict[str, cf.Chain]:
    """Return a filter of each kind, with weights and channels."""
    prior = np.array([0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    both = {"weak": 0.1, "strong": 1.0}
    channel = {"weak": cf.Channel(MATRIX, prior)}
    return {
        "dirichlet": cf.Chain(cf.DirichletFilter(names, 0.95), beta=both),
        "dirichlet-anchored": cf.Chain(
            cf.DirichletFilter(names, 0.9, anchor=0.3, estimate="mean", prior=prior * 12),
            beta={"weak": 0.3, "strong": 1.0, "mute": 0.0},
            channel={"weak": cf.Channel(MATRIX), "strong": cf.Channel(np.eye(6) * 20 + 1)},
        ),
        "dirichlet-whole": cf.Chain(cf.DirichletFilter(3, half_life=7.0)),
        "dirichlet-loose": cf.Chain(
            cf.DirichletFilter(12, 0.97, tolerance=0.05), beta=both, channel={}
        ),
        "sticky": cf.Chain(
            cf.StickyFilter(names, stay=0.98, prior=prior), beta=both, channel=channel
        ),
        "sticky-whole": cf.Chain(
            cf.StickyFilter(2, stay=0.9, floor=0.01), beta={"only": 1.0}, channel={}
        ),
        "sticky-moving": cf.Chain(
            cf.StickyFilter(names, transitions=STAYS, interval=5.0, prior=prior),
            beta=both,
            channel=channel,
        ),
        "sticky-adaptive": cf.Chain(
            cf.StickyFilter(names, stay=0.98, prior=prior),
            beta=both,
            channel=channel,
            policy=cf.policy.Adaptive(1 / 6, max_gap=20),
        ),
        "dirichlet-adaptive": cf.Chain(
            cf.DirichletFilter(3, 0.95),
            beta={"small": 0.2, "third": 0.3, "big": 1.0},
            policy=cf.policy.Adaptive(
                0.3, cost={"small": 0.5, "big": 9.0}, horizon=3, strong="big", weak="small"
            ),
        ),
        "sticky-tempered": cf.Chain(
            cf.StickyFilter(names, stay=0.98, prior=prior, temperature=1.4),
            beta=both,
            policy=cf.policy.Adaptive(1 / 6, max_gap=20),
        ),
        "dirichlet-tempered": cf.Chain(cf.DirichletFilter(5, 0.95, temperature=0.6), beta=both),
        "sticky-periodic": cf.Chain(
            cf.StickyFilter(3, stay=0.98), beta=both, policy=cf.policy.Periodic(every=7)
        ),
        "dirichlet-timed": cf.Chain(
            cf.DirichletFilter(2, 0.98),
            beta=both,
            policy=cf.policy.Periodic(seconds=60.0),
        ),
    }


def label_configs() -> dict[str, cf.Chain]:
    """Return filters of several labels at once."""

    def each(*filters: Any) -> Any:
        return cf.MultiLabelFilter(LABELS, dict(zip(LABELS, filters, strict=True)))

    def by_label(*values: Any) -> Any:
        return dict(zip(LABELS, values, strict=True))

    return {
        "one": cf.Chain(cf.MultiLabelFilter(["speech"], cf.StickyFilter(2, half_life=5.0))),
        "sticky": cf.Chain(
            each(
                cf.StickyFilter(2, prior=[0.9, 0.1]),
                cf.StickyFilter(2, stay=0.9, floor=0.01, temperature=1.5),
                cf.StickyFilter(2, prior=[0.9, 0.1]),
            ),
            beta={"mic": by_label(0.1, 0.5, 1.0), "eye": 1.0},
            channel={"mic": by_label(CHANNEL, None, CHANNEL)},
            policy=Periodic(5, strong="eye", weak="mic"),
        ),
        "moving": cf.Chain(
            each(cf.StickyFilter(2, transitions=TURNING), *[cf.StickyFilter(2, stay=0.9)] * 2),
            beta={"mic": 0.3},
            channel={"mic": CHANNEL},
        ),
        "dirichlet": cf.Chain(
            each(
                cf.DirichletFilter(2, 0.9),
                cf.DirichletFilter(2, 0.95, anchor=0.3, estimate="mean", prior=[3.0, 1.0]),
                cf.DirichletFilter(2, 0.9, prior_weight=2.0, temperature=0.8),
            ),
            beta={"mic": by_label(0.2, 0.0, 1.0), "eye": 1.0},
            policy=Periodic(seconds=60.0, strong="eye", weak="mic"),
        ),
    }


def all_configs() -> dict[str, cf.Chain]:
    """Return both."""
    return configs() | {f"labels-{kind}": chain for kind, chain in label_configs().items()}
