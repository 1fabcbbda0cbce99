"""The guard: a simple rule where only that can win, the filter otherwise; biased references."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf
from classfilter.tuning import Candidate
from classfilter.tuning.objective import Gain, Objective
from classfilter.tuning.rows import concatenate
from classfilter.tuning.search import search_several


def stay_or_draw(rng: np.random.Generator, T: int, K: int, dwell: float) -> NDArray[np.intp]:
    """A class stays, and is drawn again after `dwell` rows on average."""
    drawn = np.where(rng.random(T) < 1 / dwell, rng.integers(K, size=T), -1)
    drawn[0] = rng.integers(K)
    classes: NDArray[np.intp] = drawn[np.maximum.accumulate(np.where(drawn >= 0, np.arange(T), 0))]
    return classes


def streams(
    every: int, weak_correct: float, strong_correct: float, dwell: float, count: int = 20
) -> list[cf.Rows]:
    """A reference at each `every`-th row, sharp predictions, errors from row to row independent."""
    recs = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        truth = stay_or_draw(rng, 400, 4, dwell)
        strong = np.arange(400) % every == 0
        right = rng.random(400) < np.where(strong, strong_correct, weak_correct)
        predicted = np.where(right, truth, rng.integers(4, size=400))
        probs = 0.9 * np.eye(4)[predicted] + 0.025
        source = np.where(strong, "strong", "weak")
        recs.append(
            cf.rows(time=np.arange(400.0), source=source, probs=probs, classes=4, label=truth)
        )
    return recs


def accuracy(run: object, recs: list[cf.Rows]) -> float:
    hits = [np.asarray(run(rec)).argmax(axis=1) == rec.label for rec in recs]  # type: ignore[operator]
    return float(np.concatenate(hits).mean())


def hold(rec: cf.Rows) -> NDArray[np.float64]:
    return cf.Pipeline.of(cf.HoldFilter(rec.classes), beta={"strong": 1.0, "weak": 0.5}).run(rec)


def test_the_filter_where_it_helps() -> None:
    recs = streams(8, 0.6, 0.8, 60.0)
    tuned = cf.tune(recs)
    assert isinstance(tuned.filter, cf.StickyFilter)
    assert accuracy(tuned.run, recs) > accuracy(hold, recs) + 0.05
    rival = {rival.name: rival for rival in tuned.tuning.rivals}["Hold"]
    assert rival.gain > 2 * rival.error


def test_no_weight_for_a_source_that_only_guesses() -> None:
    recs = streams(4, 0.0, 0.95, 100.0)
    tuned = cf.tune(recs, "sticky", "strong")
    assert tuned.beta["weak"] <= 0.05
    assert accuracy(tuned.run, recs) > accuracy(hold, recs) - 0.005


class KnownGains(Objective):
    """An objective with known scores: weight 0.35 through "em", or a rule, by two criteria."""

    def __init__(self, rows: Any, first: float, second: float) -> None:
        model = SimpleNamespace(channel={})
        runner: Any = SimpleNamespace(rows=rows, model=model)
        super().__init__(runner, [])
        self._hold = (first, second)

    def _scores(self, candidate: Candidate) -> tuple[float, float]:
        if candidate.family == "hold":
            return self._hold
        if candidate.family != "transitions":
            return -9.0, -9.0
        beta, channel = dict(candidate.beta), dict(candidate.channel)
        score = -abs(beta["weak"] - 0.35) - 2 * (beta["strong"] < 1) + (channel.get("weak") == "em")
        return score, score

    def mean(self, candidate: Candidate) -> float:
        return self._scores(candidate)[0]

    def gains(self, candidate: Candidate, other: Candidate) -> list[Gain]:
        pairs = zip(self._scores(candidate), self._scores(other), strict=True)
        return [Gain(a - b, 0.1) for a, b in pairs]

    def sample(self, _: int) -> KnownGains:
        return self


@pytest.mark.parametrize(
    ("first", "second", "family"),
    [
        (1.25, 1.25, "hold"),
        (1.25, 1.15, "transitions"),  # clear by one criterion only
        (1.15, 1.25, "transitions"),
        (-3.0, 1.5, "transitions"),
    ],
)
def test_a_rule_must_be_clearly_ahead_by_both_targets(
    first: float, second: float, family: str
) -> None:
    objective: Any = KnownGains(concatenate(streams(8, 0.6, 0.8, 60.0, 1), "strong"), first, second)
    found = search_several(objective, "auto", None)
    assert found.chosen.family == family
    assert found.sticky is not None
    assert dict(found.sticky.beta) == {"strong": 1.0, "weak": 0.35}
    assert found.sticky.channel == (("weak", "em"),)
    assert "Hold" in found.rivals or family == "hold"
    assert search_several(objective, "sticky", None).chosen == found.sticky


def test_a_rule_is_returned_as_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    recs = streams(8, 0.6, 0.8, 60.0)

    def rule_wins(objective: Any, kind: str, channel: bool | None) -> Any:
        found = search_several(objective, kind, channel)
        return found._replace(chosen=found.rivals["Hold"], rivals={"Raw": found.rivals["Raw"]})

    monkeypatch.setattr(sys.modules["classfilter.tuning.tuner"], "search_several", rule_wins)
    tuned = cf.tune(recs)
    assert isinstance(tuned.filter, cf.HoldFilter)
    assert tuned.tuning.explain().startswith(
        "A simple rule, to hold the last prediction of 'strong', ch"
    )
    np.testing.assert_array_equal(tuned.run(recs[0]), hold(recs[0]))
    assert tuned.smooth(recs[0]).shape == (400, 4)  # by the best sticky filter
    assert tuned.channel == {"strong": None, "weak": None}
