"""Recordings of several labels at once, with settings, for tests of reports."""

from __future__ import annotations

import numpy as np

import classfilter as cf

LABELS = ["<u>robin</u>", "__proto__", "great tit"]
ROWS = 200


def label_recordings() -> dict[str, cf.Rows]:
    """Return two streams of two sources; labels overlap, and some are not known or observed."""
    recs = {}
    for seed, name in enumerate(["<b>garden</b>", "wood"]):
        rng = np.random.default_rng(seed)
        truth = np.zeros((ROWS, 3), int)
        truth[30:120, 0] = truth[90:170, 1] = truth[20:60, 2] = 1
        scores = np.clip(np.where(truth == 1, 0.75, 0.25) + rng.normal(0, 0.25, (ROWS, 3)), 0, 1)
        scores[60:65, 0] = np.nan
        truth[:10, 2] = -1
        source = np.where(np.arange(ROWS) % 10 == 0, "eye", "mic")
        time = np.arange(ROWS) * 5.0
        recs[name] = cf.rows(
            time=time,
            source=source,
            probs=scores,
            classes=LABELS,
            label=truth,
            scores="independent",
        )
    return recs


def label_settings() -> cf.Pipeline:
    """Return settings that differ between labels."""
    sticky = cf.StickyFilter(2, stay=0.5 ** (1 / 60))
    filters = [sticky, cf.DirichletFilter(2, 0.9, estimate="mean"), sticky]
    f = cf.MultiLabelFilter(LABELS, dict(zip(LABELS, filters, strict=True)))
    channel = {LABELS[0]: cf.Channel([[8, 2], [3, 7]]), LABELS[1]: None, LABELS[2]: None}
    weights = dict(zip(LABELS, [0.5, 1.0, 0.2], strict=True))
    return cf.Pipeline(f, beta={"mic": weights, "eye": 1.0}, channel={"mic": channel})
