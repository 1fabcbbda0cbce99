"""The package for JavaScript gives the bits of Python, in double and in single precision."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf
import node_cases as node
from classfilter.policy import Adaptive, Periodic
from saved_files import file_of

ROWS = 5000  # more than the package takes at a time

DIRICHLET: dict[str, dict[str, Any]] = {
    "default": {},
    "mean": {"estimate": "mean", "gamma": 0.99},
    "anchor": {"anchor": 2.0, "prior": [1.5, 2.0, 3.0], "prior_weight": 0.5},
    "paper": {"bounded": False, "floor": 1e-6, "gamma": 0.999},
    "tolerance": {"tolerance": 0.05, "max_concentration": 200.0},
    "forgets": {"gamma": 0.0, "anchor": 1.0},
    "remembers": {"gamma": 1.0},
    "sharp": {"temperature": 0.6},
}
CHAIN = [[0.9, 0.08, 0.02], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]]
TURNING = [[0.8, 0.19, 0.01], [0.01, 0.8, 0.19], [0.19, 0.01, 0.8]]  # complex eigenvalues
NO_BASIS = [[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.0, 0.0, 1.0]]
STICKY: dict[str, dict[str, Any]] = {
    "stay": {"stay": 0.97, "prior": [0.5, 0.3, 0.2]},
    "a prior off 1": {"stay": 0.97, "prior": [0.5, 0.3, 0.21]},
    "transitions": {"transitions": CHAIN, "interval": 2.0},
    "turning": {"transitions": TURNING},
    "soft": {"stay": 0.9, "temperature": 1.4},
    "no basis": {"transitions": NO_BASIS, "prior": [0.3, 0.3, 0.4]},
}


def stream(K: int, seed: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return rows, some missing and some certain, with weights and times."""
    rng = np.random.default_rng(seed)
    concentration = np.where(np.arange(K) == (np.arange(ROWS) // 40 % K)[:, None], 4.0, 0.4)
    gammas = rng.gamma(concentration) + 1e-12
    probs = gammas / gammas.sum(axis=1, keepdims=True)
    probs[rng.random(ROWS) < 0.05] = np.nan
    probs[::97] = np.eye(K)[0]
    beta = rng.choice([0.0, 0.05, 0.3, 1.0], ROWS)
    dt = rng.choice([0.0, 1.0, 0.25, 7.0, 1e4], ROWS)
    return probs, beta, dt


def filter_cases(filters: list[Any]) -> list[tuple[Any, dict[str, Any]]]:
    cases = []
    for seed, filter_ in enumerate(filters):
        probs, beta, dt = stream(len(filter_.classes), seed)
        for weights, times in ((beta, dt), (0.3, 1.0), (beta, 0.5)):
            case = {
                "config": file_of(cf.Pipeline(filter_)),
                "probs": node.encode(probs),
                "beta": weights if isinstance(weights, float) else node.encode(weights),
                "dt": times if isinstance(times, float) else node.encode(times),
            }
            expected = filter_.copy()
            out = expected.run(probs.astype(filter_.dtype), weights, times)
            cases.append(((expected, out), {"kind": "filter", **case}))
        cases.append(((expected, out), {"kind": "updates", **case}))
    return cases


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["dirichlet", "sticky"])
def test_filters(kind: str, dtype: str) -> None:
    filters: list[Any]
    if kind == "dirichlet":
        filters = [cf.DirichletFilter(3, dtype=dtype, **options) for options in DIRICHLET.values()]
        filters += [cf.DirichletFilter(K, dtype=dtype) for K in (2, 6, 17)]
    else:
        filters = [cf.StickyFilter(3, dtype=dtype, **options) for options in STICKY.values()]
        filters += [cf.StickyFilter(K, dtype=dtype) for K in (2, 6, 17)]
    cases = filter_cases(filters)
    for ((expected, out), case), result in zip(cases, node.run([c for _, c in cases]), strict=True):
        assert node.same_bits(result["out"], out), case["config"]
        state = np.hstack([np.ravel(part) for part in expected.state]).astype(dtype)
        assert node.same_bits(result["state"], state), case["config"]
        if case["kind"] == "filter":
            assert node.same_bits(result["probs"], expected.probs)
            assert result["label"] == expected.label


def test_modes_are_exported_where_the_filter_uses_them() -> None:
    prepared = {
        name: json.loads(file_of(cf.Pipeline(cf.StickyFilter(3, **options)))).get("prepared")
        for name, options in STICKY.items()
    }
    assert prepared["stay"] is None
    assert "modes" in prepared["transitions"]
    assert prepared["turning"]["pairs"] == 1
    assert "modes" not in prepared["no basis"]


@pytest.mark.parametrize("single", [False, True])
def test_channel(single: bool) -> None:
    rng = np.random.default_rng(3)
    cases, expected = [], []
    for K in (2, 3, 7, 8, 9, 20, 130):
        matrix = rng.integers(0, 30, (K, K)) + 60 * np.eye(K)
        prior = rng.random(K) + 0.1
        probs, *_ = stream(K, K)
        probs = probs[:200]
        for shares in (None, prior):
            channel = cf.Channel(matrix, shares)
            expected.append((channel.apply(probs.astype(np.float32) if single else probs), channel))
            case = {"matrix": matrix.tolist(), "prior": None if shares is None else prior.tolist()}
            cases.append({"kind": "channel", **case, "probs": node.encode(probs), "single": single})
    for (out, channel), result in zip(expected, node.run(cases), strict=True):
        assert result["matrix"] == channel.matrix.tolist()
        assert node.same_bits(result["out"], out)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_adaptive(dtype: str) -> None:
    policies: list[Any] = [
        Adaptive(dtype=dtype),
        Adaptive(budget=1 / 5, min_gap=3, horizon=3.0, dtype=dtype),
        Adaptive(budget=2.0, cost={"weak": 1.0, "strong": 40.0}, dtype=dtype),
        Periodic(every=7),
        Periodic(seconds=20.0),
    ]
    cases, expected = [], []
    for seed, policy in enumerate(policies):
        observed, _, _ = stream(3, 10 + seed)
        rng = np.random.default_rng(seed)
        dt = rng.choice([1.0, 5.0, 300.0], ROWS, p=[0.1, 0.89, 0.01])
        probs = cf.DirichletFilter(3).run(observed, 0.2, dt).astype(dtype)
        config = file_of(cf.Pipeline(cf.DirichletFilter(3), policy=policy))
        sources, since = [], np.inf
        for estimate, output, step in zip(probs, observed.astype(dtype), dt.tolist(), strict=True):
            since += step
            sources.append(policy.choose(estimate, {"strong": since}))
            policy.called(sources[-1], output, estimate, step)
            since = 0.0 if sources[-1] == "strong" else since
        assert 10 < sources.count("strong") < ROWS / 2
        expected.append((sources, np.array(policy.state, np.float64)))
        arrays = {"probs": probs, "observed": observed, "dt": dt}
        encoded = {name: node.encode(array) for name, array in arrays.items()}
        cases.append({"kind": "adaptive", "config": config, **encoded, "classes": 3})
    for (sources, state), result in zip(expected, node.run(cases), strict=True):
        assert result["sources"] == sources
        assert node.same_bits(result["state"], state)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tracker(dtype: str) -> None:
    channel = cf.Channel([[8, 1, 1], [1, 7, 2], [2, 2, 6]])
    policies = (Adaptive(dtype=dtype), Periodic(every=4))
    rng = np.random.default_rng(0)
    probs, *_ = stream(3, 1)
    rows = [
        [f"s{rng.integers(8)}", float(t), str(rng.choice(["weak", "strong"])), row]
        for t, row in zip(np.cumsum(rng.choice([0.0, 1.0, 40.0], 400)), probs[:400], strict=True)
    ]
    for policy in policies:
        filter_ = cf.DirichletFilter(["a", "b", "c"], dtype=dtype)
        config = cf.Pipeline(
            filter_, beta={"weak": 0.2, "strong": 1.0}, channel={"weak": channel}, policy=policy
        )
        tracker = cf.Tracker(config, max_streams=5)
        expected = [
            (tracker.next_source(stream, time), tracker.update(stream, time, source, row))
            for stream, time, source, row in rows
        ]
        sent = [[*rest, [None if np.isnan(p) else p for p in row.tolist()]] for *rest, row in rows]
        case = {"kind": "tracker", "config": file_of(config), "rows": sent, "maxStreams": 5}
        (result,) = node.run([case])
        assert result["streams"] == tracker.streams
        assert result["labels"] == [tracker.label(name) for name in tracker.streams]
        for (source, out), (next_source, text) in zip(expected, result["results"], strict=True):
            assert next_source == source
            assert node.same_bits(text, out)
