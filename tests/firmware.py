"""Filters of all kinds, to be exported."""

from __future__ import annotations

import numpy as np

import classfilter as cf
from classfilter.config import Config

NAMES = ("sleep", "sit", "walk", 'ride "?\\', "Läufer", "mixed")
MATRIX = np.eye(6) * 5 + np.arange(36).reshape(6, 6) % 7 + 0.1
STAYS = np.full((6, 6), 0.01) + np.eye(6) * 0.94


def configs(names: tuple[str, ...] = NAMES) -> dict[str, Config]:
    """Return a filter of each kind, with weights and channels."""
    prior = np.array([0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    both = {"weak": 0.1, "strong": 1.0}
    channel = {"weak": cf.Channel(MATRIX, prior)}
    return {
        "dirichlet": Config(cf.DirichletFilter(names, 0.95), both, {}),
        "dirichlet-anchored": Config(
            cf.DirichletFilter(names, 0.9, anchor=0.3, estimate="mean", prior=prior * 12),
            {"weak": 0.3, "strong": 1.0, "mute": 0.0},
            {"weak": cf.Channel(MATRIX), "strong": cf.Channel(np.eye(6) * 20 + 1)},
        ),
        "dirichlet-whole": Config(cf.DirichletFilter(3, half_life=7.0), {}, {}),
        "dirichlet-loose": Config(cf.DirichletFilter(12, 0.97, tolerance=0.05), both, {}),
        "sticky": Config(cf.StickyFilter(names, stay=0.98, prior=prior), both, channel),
        "sticky-whole": Config(cf.StickyFilter(2, stay=0.9, floor=0.01), {"only": 1.0}, {}),
        "sticky-moving": Config(
            cf.StickyFilter(names, transitions=STAYS, interval=5.0, prior=prior), both, channel
        ),
        "sticky-adaptive": Config(
            cf.StickyFilter(names, stay=0.98, prior=prior),
            both,
            channel,
            cf.policy.Adaptive(1 / 6, max_gap=20),
        ),
        "dirichlet-adaptive": Config(
            cf.DirichletFilter(3, 0.95),
            {"small": 0.2, "third": 0.3, "big": 1.0},
            {},
            cf.policy.Adaptive(
                0.3, cost={"small": 0.5, "big": 9.0}, horizon=3, strong="big", weak="small"
            ),
        ),
        "sticky-periodic": Config(
            cf.StickyFilter(3, stay=0.98), both, {}, cf.policy.Periodic(every=7)
        ),
        "dirichlet-timed": Config(
            cf.DirichletFilter(2, 0.98), both, {}, cf.policy.Periodic(seconds=60.0)
        ),
    }
