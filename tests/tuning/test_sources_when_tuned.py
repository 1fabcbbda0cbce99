"""Tuning keeps what each source did, and warns of one that never changes its class."""

from __future__ import annotations

import numpy as np
import pytest

import classfilter as cf
from classfilter.engine import episodes


def day(seed: int, hours: float = 6.0) -> cf.Rows:
    return cf.simulate("plain", hours=hours, seed=seed).rows()


def test_it_equals_a_count_by_hand() -> None:
    rec = day(0)
    tuned = cf.tune(rec, reference="strong")
    estimate = cf.Pipeline.of(tuned).run(rec).argmax(axis=1)
    predicted = rec.probs.argmax(axis=1)
    for source, known in tuned.expected.items():
        rows = np.flatnonzero(rec.of_source(source))
        mine = predicted[rows]
        judged = rows[rows > 0]
        agreed = np.mean(predicted[judged] == estimate[judged - 1])
        assert known.agreement == pytest.approx(agreed, rel=1e-12)
        assert known.interval == pytest.approx(np.diff(rec.time[rows]).mean(), rel=1e-6)
        assert known.longest_gap == np.diff(rec.time[rows]).max()
        edges = np.flatnonzero(np.diff(mine)) + 1
        longest = np.zeros(4)
        for part in np.split(np.arange(len(rows)), edges):
            span = rec.time[rows[part[-1]]] - rec.time[rows[part[0]]]
            longest[mine[part[0]]] = max(longest[mine[part[0]]], span)
        longest = np.maximum(longest, np.median(longest))
        assert known.longest_runs == pytest.approx(longest, rel=0.02)


def test_a_source_that_never_changes_is_warned_about() -> None:
    rec = day(1)
    probs = rec.probs.copy()
    probs[rec.of_source("weak")] = [0.1, 0.7, 0.1, 0.1]
    stuck = cf.rows(time=rec.time, source=rec.source_names, probs=probs, classes=rec.classes)
    with pytest.warns(UserWarning, match="'weak' says 'class 1' in every row"):
        cf.tune(stuck, reference="strong")


def test_episodes_name_the_recording_and_the_time() -> None:
    tuned = cf.tune([day(0), day(1)], reference="strong")
    rec = day(2)
    probs = rec.probs.copy()
    probs[(rec.of_source("weak")) & (rec.time >= 7200.0)] = [0.1, 0.7, 0.1, 0.1]
    health, found = episodes(
        tuned,
        [day(3), cf.rows(time=rec.time, source=rec.source_names, probs=probs, classes=rec.classes)],
    )
    (stuck,) = (e for e in found if e.source == "weak" and e.verdict.startswith("stuck"))
    assert stuck.stream == 1
    assert 7200.0 < stuck.start < 7200.0 + 3600.0
    assert stuck.verdict in health.verdicts["weak"]
    assert episodes(tuned, [day(3), day(4)])[1] == []
