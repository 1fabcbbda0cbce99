"""The fields of errors: which argument, where, what it is, what it must be, and what to do."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import classfilter as cf
import ndjson_lines
from classfilter.errors import Fix
from conftest import Run
from ndjson_lines import as_line

NAN, INF = math.nan, math.inf
FIELDS = ("argument", "value", "must", "fix", "row", "problem", "entry", "hints", "line", "file")


def raised(call: Callable[[], Any]) -> cf.ArgumentError:
    """Return the error of a call."""
    with pytest.raises(cf.ArgumentError) as caught:
        call()
    return caught.value


def fields(error: cf.ArgumentError) -> dict[str, Any]:
    return {name: getattr(error, name) for name in FIELDS}


SEVERAL = "if several may be true at once, or none,"


def test_a_sum_far_from_one_has_two_remedies(run: Run) -> None:
    """One class at a time, and the row needs normalising; or several, and the scores are free."""
    row = {"time": 0.0, "p_robin": 0.9, "p_wren": 0.8}
    text = str(raised(lambda: cf.StickyFilter(2).update([0.9, 0.8])))
    assert "one class is true at a time, normalise the row (logits need classfilter.softmax" in text
    assert f"{SEVERAL} the scores are independent: give a MultiLabelFilter, and scores=" in text
    f = cf.StickyFilter(["robin", "wren"])
    assert text.partition("; ")[2] in str(raised(lambda: cf.filter_table(pl.DataFrame(row), f)))
    pl.DataFrame(row).write_csv("birds.csv")
    table = run("filter", "birds.csv", "-o", "out.csv")[2]
    for told in (table, run("stream", "--gamma", "0.9", stdin=as_line(row))[2]):
        assert "one class is true at a time, normalise the row (logits need --scores logits" in told
        assert f"{SEVERAL} the scores are independent: give --scores independent" in told


def test_a_single_column_may_be_a_score_by_itself(run: Run) -> None:
    row = {"time": 0.0, "p_speech": 0.9}
    error = raised(lambda: cf.rows(pl.DataFrame(row)).by_stream())
    assert error.hints == (("if it is one score by itself, give ", Fix("scores", "independent")),)
    assert str(error).endswith('one score by itself, give scores="independent"')
    pl.DataFrame(row).write_csv("speech.csv")
    told = run("filter", "speech.csv", "-o", "out.csv")[2]
    assert told.endswith("one score by itself, give --scores independent\n")
    told = ndjson_lines.run(as_line(row))[1]
    assert "one score by itself, give --scores independent\n" in told
    assert raised(lambda: cf.rows(pl.DataFrame({"time": [0.0]})).by_stream()).hints == ()


TABLE = {"time": [0.0, 5.0, 9.0], "p_a": [0.5, 0.4, 0.3], "p_b": [0.5, 0.6, 0.7]}


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
        assert twin.text(typed=True) == error.text(typed=True)


def test_names_in_braces_stay_as_they_are() -> None:
    error = cf.RowError("probs", 3, problem="has {} of '{}'", must="it has '{}'", row=1, entry="{}")
    assert str(error) == "probs in row 1, class '{}', has 3 of '{}'; it has '{}'"


def test_the_public_path() -> None:
    assert f"{cf.RowError.__module__}.{cf.RowError.__name__}" == "classfilter.RowError"
    assert issubclass(cf.RowError, cf.ArgumentError)
    assert issubclass(cf.ArgumentError, ValueError)
    error = raised(lambda: cf.DirichletFilter(2, gamma=2))
    assert repr(error) == "ArgumentError('gamma is 2.0; it must lie in [0, 1]')"


def test_warnings_of_tune_name_the_line_that_called_it() -> None:
    rec = cf.simulate("plain", hours=0.1, seed=0).rows()
    silent = cf.rows(time=[0.0], source="none", probs=[[math.nan] * 4], classes=rec.classes)
    with pytest.warns(UserWarning, match="without any prediction|needs at least 40") as caught:
        cf.tune([rec, silent])
    assert [warning.filename for warning in caught] == [__file__] * 2
