"""The chain of a row: what the filter gets of a prediction, and what tells settings apart."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter._validation import factorize
from classfilter.chain._toml import from_settings

CLASSES = ["walk", "sit", "sleep"]
CHANNEL = cf.Channel([[8, 1, 1], [2, 6, 2], [1, 1, 3]], prior=[0.5, 0.3, 0.2])
BETA = {"weak": 0.25, "strong": 1.0}
RANDOM = np.random.default_rng(0).dirichlet(np.ones(3), 50)


def chain(dtype: str = "float64", **more: Any) -> cf.Chain:
    f = cf.DirichletFilter(CLASSES, half_life=60.0, dtype=dtype)
    return cf.Chain(f, **{"beta": BETA, "channel": {"weak": CHANNEL}} | more)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_observation_is_the_prediction_after_the_channel(dtype: str) -> None:
    observed = chain(dtype).observe("weak", RANDOM[0].tolist())
    assert (observed.source, observed.beta) == ("weak", 0.25)
    np.testing.assert_array_equal(observed.probs, CHANNEL.apply(RANDOM[0].astype(dtype)))
    assert chain().observe("strong", RANDOM[0]).probs is not None
    np.testing.assert_array_equal(chain().observe("strong", RANDOM[0]).probs, RANDOM[0])
    np.testing.assert_array_equal(chain().observe("strong", "sit").probs, [0, 1, 0])
    assert np.isnan(chain().observe("weak", None).probs).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_many_rows_are_a_loop_of_one(dtype: str) -> None:
    names = ["weak" if i % 3 else "strong" for i in range(len(RANDOM))]
    columns = ("sleep", "walk", "sit")
    shuffled = RANDOM[:, [2, 0, 1]]
    probs, weights = chain(dtype).observe_rows(factorize(names), shuffled, columns)
    for row, name in enumerate(names):
        one = chain(dtype).observe(name, RANDOM[row])
        assert weights[row] == one.beta
        np.testing.assert_array_equal(probs[row].astype(dtype), np.asarray(one.probs, dtype))
    np.testing.assert_array_equal(shuffled, RANDOM[:, [2, 0, 1]])


OTHERS: dict[str, Any] = {
    "a weight": {"beta": {"weak": 0.5, "strong": 1.0}},
    "a source more": {"beta": {**BETA, "third": 1.0}},
    "one for all": {"beta": 0.25},
    "no channel": {"channel": {}},
    "the channel's prior": {"channel": {"weak": cf.Channel(CHANNEL.matrix)}},
    "a policy": {"policy": cf.policy.Periodic(every=12)},
    "another policy": {"policy": cf.policy.Adaptive(budget=0.1)},
    "precision": {"dtype": "float32"},
}


def test_the_digest_tells_all_settings_apart() -> None:
    chains = [chain(), *(chain(**other) for other in OTHERS.values())]
    chains += [cf.Chain(f) for f in (cf.RawFilter(3), cf.RawFilter(CLASSES), cf.HoldFilter(3))]
    chains += [cf.Chain(cf.StickyFilter(3, stay=stay)) for stay in (0.9, 0.99)]
    assert len({one.digest for one in chains}) == len(chains)
    turned = chain(beta=dict(reversed(BETA.items())))
    assert turned.digest == chain().digest


@pytest.mark.parametrize("name", OTHERS)
def test_settings_and_files_make_the_same_chain(name: str, tmp_path: Path) -> None:
    one = chain(**OTHERS[name])
    one.save(tmp_path / "walk.toml")
    for again in (from_settings(one.settings), cf.load(tmp_path / "walk.toml")):
        assert type(again) is cf.Chain
        assert again.digest == one.digest
        assert again.settings == one.settings
        rec = cf.Recording(range(50), "weak", RANDOM, CLASSES)
        np.testing.assert_array_equal(again.run(rec), one.run(rec))


def test_a_chain_does_not_change() -> None:
    f, policy = cf.DirichletFilter(2), cf.policy.Periodic(every=3)
    one = cf.Chain(f, policy=policy)
    f.update([0.9, 0.1])
    assert one.filter().eta == cf.DirichletFilter(2).eta
    one.filter().update([0.9, 0.1])
    assert one.filter().eta == cf.DirichletFilter(2).eta
    with pytest.raises(FrozenInstanceError, match="beta of a Chain cannot change; make a new one"):
        one.beta = 0.5
    assert one.policy is not policy


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(cf.RowError, match=r"source is 'x', which has no weight; beta names \['we"):
        chain().observe("x", RANDOM[0])
    with pytest.raises(ValueError, match=r"beta\['weak'\] is 2; it must be a number in \[0, 1\]"):
        chain(beta={"weak": 2})
    with pytest.raises(ValueError, match=r"channel\['weak'\] has 2 classes, but the filter has 3"):
        chain(channel={"weak": cf.Channel(np.eye(2))})
    with pytest.raises(TypeError, match=r"filter is 'a.toml'; read the file first: classfilter.lo"):
        cf.Chain.of("a.toml")  # type: ignore[arg-type]
    with pytest.raises(cf.RowError, match=r"probs\[0\] is -1.0; a probability must not be negat"):
        chain().observe("weak", [-1.0, 1.0, 1.0])


def test_an_argument_takes_precedence() -> None:
    assert cf.Chain.of(chain()).digest == chain().digest
    other = cf.Chain.of(chain(), beta=0.5)
    assert other.beta == 0.5
    assert other.channel["weak"] == CHANNEL
    assert cf.Chain.of(cf.RawFilter(2), beta={"a": 0.1}).weight("a") == ("a", 0.1)
