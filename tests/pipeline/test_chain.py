"""A chain: what it gives the filter, row by row and all at once; and that it does not change."""

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


def make_chain(f: Any = None, **changes: Any) -> cf.Chain:
    arguments: dict[str, Any] = {"beta": BETA, "channel": {"weak": CHANNEL}} | changes
    return cf.Chain(cf.DirichletFilter(CLASSES) if f is None else f, **arguments)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_the_filter_gets(dtype: Any) -> None:
    """By hand: the channel of the source, and its weight; in any order of the columns."""
    chain = make_chain(cf.DirichletFilter(CLASSES, dtype=dtype))
    rows = np.random.default_rng(0).dirichlet(np.ones(3), 20).astype(dtype)
    sources = ["weak", "strong", "strong", "weak"] * 5
    expected = [CHANNEL.apply(p) if s == "weak" else p for s, p in zip(sources, rows, strict=True)]
    for source, row, probs in zip(sources, rows, expected, strict=True):
        observed = chain.observe(source, row)
        assert observed[:2] == (source, BETA[source])
        np.testing.assert_array_equal(observed.probs, probs)
    codes = cf.rows(time=range(20), source=sources, probs=rows, classes=CLASSES).factorized_sources
    before = rows.copy()
    stack, beta = chain.observe_rows(codes, rows, np.zeros(20, bool))
    probs = stack[:, 0]
    np.testing.assert_array_equal(probs, expected)
    np.testing.assert_array_equal(beta, [BETA[source] for source in sources])
    order = ("sleep", "walk", "sit")
    turned, _ = chain.observe_rows(codes, rows[:, [2, 0, 1]], np.zeros(20, bool), order)
    np.testing.assert_array_equal(turned[:, 0], expected)
    np.testing.assert_array_equal(chain.in_order_of(order, turned[:, 0]), probs[:, [2, 0, 1]])
    np.testing.assert_array_equal(rows, before)


def test_one_weight_for_all_and_a_class_for_probabilities() -> None:
    chain = cf.Chain(cf.DirichletFilter(CLASSES), beta=0.5)
    assert chain.observe(None, "sit")[:2] == ("default", 0.5)
    low = (1 - 0.7) / 2
    for prediction, row in (
        ("sit", [low, 0.7, low]),
        (2, [low, low, 0.7]),
        (None, [np.nan] * 3),
        ({"sleep": 0.5, "walk": 0.3, "sit": 0.2}, [0.3, 0.2, 0.5]),
    ):
        np.testing.assert_array_equal(chain.observe("any", prediction).probs, row)
    np.testing.assert_array_equal(chain.observe("any", "walk", 0.5).probs, [0.5, 0.25, 0.25])
    with rejected("source", cf.RowError):
        make_chain().observe("any", ROW)


def test_it_does_not_change() -> None:
    f, policy, beta = cf.DirichletFilter(CLASSES), cf.policy.Periodic(3), dict(BETA)
    f.update(ROW)
    policy.called("strong", ROW, ROW, 1.0)
    chain = make_chain(f, policy=policy, beta=beta)
    beta["weak"] = 0.9
    chain.filter().update(ROW)
    fresh = cf.DirichletFilter(CLASSES)
    assert chain.filter().probs.tolist() == fresh.probs.tolist() != f.probs.tolist()
    assert chain.policy is not None
    assert chain.policy.state == cf.policy.Periodic(3).state != policy.state
    assert chain.beta == BETA
    with pytest.raises(FrozenInstanceError, match="beta"):
        chain.beta = 1.0
    with pytest.raises(FrozenInstanceError, match="beta"):
        del chain.beta


def test_an_argument_takes_precedence() -> None:
    chain = make_chain(policy=cf.policy.Periodic(3))
    assert cf.Chain.of(chain) is chain
    other = cf.Chain.of(chain, beta=0.5)
    assert (other.beta, other.channel["weak"]) == (0.5, CHANNEL)
    assert other.settings["policy"] == chain.settings["policy"]
    assert cf.Chain.of(chain, channel={}).channel == {"weak": None, "strong": None}


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
    assert make_chain(beta=beta, channel=channel).reference == reference


def test_the_digest_tells_settings_apart() -> None:
    chains = [
        make_chain(),
        make_chain(cf.DirichletFilter(CLASSES, 0.95)),
        make_chain(cf.DirichletFilter(CLASSES[::-1])),
        make_chain(beta=BETA | {"weak": 0.3}),
        make_chain(channel={"strong": CHANNEL}),
        make_chain(policy=cf.policy.Periodic(3)),
    ]
    assert len({chain.digest for chain in chains}) == len(chains)
    for chain in chains:
        copied = pickle.loads(pickle.dumps(chain))
        assert (copied.digest, copied.settings) == (chain.digest, chain.settings)


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
def test_settings_and_files_make_the_same_chain(changes: dict[str, Any], tmp_path: Path) -> None:
    chain = make_chain(**changes)
    chain.save(tmp_path / "walk.toml")
    p = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    rec = cf.rows(time=range(20), source="weak", probs=p, classes=CLASSES)
    for again in (from_settings(chain.settings), cf.load(tmp_path / "walk.toml")):
        assert type(again) is cf.Chain
        assert (again.digest, again.settings) == (chain.digest, chain.settings)
        np.testing.assert_array_equal(again.run(rec), chain.run(rec))
