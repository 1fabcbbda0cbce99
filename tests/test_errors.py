"""The fields of errors: which argument, where, what it is, what it must be, and what to do."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import classfilter as cf
import ndjson_lines
from classfilter.errors import Remedy
from classfilter.policy import Adaptive
from conftest import Run
from ndjson_lines import as_line

NAN, INF = math.nan, math.inf
GOOD = [0.2, 0.3, 0.5]
FIELDS = ("argument", "value", "problem", "rule", "remedy", "row", "entry", "hints", "line")
FILTERS = [cf.DirichletFilter(3), cf.StickyFilter(3), cf.RawFilter(3)]

# The arguments of an update, and of its error: argument, entry, value, rule, remedy.
UPDATES: list[tuple[list[float], dict[str, float], tuple[Any, ...]]] = [
    (
        [0.7, -0.2, 0.5],
        {},
        ("probs", 1, -0.2, "a probability must not be negative", Remedy.SOFTMAX),
    ),
    ([0.5, 0.5, INF], {}, ("probs", 2, INF, "a probability must be finite", "")),
    ([0.5, 0.5, 0.5], {}, ("probs", None, 1.5, "it must be within 0.05 of 1", Remedy.NORMALISE)),
    (
        GOOD,
        {"beta": 1.5},
        ("beta", None, 1.5, "it must lie in [0, 1]", "0 ignores the"),
    ),
    (GOOD, {"dt": -1.0}, ("dt", None, -1.0, "it must not be negative", "put the observations in")),
    (GOOD, {"dt": INF}, ("dt", None, INF, "it must lie in [0, 1e30]", "give the time since")),
]


def raised(call: Callable[[], Any]) -> cf.ArgumentError:
    """Return the error of a call."""
    with pytest.raises(cf.ArgumentError) as caught:
        call()
    return caught.value


def fields(error: cf.ArgumentError) -> dict[str, Any]:
    return {name: getattr(error, name) for name in FIELDS}


@pytest.mark.parametrize("f", FILTERS, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize(("probs", "how", "expected"), UPDATES)
def test_rows_of_the_core(f: Any, probs: Any, how: Any, expected: tuple[Any, ...]) -> None:
    columns = {name: [1.0, 1.0, number] for name, number in how.items()}
    one = raised(lambda: f.update(probs, **how))
    many = raised(lambda: f.run([GOOD, GOOD, probs], **columns))
    for error, row in ((one, None), (many, 2)):
        assert type(error) is cf.RowError
        found = (error.argument, error.entry, error.value, error.rule)
        assert found == expected[:4]
        assert error.row == row
        assert error.remedy.startswith(expected[4])
        assert isinstance(error.remedy, Remedy) == isinstance(expected[4], Remedy)


def test_a_row_of_some_nan() -> None:
    error = raised(lambda: cf.RawFilter(3).run([[0.5, NAN, 0.5]]))
    assert math.isnan(error.value)
    assert (error.row, error.entry) == (0, 1)
    assert error.rule == "a missing observation is a row of NaN only"


def test_a_row_of_another_length() -> None:
    error = raised(lambda: cf.DirichletFilter(3).update([0.5, 0.5]))
    assert (error.argument, error.value) == ("probs", 2)
    assert error.remedy == "give one probability per class"


def test_rows_of_a_bank_and_of_a_channel() -> None:
    bank = cf.Bank(cf.DirichletFilter(3), 5)
    error = raised(lambda: bank.update([GOOD, [0.9, 0.9, 0.9]], rows=[4, 2]))
    assert (error.argument, error.row, error.value) == ("probs", 1, pytest.approx(2.7))
    channel = cf.Channel([[9, 1], [1, 9]])
    error = raised(lambda: channel.apply([[0.5, 0.5], [-1.0, 2.0]]))
    assert (error.argument, error.row, error.entry, error.value) == ("probs", 1, 0, -1.0)


SETTINGS: list[tuple[Any, str, Any]] = [
    (cf.DirichletFilter, "gamma", 1.5),
    (cf.DirichletFilter, "floor", 2.0),
    (cf.DirichletFilter, "anchor", -1.0),
    (cf.DirichletFilter, "prior", [1.0, 2.0, 0.0]),
    (cf.DirichletFilter, "prior_weight", 1e10),
    (cf.DirichletFilter, "max_concentration", 2.0),
    (cf.DirichletFilter, "tolerance", 0.5),
    (cf.DirichletFilter, "half_life", -1),
    (cf.DirichletFilter, "dtype", "x"),
    (cf.StickyFilter, "stay", 1.01),
    (cf.StickyFilter, "prior", [0.9, 0.3, 0.3]),
    (cf.EmaFilter, "gamma", 2),
]


@pytest.mark.parametrize(("kind", "argument", "value"), SETTINGS)
def test_settings(kind: Any, argument: str, value: Any) -> None:
    error = raised(lambda: kind(3, **{argument: value}))
    assert not isinstance(error, cf.RowError)
    assert (error.argument, error.value, error.row) == (argument, value, None)
    assert str(error) == f"{argument} is {value!r}; {error.rule}"


SEVERAL = "if several may be true at once, or none,"


def test_a_sum_far_from_one_has_two_remedies(run: Run) -> None:
    """One class at a time, and the row needs normalising; or several, and the scores are free."""
    row = {"time": 0.0, "p_robin": 0.9, "p_wren": 0.8}
    text = str(raised(lambda: cf.StickyFilter(2).update([0.9, 0.8])))
    assert "one class is true at a time, normalise it (logits need classfilter.softmax" in text
    assert f"{SEVERAL} the scores are independent: give a MultiLabelFilter, and scores=" in text
    f = cf.StickyFilter(["robin", "wren"])
    assert text.partition("; ")[2] in str(raised(lambda: cf.filter_table(pl.DataFrame(row), f)))
    pl.DataFrame(row).write_csv("birds.csv")
    table = run("filter", "birds.csv", "-o", "out.csv")[2]
    for told in (table, run("stream", "--gamma", "0.9", stdin=as_line(row))[2]):
        assert "one class is true at a time, normalise it (logits need --scores logits" in told
        assert f"{SEVERAL} give --scores independent" in told


def test_a_single_column_may_be_a_score_by_itself(run: Run) -> None:
    row = {"time": 0.0, "p_speech": 0.9}
    error = raised(lambda: cf.rows(pl.DataFrame(row)).by_stream())
    assert error.hints == (Remedy.ONE_SCORE,)
    assert str(error).endswith('one score by itself, give scores="independent"')
    pl.DataFrame(row).write_csv("speech.csv")
    told = run("filter", "speech.csv", "-o", "out.csv")[2]
    assert told.endswith("one score by itself, give --scores independent\n")
    told = ndjson_lines.run(as_line(row))[1]
    assert "one score by itself, give --scores independent\n" in told
    assert raised(lambda: cf.rows(pl.DataFrame({"time": [0.0]})).by_stream()).hints == ()


def test_arguments_of_a_policy() -> None:
    policy, torn = Adaptive(), [0.5, 0.5]
    error = raised(lambda: policy.called("weak", torn, torn, -1.0))
    assert (error.argument, error.value) == ("dt", -1.0)
    assert error.remedy == "put the steps in order of time"
    error = raised(lambda: policy.called("weak", torn, [2.0, 3.0], 1.0))
    assert (error.argument, error.value) == ("probs", [2.0, 3.0])
    error = raised(lambda: policy.called("weak", [2.0, 3.0], torn, 1.0))
    assert (error.argument, error.value) == ("observation", [2.0, 3.0])


TABLE = {"time": [0.0, 5.0, 9.0], "p_a": [0.5, 0.4, 0.3], "p_b": [0.5, 0.6, 0.7]}
CELLS: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    ({"p_b": [0.5, -0.6, 0.7]}, ("probs", 1, "b", -0.6, Remedy.IF_LOGITS)),
    ({"p_b": [0.5, 0.6, 0.1]}, ("probs", 2, None, 0.4, Remedy.NORMALISE)),
    ({"p_b": ["x", "0.6", "0.7"]}, ("column p_b", 0, None, "x", "")),
    ({"time": [0.0, INF, 9.0]}, ("time", 1, None, INF, "leave the row out")),
    ({"time": ["a", "b", "c"]}, ("time", 0, None, "a", "give a number, a datetime")),
    ({"time": [0.0, 5.0, 4.0]}, ("time", 2, None, 4.0, Remedy.SORT)),
    ({"time": [-1e308, 0.0, 1e308]}, ("time", 1, None, 0.0, "leave the row out")),
    ({"stream": ["x", None, "x"]}, ("stream", 1, None, None, "fill it in")),
    ({"source": ["s", "s", None]}, ("source", 2, None, None, "fill it in")),
    ({"source": ["s", "s", "other"]}, ("source", 2, None, "other", "add it there")),
]


@pytest.mark.parametrize(("change", "expected"), CELLS)
def test_tables_and_files(change: Any, expected: Any, tmp_path: Path) -> None:
    df = pl.DataFrame({**TABLE, "source": ["s"] * 3, **change})
    f = cf.DirichletFilter(["a", "b"])
    error = raised(lambda: cf.filter_table(df, f, beta={"s": 1.0}))
    assert type(error) is cf.RowError
    found = (error.argument, error.row, error.entry, error.value)
    assert found == expected[:4]
    assert error.remedy.startswith(expected[4])
    assert error.line is None
    path = tmp_path / "in.ndjson"
    if all(value != INF for value in df["time"]):  # which JSON cannot write
        cf.write_table(df, path)
        error = raised(lambda: cf.filter_file(path, tmp_path / "out.csv", f, beta={"s": 1.0}))
        assert (error.row, error.line) == (expected[1], expected[1] + 1)


def test_confidence_and_labels() -> None:
    f = cf.DirichletFilter(["a", "b"])
    top = pl.DataFrame({"time": [0.0, 1.0], "prediction": ["a", "b"], "confidence": [0.5, 70.0]})
    error = raised(lambda: cf.filter_table(top, f))
    assert (error.argument, error.row, error.value) == ("confidence", 1, 70.0)
    assert error.remedy is Remedy.IF_PERCENT
    error = raised(
        lambda: cf.rows(time=[0.0, 1.0], source="s", probs=["a", "x"], classes=["a", "b"])
    )
    assert (error.argument, error.row, error.value) == ("probs", 1, "x")
    assert error.rule == "the classes are ['a', 'b']"


def test_hints_of_a_table() -> None:
    f = cf.DirichletFilter(["a", "b"])
    percent = pl.DataFrame({**TABLE, "p_a": [60.0] * 3, "p_b": [40.0] * 3})
    error = raised(lambda: cf.filter_table(percent, f))
    assert error.hints == (Remedy.LOOK_LIKE_PERCENT,)
    error = raised(lambda: cf.rows(pl.DataFrame({**TABLE, "p_value": [0.3] * 3})).by_stream())
    assert error.hints[-1] is Remedy.IF_NOT_CLASSES


def test_a_table_without_its_columns() -> None:
    df = pl.DataFrame(TABLE)
    error = raised(lambda: cf.rows(df.drop("time")).by_stream())
    assert (error.argument, error.value) == ("the table", ["p_a", "p_b"])
    assert error.remedy is Remedy.NAME_TIME
    error = raised(lambda: cf.rows(df, columns={"tme": "time"}).by_stream())
    assert (error.argument, error.value) == ("columns", "tme")


def test_times_and_weights_of_a_tracker() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(2), beta={"s": 1.0})
    rows = [[0.5, 0.5]] * 3
    error = raised(lambda: tracker.update_many(["x", "y", "x"], [5.0, 0.0, 4.0], "s", rows))
    assert (error.argument, error.row, error.value) == ("times", 2, 4.0)
    assert "before 5.0, that of the row before it of stream 'x'; give the rows" in str(error)
    error = raised(lambda: cf.Tracker(cf.DirichletFilter(2), beta=2.0))
    assert (error.argument, error.entry, error.value) == ("beta", None, 2.0)


def test_a_weight_of_a_source() -> None:
    rec = cf.rows(time=[0.0], source="s", probs=[[0.5, 0.5]], classes=["a", "b"])
    error = raised(lambda: cf.Chain.of(cf.DirichletFilter(2), beta={"s": 2}).run(rec))
    assert (error.argument, error.entry, error.value) == ("beta", "s", 2)
    assert str(error) == "beta['s'] is 2; it must be a number in [0, 1]"


@pytest.mark.parametrize("again", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy])
def test_errors_pickle(again: Callable[[Any], Any]) -> None:
    percent = pl.DataFrame({**TABLE, "p_a": [60.0] * 3, "p_b": [40.0] * 3})
    calls: list[Callable[[], Any]] = [
        lambda: cf.DirichletFilter(2, gamma=2),
        lambda: cf.DirichletFilter(2).run([[0.5, -0.5]]),
        lambda: cf.filter_table(percent, cf.DirichletFilter(["a", "b"])),
    ]
    for call in calls:
        error = raised(call)
        twin = again(error)
        assert type(twin) is type(error)
        assert (str(twin), fields(twin)) == (str(error), fields(error))
        # The command line looks remedies up by what they are.
        for ours, theirs in zip(
            (error.remedy, *error.hints), (twin.remedy, *twin.hints), strict=True
        ):
            assert type(ours) is not Remedy or ours is theirs


def test_names_in_braces_stay_as_they_are() -> None:
    error = cf.RowError("probs", 3, "has {} of '{}'", "it has '{}'", row=1, entry="{}")
    assert str(error) == "probs in row 1, class '{}', has 3 of '{}'; it has '{}'"


def test_the_public_path() -> None:
    assert f"{cf.RowError.__module__}.{cf.RowError.__name__}" == "classfilter.RowError"
    assert issubclass(cf.RowError, cf.ArgumentError)
    assert issubclass(cf.ArgumentError, ValueError)
    error = raised(lambda: cf.DirichletFilter(2, gamma=2))
    assert repr(error) == "ArgumentError('gamma is 2.0; it must lie in [0, 1]')"


@pytest.mark.parametrize(
    ("make", "name", "right"),
    [
        (cf.EventRule, "cost", "did you mean change_cost?"),
        (cf.EventRule, "min_dur", "did you mean min_duration?"),
        (cf.EventRule, "sound", "it has change_cost, leave_cost, min_duration, "),
        (cf.ThresholdRule, "threshold", "did you mean enter?"),
        (cf.StickyFilter, "halflife", "did you mean half_life?"),
        (cf.DirichletFilter, "decay", "did you mean gamma?"),
        (cf.EmaFilter, "half_lives", "did you mean half_life?"),
        (cf.VoteFilter, "windows", "did you mean window?"),
        (cf.HoldFilter, "x", "it has classes"),
        (cf.MultiLabelFilter, "label", "did you mean labels?"),
        (cf.Chain, "weights", "did you mean beta?"),
        (cf.tune, "duration", "did you mean event_duration?"),
        (cf.tune, "references", "did you mean reference?"),
        (cf.filter_table, "sort", "it is an option of reading: give rows(..., sort=...)"),
        (cf.events, "columns", "it is an option of reading: give rows(..., columns=...)"),
        (cf.compare, "recordings", "it has rows"),
    ],
)
def test_a_keyword_that_is_not_known_names_the_right_one(make: Any, name: str, right: str) -> None:
    with pytest.raises(TypeError) as caught:
        make(**{name: 1})
    assert str(caught.value).startswith(f"{make.__name__} has no argument {name}; {right}")


def test_known_keywords_are_shown_and_needed_as_before() -> None:
    names = list(inspect.signature(cf.StickyFilter).parameters)
    assert names[:3] == ["classes", "stay", "half_life"]
    with pytest.raises(TypeError, match="filter"):
        cf.MultiLabelFilter(labels=["a"])  # type: ignore[call-arg]


def test_warnings_of_tune_name_the_line_that_called_it() -> None:
    rec = cf.simulate("plain", hours=0.1, seed=0).rows()
    silent = cf.rows(time=[0.0], source="none", probs=[[math.nan] * 4], classes=rec.classes)
    with pytest.warns(UserWarning, match="without any prediction|needs at least 40") as caught:
        cf.tune([rec, silent])
    assert [warning.filename for warning in caught] == [__file__] * 2
