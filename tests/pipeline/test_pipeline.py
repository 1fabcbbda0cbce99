"""A pipeline: what it gives the filter, row by row and all at once; and that it does not change."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.pipeline import from_settings
from conftest import rejected

CLASSES = ["walk", "sit", "sleep"]
CHANNEL = cf.Channel([[6, 3, 1], [2, 7, 1], [3, 3, 4]], prior=[2, 1, 1])
BETA = {"weak": 0.25, "strong": 1.0}
ROW = [0.5, 0.3, 0.2]


def make_pipe(f: Any = None, **changes: Any) -> cf.Pipeline:
    arguments: dict[str, Any] = {"beta": BETA, "channel": {"weak": CHANNEL}} | changes
    return cf.Pipeline(cf.DirichletFilter(CLASSES) if f is None else f, **arguments)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_the_filter_gets(dtype: Any) -> None:
    """By hand: the channel of the source, and its weight; in any order of the columns."""
    pipe = make_pipe(cf.DirichletFilter(CLASSES, dtype=dtype))
    rows = np.random.default_rng(0).dirichlet(np.ones(3), 20).astype(dtype)
    sources = ["weak", "strong", "strong", "weak"] * 5
    expected = [CHANNEL.apply(p) if s == "weak" else p for s, p in zip(sources, rows, strict=True)]
    for source, row, probs in zip(sources, rows, expected, strict=True):
        observed = pipe.observe(source, row)
        assert observed[:2] == (source, BETA[source])
        np.testing.assert_array_equal(observed.probs, probs)
    codes = cf.rows(time=range(20), source=sources, probs=rows, classes=CLASSES).factorized_sources
    before = rows.copy()
    stack, beta = pipe.observe_rows(codes, rows, np.zeros(20, bool))
    probs = stack[:, 0]
    np.testing.assert_array_equal(probs, expected)
    np.testing.assert_array_equal(beta, [BETA[source] for source in sources])
    order = ("sleep", "walk", "sit")
    turned, _ = pipe.observe_rows(codes, rows[:, [2, 0, 1]], np.zeros(20, bool), order)
    np.testing.assert_array_equal(turned[:, 0], expected)
    np.testing.assert_array_equal(pipe.in_order_of(order, turned[:, 0]), probs[:, [2, 0, 1]])
    np.testing.assert_array_equal(rows, before)


def test_one_weight_for_all_and_a_class_for_probabilities() -> None:
    pipe = cf.Pipeline(cf.DirichletFilter(CLASSES), beta=0.5)
    assert pipe.observe(None, "sit")[:2] == ("default", 0.5)
    low = (1 - 0.7) / 2
    for prediction, row in (
        ("sit", [low, 0.7, low]),
        (2, [low, low, 0.7]),
        (None, [np.nan] * 3),
        ({"sleep": 0.5, "walk": 0.3, "sit": 0.2}, [0.3, 0.2, 0.5]),
    ):
        np.testing.assert_array_equal(pipe.observe("any", prediction).probs, row)
    np.testing.assert_array_equal(pipe.observe("any", "walk", 0.5).probs, [0.5, 0.25, 0.25])
    with rejected("source", cf.RowError):
        make_pipe().observe("any", ROW)


def test_it_does_not_change() -> None:
    f, policy, beta = cf.DirichletFilter(CLASSES), cf.policy.Periodic(3), dict(BETA)
    f.update(ROW)
    policy.called("strong", ROW, ROW, 1.0)
    pipe = make_pipe(f, policy=policy, beta=beta)
    beta["weak"] = 0.9
    pipe.filter.update(ROW)
    fresh = cf.DirichletFilter(CLASSES)
    assert pipe.filter.probs.tolist() == fresh.probs.tolist() != f.probs.tolist()
    assert pipe.policy is not None
    assert pipe.policy.state == cf.policy.Periodic(3).state != policy.state
    assert pipe.beta == BETA
    with pytest.raises(FrozenInstanceError, match="beta"):
        pipe.beta = 1.0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="beta"):
        del pipe.beta


def test_an_argument_takes_precedence() -> None:
    pipe = make_pipe(policy=cf.policy.Periodic(3))
    assert cf.Pipeline.of(pipe) is pipe
    other = cf.Pipeline.of(pipe, beta=0.5)
    assert (other.beta, other.channel["weak"]) == (0.5, CHANNEL)
    assert other.settings["policy"] == pipe.settings["policy"]
    assert cf.Pipeline.of(pipe, channel={}).channel == {"weak": None, "strong": None}


@pytest.mark.parametrize(
    ("beta", "channel", "reference"),
    [
        (BETA, {"weak": CHANNEL}, "strong"),
        ({"a": 0.5, "b": 0.5}, {}, "a"),
        ({"a": 1.0, "b": 0.1}, {"a": CHANNEL}, "b"),
        (1.0, {}, ""),
    ],
)
def test_the_reference(beta: Any, channel: Any, reference: str) -> None:
    assert make_pipe(beta=beta, channel=channel).reference == reference


def test_the_digest_tells_settings_apart() -> None:
    pipes = [
        make_pipe(),
        make_pipe(cf.DirichletFilter(CLASSES, 0.95)),
        make_pipe(cf.DirichletFilter(CLASSES[::-1])),
        make_pipe(beta=BETA | {"weak": 0.3}),
        make_pipe(channel={"strong": CHANNEL}),
        make_pipe(policy=cf.policy.Periodic(3)),
    ]
    assert len({pipe.digest for pipe in pipes}) == len(pipes)
    for pipe in pipes:
        copied = pickle.loads(pickle.dumps(pipe))
        assert (copied.digest, copied.settings) == (pipe.digest, pipe.settings)


@pytest.mark.parametrize(
    "changes",
    [
        {"beta": 0.25},
        {"channel": {}},
        {"channel": {"weak": cf.Channel(CHANNEL.matrix, prior=[0.5, 0.3, 0.2])}},
        {"policy": cf.policy.Adaptive(budget=0.1)},
        {"f": cf.StickyFilter(CLASSES, stay=0.97, dtype="float32")},
    ],
)
def test_settings_and_files_make_the_same_pipe(changes: dict[str, Any], tmp_path: Path) -> None:
    pipe = make_pipe(**changes)
    pipe.save(tmp_path / "walk.json")
    p = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    rec = cf.rows(time=range(20), source="weak", probs=p, classes=CLASSES)
    for again in (from_settings(pipe.settings), cf.load(tmp_path / "walk.json")):
        assert type(again) is cf.Pipeline
        assert (again.digest, again.settings) == (pipe.digest, pipe.settings)
        np.testing.assert_array_equal(again.run(rec), pipe.run(rec))


def test_an_untuned_pipeline_in_words() -> None:
    """The mean time in a class of a sticky filter, from its definition: dwell as it was given."""
    classes = ["walk", "sit"]
    pipe = cf.Pipeline(
        cf.StickyFilter(classes, dwell="5min"),
        beta={"weak": 0.1, "strong": 1.0},
        channel={"weak": cf.Channel([[9, 1], [1, 9]])},
        policy=cf.policy.Periodic(every=12),
        rule=cf.EventRule("30s"),
        smoother=cf.Pipeline(cf.DirichletFilter(classes, half_life="60s")),
    )
    stay = pipe.filter.stay
    assert str(pipe).splitlines() == [
        f"Filter    StickyFilter(['walk', 'sit'], stay={stay:.6g}), dwell 300",
        "Weights   weak 0.1 through its channel, strong 1",
        "Policy    Periodic(every=12)",
        "Events    EventRule(30.0)",
        "Smoother  DirichletFilter(['walk', 'sit'], gamma=0.988514, estimate='mode'),",
        "          half-life 60",
    ]
    labels = cf.MultiLabelFilter(["robin", "wren"], cf.StickyFilter(2, dwell="10s"))
    first, second = str(cf.Pipeline(labels)).split("\nWeights")
    assert first.endswith("dwell 10")
    assert second == "  every source 1"
