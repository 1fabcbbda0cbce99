"""Labels without probabilities count as probabilities of 0.9, where they are tuned and run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf
from classfilter.tuning.rows import concatenate

CLASSES = ["wake", "light", "deep", "dream"]
TRANSITIONS = np.eye(4) * 0.94 + 0.02 * (1 - np.eye(4))
RECALL = {"watch": 0.6, "band": 0.85}
ROWS = 0.9 * np.eye(4) + 0.1 / 3 * (1 - np.eye(4))
"""What a label of each class counts as."""


def night(seed: int, *, form: str = "labels", band: float = 0.35) -> cf.Rows:
    """A watch in each epoch, and a band in some; errors are mostly the class that comes next."""
    rng = np.random.default_rng(seed)
    rows: list[Any] = []
    k = 0
    for i in range(700):
        k = int(rng.choice(4, p=TRANSITIONS[k]))
        for name, share in (("watch", 1.0), ("band", band)):
            if rng.random() < share:
                wrong = (k + rng.choice([1, 2, 3], p=[0.8, 0.1, 0.1])) % 4
                rows.append((30.0 * i, name, k if rng.random() < RECALL[name] else wrong, k))
    time, source, label, truth = zip(*rows, strict=True)
    said = np.array(label)
    probs: Any = [CLASSES[k] for k in label]
    if form != "labels":
        probs = ROWS[said] if form == "probabilities" else np.eye(4)[said]
    return cf.rows(time=time, source=source, probs=probs, classes=CLASSES, label=np.array(truth))


def accuracy(recs: list[cf.Rows], rows: list[NDArray[np.float64]]) -> float:
    right = [P.argmax(axis=1) == rec.label for rec, P in zip(recs, rows, strict=True)]
    return float(np.concatenate(right).mean())


@pytest.mark.parametrize("form", ["labels", "one-hot"])
def test_what_is_tuned_and_run_of_one_source_is_that_of_probabilities(form: str) -> None:
    given, soft = (
        [night(seed, form=how, band=0.0) for seed in range(3)] for how in (form, "probabilities")
    )
    tuned, expected = (cf.tune(recs, "dirichlet", event_duration="10min") for recs in (given, soft))
    assert tuned.tuning.candidate == expected.tuning.candidate
    assert tuned.rule == expected.rule
    np.testing.assert_allclose(tuned.run(given[0]), expected.run(soft[0]), atol=1e-9)
    np.testing.assert_allclose(tuned.smooth(given[0]), expected.smooth(soft[0]), atol=1e-9)
    tracker = cf.Tracker(tuned)
    for row in range(20):
        k = int(given[0].probs[row].argmax())
        live = tracker.update("ann", given[0].time[row], given[0].source_names[row], CLASSES[k])
    np.testing.assert_allclose(live, expected.run(soft[0])[19], atol=1e-9)


def test_classes_keep_their_meaning() -> None:
    recs = [night(seed) for seed in range(4)]
    tuned = cf.tune(recs, reference="band")
    held = cf.HoldFilter(CLASSES)
    hold = [cf.Pipeline.of(held, beta={"band": 1.0, "watch": 0.5}).run(rec) for rec in recs]
    assert accuracy(recs, [tuned.run(rec) for rec in recs]) > accuracy(recs, hold) + 0.05


def test_a_label_among_probabilities_counts_as_in_a_filter() -> None:
    rec = night(0, form="probabilities")
    probs: list[Any] = [
        CLASSES[row.argmax()] if i % 3 == 0 else row for i, row in enumerate(rec.probs)
    ]
    mixed = cf.rows(time=rec.time, source=rec.source_names, probs=probs, classes=CLASSES)
    assert cf.tune(mixed, "sticky", "band", channel=False).channel == {"band": None, "watch": None}


def test_a_certain_probability_is_no_label() -> None:
    """Of a source that gives probabilities, a row of 1.0 counts as it was given."""
    rec = night(0, form="probabilities")
    probs = rec.probs.copy()
    probs[::3] = np.eye(4)[probs[::3].argmax(axis=1)]
    given = cf.rows(time=rec.time, source=rec.source_names, probs=probs, classes=CLASSES)
    joined = concatenate([given], "band")
    np.testing.assert_array_equal(joined.without_channel, probs)
