"""Events of FilteredClassifier are those of classfilter.events for the same probabilities."""

from __future__ import annotations

import pickle
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

import classfilter as cf

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from classfilter.sklearn import FilteredClassifier
from sklearn_streams import CLASSES, Data

RULE = cf.EventRule(change_cost=2.0, min_duration={"run": 6.0}, ignore="rest")


def rows_of(events: Any) -> list[Any]:
    """Events of a table or a list, as rows."""
    if isinstance(events, cf.Events):
        return [tuple(event) for event in events]
    names = ["stream", "class", "start", "end", "probability"]
    return list(events[names].itertuples(index=False, name=None))


def table_of(model: Any, data: Any, scores: bool = False, **streams: Any) -> Any:
    """The probabilities that the model predicts, as a table that was filtered."""
    pandas = pytest.importorskip("pandas")
    probs = model.predict_proba(data.X, **streams)
    columns: dict[str, Any] = {"time": streams["times"], "stream": streams["groups"]}
    columns |= {f"f_{name}": probs[:, k] for k, name in enumerate(model.classes_)}
    return pandas.DataFrame(columns | {"labels" if scores else "class": ""})


@pytest.mark.parametrize("lag", [0, 2, None])
@pytest.mark.parametrize("rule", [RULE, cf.ThresholdRule(0.6, 0.4)], ids=["rule", "threshold"])
def test_events_are_those_of_the_predicted_probabilities(lag: int | None, rule: Any) -> None:
    train, test = Data(), Data(seed=7).shuffled()
    model = FilteredClassifier(LogisticRegression(), half_life=15.0, lag=lag, event_rule=rule)
    model.fit(train.X, train.y, groups=train.groups, times=train.times)
    streams: Any = {"groups": test.groups, "times": test.times}
    found = model.predict_events(test.X, **streams)
    assert len({event.stream for event in found}) > 1
    table = table_of(model, test, **streams)
    pandas = pytest.importorskip("pandas")
    own = [stream.sort_values("time") for _, stream in table.groupby("stream", sort=False)]
    assert rows_of(found) == rows_of(cf.events(pandas.concat(own), rule))


def test_without_streams_and_times_rows_are_one_stream_a_unit_apart() -> None:
    data = Data(streams=1)
    model = FilteredClassifier(LogisticRegression(), half_life=3.0, event_rule=RULE)
    found = model.fit(data.X, data.y).predict_events(data.X)
    rec = cf.rows(
        time=np.arange(48),
        source="x",
        probs=model.predict_proba(data.X),
        classes=model.classes_.tolist(),
    )
    assert found == cf.events(rec, RULE)
    assert found
    assert {event.stream for event in found} == {None}


def test_several_labels_overlap() -> None:
    data = Data()
    y = np.stack([data.y != "rest", data.y == "run"], axis=1).astype(int)
    rule = cf.EventRule({"0": 8.0, "1": 5.0})
    f = cf.MultiLabelFilter(2, cf.StickyFilter(2, stay=0.5 ** (1 / 20)))
    estimator = MultiOutputClassifier(LogisticRegression())
    model = FilteredClassifier(estimator, f, event_rule=rule)
    streams = {"groups": data.groups, "times": data.times}
    found = model.fit(data.X, y, **streams).predict_events(data.X, **streams)
    table = table_of(model, data, True, **streams)
    assert {event.label for event in found} == {"0", "1"}
    assert rows_of(found) == rows_of(cf.events(table, rule))


def test_a_duration_tunes_the_rule() -> None:
    data = Data(length=40)
    streams = {"groups": data.groups, "times": data.times}
    rules = {}
    for duration in ("50s", "400s"):
        model: Any = FilteredClassifier(LogisticRegression(), event_duration=duration)
        model.fit(data.X, data.y, **streams)
        assert model.event_rule_ == model.filter_.rule
        recs = {}
        for name in dict.fromkeys(data.groups.tolist()):
            own = data.groups == name
            probs = model.estimator_.predict_proba(data.X[own])
            source = model.filter_.reference
            recs[name] = cf.rows(
                time=data.times[own], source=source, probs=probs, classes=model.classes_.tolist()
            )
        assert model.predict_events(data.X, **streams) == cf.events(recs, model.filter_)
        rules[duration] = model.event_rule_.change_cost
    assert rules["50s"] < rules["400s"]
    smoothed = FilteredClassifier(LogisticRegression(), event_duration="50s", lag=None)
    smoothed.fit(data.X, data.y, **streams)
    assert smoothed.event_rule_ == smoothed.filter_.smoothing.rule


def test_the_rule_of_a_pipe_is_used() -> None:
    data = Data()
    pipe = cf.Pipeline(cf.DirichletFilter(CLASSES, half_life=15.0), rule=RULE)
    model = FilteredClassifier(LogisticRegression(), pipe).fit(data.X, data.y)
    assert model.event_rule_ is RULE
    other = cf.EventRule(1.0)
    model = FilteredClassifier(LogisticRegression(), pipe, event_rule=other).fit(data.X, data.y)
    assert model.event_rule_ is other


def test_dates_stay_dates() -> None:
    data = Data(streams=1)
    zone = timezone(timedelta(hours=2))
    times = np.array([datetime(2024, 5, 1, tzinfo=zone) + timedelta(seconds=t) for t in data.times])
    model = FilteredClassifier(LogisticRegression(), half_life=15.0, event_rule=RULE)
    found = model.fit(data.X, data.y, times=times).predict_events(data.X, times=times)
    plain = clone(model).fit(data.X, data.y, times=data.times)
    start = times[0].timestamp() - data.times[0]
    expected = plain.predict_events(data.X, times=data.times)
    assert [event.start for event in found] == pytest.approx([e.start + start for e in expected])
    assert "2024-05-01T00:00" in str(found)
    assert "+02:00" in str(found)


def test_parameters_are_those_of_scikit_learn() -> None:
    data = Data()
    model = FilteredClassifier(LogisticRegression(), half_life=15.0, event_rule=RULE)
    assert clone(model).event_rule == RULE
    assert model.get_params()["event_duration"] is None
    model.fit(data.X, data.y)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict_events(data.X) == model.predict_events(data.X)
