"""Which source is right, without labels; a source that is stuck, guesses, or copies another."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf

CLASSES = ["walk", "sit", "run", "lie"]
RIGHT = {"a": 0.5, "b": 0.9, "c": 0.65, "d": 0.3}


def truth(seed: int, rows: int, stay: float = 0.98) -> NDArray[np.intp]:
    rng = np.random.default_rng(seed)
    drawn = np.where(rng.random(rows) < 1 - stay, rng.integers(4, size=rows), -1)
    drawn[0] = 0
    at = np.maximum.accumulate(np.where(drawn >= 0, np.arange(rows), 0))
    classes: NDArray[np.intp] = drawn[at]
    return classes


def equal_sources(seed: int, right: dict[str, float] = RIGHT, rows: int = 500) -> cf.Rows:
    """All sources at each time; errors of each are independent."""
    rng, y = np.random.default_rng(seed), truth(seed, rows)
    said = [np.where(rng.random(rows) < a, y, rng.integers(4, size=rows)) for a in right.values()]
    time = np.repeat(5.0 * np.arange(rows), len(right))
    return cf.rows(
        time=time,
        source=np.tile(list(right), rows),
        probs=np.stack(said, axis=1).ravel(),
        classes=CLASSES,
        label=np.repeat(y, len(right)),
    )


def weak_and_strong(seed: int, stuck: str) -> cf.Rows:
    """A strong source at one row in 12; one of the two always says the same."""
    rng, y = np.random.default_rng(seed), truth(seed, 1500)
    said = np.where(rng.random(1500) < 0.6, y, rng.integers(4, size=1500))
    probs = rng.dirichlet(np.ones(4), 1500) * 0.5
    probs[np.arange(1500), said] += 0.5
    strong = np.arange(1500) % 12 == 0
    source = np.where(strong, "strong", "weak")
    probs[source == stuck] = [0.7, 0.1, 0.1, 0.1]
    if stuck == "weak":
        probs[strong] = 0.02 + 0.92 * np.eye(4)[y[strong]]
    return cf.rows(time=5.0 * np.arange(1500), source=source, probs=probs, classes=CLASSES, label=y)


def accuracy(recs: list[cf.Rows], pipe: cf.Pipeline, smooth: bool = False) -> float:
    run = pipe.smooth if smooth else pipe.run
    right = [run(rec).argmax(axis=1) == rec.label for rec in recs]
    return float(np.concatenate(right).mean())


@pytest.mark.parametrize("stuck", ["weak", "strong"])
def test_a_stuck_source_is_never_trusted(stuck: str) -> None:
    """A stuck reference won: 67.7 % right before, 32.7 % after, without a warning."""
    recs = [weak_and_strong(seed, stuck) for seed in range(6)]
    with pytest.warns(UserWarning, match=f"source '{stuck}' says 'walk' in every row"):
        pipe = cf.tune(recs, reference="strong")
    raw = cf.Pipeline.of(cf.RawFilter(CLASSES))
    assert accuracy(recs, pipe) > accuracy(recs, raw) - 0.02
    assert accuracy(recs, pipe, smooth=True) > accuracy(recs, raw) - 0.02
    assert pipe.beta[stuck] == 0
    assert pipe.reference != stuck


def test_no_reference_needs_to_be_named() -> None:
    """Equal sources: as good as the best of them, and better."""
    recs = [equal_sources(seed) for seed in range(6)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipe = cf.tune(recs)
    assert pipe.reference == "b"
    assert accuracy(recs, pipe) > 0.95
    facts = pipe.tuning.sources
    assert [one.name for one in facts] == ["b", "c", "a", "d"]
    for one in facts:
        assert one.beyond_chance == pytest.approx(RIGHT[one.name], abs=0.06)
        assert one.accuracy == pytest.approx(RIGHT[one.name] + (1 - RIGHT[one.name]) / 4, abs=0.06)
        assert (one.rows, one.verdict) == (3000, "")
        assert one.weight == pipe.beta[one.name]


def test_the_order_of_sources_does_not_matter() -> None:
    recs = [equal_sources(seed) for seed in range(4)]
    backward = dict(reversed(RIGHT.items()))
    other = [equal_sources(seed, backward) for seed in range(4)]
    assert cf.tune(recs).reference == cf.tune(other).reference == "b"


def test_a_copy_and_a_guess_are_named() -> None:
    recs = []
    for seed in range(4):
        rec = equal_sources(seed, RIGHT | {"guess": 0.0})
        said = rec.probs.argmax(axis=1)
        copy = rec.source_names == "b"
        recs.append(
            cf.rows(
                time=np.concatenate([rec.time, rec.time[copy]]),
                source=np.concatenate([rec.source_names, np.full(copy.sum(), "copy")]),
                probs=np.concatenate([said, said[copy]]),
                classes=CLASSES,
                sort=True,
            )
        )
    with pytest.warns(UserWarning, match="source 'guess' agrees hardly more than by chance with"):
        pipe = cf.tune(recs)
    assert pipe.beta["guess"] == 0
    verdicts = {one.name: one.verdict for one in pipe.tuning.sources}
    assert "copies 'copy'" in verdicts["b"]
    assert "copies 'b'" in verdicts["copy"]
    assert verdicts["a"] == verdicts["c"] == ""


def test_what_a_source_confuses() -> None:
    """It says sit where somebody runs, in half of the time."""
    rng, recs = np.random.default_rng(0), []
    for seed in range(4):
        rec = equal_sources(seed, {"a": 0.9, "b": 0.95, "c": 0.9})
        said, own = rec.probs.argmax(axis=1), rec.source_names == "c"
        assert rec.label is not None
        said[own & (rec.label == 2) & (rng.random(len(said)) < 0.5)] = 1
        recs.append(cf.rows(time=rec.time, source=rec.source_names, probs=said, classes=CLASSES))
    (facts,) = (one for one in cf.tune(recs).tuning.sources if one.name == "c")
    assert facts.confuses[:2] == ("run", "sit")
    assert facts.confuses[2] == pytest.approx(0.5, abs=0.1)


def test_a_named_reference_that_others_contradict() -> None:
    recs = [equal_sources(seed, RIGHT | {"d": 0.42, "b": 0.97}) for seed in range(6)]
    with pytest.warns(UserWarning, match="the other sources contradict 'd'"):
        cf.tune(recs, reference="d", every=1)
