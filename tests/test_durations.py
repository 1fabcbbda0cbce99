"""Durations as text and as timedeltas mean the same number of seconds wherever a duration goes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.policy import Periodic

MINUTES = ["90s", "1.5min", "1.5m", timedelta(seconds=90), np.timedelta64(90, "s"), "90", 90]
MATRIX = [[0.9, 0.1], [0.2, 0.8]]


def cascade(step: Any) -> list[float]:
    live = cf.Cascade(cf.RawFilter(2), {"weak": lambda window: [0.5, 0.5]})
    return [done.time for done in live.run([np.zeros((720, 1))], rate=4, step=step)]


@pytest.mark.parametrize("value", MINUTES)
@pytest.mark.parametrize(
    "of",
    [
        lambda x: cf.DirichletFilter(2, half_life=x).gamma,
        lambda x: cf.StickyFilter(2, dwell=x).stay,
        lambda x: cf.EmaFilter(2, half_life=x)._options,
        lambda x: cf.StickyFilter(2, transitions=MATRIX, interval=x).transitions.tolist(),
        lambda x: cf.Tracker(cf.RawFilter(2), expire_after=x).expire_after,
        lambda x: cf.Tracker(cf.RawFilter(2), max_jump=x).max_jump,
        lambda x: Periodic(seconds=x).seconds,
        cascade,
    ],
)
def test_text_and_timedeltas_are_seconds(of: Any, value: Any) -> None:
    assert of(value) == of(90.0)


def test_a_settings_file_may_have_text_and_is_saved_with_a_number(tmp_path: Path) -> None:
    path = tmp_path / "walk.json"
    path.write_text(
        '{"classes": ["walk", "sit"], "filter": "dirichlet", "options": {"half_life": "1.5min"}, '
        '"policy": {"kind": "periodic", "seconds": "2m"}}'
    )
    pipe = cf.load(path)
    assert pipe.filter.gamma == 0.5 ** (1 / 90)
    assert pipe.policy is not None
    assert pipe.settings["policy"]["seconds"] == 120.0
    pipe.save(path)
    assert '"1.5min"' not in path.read_text()
    assert cf.load(path).settings == pipe.settings


def test_a_classifier_of_scikit_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    y = np.repeat(["rest", "move"], 20)
    X = (y == "move")[:, None] + rng.normal(size=(40, 1))
    model = cf.sklearn.FilteredClassifier(linear_model.LogisticRegression(), half_life="90s")
    assert model.fit(X, y).filter_.gamma == 0.5 ** (1 / 90)
    assert model.get_params()["half_life"] == "90s"  # as given, so that it can be cloned
