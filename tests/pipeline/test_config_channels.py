"""Channels and policies in a settings file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import classfilter as cf
from classfilter.pipeline import options
from classfilter.policy import Adaptive, Periodic
from config_cases import VALID, WEIGHTS, filters


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(f=filters(), sources=WEIGHTS, seed=st.integers(0, 2**32 - 1))
def test_channels_are_restored_to_the_bit(
    f: cf.DirichletFilter, sources: dict[str, float], seed: int, tmp_path: Path
) -> None:
    rng, K = np.random.default_rng(seed), len(f.classes)
    channel = {
        name: cf.Channel(rng.dirichlet(np.full(K, 0.1), K) + 1e-99, rng.uniform(0.1, 9, K))
        for name in sources
    }
    pipe = cf.Pipeline.of(f, beta=sources, channel=channel | {"no channel": None})
    pipe.save(tmp_path / "walk.json")
    restored: Any = cf.load(tmp_path / "walk.json").channel
    assert list(restored) == list(sources)
    for name, saved in channel.items():
        assert restored[name].matrix.tobytes() == saved.matrix.tobytes()
        assert restored[name].prior.tobytes() == saved.prior.tobytes()
    sections = json.loads((tmp_path / "walk.json").read_bytes()).get("channel", {})
    assert sections == {
        name: {"matrix": saved.matrix.tolist(), "prior": saved.prior.tolist()}
        for name, saved in channel.items()
    }


def test_a_channel_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "walk.json"
    path.write_text(json.dumps(VALID | {"channel": {"very weak": {"matrix": [[9, 1], [2, 2]]}}}))
    assert cf.load(path).channel == {"very weak": cf.Channel([[0.9, 0.1], [0.5, 0.5]])}
    channel = {"weak": cf.Channel([[3, 1], [1, 1]], [1, 3])}
    cf.Pipeline.of(cf.DirichletFilter(2), channel=channel).save(path)
    assert path.read_text().splitlines()[-6:] == [
        '  "weak": {',
        '   "matrix": [[0.75, 0.25], [0.5, 0.5]],',
        '   "prior": [0.25, 0.75]',
        "  }",
        " }",
        "}",
    ]


@pytest.mark.parametrize(
    "policy",
    [
        Periodic(7, strong="big", weak="small"),
        Periodic(seconds=0.1),
        Adaptive(0.123456789, 3, 77, disagreement=0.3, floor=0.01, horizon=5),
        Adaptive(1.5, cost={"weak": 0.1, "strong": 40.0}, dtype=np.float32),
    ],
)
def test_policies_are_restored(policy: Any, tmp_path: Path) -> None:
    path = tmp_path / "walk.json"
    cf.Pipeline(
        cf.StickyFilter(2), beta={policy.weak: 0.1, policy.strong: 1.0}, policy=policy
    ).save(path)
    restored: Any = cf.load(path).policy
    assert type(restored) is type(policy)
    assert restored._options == policy._options
    section = json.loads(path.read_text())["policy"]
    assert section.pop("kind") == type(policy).__name__.lower()
    assert section == {k: v for k, v in options(policy).items() if v is not None}
    policy.called(policy.strong, [1.0, 0.0], [0.5, 0.5], 1.0)  # the file has no state
    cf.Pipeline.of(cf.StickyFilter(2), policy=policy).save(path)
    assert cf.load(path).policy.state != policy.state  # type: ignore[union-attr]


def test_a_policy_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "walk.json"
    path.write_text(json.dumps(VALID | {"policy": {"kind": "adaptive", "budget": 0.5}}))
    assert cf.load(path).policy._options == Adaptive(0.5)._options  # type: ignore[union-attr]
