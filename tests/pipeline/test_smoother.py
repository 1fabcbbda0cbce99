"""A smoother of its own: it smooths, decides events, and is saved."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.pipeline import under_rule
from classfilter.report.page_data import playable
from conftest import Run
from saved_files import file_of, loaded

CLASSES = ["walk", "sit", "sleep"]
BETA = {"weak": 0.25, "strong": 1.0}
CHANNEL = cf.Channel([[6, 3, 1], [2, 7, 1], [3, 3, 4]], prior=[2, 1, 1])
OTHER = cf.Channel([[8, 1, 1], [1, 8, 1], [1, 1, 8]], prior=[2, 1, 1])
SLOW = cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 10))
MATRIX = [[0.98, 0.01, 0.01], [0.02, 0.97, 0.01], [0.05, 0.05, 0.9]]
RULE, PATIENT = cf.EventRule(2.0, min_duration={"walk": 4.0}), cf.EventRule(12.0, merge_gap=5.0)


def pipe(f: Any = None, smoother: cf.Pipeline | None = None, **parts: Any) -> cf.Pipeline:
    f = cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 2)) if f is None else f
    given: Any = {"beta": BETA, "channel": {"weak": CHANNEL}} | parts
    return cf.Pipeline(f, smoother=smoother, **given)


def table(rows: int = 80) -> pl.DataFrame:
    p = np.random.default_rng(3).dirichlet(np.ones(3), rows)
    return pl.DataFrame(
        {
            "time": np.arange(rows) * 5.0,
            "stream": ["ann", "bob"] * (rows // 2),
            "source": np.where(np.arange(rows) % 4 < 2, "weak", "strong"),
            **{f"p_{name}": p[:, k] for k, name in enumerate(CLASSES)},
        }
    )


FILTERS = st.one_of(
    st.builds(cf.StickyFilter, st.just(CLASSES), stay=st.floats(0.5, 0.999)),
    st.builds(
        cf.StickyFilter,
        st.just(CLASSES),
        transitions=st.just(MATRIX),
        interval=st.sampled_from([1.0, 5.0]),
    ),
    st.builds(
        cf.DirichletFilter,
        st.just(CLASSES),
        gamma=st.floats(0.5, 0.999),
        bounded=st.booleans(),
        estimate=st.sampled_from(["mode", "mean"]),
    ),
)
PARTS = st.fixed_dictionaries(
    {
        "beta": st.one_of(
            st.floats(0.0, 1.0),
            st.fixed_dictionaries({"weak": st.floats(0, 1), "strong": st.sampled_from([0.5, 1.0])}),
        ),
        "channel": st.sampled_from([{}, {"weak": CHANNEL}, {"weak": OTHER, "strong": CHANNEL}]),
        "rule": st.sampled_from([None, RULE, PATIENT, cf.EventRule(20.0, max_delay=60.0)]),
    }
)


@given(st.one_of(FILTERS, st.just(cf.HoldFilter(CLASSES))), PARTS, FILTERS, PARTS)
def test_a_file_brings_back_all_of_a_smoother_to_the_bit(
    f: Any, parts: Any, slow: Any, of_slow: Any
) -> None:
    smoother = cf.Pipeline(slow, **of_slow)
    whole = cf.Pipeline(f, smoother=smoother, **parts)
    again = loaded(file_of(whole))
    wanted = smoother if smoother.rule is not None else replace(smoother, rule=whole.rule)
    assert again.smoothing.settings == wanted.settings
    assert again.settings == whole.settings
    assert again.digest == whole.digest


def test_a_file_has_all_of_the_smoother(tmp_path: Path) -> None:
    slow = pipe(cf.StickyFilter(CLASSES, stay=0.999), rule=cf.EventRule(90.0))
    pipe(rule=cf.EventRule(20.0, merge_gap=5.0), smoother=slow).save(tmp_path / "walk.json")
    written = json.loads((tmp_path / "walk.json").read_text())["smoother"]
    assert written == slow.settings
    again = cf.load(tmp_path / "walk.json")
    df = table()
    assert again.smoothing.rule == cf.EventRule(90.0)
    rec = cf.rows(df).by_stream()["ann"]
    assert np.array_equal(again.smooth(rec), cf.Pipeline.of(slow).smooth(rec))
    assert np.array_equal(again.run(rec), cf.Pipeline.of(pipe()).run(rec))


def test_a_smoother_without_a_rule_has_that_of_the_pipe() -> None:
    common = {"classes": CLASSES, "filter": "sticky"}
    smoother = {"options": {"dwell": "10min"}, "beta": {"weak": 0.25, "strong": 1}}
    parts = {"options": {"dwell": "1min"}, "beta": {"weak": 0.5, "strong": 1}}
    parts |= {"channel": {"weak": {"matrix": [[6, 3, 1], [2, 7, 1], [3, 3, 4]]}}}
    parts |= {"events": {"change_cost": "30s"}, "smoother": common | smoother}
    read = loaded(json.dumps(common | parts))
    slow = read.smoothing
    assert slow.filter.stay == cf.StickyFilter(CLASSES, dwell=600.0).stay
    assert slow.beta == {"weak": 0.25, "strong": 1.0}
    assert slow.channel == {"weak": None, "strong": None}
    assert slow.rule == read.rule == cf.EventRule(30.0)
    assert read.filter.stay == cf.StickyFilter(CLASSES, dwell=60.0).stay


def test_each_label_has_a_smoother_of_its_own(tmp_path: Path) -> None:
    labels = ["robin", "wren"]
    quick = cf.StickyFilter(2, stay=0.9)

    def several(robin: float, wren: float, **parts: Any) -> cf.Pipeline:
        filters = {
            n: cf.StickyFilter(2, stay=x) for n, x in zip(labels, (robin, wren), strict=True)
        }
        return cf.Pipeline(cf.MultiLabelFilter(labels, filters), **parts)

    for slow in (several(0.99, 0.9), several(0.99, 0.99), several(0.95, 0.99, beta=0.5)):
        for below in (cf.Pipeline(cf.MultiLabelFilter(labels, quick)), several(0.9, 0.8)):
            both = cf.Pipeline(below.filter, smoother=slow, rule=cf.EventRule(3.0))
            both.save(tmp_path / "birds.json")
            again = cf.load(tmp_path / "birds.json")
            assert again.digest == both.digest
            assert again.smoothing.settings == replace(slow, rule=both.rule).settings
            lane = again.head("wren")
            assert lane.smoothing.filter.stay == slow.head("wren").filter.stay
    only = cf.Pipeline(cf.MultiLabelFilter(labels, quick), smoother=several(0.99, 0.9))
    only.save(tmp_path / "birds.json")
    text = (tmp_path / "birds.json").read_text()
    assert json.loads(text)["smoother"]["labels"]["robin"]["options"]["stay"] == 0.99
    with pytest.raises(ValueError, match=r"robin\.options\.stay"):
        loaded(text.replace("0.99", "3"))
    with pytest.raises(ValueError, match="has sections for"):
        loaded(text.replace('"labels": {\n   "robin"', '"labels": {\n   "owl"'))


def test_smoothed_rows_have_the_rule_of_the_smoother(tmp_path: Path, run: Run) -> None:
    df = table()
    both = pipe(rule=RULE, smoother=pipe(SLOW, rule=PATIENT))
    rows = cf.smooth_table(df, pipe(SLOW))
    wanted = cf.events(rows, PATIENT)
    assert cf.events(df, both, smooth=True).equals(wanted)
    assert not cf.events(df, both, RULE, smooth=True).equals(wanted)
    assert cf.events(df, both).equals(cf.events(df, pipe(rule=RULE)))
    recs = cf.rows(df).by_stream()
    assert both.events(recs, smooth=True) == cf.events(recs, pipe(SLOW, rule=PATIENT), smooth=True)
    fallback = pipe(rule=RULE, smoother=pipe(SLOW))
    assert fallback.smoothing.rule == RULE
    assert cf.events(df, fallback, smooth=True).equals(cf.events(rows, RULE))
    both.save(tmp_path / "walk.json")
    df.write_csv(tmp_path / "in.csv")
    code, _, err = run("events", "in.csv", "-o", "out.csv", "--smooth", "--config", "walk.json")
    assert code == 0, err
    assert cf.read_events(tmp_path / "out.csv") == cf.Events.from_table(wanted)


def test_copies_keep_the_smoother() -> None:
    both = pipe(rule=RULE, smoother=pipe(SLOW, rule=PATIENT), policy=cf.policy.Periodic(4))
    assert pickle.loads(pickle.dumps(both)).settings == both.settings
    one = under_rule(both, cf.EventRule(7.0))
    assert one.rule == one.smoothing.rule == cf.EventRule(7.0)
    assert one.smoothing.filter.stay == SLOW.stay
    two = replace(both, rule=cf.EventRule(9.0))
    assert (two.rule, two.smoothing.rule) == (cf.EventRule(9.0), PATIENT)
    none = under_rule(both, None)
    assert (none.rule, none.smoothing.rule) == (None, None)
    assert replace(pipe(), rule=RULE).smoothing.rule == RULE
    given = cf.Pipeline.of(both, beta={"weak": 0.5, "strong": 0.75})
    assert given.smoothing.beta == given.beta == {"weak": 0.5, "strong": 0.75}
    assert given.smoothing.rule == PATIENT
    assert both.digest != pipe(rule=RULE, policy=both.policy).digest


def test_a_simple_rule_is_played_as_its_smoother() -> None:
    held = cf.Pipeline(cf.HoldFilter(CLASSES), beta=BETA, smoother=pipe(SLOW, rule=RULE))
    assert playable(held) is held.smoothing


def test_rows_of_one_source() -> None:
    """They have its weight and its channel."""
    probs = table().select([f"p_{c}" for c in CLASSES]).to_numpy()
    f = cf.DirichletFilter(CLASSES, half_life=60.0)
    one, corrected = pipe(f, beta={"weak": 0.25}), np.array([CHANNEL.apply(p) for p in probs])
    same = np.testing.assert_array_equal
    same(cf.smooth(one, probs, dt=5.0), cf.smooth(f, corrected, 0.25, 5.0))
    same(cf.smooth(one, probs, 0.5, 5.0), cf.smooth(f, corrected, 0.5, 5.0))
