"""Events in JavaScript: those of `cf.events`, to the bit, of any rule and any stream."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import classfilter as cf
import node_cases as node
from classfilter.engine import decided_as_they_are
from event_streams import random_stream
from node_cases import camel, sent

NAMES = ["walk", "__proto__", "7", "a b", "it's", "é"]
seeds = st.integers(0, 2**32 - 1)


def random_options(
    rng: np.random.Generator, names: list[str], independent: bool = False
) -> dict[str, Any]:
    """Return options of an EventRule, as they are given to it."""

    def maybe(share: float, *values: Any) -> Any:
        return values[rng.integers(len(values))] if rng.random() < share else None

    def by_class(least: int, *values: Any) -> dict[str, Any]:
        chosen = rng.permutation(names)[: rng.integers(least, len(names) + 1)]
        return {str(name): values[rng.integers(len(values))] for name in chosen}

    costs = (0.0, 0.25, 0.3, "1s", 2.0)
    options = {
        "change_cost": by_class(len(names), *costs) if rng.random() < 0.3 else maybe(1, *costs),
        "leave_cost": maybe(0.3, 0.5, by_class(0, 0.5, "500ms")),
        "min_duration": maybe(0.5, 1.0, "2s", by_class(0, 0.5, 1.0, 3.0)),
        "bias": maybe(0.3, 0.1, by_class(0, -0.2, 0.1)),
        "merge_gap": maybe(0.4, 0.0, 1.0, "3s", *([by_class(0, 1.0, 2.0)] if independent else [])),
        "evidence": maybe(0.3, "log", "time"),
        "min_probability": maybe(0.3, 0.3, 0.5),
        "pad": maybe(0.4, [0.5, 0.0], [1.5, "500ms"]),
        "shift": maybe(0.3, 0.5, "2s"),
        "ignore": maybe(0.3, names[0], names[1:]),
        "max_gap": maybe(0.4, 2.0, "4s"),
        "max_duration": maybe(0.3, 2.0, 0.7),
        "max_delay": maybe(0.3, 3.0, "5s"),
    }
    return {name: value for name, value in options.items() if value is not None}


def as_bits(found: list[dict[str, Any]]) -> list[Any]:
    assert all(e["duration"] == e["end"] - e["start"] for e in found)
    return [(e["label"], e["start"], e["end"], e["probability"]) for e in found]


def in_node(cases: list[dict[str, Any]]) -> list[list[Any]]:
    return [as_bits(result["events"]) for result in node.run(cases)]


def in_python(
    options: dict[str, Any], names: list[str], times: Any, probs: Any, independent: bool = False
) -> list[Any]:
    scores = "independent" if independent else "probabilities"
    rows = cf.rows(time=times, probs=probs, classes=names, scores=scores)
    events = decided_as_they_are(cf.EventRule(**options), replace(rows, probs=probs))
    return [event[1:] for event in events]


def case_of(options: dict[str, Any], names: list[str], times: Any, probs: Any, **more: Any) -> Any:
    numbers = {"times": node.encode(times), "probs": node.encode(probs)}
    return {"kind": "events", "rule": camel(options), "classes": names, **numbers, **more}


@given(seed=seeds)
@example(seed=0)
def test_events_have_the_bits_of_python(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = NAMES[: rng.integers(2, 7)]
    cases, expected = [], []
    for dtype in ("float64", "float32"):
        options = random_options(rng, names)
        times, probs = random_stream(rng, len(names), int(rng.integers(1, 300)))
        expected.append(in_python(options, names, times, probs.astype(dtype)))
        cases.append(case_of(options, names, times, probs, single=dtype == "float32"))
    assert in_node(cases) == expected


@given(seed=seeds)
@example(seed=0)
def test_labels_at_once_have_the_bits_of_python(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = NAMES[: rng.integers(1, 5)]
    options = random_options(rng, names, independent=True)
    if len(names) == 1:
        options.pop("ignore", None)
    times = np.cumsum(rng.choice([0.0, 0.25, 1.0, 1.0, 5.0], int(rng.integers(1, 200))))
    probs = rng.beta(0.3, 0.3, (len(times), len(names)))
    probs[rng.random(probs.shape) < 0.1] = np.nan
    case = {"scores": "independent"}
    expected = [in_python(options, names, times, probs.astype(t), True) for t in ("f8", "f4")]
    rows = [case_of(options, names, times, probs, single=x, **case) for x in (False, True)]
    assert in_node(rows) == expected


def test_a_long_stream_comes_in_parts_and_its_state_grows() -> None:
    rng = np.random.default_rng(0)
    times = np.arange(9000) * 0.1
    probs = rng.dirichlet([0.3] * 3, len(times))
    for options in ({"min_duration": 400.0}, {"change_cost": 3e3, "evidence": "log"}, {}):
        expected = in_python(options, NAMES[:3], times, probs)
        assert in_node([case_of(options, NAMES[:3], times, probs)]) == [expected]
    assert len(expected) > 4096


def of_rows(rule: Any, single: bool = False, **options: Any) -> dict[str, Any]:
    case = {"kind": "eventRows", "rule": rule, "options": sent(options), "single": single}
    (result,) = node.run([case])
    return result


ROWS = np.random.default_rng(1).dirichlet([0.4, 0.4], 30)


def test_rows_dates_and_names() -> None:
    """Lists of rows, in the precision of each; dates are UNIX seconds, names of classes text."""
    times = 1.7e9 + np.arange(30) * 0.5
    dates = [{"date": 1000 * time} for time in times]
    for dtype in ("float64", "float32"):
        expected = in_python({"change_cost": 0.3}, ["0", "1"], times, ROWS.astype(dtype))
        given = {"classes": 2, "times": dates, "probs": ROWS.tolist(), "stream": 7}
        result = of_rows({"changeCost": 0.3}, dtype == "float32", **given)
        assert as_bits(result["events"]) == expected
        assert {event["stream"] for event in result["events"]} == {7}
    result = of_rows({}, classes=["a", "b"], times=[0.0], probs=[[0.9, 0.1]])
    assert result["events"] == []  # a single row stands for no time
    result = of_rows({"minProbability": 1e-40}, True, **given)
    assert result["message"] == "minProbability is 1e-40; it must be a number from 1e-30 to 1"


@pytest.mark.parametrize(
    ("row", "time", "probs"),
    [
        (3, 1.25, [0.5, 0.5]),
        (0, float("inf"), [0.5, 0.5]),
        (4, 1e31, [0.5, 0.5]),
        (2, 2.0, [0.5, 0.75]),
        (2, 2.0, [-0.5, 1.5]),
        (29, 29.0, [0.5, float("nan")]),
    ],
)
def test_an_invalid_row_is_named(row: int, time: float, probs: list[float]) -> None:
    times, rows = np.arange(30.0), ROWS.copy()
    times[row], rows[row] = time, probs
    with pytest.raises(cf.RowError):
        in_python({}, ["a", "b"], times, rows)
    given = {"classes": ["a", "b"], "times": times.tolist(), "probs": rows.tolist()}
    message = of_rows({}, **given)["message"]
    assert message.startswith((f"time in row {row} is", f"probs in row {row} ", f"probs[{row}, "))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"times": [0, 1]}, "times has 2 entries, but probs has 3 rows"),
        ({"times": 5}, "times is 5"),
        ({"times": [0, "1", 2]}, 'times[1] is "1"'),
        ({"classes": ["a"]}, 'classes is ["a"]'),
        ({"scores": "logits"}, 'scores is "logits"'),
        ({"rows": []}, "unknown option rows"),
        ({"probs": [[1, 0], [1], [1, 0]]}, "probs has 1 entries, but the filter has 2 classes"),
    ],
)
def test_other_arguments_are_rejected(changes: dict[str, Any], message: str) -> None:
    given = {"classes": ["a", "b"], "times": [0, 1, 2], "probs": [[1, 0]] * 3, **changes}
    assert of_rows({}, **given)["message"].startswith(message)
    assert of_rows(None, **given)["message"].startswith("rule is null")
