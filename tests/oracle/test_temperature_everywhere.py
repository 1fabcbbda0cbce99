"""A temperature, wherever probabilities come from: those of the plain filter, tempered last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import classfilter as cf
from classfilter import _core

CLASSES = ("walk", "sit", "sleep")
BETA = {"weak": 0.4, "strong": 1.0}
CHANNEL = {"weak": cf.Channel([[8, 1, 1], [1, 6, 3], [0, 2, 8]])}
T = 1.4


def chain(temperature: float, dtype: Any = np.float64, kind: Any = cf.StickyFilter) -> cf.Chain:
    f = kind(CLASSES, half_life=8.0, temperature=temperature, dtype=dtype)
    return cf.Chain(f, beta=BETA, channel=CHANNEL, rule=cf.EventRule(3.0))


def table(rows: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    true = np.cumsum(rng.random(rows) < 0.1) % 3
    p = np.array([rng.dirichlet(0.4 + 2 * (np.arange(3) == k)) for k in true])
    columns: dict[str, Any] = {"time": np.cumsum(rng.choice([0.5, 1.0, 4.0], rows))}
    columns |= {"stream": rng.choice(["a", "b"], rows), "source": rng.choice(list(BETA), rows)}
    return pl.DataFrame(columns | {f"p_{name}": p[:, k] for k, name in enumerate(CLASSES)})


def results(df: Any) -> Any:
    return df.select(f"f_{name}" for name in CLASSES).to_numpy()


kinds = pytest.mark.parametrize("kind", [cf.StickyFilter, cf.DirichletFilter])


@pytest.mark.covering(1)
@kinds
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("lag", [None, 0, 1, 3])
def test_smoothed_tables_recordings_and_files(
    kind: Any, dtype: Any, lag: int | None, tmp_path: Path
) -> None:
    df, plain, hot = table(), chain(1.0, dtype, kind), chain(T, dtype, kind)
    got = results(cf.smooth_table(df, hot, lag=lag)).astype(dtype)
    without = np.ascontiguousarray(results(cf.smooth_table(df, plain, lag=lag)).astype(dtype))
    assert got.tobytes() == _core.temper(without, T).tobytes()
    if lag == 0:
        assert got.tobytes() == results(cf.filter_table(df, hot)).astype(dtype).tobytes()
    for name, rec in cf.recordings(df).items():
        rows = (df["stream"] == name).to_numpy()
        assert rec.smooth(hot, lag=lag).tobytes() == got[rows].tobytes()
    if lag:
        df.write_parquet(tmp_path / "in.parquet")
        cf.filter_file(tmp_path / "in.parquet", tmp_path / "out.parquet", hot, lag=lag)
        out = results(pl.read_parquet(tmp_path / "out.parquet")).astype(dtype)
        assert out.tobytes() == got.tobytes()


@kinds
def test_rules_for_events_see_what_is_returned(kind: Any) -> None:
    df, hot = table(300), chain(3.0, kind=kind)
    rule: Any = hot.rule
    wanted = cf.events(cf.filter_table(df, hot), rule)
    assert cf.events(df, hot).equals(wanted)
    assert not cf.events(df, chain(1.0, kind=kind)).equals(wanted)
    tracker = cf.Tracker(hot, events=rule)
    for time, stream, source, *probs in df.iter_rows():
        tracker.update(stream, time, source, probs)
    found = [(e.stream, e.label, e.start) for e in tracker.pop_events()]
    confirmed = [tuple(row) for row in wanted.select("stream", "class", "start").iter_rows()]
    assert len(found) > 3
    assert set(found) <= set(confirmed)


@kinds
def test_policies_see_what_is_returned(kind: Any) -> None:
    seen: list[Any] = []

    class Spy(cf.policy.Periodic):
        def choose(self, probs: Any, since: Any) -> str:
            seen.append(probs)
            return super().choose(probs, since)

    sources: dict[str, Any] = {name: lambda window: [0.6, 0.3, 0.1] for name in BETA}
    loop = cf.Cascade(chain(T, kind=kind), sources, policy=Spy(3))
    steps = [loop.step([0.0], time=float(t)) for t in range(5)]
    plain = chain(1.0, kind=kind).filter()
    assert seen[0].tobytes() == _core.temper(plain.probs[None], T)[0].tobytes()
    for step, estimate in zip(steps, seen[1:], strict=False):
        assert estimate.tobytes() == step.probs.tobytes()
