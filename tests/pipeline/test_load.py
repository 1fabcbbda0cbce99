"""Files of settings: what comes back is all that they hold, and works wherever a filter does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import classfilter as cf

CLASSES = ["walk", "sit", "sleep"]
BETA = {"weak": 0.25, "strong": 1.0}
CHANNEL = cf.Channel([[6, 3, 1], [2, 7, 1], [3, 3, 4]], prior=[2, 1, 1])


def saved(path: Path, f: Any = None, **sections: Any) -> Path:
    f = cf.DirichletFilter(CLASSES, half_life=60.0) if f is None else f
    cf.Pipeline.of(f, **sections).save(path)
    return path


@pytest.fixture
def tuned(tmp_path: Path) -> cf.Pipeline:
    return cf.load(saved(tmp_path / "walk.json", beta=BETA, channel={"weak": CHANNEL}))


def table(rows: int = 60) -> pl.DataFrame:
    """Two streams in turn; the strong source at every fourth row."""
    p = np.random.default_rng(3).dirichlet(np.ones(3), rows)
    return pl.DataFrame(
        {
            "time": np.arange(rows) * 5.0,
            "stream": ["ann", "bob"] * (rows // 2),
            "source": np.where(np.arange(rows) % 4 < 2, "weak", "strong"),
            **{f"p_{name}": p[:, k] for k, name in enumerate(CLASSES)},
        }
    )


def test_a_bare_file_is_a_pipe_too(tmp_path: Path) -> None:
    pipe = cf.load(saved(tmp_path / "bare.json"))
    assert pipe.filter.gamma == cf.DirichletFilter(2, half_life=60.0).gamma
    assert (pipe.beta, pipe.channel, pipe.policy, pipe.reference) == (1.0, {}, None, "")


def test_a_file_with_weights_and_channels(tuned: cf.Pipeline) -> None:
    assert tuned.beta == BETA
    assert tuned.channel == {"weak": CHANNEL, "strong": None}
    assert tuned.reference == "strong"
    assert tuned.policy is None


def test_a_file_with_a_policy_alone(tmp_path: Path) -> None:
    path = saved(tmp_path / "walk.json", policy=cf.policy.Periodic(every=7))
    tuned = cf.load(path)
    assert isinstance(tuned.policy, cf.policy.Periodic)
    rec = cf.rows(table()).by_stream()["ann"]
    assert np.array_equal(
        cf.Pipeline.of(tuned).run(rec), cf.Pipeline.of(tuned.filter, beta=1.0).run(rec)
    )
    tuned.save(tmp_path / "again.json")
    again: Any = cf.load(tmp_path / "again.json").policy
    assert again._options["every"] == 7
    replace(tuned, policy=cf.policy.Periodic(every=3)).save(tmp_path / "again.json")
    again = cf.load(tmp_path / "again.json").policy
    assert again._options["every"] == 3


def test_a_channel_without_weights(tmp_path: Path) -> None:
    tuned = cf.load(saved(tmp_path / "walk.json", channel={"weak": CHANNEL}))
    rec = cf.rows(table()).by_stream()["ann"]
    assert np.array_equal(
        cf.Pipeline.of(tuned).run(rec),
        cf.Pipeline.of(tuned.filter, beta=1.0, channel={"weak": CHANNEL}).run(rec),
    )
    assert not np.array_equal(
        cf.Pipeline.of(tuned).run(rec), cf.Pipeline.of(tuned.filter, beta=1.0).run(rec)
    )


def test_rows_of_one_source(tmp_path: Path, tuned: cf.Pipeline) -> None:
    probs = table().select([f"p_{c}" for c in CLASSES]).to_numpy()
    one = cf.load(saved(tmp_path / "one.json", beta={"weak": 0.25}, channel={"weak": CHANNEL}))
    corrected = np.array([CHANNEL.apply(p) for p in probs])
    P = cf.smooth(tuned.filter, corrected, 0.25, 5.0)
    assert np.array_equal(cf.smooth(one, probs, dt=5.0), P)
    P = cf.smooth(tuned.filter, corrected, 0.5, 5.0)
    assert np.array_equal(cf.smooth(one, probs, 0.5, 5.0), P)
    with pytest.raises(ValueError, match="filter"):
        cf.smooth(tuned, probs)


def test_a_simple_rule_leaves_smoothing_to_another(tmp_path: Path, tuned: cf.Pipeline) -> None:
    rule = cf.load(saved(tmp_path / "rule.json", cf.HoldFilter(CLASSES), beta=BETA))
    rec = cf.rows(table()).by_stream()["ann"]
    with pytest.raises(TypeError, match="filter"):
        cf.Pipeline.of(rule).smooth(rec)
    rule = cf.Pipeline(cf.HoldFilter(CLASSES), beta=BETA, smoother=tuned)
    for lag in (None, 3):
        assert np.array_equal(cf.Pipeline.of(rule).smooth(rec, lag=lag), tuned.smooth(rec, lag))
    assert np.array_equal(
        cf.Pipeline.of(rule).run(rec), cf.Pipeline.of(cf.HoldFilter(CLASSES), beta=BETA).run(rec)
    )
