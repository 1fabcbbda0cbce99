"""The guard: a simple rule where only that can win, the filter otherwise; biased references."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf
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
    channel = tuned.channel["weak"]
    said = np.eye(4) * 0.9 + 0.025
    told = said if channel is None else channel.apply(said) / channel.apply(said).mean(axis=0)
    assert tuned.beta["weak"] <= 0.05 or told.max() < 1.2  # it says the same of every class
    assert accuracy(tuned.run, recs) > accuracy(hold, recs) - 0.005


@pytest.mark.parametrize("count", [3, 20])
def test_few_changes_get_the_last_prediction_and_the_text_says_why(count: int) -> None:
    """In some draws of one stream, a filter lost 29 points to it."""
    recs = streams(8, 0.6, 0.8, 60.0, count=count)
    tuned = cf.tune(recs)
    if count == 20:
        assert isinstance(tuned.filter, cf.StickyFilter)
        assert tuned.tuning.why_safe == ""
        return
    assert isinstance(tuned.filter, cf.HoldFilter)
    for rec in recs:
        np.testing.assert_array_equal(tuned.run(rec), hold(rec))
    assert "too few to trust more than the last prediction" in tuned.tuning.why_safe
    assert tuned.tuning.why_safe in tuned.tuning.explain()


def test_a_rule_is_returned_as_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    recs = streams(8, 0.6, 0.8, 60.0)

    def rule_wins(*args: Any) -> Any:
        found = search_several(*args)
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


def equals(right: list[float], lasting: list[float], dwell: float, count: int = 8) -> list[cf.Rows]:
    """Labels of sources at each row, whose errors last so many rows."""
    recs = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        truth, said = stay_or_draw(rng, 400, 4, dwell), []
        for correct, rows in zip(right, lasting, strict=True):
            new = rng.random(400) < 1 / rows
            at = np.maximum.accumulate(np.where(new, np.arange(400), 0))
            wrong = (rng.random(400) >= correct)[at]
            said.append(np.where(wrong, (truth + rng.integers(1, 4, 400)[at]) % 4, truth))
        recs.append(
            cf.rows(
                time=np.repeat(np.arange(400.0), len(right)),
                source=np.tile([f"s{i}" for i in range(len(right))], 400),
                probs=np.stack(said, axis=1).ravel(),
                classes=4,
                label=np.repeat(truth, len(right)),
            )
        )
    return recs


def test_all_sources_judge_where_the_reference_cannot() -> None:
    """Calls are rarer than changes: all sources, taken as one, lost 12 points to the filter."""
    recs = streams(30, 0.7, 0.98, 10.0)
    with pytest.warns(UserWarning, match="Later predictions of all sources judge instead"):
        tuned = cf.tune(recs)
    assert isinstance(tuned.filter, cf.StickyFilter)
    assert accuracy(tuned.run, recs) > accuracy(hold, recs) + 0.2
    assert accuracy(tuned.run, recs) > 0.8


def test_a_filter_that_follows_errors_that_last_is_found_out() -> None:
    """One of two sources errs for long, so that it seems right: the other one does not agree."""
    recs = equals([0.79, 0.79], [11.0, 2.0], 81.0)
    vote = cf.Pipeline(cf.VoteFilter(4))
    with pytest.warns(UserWarning, match="errors of 's0' last"):
        tuned = cf.tune(recs)
    assert isinstance(tuned.filter, cf.VoteFilter)
    assert accuracy(tuned.smooth, recs) > accuracy(vote.run, recs) + 0.02


def test_what_smooths_beside_a_vote_trusts_sources_as_others_agree_with_them() -> None:
    """A bad source whose errors last is not believed because it is steady."""
    recs = equals([0.95, 0.9, 0.4], [1.0, 1.0, 30.0], 300.0, 2)
    vote = cf.Pipeline(cf.VoteFilter(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tuned = cf.tune(recs)
    assert isinstance(tuned.filter, cf.VoteFilter)
    assert accuracy(tuned.smooth, recs) > max(0.97, accuracy(vote.run, recs))


def test_sources_that_contradict_each_other_have_a_vote() -> None:
    """One of two has its classes in another order: nothing can tell which."""
    recs = equals([0.95, 0.9], [1.0, 1.0], 20.0)
    turned = [
        cf.rows(
            time=rec.time,
            source=rec.source_names,
            probs=np.where(
                rec.source_names == "s1", (said := rec.probs.argmax(axis=1) + 1) % 4, said - 1
            ),
            classes=4,
        )
        for rec in recs
    ]
    with pytest.warns(UserWarning, match="sources 's.' and 's.' contradict each other"):
        tuned = cf.tune(turned)
    assert isinstance(tuned.filter, cf.VoteFilter)
    assert "contradict each other" in tuned.tuning.why_safe
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cf.tune(recs)
        named = cf.tune(turned, reference="s0", every=1)
    assert accuracy(named.run, recs) > 0.9


def test_rows_of_a_stuck_source_are_steps_too() -> None:
    """At one call in 12, all calls stay; without the weak rows, each 12th of them would."""
    recs = streams(12, 0.6, 0.9, 60.0)
    stuck = [
        cf.rows(
            time=rec.time,
            source=rec.source_names,
            probs=np.where((rec.source_names == "weak")[:, None], np.eye(4)[0], rec.probs),
            classes=4,
        )
        for rec in recs
    ]
    with pytest.warns(UserWarning, match="source 'weak' says '0' in every row"):
        tuned = cf.tune(stuck, reference="strong", every=12)
    assert tuned.tuning.effect is not None
    assert tuned.tuning.effect.predictions == sum(
        int(rec.of_source("strong").sum()) for rec in recs
    )
