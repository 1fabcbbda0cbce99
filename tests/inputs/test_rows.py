"""Rows of arrays: their columns, their errors, and runs that equal those of the filter."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import classfilter as cf
from classfilter import _core
from classfilter.inputs import predicted
from classfilter.tuning import count_changes
from conftest import rejected
from example_tables import CLASSES, VALID, three
from streams import Stream, streams

NAN, INF = float("nan"), float("inf")


def test_columns() -> None:
    rows = three(label=["sit", None, "walk"])
    assert rows.time.tolist() == [0.0, 5.0, 5.0]
    assert rows.time.dtype == np.float64
    assert (rows.source.tolist(), rows.sources) == ([0, 1, 0], ("weak", "strong"))
    assert rows.source_names.tolist() == ["weak", "strong", "weak"]
    assert (rows.stream.tolist(), rows.streams) == ([0, 0, 0], (None,))
    assert rows.probs.tolist() == [VALID, [0.8, 0.1, 0.1], VALID]
    assert rows.classes == CLASSES
    assert rows.label is not None
    assert rows.label.tolist() == [1, -1, 0]
    assert rows.dt.tolist() == [0.0, 5.0, 0.0]
    assert len(rows) == 3
    assert repr(rows) == (
        "Rows(3 rows, classes ['walk', 'sit', 'sleep'], sources ['weak', 'strong'])"
    )


def test_they_cannot_be_changed_and_share_nothing() -> None:
    time, probs = np.arange(3.0), np.array([VALID] * 3)
    rows = three(time=time, probs=probs, label=[0, 1, 2])
    for name in ("time", "stream", "source", "probs", "one_hot", "label"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(rows, name)[0] = 0
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(rows, name, None)
    time[:], probs[:] = 7, 1 / 3
    assert rows.time.tolist() == [0, 1, 2]
    assert rows.probs.tolist() == [VALID] * 3


def test_no_rows() -> None:
    rows = cf.rows(time=[], source=[], probs=[], classes=CLASSES, label=[])
    assert (len(rows), rows.probs.shape, rows.sources, rows.dt.tolist()) == (0, (0, 3), (), [])
    assert cf.Pipeline(cf.DirichletFilter(CLASSES), beta={}).run(rows).shape == (0, 3)


def test_classes_and_sources_become_text() -> None:
    rows = three(classes=3, source=[1, 2, 1])
    assert rows.classes == ("0", "1", "2")
    assert rows.sources == ("1", "2")
    assert three(source="weak").source_names.tolist() == ["weak"] * 3


def test_whole_numbers_as_probabilities() -> None:
    rows = three(probs=np.eye(3, dtype=int))
    assert rows.probs.dtype == np.float64
    assert rows.probs.tolist() == np.eye(3).tolist()


@pytest.mark.parametrize(
    "label",
    [
        ["sleep", None, "walk"],
        [2, -1, 0],
        [2.0, NAN, 0.0],
        ["sleep", NAN, "walk"],
        np.array([2, -1, 0]),
    ],
)
def test_labels_by_name_and_by_index(label: Any) -> None:
    indices = three(label=label).label
    assert indices is not None
    assert indices.tolist() == [2, -1, 0]
    assert indices.dtype == np.intp


@pytest.mark.parametrize("missing", [[NAN] * 3, [None] * 3])
def test_a_missing_observation(missing: list[Any]) -> None:
    rows = three(probs=[VALID, missing, VALID])
    assert np.isnan(rows.probs[1]).all()
    assert rows.observed().tolist() == [True, False, True]
    assert rows.observed("weak").tolist() == [True, False, True]
    assert rows.observed("strong").tolist() == rows.observed("other").tolist() == [False] * 3


@given(st.permutations(list(range(8))))
def test_sorting_keeps_rows_together_and_equal_times_in_order(order: list[int]) -> None:
    rows = cf.rows(
        time=np.array([i // 2 for i in order], dtype=float),  # each time twice
        source=[str(i) for i in order],
        probs=np.array([[i / 10, 1 - i / 10] for i in order]),
        classes=2,
        label=[i % 2 for i in order],
        sort=True,
    )
    expected = sorted(order, key=lambda i: i // 2)  # Python's sort is stable
    assert rows.source_names.tolist() == [str(i) for i in expected]
    assert rows.time.tolist() == [i // 2 for i in expected]
    assert rows.probs[:, 0].tolist() == [i / 10 for i in expected]
    assert rows.label is not None
    assert rows.label.tolist() == [i % 2 for i in expected]


def test_rows_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[int] = []
    check_rows = _core.check_rows

    def count(classes: int, probs: Any, beta: Any, dt: Any) -> Any:
        checks.append(len(probs))
        return check_rows(classes, probs, beta, dt)

    monkeypatch.setattr(_core, "check_rows", count)
    probs = {f"p_{name}": [p] * 6 for name, p in zip(CLASSES, VALID, strict=True)}
    table = {"time": range(6), "stream": ["a", "b", "c"] * 2, "label": CLASSES * 2, **probs}
    streams = cf.rows(pl.DataFrame(table)).by_stream()
    labels = [(name, one.label.tolist()) for name, one in streams.items() if one.label is not None]
    assert labels == [("a", [0, 0]), ("b", [1, 1]), ("c", [2, 2])]
    for one in streams.values():
        with pytest.raises(ValueError, match="read-only"):
            one.probs[0] = 0
    last = streams["b"].take(slice(1, None))
    assert (last.time.tolist(), last.probs.tolist(), last.dt.tolist()) == ([4.0], [VALID], [0.0])
    assert checks == [6]


def test_some_rows() -> None:
    """Streams and sources that do not occur in them are forgotten."""
    rows = three(stream=["a", "b", "a"], label=["sit", None, "walk"])
    for some in (slice(1, 3), [1, 2], np.array([False, True, True])):
        part = rows.take(some)
        assert (part.time.tolist(), part.streams) == ([5.0, 5.0], ("b", "a"))
        assert part.source_names.tolist() == ["strong", "weak"]
        assert part.probs.tolist() == [[0.8, 0.1, 0.1], VALID]
        assert part.label is not None
        assert (part.label.tolist(), part.classes) == ([-1, 0], CLASSES)
    ours = rows.take(rows.of_source("strong"))
    assert (ours.sources, ours.streams, ours.stream.tolist()) == (("strong",), ("b",), [0])


def test_one_stream_of_several() -> None:
    """Its rows are in order of time, whatever lies between them."""
    rows = three(time=[0, 2, 1], stream=["a", 7, "a"])
    assert rows["a"].time.tolist() == [0, 1]
    assert "3 rows, times 0 to 2<" in rows._repr_html_()
    assert (rows[7].streams, rows[7].sources) == ((7,), ("strong",))
    with rejected("stream"):
        rows["c"]


@pytest.mark.parametrize("total", [0.951, 1.0, 1.049])
def test_sums_near_1_are_valid(total: float) -> None:
    rows = three(probs=np.array([VALID] * 3) * total)
    cf.Pipeline(cf.DirichletFilter(CLASSES)).run(rows)


@given(st.lists(st.floats(-1, 2) | st.sampled_from([NAN, INF, 0.5, 0.0]), min_size=2, max_size=2))
@example([0.0, 1.05])
@example([0.0, 0.95])
@example([0.05, 0.9])
def test_they_reject_what_the_filter_rejects(row: list[float]) -> None:
    def rejects(call: Any) -> bool:
        try:
            call()
        except ValueError:
            return True
        return False

    f = cf.DirichletFilter(2)
    assert rejects(lambda: f.run([row])) == rejects(
        lambda: cf.rows(time=[0], source="weak", probs=[row], classes=2)
    )


def test_scores_of_arrays() -> None:
    """Logits and percentages become probabilities, as those of tables do."""
    numbers = np.log([VALID] * 3) + 5
    logits = three(probs=numbers, scores="logits")
    percent = three(probs=np.array([VALID] * 3) * 100, scores="percent")
    np.testing.assert_allclose(logits.probs, [VALID] * 3)
    np.testing.assert_allclose(percent.probs, [VALID] * 3)
    named = pd.DataFrame(numbers, columns=CLASSES)[["sleep", "walk", "sit"]]
    assert three(probs=named, scores="logits").probs.tolist() == logits.probs.tolist()


@pytest.mark.parametrize("by_table", [False, True])
def test_scores_of_labels(by_table: bool) -> None:
    """Logits by a sigmoid, percentages by a division; a missing score stays missing."""
    scores = np.array([[0.2, 0.9], [0.5, NAN], [0.75, 0.1]])

    def read(numbers: Any, kind: str) -> cf.Rows:
        if not by_table:
            return cf.rows(time=range(3), probs=numbers, classes=["robin", "wren"], scores=kind)
        cells = {"time": range(3), "p_robin": numbers[:, 0], "p_wren": numbers[:, 1]}
        return cf.rows(pd.DataFrame(cells), scores=kind)

    with np.errstate(divide="ignore"):
        logits = read(np.log(scores / (1 - scores)), "independent-logits")
    percent = read(scores * 100, "independent-percent")
    for rows in (logits, percent):
        np.testing.assert_allclose(rows.probs, scores, rtol=1e-15)
        assert rows.heads == read(scores, "independent").heads
    hint = '; scores="independent-percent" and ' if by_table else ""
    with pytest.raises(cf.RowError, match=f"'robin', is 20.0; it must lie in .*{hint}"):
        read(scores * 100, "independent")


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize(
    ("names", "streams"),
    [([7, 8, 7], (7, 8)), ([7, "x", 7], ("7", "x")), (["007", "8", "8"], ("007", "8"))],
)
def test_names_of_streams_in_a_table(names: Any, streams: Any, kind: str) -> None:
    """Whole numbers stay numbers where all are; else they are text."""
    rows = three(time=[0, 0, 5], stream=names)
    assert cf.rows(rows.to_table(kind)).streams == streams
    filtered = cf.filter_table(rows, cf.DirichletFilter(CLASSES))
    assert tuple(dict.fromkeys(filtered["stream"].to_list())) == streams


def test_rows_go_on_after_those_of_a_call_before() -> None:
    """`last` counts as the row before the first one of its stream, also in the error."""
    rows = three(time=[7, 6, 8], stream=["a", "b", "b"])
    assert rows.grouped(np.array([5.0, NAN]))[1].tolist() == [2, 0, 2]
    assert rows.grouped()[1].tolist() == [0, 0, 2]
    with pytest.raises(
        cf.RowError, match=r"^time in row 1 is 6.0, before 9.0, the time of the row"
    ):
        rows.grouped(np.array([NAN, 9.0]))


@pytest.mark.parametrize("sort", [False, True])
def test_order_is_found_once(sort: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Filtering, and the warnings of odd rows, share the order of the rows."""
    grouped, calls = predicted.grouped, 0

    def counted(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        return grouped(*args)

    monkeypatch.setattr(predicted, "grouped", counted)
    table = three(time=[0, 0, 5], stream=["a", "b", "a"]).to_table()
    for data in (lambda: cf.rows(table, sort=sort), lambda: table):
        calls = 0
        cf.filter_table(data(), cf.DirichletFilter(CLASSES))
        assert calls == 1


def test_columns_are_matched_by_name() -> None:
    prior: NDArray[np.float64] = np.array([3.0, 1.0, 2.0])
    expected = cf.Pipeline(cf.DirichletFilter(CLASSES, prior=prior)).run(three())
    order = [2, 0, 1]
    permuted = cf.DirichletFilter([CLASSES[k] for k in order], prior=prior[order])
    np.testing.assert_allclose(cf.Pipeline(permuted).run(three()), expected, rtol=1e-9)
    by_number = cf.DirichletFilter(3, prior=prior)
    assert cf.Pipeline(by_number).run(three()).tobytes() == expected.tobytes()


@given(streams(), st.integers(0, 2**32 - 1))
def test_a_channel_corrects_a_source(s: Stream, seed: int) -> None:
    """Row by row, in the filter's order of classes."""
    rng, K = np.random.default_rng(seed), s.probs.shape[1]
    source = rng.choice(["weak", "strong"], len(s.dt))
    weak = cf.Channel(rng.random((K, K)), rng.uniform(0.1, 1, K))
    names = [f"c{k}" for k in range(K)]
    rows = cf.rows(time=s.dt.cumsum(), source=source, probs=s.probs, classes=names)
    beta = {"weak": 0.5, "strong": 1.0}
    f = cf.DirichletFilter(names[::-1], gamma=0.8, estimate="mean")
    corrected = np.array(
        [
            weak.apply(p[::-1]) if name == "weak" else p[::-1]
            for p, name in zip(s.probs, source.tolist(), strict=True)
        ]
    )
    pipe = cf.Pipeline(f, beta=beta, channel={"weak": weak, "strong": None})
    filtered, smoothed = pipe.run(rows), pipe.smooth(rows, lag=3)
    weights, dt = [beta[name] for name in source.tolist()], rows.dt
    np.testing.assert_array_equal(
        smoothed[:, ::-1], cf.smooth(f.copy(), corrected, weights, dt, lag=3)
    )
    for p, row, weight, step in zip(filtered, corrected, weights, dt.tolist(), strict=True):
        np.testing.assert_array_equal(p[::-1], f.update(row, weight, step))
    assert rows.probs.tobytes() == s.probs.tobytes()


def test_two_sources_of_one_frame_have_the_step_of_the_frames() -> None:
    """Their stamps are 50 ms apart: the hours of the stream stay what they are."""
    day = cf.simulate("plain", hours=1.0, seed=1)
    time = np.stack([day.time, day.time + 0.05], axis=1).ravel()
    source = np.tile(["weak", "strong"], len(day.time))
    probs = np.stack([day.probs["weak"], day.probs["strong"]], axis=1).reshape(len(time), -1)
    rows = cf.rows(time=time, source=source, probs=probs, classes=day.classes)
    assert rows.step == pytest.approx(5.0)
    changes, hours = count_changes(rows, rows.probs.argmax(axis=1))
    assert hours == pytest.approx(1.0, rel=0.01)
    assert changes == (np.diff(rows.probs.argmax(axis=1)) != 0).sum()
