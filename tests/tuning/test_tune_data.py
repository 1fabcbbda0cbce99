"""Data that tune must cope with: gaps, few rows, missing sources; and what it refuses."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import classfilter as cf
from classfilter import Rows
from classfilter.embedded import export
from classfilter.simulate import Simulation
from classfilter.tuning import as_list, tune
from conftest import rejected
from tuning_days import NAN, accuracy, changed, day, days, hold, messy, three, tuned_short


@pytest.mark.parametrize("kind", ["dirichlet", "sticky"])
def test_the_unit_of_time(kind: Any) -> None:
    recs = days([0, 1], 2.0)
    minutes = [changed(rec, time=rec.time / 60) for rec in recs]
    tuned = tune(minutes, kind, "strong")
    assert tuned.beta == tuned_short(kind).beta
    np.testing.assert_allclose(
        tuned.run(minutes[0]), tuned_short(kind).run(recs[0]), rtol=0, atol=1e-8
    )


def test_a_unit_of_time_that_is_too_long() -> None:
    recs = days([0, 1], 2.0)
    hours = [changed(rec, time=rec.time / 4096) for rec in recs]  # about; near times stay near
    tuned = tune(hours, "sticky", "strong")
    np.testing.assert_allclose(
        tuned.run(hours[0]), tuned_short("sticky").run(recs[0]), rtol=0, atol=1e-6
    )
    with pytest.raises(ValueError, match=r"recordings: 5\.79e-05 time units from row to row are"):
        tune([changed(rec, time=rec.time / 86400) for rec in recs])


def test_messy_rows() -> None:
    recs = [messy(seed) for seed in range(9)]
    tuned = tune([changed(rec, label=None) for rec in recs])
    fresh = [messy(seed) for seed in (5, 6)]
    assert accuracy(tuned.run, fresh) > accuracy(hold, fresh) + 0.02
    assert not any(np.isnan(tuned.run(rec)).any() for rec in fresh)


@pytest.mark.slow
@pytest.mark.parametrize("has", [[True, False, True, False], [False, True, False, False]])
def test_a_source_that_some_streams_lack(has: list[bool]) -> None:
    """In two of four, or in one only; a stream without the reference may be there too."""
    recs = [three(day(seed, 6.0), medium) for seed, medium in enumerate(has)]
    more = day(9, 2.0)
    recs.append(
        cf.rows(time=more.time, source="weak", probs=more.probs["weak"], classes=more.classes)
    )
    recs.append(first_rows(more.rows(), 5))  # the reference in the first row only
    tuned = tune(recs, "sticky", "strong")
    assert tuned.tuning.criterion == "future predictions"
    assert set(tuned.beta) == {"strong", "weak", "medium"}
    fresh = [three(day(seed, 2.0)) for seed in (5, 6)]
    assert accuracy(tuned.run, fresh) > accuracy(hold, fresh)


def test_one_stream_and_a_reference_by_name() -> None:
    rec = days([0], 4.0)[0]
    assert tune(rec, "sticky").reference == "strong"
    tuned = tune(rec, "sticky", "weak")
    assert tuned.reference == "weak"
    assert "Chosen on 1 stream with" in tuned.tuning.explain()


def first_rows(rec: Rows, rows: int) -> Rows:
    label = None if rec.label is None else rec.label[:rows]
    return cf.rows(
        time=rec.time[:rows],
        source=rec.source_names[:rows],
        probs=rec.probs[:rows],
        classes=rec.classes,
        label=label,
    )


def test_a_reference_that_is_called_too_rarely() -> None:
    """The class changes every two minutes, and the strong one is called every five."""
    truth = np.tile(np.repeat(np.arange(4), 24), 40)
    rng = np.random.default_rng(0)
    probs = {"weak": rng.dirichlet(np.ones(4), truth.size), "strong": np.eye(4)[truth]}
    day = Simulation(np.arange(0.0, truth.size) * 5, truth, tuple("abcd"), probs)
    with pytest.warns(
        UserWarning, match=r"successive predictions of 'strong' agree hardly more th"
    ):
        tune([day.rows(every=60)] * 2, "sticky", "strong")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tune([day.rows(every=6)] * 2, "sticky", "strong")


@pytest.mark.parametrize("kind", ["auto", "dirichlet", "sticky"])
@pytest.mark.parametrize("rows", [2, 12 * (40 - 1)])
def test_too_little_data_holds_the_reference(kind: Any, rows: int, tmp_path: Path) -> None:
    rec = first_rows(day(0, 2.0).rows(), rows)
    count = (rec.of_source("strong")).sum()
    with pytest.warns(UserWarning, match=f"are {count} predictions .* record {40 - count} more"):
        tuned = tune(rec, kind, "strong")
    assert (tuned.tuning.criterion, tuned.tuning.table) == ("nothing", ())
    fresh, held = day(5, 2.0).rows(), cf.HoldFilter(tuned.classes)
    expected = cf.Pipeline.of(held, beta={"strong": 1.0, "weak": 0.5}).run(fresh)
    assert tuned.run(fresh).tobytes() == expected.tobytes()
    nearest = tuned.smooth(fresh).argmax(axis=1)
    assert (nearest == expected.argmax(axis=1)).mean() > 0.8
    tuned.save(tmp_path / "held.json")
    again = cf.load(tmp_path / "held.json")
    assert again.run(fresh).tobytes() == expected.tobytes()
    assert again.smooth(fresh).argmax(axis=1).tolist() == nearest.tolist()
    with pytest.raises(ValueError, match="filter"):
        export(tuned, tmp_path / "firmware")


def test_too_little_data_of_one_source_leaves_it_as_it_is() -> None:
    rec = cf.rows(
        time=np.arange(30.0),
        source="net",
        probs=np.eye(3)[np.arange(30) % 3] * 0.7 + 0.1,
        classes=3,
    )
    with pytest.warns(UserWarning, match="there are 30 predictions of 'net'.*: record 10 more"):
        tuned = tune(rec)
    np.testing.assert_allclose(tuned.run(rec), rec.probs, rtol=1e-12)
    np.testing.assert_allclose(tuned.smooth(rec), rec.probs, rtol=1e-6)


def test_just_enough() -> None:
    rec = first_rows(day(0, 2.0).rows(), 12 * 40)
    assert tune(rec, "dirichlet").tuning.criterion == "future predictions"


def test_missing_predictions_do_not_count() -> None:
    rec = first_rows(day(0, 2.0).rows(), 12 * 40)
    probs = rec.probs.copy()
    probs[12] = NAN
    with pytest.warns(UserWarning, match="there are 39 predictions of 'strong'.* record 1 more"):
        tune(changed(rec, probs=probs))
    probs[rec.of_source("strong")] = NAN
    with rejected("reference"):
        tune(changed(rec, probs=probs), reference="strong")


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_a_dataframe_in_place_of_rows(kind: str) -> None:
    rec = cf.rows(
        time=[0.0, 5.0], source="weak", probs=[[0.9, 0.1], [0.4, 0.6]], classes=["rest", "move"]
    )
    (read,) = as_list(rec.to_table(kind))
    assert read.time.tolist() == rec.time.tolist()
    assert read.probs.tolist() == rec.probs.tolist()
    timeless = rec.to_table(kind)
    timeless = timeless.drop(columns="time") if kind == "pandas" else timeless.drop(["time"])
    with rejected("the table"):
        cf.compare(timeless)


def test_a_dataframe_with_other_names_is_tuned_as_its_rows() -> None:
    df = pl.read_csv("examples/one_classifier.csv").filter(pl.col("stream") == "ann")
    other = df.with_columns(pl.col("time") * 1000).rename({"time": "ts"})
    options: Any = {"columns": {"time": "ts"}, "unit": "ms"}
    assert str(tune(cf.rows(other, **options))) == str(tune(df))
    with rejected("unit"):
        cf.rows(cf.rows(df), unit="ms")
