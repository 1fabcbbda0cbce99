"""Everything that takes a filter takes a pipeline, with its weights, channels and policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

import classfilter as cf
from classfilter import embedded
from classfilter.policy import Periodic
from classfilter.sklearn import FilteredClassifier
from saved_files import file_of

CLASSES = ["walk", "sit", "sleep"]
CHANNEL = cf.Channel([[8, 1, 1], [2, 6, 2], [1, 1, 8]], prior=[2, 1, 1])
WEIGHTS = {"strong": 1.0, "weak": 0.25}
EVERY = 3


@pytest.fixture
def tuned(tmp_path: Path) -> Any:
    """A pipeline with a channel for one source, None for the other, and a policy."""
    path = tmp_path / "tuned.json"
    f = cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 20))
    cf.Pipeline(f, beta=WEIGHTS, channel={"weak": CHANNEL}, policy=Periodic(EVERY)).save(path)
    return cf.load(path)


def recording() -> cf.Rows:
    """Predictions of the source that the policy calls at each step."""
    rng = np.random.default_rng(0)
    steps = [(t, s) for t in range(40) for s in ("strong", "weak")]
    probs = rng.dirichlet(np.full(3, 0.7), len(steps))
    chosen = [(s == "strong") == (t % EVERY == 0) for t, s in steps]
    rows = [(5.0 * t, s, p) for (t, s), p, c in zip(steps, probs, chosen, strict=True) if c]
    time, source, p = (list(column) for column in zip(*rows, strict=True))
    return cf.rows(time=time, source=source, probs=np.array(p), classes=CLASSES)


def by_hand() -> Any:
    """Return what channel, weights and filter give, written out."""
    f, rec, last, out = cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 20)), recording(), 0.0, []
    for time, source, p in zip(rec.time, rec.source_names, rec.probs, strict=True):
        row = CHANNEL.apply(p) if source == "weak" else p
        out.append(f.update(row, WEIGHTS[source], time - last))
        last = time
    return np.array(out)


def test_a_bank_of_a_pipeline(tuned: Any) -> None:
    """With the weight and the channel of the source of each row."""
    rec = recording()
    bank, batch = cf.Bank(tuned, 2), cf.Bank(tuned, 2)
    rows = zip(rec.probs, rec.source_names, rec.dt, strict=True)
    P = [bank.update([p], dt=dt, rows=[1], source=str(s))[0] for p, s, dt in rows]
    where = np.ones(len(rec), int)
    Q = batch.run(rec.probs, dt=rec.dt, rows=where, source=rec.source_names)
    np.testing.assert_array_equal(P, Q)
    np.testing.assert_allclose(P, by_hand(), rtol=1e-12)
    np.testing.assert_array_equal(bank.filter(0).state.probs, tuned.filter.state.probs)


def test_a_tracker_and_a_cascade_have_the_policy(tuned: Any) -> None:
    rec, tracker = recording(), cf.Tracker(tuned)
    sources: dict[str, Any] = {name: lambda at: rec.probs[int(at[0])] for name in WEIGHTS}
    cascade = cf.Cascade(tuned, sources)
    for i, (time, source, p) in enumerate(zip(rec.time, rec.source_names, rec.probs, strict=True)):
        assert tracker.next_source("a", time) == source
        step = cascade.step([i], time=float(time))
        assert step.source == source
        np.testing.assert_array_equal(tracker.update("a", time, source, p), step.probs)


def test_a_bank_uses_the_only_source(tuned: Any) -> None:
    p = recording().probs[:2]
    alone = cf.Pipeline(tuned.filter, beta={"weak": 0.25}, channel={"weak": CHANNEL})
    expected = cf.Bank(tuned.filter, 2).update(CHANNEL.apply(p), 0.25)
    np.testing.assert_array_equal(cf.Bank(alone, 2).update(p), expected)


def test_exports_are_those_of_its_file(tuned: Any, tmp_path: Path) -> None:
    tuned.save(tmp_path / "again.json")
    config = cf.load(tmp_path / "again.json")
    assert json.loads(file_of(tuned)) == json.loads(file_of(config))
    for filter_, folder in ((tuned, "a"), (config, "b")):
        embedded.export(filter_, tmp_path / folder)
    for path in (tmp_path / "a").rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()
    assert "CF_SOURCE_WEAK" in (tmp_path / "a" / "src/cf_config.h").read_text()
    log = cf.filter_table(recording().to_table(), tuned)
    assert embedded.verify(log, tuned).rows == len(log)


def test_a_classifier_of_scikit_learn_takes_it(tuned: Any) -> None:
    """One source, of the name of its only weight; the filter's labels are the estimator's."""
    X, y = np.zeros((6, 1)), np.array(CLASSES * 2)
    alone = cf.Pipeline(tuned.filter, beta={"default": 0.5})
    model = FilteredClassifier(DummyClassifier(), alone).fit(X, y)
    assert set(model.classes_) == set(CLASSES)
    assert model.predict_proba(X).shape == (6, 3)
