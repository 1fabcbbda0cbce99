"""A recording through a filter: weights, order of classes, channels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import classfilter as cf
from classfilter.engine.recording import Recording
from small_recording import CLASSES, NAN, recording
from streams import Stream, streams


def test_weights() -> None:
    rec = recording()
    assert rec.weights({"weak": 0.25, "strong": 1, "other": 0}).tolist() == [0.25, 1.0, 0.25]
    assert rec.weights({"weak": 0.25}, default=0.5).tolist() == [0.25, 0.5, 0.25]
    assert rec.weights(0.75).tolist() == [0.75] * 3
    single: dict[str, Any] = dict.fromkeys(rec.sources, np.float32(0.5))
    assert rec.weights(single).dtype == np.float64


@pytest.mark.parametrize(
    ("beta", "message"),
    [
        ({"weak": 0.1}, r"source in row 1 is 'strong', which has no weight; beta names \['weak'\]"),
        ({"weak": 1.5, "strong": 1.0}, r"beta\['weak'\] is 1\.5; it must be a number in \[0, 1\]"),
        ({"weak": NAN, "strong": 1.0}, r"beta\['weak'\] is nan"),
        ({"weak": "0.5", "strong": 1.0}, r"beta\['weak'\] is '0\.5'"),
        ({"weak": True, "strong": 1.0}, r"beta\['weak'\] is True"),
        (-0.5, r"beta is -0\.5"),
    ],
)
def test_invalid_weights(beta: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recording().weights(beta)
    with pytest.raises(ValueError, match=message):
        recording().run(cf.DirichletFilter(CLASSES), beta=beta)


def test_invalid_default() -> None:
    with pytest.raises(ValueError, match="default is 2"):
        recording().weights({}, default=2)


def test_columns_are_matched_by_name() -> None:
    prior: NDArray[np.float64] = np.array([3.0, 1.0, 2.0])
    rec = recording()
    expected = rec.run(cf.DirichletFilter(CLASSES, prior=prior))
    order = [2, 0, 1]
    permuted = cf.DirichletFilter([CLASSES[k] for k in order], prior=prior[order])
    np.testing.assert_allclose(rec.run(permuted), expected, rtol=1e-9)
    by_number = cf.DirichletFilter(3, prior=prior)
    assert rec.run(by_number).tobytes() == expected.tobytes()


@pytest.mark.parametrize("classes", [2, 4, ("walk", "sit", "run"), ("walk", "sit"), (1, 2, 3)])
def test_other_classes(classes: Any) -> None:
    with pytest.raises(ValueError, match=r"the data has the classes \['walk'.* the filter has \["):
        recording().run(cf.DirichletFilter(classes))


@given(streams(), st.integers(0, 2**32 - 1))
def test_a_channel_corrects_a_source(s: Stream, seed: int) -> None:
    """Row by row, in the filter's order of classes."""
    rng, K = np.random.default_rng(seed), s.probs.shape[1]
    source = rng.choice(["weak", "strong"], len(s.dt))
    weak = cf.Channel(rng.random((K, K)), rng.uniform(0.1, 1, K))
    channel = {"weak": weak, "strong": None}
    names = [f"c{k}" for k in range(K)]
    rec = Recording(s.dt.cumsum(), source, s.probs, names)
    beta = {"weak": 0.5, "strong": 1.0}
    f = cf.DirichletFilter(names[::-1], gamma=0.8, estimate="mean")
    corrected = np.array(
        [
            weak.apply(p[::-1]) if name == "weak" else p[::-1]
            for p, name in zip(s.probs, source.tolist(), strict=True)
        ]
    )
    filtered, smoothed = (
        rec.run(f, beta=beta, channel=channel),
        rec.smooth(f, beta=beta, channel=channel, lag=3),
    )
    weights, dt = [beta[name] for name in source.tolist()], rec.dt
    np.testing.assert_array_equal(
        smoothed[:, ::-1], cf.smooth(f.copy(), corrected, weights, dt, lag=3)
    )
    for p, row, weight, step in zip(filtered, corrected, weights, dt.tolist(), strict=True):
        np.testing.assert_array_equal(p[::-1], f.update(row, weight, step))
    assert rec.probs.tobytes() == s.probs.tobytes()
