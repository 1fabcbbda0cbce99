"""FilteredClassifier against loops by hand, and by scikit-learn's own checks."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from classfilter.sklearn import FilteredClassifier
from sklearn_streams import CLASSES, Data, by_hand


@pytest.mark.filterwarnings("ignore:fit had (groups|times)")
@pytest.mark.covering(2)
@pytest.mark.parametrize("with_groups", [False, True])
@pytest.mark.parametrize("with_times", [False, True])
@pytest.mark.parametrize("lag", [0, 2, None])
def test_predictions_equal_a_loop_by_hand(
    with_groups: bool, with_times: bool, lag: int | None
) -> None:
    train, test = Data(), Data(seed=7).shuffled()
    model = FilteredClassifier(LogisticRegression(), cf.DirichletFilter, half_life=15.0, lag=lag)
    model.fit(train.X, train.y, groups=train.groups, times=train.times)
    streams: dict[str, Any] = {}
    if with_groups:
        streams["groups"] = test.groups
    if with_times:
        streams["times"] = test.times
    alone = LogisticRegression().fit(train.X, train.y)
    f = cf.DirichletFilter(alone.classes_.tolist(), half_life=15.0)
    expected = by_hand(f, alone.predict_proba(test.X), lag=lag, **streams)
    got = model.predict_proba(test.X, **streams)
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    labels = alone.classes_[expected.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(test.X, **streams), labels)
    score = model.score(test.X, test.y, **streams)
    assert score == pytest.approx(np.mean(labels == test.y), rel=1e-12)
    weight = np.arange(len(test.y))
    weighted = model.score(test.X, test.y, weight, **streams)
    assert weighted == pytest.approx(np.average(labels == test.y, weights=weight), rel=1e-12)


def test_a_filter_is_matched_by_the_names_of_its_classes() -> None:
    data = Data()
    f = cf.StickyFilter(CLASSES, stay=0.9)  # in another order than that of classes_
    model = FilteredClassifier(LogisticRegression(), f).fit(data.X, data.y)
    assert model.classes_.tolist() == ["rest", "run", "walk"]
    probs = LogisticRegression().fit(data.X, data.y).predict_proba(data.X)
    expected = by_hand(cf.StickyFilter(CLASSES, stay=0.9), probs[:, [0, 2, 1]])[:, [0, 2, 1]]
    np.testing.assert_allclose(model.predict_proba(data.X), expected, rtol=1e-9)


def test_times_can_be_dates() -> None:
    data = Data()
    model = FilteredClassifier(LogisticRegression(), half_life=15.0).fit(data.X, data.y)
    start = datetime(2024, 5, 1, tzinfo=UTC)
    dates = [start + timedelta(seconds=float(t)) for t in data.times]
    columns: list[Any] = [dates, np.array([date.replace(tzinfo=None) for date in dates], "M8[us]")]
    for times in columns:
        np.testing.assert_allclose(
            model.predict_proba(data.X, groups=data.groups, times=times),
            model.predict_proba(data.X, groups=data.groups, times=data.times),
            atol=1e-6,
        )


def out_of_fold(data: Data, splits: Any) -> NDArray[np.float64]:
    probs = np.full((len(data.y), 3), np.nan)
    for train, test in splits:
        model = LogisticRegression().fit(data.X[train], data.y[train])
        assert len(model.classes_) == 3
        probs[test] = model.predict_proba(data.X[test])
    return probs


@pytest.mark.filterwarnings("ignore:fit had (groups|times)")
@pytest.mark.covering(1)
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("cv", [3, 5, GroupKFold(2)], ids=str)
def test_the_filter_is_tuned_on_streams_that_its_model_has_not_seen(labels: bool, cv: Any) -> None:
    data = Data().shuffled()
    model = FilteredClassifier(LogisticRegression(), labels=labels, cv=cv)
    model.fit(data.X, data.y, groups=data.groups, times=data.times)
    assert isinstance(model.filter_, cf.Pipeline)
    assert model.filter_.tuning.criterion == ("labels" if labels else "future predictions")
    names = list(dict.fromkeys(data.groups.tolist()))
    order = np.concatenate(
        [
            rows[np.argsort(data.times[rows])]
            for rows in (np.flatnonzero(data.groups == n) for n in names)
        ]
    )
    splitter = StratifiedGroupKFold(min(cv, 4)) if isinstance(cv, int) else cv
    codes = [names.index(group) for group in data.groups[order]]
    splits = list(splitter.split(data.X, data.y[order], codes))
    for train, test in splits:
        assert not {*data.groups[order][train]} & {*data.groups[order][test]}
    probs = out_of_fold(data, [(order[train], order[test]) for train, test in splits])
    recs = []
    for name in names:
        rows = order[data.groups[order] == name]
        classes = ["rest", "run", "walk"]
        columns: Any = {"time": data.times[rows], "source": "estimator", "probs": probs[rows]}
        recs.append(cf.rows(**columns, classes=classes, label=data.y[rows].tolist()))
    expected = cf.tune(recs, labels=labels)
    assert model.filter_.tuning.candidate == expected.tuning.candidate
    assert model.filter_.tuning.explain() == expected.tuning.explain()
    assert repr(model.filter_.filter) == repr(expected.filter)
    alone = LogisticRegression().fit(data.X, data.y).predict_proba(data.X)
    for name in names:
        rows = order[data.groups[order] == name]
        rec = cf.rows(
            time=data.times[rows],
            source="estimator",
            probs=alone[rows],
            classes=["rest", "run", "walk"],
        )
        got = model.predict_proba(data.X[rows], times=data.times[rows])
        np.testing.assert_allclose(got, expected.run(rec), rtol=1e-9)


def test_a_single_stream_is_cut_into_folds_in_time() -> None:
    data = Data(streams=1, runs=12)
    shuffled = data.shuffled()
    model = FilteredClassifier(LogisticRegression(), "sticky")
    model.fit(shuffled.X, shuffled.y, times=shuffled.times)
    probs = out_of_fold(data, StratifiedKFold(5).split(data.X, data.y))
    rec = cf.rows(time=data.times, source="estimator", probs=probs, classes=["rest", "run", "walk"])
    expected = cf.tune(rec, "sticky")
    assert model.filter_.tuning.candidate == expected.tuning.candidate
    assert model.filter_.tuning.explain() == expected.tuning.explain()


def test_folds_can_be_given_as_rows() -> None:
    data = Data(streams=1, runs=12)
    splits = list(StratifiedKFold(5).split(data.X, data.y))
    models = [FilteredClassifier(LogisticRegression(), cv=cv) for cv in (splits, np.int64(5))]
    first, second = (model.fit(data.X, data.y, times=data.times) for model in models)
    assert first.filter_.tuning.explain() == second.filter_.tuning.explain()


def test_many_short_streams() -> None:
    data = Data(streams=1)
    groups = np.arange(len(data.y))  # more streams than rows of any class
    labels = np.where(np.arange(len(data.y)) < 4, "start", data.y)
    with pytest.warns(UserWarning, match="tuning needs"):
        model = FilteredClassifier(LogisticRegression(), cv=40).fit(data.X, labels, groups=groups)
    assert model.predict(data.X, groups=groups).shape == labels.shape


def test_a_fold_without_a_class_counts_it_as_unlikely() -> None:
    data = Data(streams=1, runs=6)
    data.y = np.where(np.arange(len(data.y)) < 15, "start", data.y)
    model = FilteredClassifier(LogisticRegression(), cv=KFold(4)).fit(data.X, data.y)
    assert isinstance(model.filter_, cf.Pipeline)
    assert model.filter_.classes == ("rest", "run", "start", "walk")


def test_a_tuned_filter_can_be_given() -> None:
    data = Data()
    rec = cf.rows(
        time=data.times[:48], source="weak", probs=np.eye(3)[[0] * 24 + [1] * 24], classes=CLASSES
    )
    tuned = cf.tune(rec)
    model = FilteredClassifier(LogisticRegression(), tuned).fit(data.X, data.y)
    probs = LogisticRegression().fit(data.X, data.y).predict_proba(data.X)
    rec = cf.rows(
        time=np.arange(len(probs)), source="weak", probs=probs, classes=["rest", "run", "walk"]
    )
    np.testing.assert_allclose(model.predict_proba(data.X), tuned.run(rec), rtol=1e-9)
    model.set_params(lag=2)
    np.testing.assert_allclose(model.predict_proba(data.X), tuned.smooth(rec, lag=2), rtol=1e-9)


def test_little_data_gives_safe_settings_and_a_warning() -> None:
    X, y = np.arange(8.0)[:, None], np.array([0, 1] * 4)
    with pytest.warns(UserWarning, match="tuning needs"):
        model = FilteredClassifier(LogisticRegression()).fit(X, y)
    assert isinstance(model.filter_, cf.Pipeline)
    assert model.filter_.tuning.criterion == "nothing"
    with pytest.warns(UserWarning, match="nothing is tuned"):
        model = FilteredClassifier(DecisionTreeClassifier()).fit(X[:2], y[:2])
    assert isinstance(model.filter_, cf.DirichletFilter)
    assert model.predict_proba(X).shape == (8, 2)


ORDER = "the filter makes a prediction depend on the rows before it in its stream"


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        # A filter without memory passes all checks: what fails with another is its memory.
        (cf.RawFilter, {}),
        pytest.param(
            cf.DirichletFilter,
            {
                "check_classifiers_train": ORDER,  # its rows are shuffled, and accuracy is low
                "check_methods_sample_order_invariance": ORDER,
                "check_methods_subset_invariance": ORDER,
            },
            marks=pytest.mark.slow,
        ),
    ],
    ids=["raw", "dirichlet"],
)
@pytest.mark.filterwarnings("ignore")  # there is too little data in them
def test_scikit_learn_checks(filter: Any, expected: dict[str, str]) -> None:  # noqa: A002
    model = FilteredClassifier(LogisticRegression(), filter, cv=2)
    results = check_estimator(model, expected_failed_checks=expected, on_fail="raise", on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert failed == set(expected)
    assert sum(result["status"] == "passed" for result in results) >= 45


def test_clones_and_pickles() -> None:
    data = Data()
    model = FilteredClassifier(
        LogisticRegression(C=0.5), cf.DirichletFilter(CLASSES, half_life=15.0), lag=1
    )
    copy = clone(model)
    assert copy.filter is not model.filter
    assert copy.get_params()["estimator__C"] == 0.5
    assert copy.lag == 1
    assert not hasattr(copy, "classes_")
    expected = model.fit(data.X, data.y).predict_proba(data.X)
    np.testing.assert_array_equal(copy.fit(data.X, data.y).predict_proba(data.X), expected)
    saved = pickle.dumps(model)
    assert b"classfilter.sklearn" in saved
    assert b"sklearn.classifier" not in saved
    np.testing.assert_array_equal(pickle.loads(saved).predict_proba(data.X), expected)


def test_names_of_features_are_those_of_the_estimator() -> None:
    pandas = pytest.importorskip("pandas")
    data = Data()
    frame = pandas.DataFrame(data.X, columns=["x", "y", "z"])
    model = FilteredClassifier(LogisticRegression()).fit(frame, data.y, groups=data.groups)
    assert model.feature_names_in_.tolist() == ["x", "y", "z"]
    assert model.n_features_in_ == 3
    model.fit(data.X, data.y, groups=data.groups)
    assert not hasattr(model, "feature_names_in_")


DATA = Data(streams=2, runs=3, length=4)
FITTED = FilteredClassifier(LogisticRegression(), half_life=15.0).fit(DATA.X, DATA.y)


def test_a_failed_fit_changes_nothing() -> None:
    model = clone(FITTED).fit(DATA.X, DATA.y)
    before = model.predict_proba(DATA.X)
    with pytest.raises(ValueError, match="groups has shape"):
        model.fit(DATA.X + 1, DATA.y, groups=["a"])
    np.testing.assert_array_equal(model.predict_proba(DATA.X), before)


def test_scikit_learn_is_imported_only_for_the_class() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from classfilter import *\n"
        "try: sklearn.FilteredClassifier\n"
        "except ImportError as error: print(error)"
    )
    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert fresh.stdout.strip() == (
        "this needs sklearn, which is not installed: pip install 'classfilter[sklearn]'"
    )


def test_groups_that_a_prediction_lacks_are_missed() -> None:
    data = Data()
    model = FilteredClassifier(LogisticRegression(), half_life=15.0)
    both = {"groups": data.groups, "times": data.times}
    model.fit(data.X, data.y, **both)
    with pytest.warns(UserWarning, match=r"fit had groups, but .*: all rows are taken as one stre"):
        model.predict(data.X, times=data.times)
    with pytest.warns(UserWarning, match=r"fit had groups and times, .* by metadata routing, set_"):
        model.score(data.X, data.y)
    model.predict(data.X, **both)
    model.predict(data.X[:1])  # a row alone has no stream
    model.fit(data.X, data.y).predict(data.X)
