"""What a choice rests on: errors of the reference from call to call, and the order of streams."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import classfilter as cf
from tuning_days import correlated_errors


def dense(r: float, streams: int = 4) -> list[cf.Rows]:
    """A strong source at every row, its errors with correlation r from row to row, and a weak.

    The strong one is right as often as it says: its logits are 2, and have a deviation of 1.17.
    """
    recs = []
    for seed in range(streams):
        rec = correlated_errors(r, 300, seed, 6000)
        strong = rec.probs ** (2.0 / 1.17**2)
        strong /= strong.sum(axis=1, keepdims=True)
        weak = np.random.default_rng(seed).dirichlet(np.ones(4), 6000) / 2 + strong / 2
        both = np.stack([strong, weak], axis=1).reshape(-1, 4)
        source = np.tile(["strong", "weak"], 6000)
        assert rec.label is not None
        recs.append(
            cf.rows(
                time=np.repeat(rec.time, 2),
                source=source,
                probs=both,
                classes=4,
                label=np.repeat(rec.label, 2),
            )
        )
    return recs


def correlation_by_labels(recs: list[cf.Rows], lag: int) -> float:
    """The autocorrelation of what is left of the predictions without the mean of their class."""
    own = [(rec.probs[rec.of_source("strong")], rec.label[rec.of_source("strong")]) for rec in recs]  # type: ignore[index]
    probs, label = (np.concatenate(column) for column in zip(*own, strict=True))
    means = np.stack([probs[label == k].mean(axis=0) for k in range(4)])
    rests = [p - means[y] for p, y in own]
    product = sum(float((rest[lag:] * rest[:-lag]).sum()) for rest in rests)
    return product / sum(float((rest[lag:] ** 2).sum()) for rest in rests)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("r", "every"),
    [
        (0.0, 4),
        (0.97, 4),
        (0.5, 4),
        (0.9, 12),
    ],
)
def test_how_far_errors_last_from_call_to_call(r: float, every: int) -> None:
    recs = dense(r)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tuned = cf.tune(recs, reference="strong", every=every)
    known = correlation_by_labels(recs, every)
    assert tuned.tuning.assumptions is not None
    assert tuned.tuning.assumptions.error_correlation == pytest.approx(known, abs=0.06)
    warned = [w for w in caught if "errors of 'strong' last" in str(w.message)]
    assert bool(warned) == (tuned.tuning.assumptions.error_correlation >= 0.75) == (known > 0.75)
    assert ("Errors of 'strong' last" in tuned.tuning.explain()) == bool(warned)


@pytest.mark.slow
def test_the_order_of_the_streams_is_of_no_account() -> None:
    days = [cf.simulate("capture24", hours=1.5, seed=seed).rows() for seed in range(5)]
    one, other = cf.tune(days, reference="strong"), cf.tune(days[::-1], reference="strong")
    assert one.tuning.candidate == other.tuning.candidate
    np.testing.assert_allclose(one.run(days[0]), other.run(days[0]), rtol=0, atol=1e-9)


def test_permuted_classes_permute_the_choice() -> None:
    days = [cf.simulate("capture24", hours=1.5, seed=seed).rows() for seed in range(4)]
    order = np.random.default_rng(0).permutation(len(days[0].classes))
    names = [days[0].classes[i] for i in order]
    permuted = [
        cf.rows(time=d.time, source=d.source_names, probs=d.probs[:, order], classes=names)
        for d in days
    ]
    one, other = cf.tune(days, reference="strong"), cf.tune(permuted, reference="strong")
    assert one.tuning.candidate == other.tuning.candidate
    np.testing.assert_allclose(
        one.run(days[0])[:, order], other.run(permuted[0]), rtol=0, atol=1e-9
    )


@pytest.mark.slow
def test_hold_where_only_hold_can_win() -> None:
    """A reference that is always right and says so with 0.28, and classes that change soon."""
    recs = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = np.repeat(rng.integers(4, size=27), 30)[:800]
        strong = np.arange(800) % 10 == 0
        predicted = np.where(strong, truth, rng.integers(4, size=800))
        probs = np.where(np.eye(4)[predicted] > 0, 0.28, 0.24)
        recs.append(
            cf.rows(
                time=np.arange(800.0),
                source=np.where(strong, "strong", "weak"),
                probs=probs,
                classes=4,
            )
        )
    tuned = cf.tune(recs, reference="strong")
    assert isinstance(tuned.filter, cf.HoldFilter), tuned.tuning.explain()
    assert (
        "A simple rule, to hold the last prediction of 'strong', changes class"
        in tuned.tuning.explain()
    )
