"""Files of settings: what comes back is all that they hold, and works wherever a filter does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import classfilter as cf
from classfilter import config
from conftest import Run
from example_tables import column

CLASSES = ["walk", "sit", "sleep"]
BETA = {"weak": 0.25, "strong": 1.0}
CHANNEL = cf.Channel([[6, 3, 1], [2, 7, 1], [3, 3, 4]], prior=[2, 1, 1])


def saved(path: Path, f: Any = None, **sections: Any) -> Path:
    config.save(cf.DirichletFilter(CLASSES, half_life=60.0) if f is None else f, path, **sections)
    return path


@pytest.fixture
def tuned(tmp_path: Path) -> cf.Chain:
    return cf.load(saved(tmp_path / "walk.toml", beta=BETA, channel={"weak": CHANNEL}))


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


def by_hand(df: pl.DataFrame) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The corrected rows, weights and time steps of each stream."""
    streams = {}
    for name, rows in df.partition_by("stream", as_dict=True).items():
        probs = rows.select([f"p_{c}" for c in CLASSES]).to_numpy().copy()
        weak = rows["source"].to_numpy() == "weak"
        for i in np.flatnonzero(weak):
            probs[i] = CHANNEL.apply(probs[i])
        dt = np.diff(rows["time"].to_numpy(), prepend=rows["time"][0])
        streams[str(name[0])] = probs, np.where(weak, 0.25, 1.0), dt
    return streams


def results(df: Any) -> np.ndarray:
    return np.array([column(df, f"f_{name}") for name in CLASSES]).T


def expected(df: pl.DataFrame) -> np.ndarray:
    P = np.empty((len(df), 3))
    for name, stream in by_hand(df).items():
        f = cf.DirichletFilter(CLASSES, half_life=60.0)
        P[df["stream"].to_numpy() == name] = [f.update(*row) for row in zip(*stream, strict=True)]
    return P


def test_a_bare_file_is_a_chain_too(tmp_path: Path) -> None:
    chain = cf.load(saved(tmp_path / "bare.toml"))
    assert chain.filter().gamma == cf.DirichletFilter(2, half_life=60.0).gamma
    assert (chain.beta, chain.channel, chain.policy, chain.reference) == (1.0, {}, None, "")


def test_a_file_with_weights_and_channels(tuned: cf.Chain) -> None:
    assert tuned.beta == BETA
    assert tuned.channel == {"weak": CHANNEL, "strong": None}
    assert tuned.reference == "strong"
    assert tuned.policy is None


def test_a_file_with_a_policy_alone(tmp_path: Path) -> None:
    path = saved(tmp_path / "walk.toml", policy=cf.policy.Periodic(every=7))
    tuned = cf.load(path)
    assert isinstance(tuned.policy, cf.policy.Periodic)
    rec = cf.recordings(table())["ann"]
    assert np.array_equal(rec.run(tuned), rec.run(tuned.filter(), beta=1.0))
    tuned.save(tmp_path / "again.toml")
    again: Any = cf.load(tmp_path / "again.toml").policy
    assert again._options["every"] == 7
    tuned.save(tmp_path / "again.toml", cf.policy.Periodic(every=3))
    again = cf.load(tmp_path / "again.toml").policy
    assert again._options["every"] == 3


def test_a_channel_without_weights(tmp_path: Path) -> None:
    tuned = cf.load(saved(tmp_path / "walk.toml", channel={"weak": CHANNEL}))
    rec = cf.recordings(table())["ann"]
    assert np.array_equal(
        rec.run(tuned), rec.run(tuned.filter(), beta=1.0, channel={"weak": CHANNEL})
    )
    assert not np.array_equal(rec.run(tuned), rec.run(tuned.filter(), beta=1.0))


def test_a_file_and_the_command_line(tuned: cf.Chain, run: Run) -> None:
    df = table()
    cf.write_table(df, "day.parquet")
    cf.filter_file("day.parquet", "out.parquet", tuned)
    assert np.array_equal(results(cf.read_table("out.parquet")), expected(df))
    tuned.save("walk.toml")
    arguments = ["filter", "day.parquet", "-o", "again.parquet", "--config", "walk.toml"]
    assert run(*arguments, "--quiet") == (0, "", "")
    assert np.array_equal(results(cf.read_table("again.parquet")), expected(df))


def test_a_recording(tuned: cf.Chain) -> None:
    df = table()
    streams = cf.recordings(df)
    for name, stream in by_hand(df).items():
        P = expected(df)[df["stream"].to_numpy() == name]
        assert np.array_equal(streams[name].run(tuned), P)
        assert np.array_equal(tuned.run(streams[name]), P)
        for lag in (None, 3):
            smoothed = cf.smooth(tuned.filter(), *stream, lag=lag)
            assert np.array_equal(streams[name].smooth(tuned, lag=lag), smoothed)
            assert np.array_equal(tuned.smooth(streams[name], lag), smoothed)


def test_rows_of_one_source(tmp_path: Path, tuned: cf.Chain) -> None:
    probs = table().select([f"p_{c}" for c in CLASSES]).to_numpy()
    one = cf.load(saved(tmp_path / "one.toml", beta={"weak": 0.25}, channel={"weak": CHANNEL}))
    corrected = np.array([CHANNEL.apply(p) for p in probs])
    P = cf.smooth(tuned.filter(), corrected, 0.25, 5.0)
    assert np.array_equal(cf.smooth(one, probs, dt=5.0), P)
    P = cf.smooth(tuned.filter(), corrected, 0.5, 5.0)
    assert np.array_equal(cf.smooth(one, probs, 0.5, 5.0), P)
    with pytest.raises(ValueError, match=r"filter has the sources \['weak', 'strong'\], and probs"):
        cf.smooth(tuned, probs)


def test_a_simple_rule_leaves_smoothing_to_another(tmp_path: Path, tuned: cf.Chain) -> None:
    rule = cf.load(saved(tmp_path / "rule.toml", cf.HoldFilter(CLASSES), beta=BETA))
    rec = cf.recordings(table())["ann"]
    with pytest.raises(TypeError, match="filter is a HoldFilter, which cannot smooth"):
        rec.smooth(rule)
    rule = cf.Tuned(cf.HoldFilter(CLASSES), beta=BETA, reference="strong", smoother=tuned)
    assert np.array_equal(rec.smooth(rule), tuned.smooth(rec))
    assert np.array_equal(rec.run(rule), rec.run(cf.HoldFilter(CLASSES), beta=BETA))
