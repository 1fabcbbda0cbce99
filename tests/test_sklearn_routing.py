"""FilteredClassifier in pipelines and searches that pass groups and times on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import classfilter as cf

pytest.importorskip("sklearn")

import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from classfilter.sklearn import FilteredClassifier
from sklearn_streams import Data, by_hand


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_in_a_pipeline_with_routing(routing: None) -> None:
    data = Data()
    model = FilteredClassifier(LogisticRegression(), half_life=15.0)
    model.set_fit_request(groups=True, times=True).set_predict_request(groups=True, times=True)
    pipeline = make_pipeline(StandardScaler(), model)
    pipeline.fit(data.X, data.y, groups=data.groups, times=data.times)
    scaled = StandardScaler().fit_transform(data.X)
    alone = LogisticRegression().fit(scaled, data.y)
    f = cf.DirichletFilter(alone.classes_.tolist(), half_life=15.0)
    expected = by_hand(f, alone.predict_proba(scaled), data.groups, data.times)
    got = pipeline.predict(data.X, groups=data.groups, times=data.times)
    np.testing.assert_array_equal(got, alone.classes_[expected.argmax(axis=1)])


@pytest.mark.filterwarnings("ignore:fit had groups")
def test_cross_val_predict_with_routing(routing: None) -> None:
    """It passes parameters to `fit` only, so a fold is predicted as one stream, row by row."""
    data = Data()
    model = FilteredClassifier(LogisticRegression())
    model.set_fit_request(groups=True, times=False)
    params = {"groups": data.groups}
    got = cross_val_predict(
        model, data.X, data.y, cv=LeaveOneGroupOut(), params=params, method="predict_proba"
    )
    for name in np.unique(data.groups):
        test = data.groups == name
        alone = clone(model).fit(data.X[~test], data.y[~test], groups=data.groups[~test])
        probs = LogisticRegression().fit(data.X[~test], data.y[~test]).predict_proba(data.X[test])
        expected = by_hand(alone.filter_.filter, probs, beta=alone.filter_.beta["estimator"])
        np.testing.assert_allclose(got[test], expected, rtol=1e-9)


def test_grid_search_over_the_half_life(routing: None) -> None:
    data = Data()
    model = FilteredClassifier(LogisticRegression(), cf.DirichletFilter)
    model.set_fit_request(groups=True, times=True).set_score_request(groups=True, times=True)
    half_lives = [0.01, 15.0, 1e5]
    search = GridSearchCV(model, {"half_life": half_lives}, cv=GroupKFold(4))
    search.fit(data.X, data.y, groups=data.groups, times=data.times)
    scores = []
    for half_life in half_lives:
        right = []
        for name in np.unique(data.groups):
            test = data.groups == name
            alone = LogisticRegression().fit(data.X[~test], data.y[~test])
            f = cf.DirichletFilter(alone.classes_.tolist(), half_life=half_life)
            probs = by_hand(f, alone.predict_proba(data.X[test]), None, data.times[test])
            right.append(np.mean(alone.classes_[probs.argmax(axis=1)] == data.y[test]))
        scores.append(np.mean(right))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, rtol=1e-12)
    assert search.best_params_ == {"half_life": 15.0}


@pytest.mark.filterwarnings("ignore:.*agree hardly more than by chance")
def test_parameters_reach_the_estimator_and_its_folds(routing: None) -> None:
    data = Data()
    weight = np.where(data.y == "run", 20.0, 1.0)
    inner = LogisticRegression().set_fit_request(sample_weight=True)
    model = FilteredClassifier(inner)
    model.fit(data.X, data.y, groups=data.groups, times=data.times, sample_weight=weight)
    alone = LogisticRegression().fit(data.X, data.y, sample_weight=weight)
    np.testing.assert_allclose(model.estimator_.coef_, alone.coef_)
    plain = FilteredClassifier(inner).fit(data.X, data.y, groups=data.groups, times=data.times)
    assert (
        model.filter_.tuning.explain() != plain.filter_.tuning.explain()
    )  # the folds were weighted too
    with pytest.raises(TypeError, match="colour"):
        FilteredClassifier(inner).fit(data.X, data.y, colour=weight)


def test_groups_reach_an_estimator_that_requests_them(routing: None) -> None:
    data = Data()
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=GroupKFold(2))
    model = FilteredClassifier(search, half_life=15.0).fit(data.X, data.y, groups=data.groups)
    expected = search.fit(data.X, data.y, groups=data.groups).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(model.estimator_.cv_results_["mean_test_score"], expected)


def test_without_routing_parameters_go_to_the_estimator() -> None:
    data = Data()
    weight = np.where(data.y == "run", 20.0, 1.0)
    model = FilteredClassifier(LogisticRegression(), half_life=15.0)
    model.fit(data.X, data.y, sample_weight=weight)
    alone = LogisticRegression().fit(data.X, data.y, sample_weight=weight)
    np.testing.assert_allclose(model.estimator_.coef_, alone.coef_)
    assert len(cross_val_score(model, data.X, data.y, cv=2)) == 2
