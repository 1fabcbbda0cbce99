"""A tracker equals filters by hand: rows, batches, policies, threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.policy import Adaptive, Periodic
from policy_steps import run_policy
from tracker_rows import CLASSES, FILTERS, GOOD, WEIGHTS, ByHand, rows


def test_a_tuned_brings_everything() -> None:
    days = [cf.simulate("capture24", hours=2.0, seed=seed).rows() for seed in range(3)]
    tuned = cf.tune(days, reference="strong")
    tracker = cf.Tracker(tuned)
    for i, day in enumerate(days):
        P = [
            tracker.update(i, *row)
            for row in zip(day.time, day.source_names, day.probs, strict=True)
        ]
        np.testing.assert_array_equal(P, tuned.run(day))


@pytest.mark.parametrize("policy", [Periodic(3), Adaptive(0.25)])
def test_a_policy_for_each_stream(policy: Any) -> None:
    """As in a `Cascade` of each stream alone, with the streams in turn."""
    days = [cf.simulate(hours=0.2, seed=seed) for seed in range(3)]
    f, beta = (
        cf.StickyFilter(days[0].classes, stay=0.5 ** (1 / 120)),
        {"weak": 0.1, "strong": 1.0},
    )
    tracker = cf.Tracker(f, beta=beta, policy=policy)
    called: list[list[str]] = [[] for _ in days]
    for step, at in enumerate(days[0].time.tolist()):
        for i, day in enumerate(days):
            source = tracker.next_source(i, at)
            tracker.update(i, at, source, day.probs[source][step])
            called[i].append(source)
    for i, day in enumerate(days):
        assert called[i] == run_policy(day, f, policy, beta=beta).source


def test_threads_share_a_tracker(tmp_path: Path) -> None:
    """Each has its own streams; others come and go, and the tracker is saved, all the while."""
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), beta=WEIGHTS)
    tables = [rows(seed, 300, 3) for seed in range(4)]
    results: dict[int, list[Any]] = {}
    errors: list[BaseException] = []
    start = threading.Barrier(6)

    def work(i: int) -> None:
        start.wait()
        results[i] = [tracker.update(f"{i}{s}", t, source, p) for s, t, source, p in tables[i]]

    def disturb() -> None:
        start.wait()
        for n in range(200):
            tracker.update_many([f"x{n}", f"y{n}"], [0.0, 0.0], "weak", [GOOD[3]] * 2)
            tracker.drop([f"x{n}"])

    def save() -> None:
        start.wait()
        for _ in range(10):
            tracker.save(tmp_path / "tracker.npz")
            cf.Tracker.load(tmp_path / "tracker.npz")

    def caught(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            errors.append(error)

    jobs: list[Callable[[], None]] = [lambda i=i: work(i) for i in range(4)]  # type: ignore[misc]
    threads = [threading.Thread(target=caught, args=(job,)) for job in [*jobs, disturb, save]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for i, table in enumerate(tables):
        alone = ByHand(cf.DirichletFilter(CLASSES))
        np.testing.assert_array_equal(results[i], [alone.update(*row) for row in table])
    assert len(tracker) == 12 + 200


def test_results_are_the_callers_own() -> None:
    """Changing one in place changes no later choice of the policy; a batch is not kept alive."""
    one, two = (cf.Tracker(FILTERS[2](), beta=WEIGHTS, policy=Adaptive(0.25)) for _ in range(2))
    for i, (_, t, source, probs) in enumerate(rows(5, 100, 1)):
        one.update("a", t, source, probs)
        if i % 2:
            two.update("a", t, source, probs)[:] = [1.0, 0.0, 0.0]
        else:
            two.update_many(["a"], [t], source, [probs])[:] = [1.0, 0.0, 0.0]
        calls = [tracker._table.columns.extra[tracker._table.slot("a")] for tracker in (one, two)]
        assert calls[0].saved() == calls[1].saved()
    assert calls[1].estimate.base is None


def test_reading_a_stream_makes_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    """With transitions, it would take milliseconds."""
    tracker = cf.Tracker(cf.StickyFilter(CLASSES, transitions=np.eye(3) * 0.7 + 0.1))
    estimate = tracker.update("a", 0.0, None, [0.2, 0.7, 0.1])
    tracker.update("b", 0.0, None, [0.8, 0.1, 0.1])
    monkeypatch.delattr(cf.StickyFilter, "__init__")
    np.testing.assert_array_equal(tracker.probs("a"), estimate)
    assert [tracker.label(name) for name in "ab"] == ["sit", "walk"]
    assert tracker.filter("a").label == "sit"


def test_an_index_counts_whatever_the_names_are() -> None:
    tracker = cf.Tracker(cf.DirichletFilter([5, 7, 9]))
    tracker.update("a", 0.0, None, 1)
    assert tracker.label("a") == 7
