"""The package for JavaScript refuses what Python refuses, in the same words, unchanged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import classfilter as cf
import node_cases as node
from classfilter.policy import Adaptive, Periodic
from javascript_messages import camel, python_message, sent

PYTHON: dict[str, Any] = {
    "DirichletFilter": cf.DirichletFilter,
    "StickyFilter": cf.StickyFilter,
    "Channel": cf.Channel,
    "Adaptive": Adaptive,
    "Periodic": Periodic,
    "EventRule": cf.EventRule,
}
NAN, INF = math.nan, math.inf

# The class, its arguments in order, its options.
SETTINGS: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("DirichletFilter", ["abc"], {}),
    ("DirichletFilter", [1], {}),
    ("DirichletFilter", [["a"]], {}),
    ("DirichletFilter", [["a", "b", "a"]], {}),
    ("DirichletFilter", [3], {"gamma": 1.5}),
    ("DirichletFilter", [3], {"gamma": NAN}),
    ("DirichletFilter", [3], {"gamma": 0.5, "half_life": 2.5}),
    ("DirichletFilter", [3], {"half_life": -1}),
    ("DirichletFilter", [3], {"half_life": INF}),
    ("DirichletFilter", [3], {"estimate": "median"}),
    ("DirichletFilter", [3], {"floor": 0.0}),
    ("DirichletFilter", [3], {"anchor": -0.5}),
    ("DirichletFilter", [3], {"prior": [1.0, 2.0]}),
    ("DirichletFilter", [3], {"prior": [1.0, 2.0, 0.0]}),
    ("DirichletFilter", [3], {"prior_weight": 0}),
    ("DirichletFilter", [3], {"prior_weight": 1e10}),
    ("DirichletFilter", [3], {"max_concentration": 2.0}),
    ("DirichletFilter", [3], {"max_concentration": 1e7, "dtype": "float32"}),
    ("DirichletFilter", [3], {"tolerance": 0.5}),
    ("DirichletFilter", [3], {"temperature": 0.0}),
    ("DirichletFilter", [3], {"bounded": 1}),
    ("DirichletFilter", [3], {"dtype": "int32"}),
    ("StickyFilter", [2], {"stay": 1.01}),
    ("StickyFilter", [2], {"stay": 0.5, "half_life": 3}),
    ("StickyFilter", [2], {"stay": 0.5, "transitions": [[0.9, 0.1], [0.1, 0.9]]}),
    ("StickyFilter", [2], {"half_life": 2, "transitions": [[0.9, 0.1], [0.1, 0.9]]}),
    ("StickyFilter", [2], {"prior": [0.5, 0.4, 0.1]}),
    ("StickyFilter", [2], {"prior": [0.9, 0.3]}),
    ("StickyFilter", [2], {"floor": 1.0}),
    ("StickyFilter", [2], {"temperature": NAN}),
    ("StickyFilter", [2], {"temperature": 25.0, "dtype": "float32"}),
    ("Channel", [[[1, 2, 3], [4, 5, 6]]], {}),
    ("Channel", [[[1, -2.5], [4, 5]]], {}),
    ("Channel", [[[1, INF], [4, 5]]], {}),
    ("Channel", [[[1]]], {}),
    ("Channel", [[[1, 2], [0, 0]]], {}),
    ("Channel", [[[1, 2], [3, 4]], [0.5, 0.25, 0.25]], {}),
    ("Channel", [[[1, 2], [3, 4]], [1.0, 0.0]], {}),
    ("Adaptive", [], {"budget": 1.5}),
    ("Adaptive", [], {"budget": 0.5, "min_gap": 3}),
    ("Adaptive", [], {"budget": 0.001, "max_gap": 10}),
    ("Adaptive", [], {"min_gap": 0}),
    ("Adaptive", [], {"min_gap": 2.5}),
    ("Adaptive", [], {"budget": -1, "cost": {"weak": 1.0, "strong": 4.0}}),
    ("Adaptive", [], {"cost": {"weak": 1.0, "other": 4.0}}),
    ("Adaptive", [], {"cost": {"weak": 4.5, "strong": 1.5}}),
    ("Adaptive", [], {"disagreement": 10000}),
    ("Adaptive", [], {"floor": 1e-5}),
    ("Adaptive", [], {"horizon": 0.5}),
    ("Adaptive", [], {"strong": "weak"}),
    ("Periodic", [], {"every": 0}),
    ("Periodic", [], {"every": 3, "seconds": 2}),
    ("Periodic", [], {"seconds": -2}),
    ("EventRule", [], {"change_cost": -1.5}),
    ("EventRule", [], {"change_cost": {"walk": INF}}),
    ("EventRule", [], {"leave_cost": {"it's": -0.5}}),
    ("EventRule", [], {"min_duration": NAN}),
    ("EventRule", [], {"min_duration": "-3s"}),
    ("EventRule", [], {"merge_gap": -2}),
    ("EventRule", [], {"bias": 1.5}),
    ("EventRule", [], {"bias": {"walk": "much"}}),
    ("EventRule", [], {"evidence": "logarithm"}),
    ("EventRule", [], {"min_probability": 1.0000001}),
    ("EventRule", [], {"min_probability": "half"}),
    ("EventRule", [], {"pad": 2.5}),
    ("EventRule", [], {"pad": [1.5, 2, 3]}),
    ("EventRule", [], {"pad": "1s"}),
    ("EventRule", [], {"pad": [1.5, -2.5]}),
    ("EventRule", [], {"shift": -0.25}),
    ("EventRule", [], {"max_delay": -0.25}),
]
# Options of a rule that does not fit the classes walk and sit.
RULES: list[dict[str, Any]] = [
    {"change_cost": {"walk": 1.5}},
    {"change_cost": {"walk": 1.5, "sit": 1, "run": 2}},
    {"leave_cost": {"run": 1}},
    {"bias": {"run": 0.5}},
    {"merge_gap": {"walk": 1.5}},
    {"ignore": ["walk", "sit"]},
    {"ignore": "run"},
    {"min_duration": 2.5, "max_delay": 1.5},
]

GOOD = [0.2, 0.5, 0.3]
# The method, its arguments in order, beta and dt.
CALLS: list[tuple[str, Any, dict[str, Any]]] = [
    ("update", [0.5, 0.5], {}),
    ("update", [0.5, 0.4, 0.3], {}),
    ("update", [1.0, 2.0, 3.0], {}),
    ("update", [0.1, 1e-7, -1e-7], {}),
    ("update", [0.5, -0.25, 0.75], {}),
    ("update", [0.5, INF, 0.75], {}),
    ("update", [0.5, NAN, 0.5], {}),
    ("update", GOOD, {"beta": 1.5}),
    ("update", GOOD, {"beta": -1e-9}),
    ("update", GOOD, {"beta": NAN}),
    ("update", GOOD, {"dt": -1}),
    ("update", GOOD, {"dt": INF}),
    ("update", [GOOD], {}),
    ("run", GOOD, {}),
    ("run", [[0.5, 0.5]], {}),
    ("run", [GOOD, [0.5, 0.1, 0.1]], {}),
    ("run", [GOOD, [0.5, -0.1, 0.6], GOOD], {}),
    ("run", [GOOD, [0.5, NAN, 0.5]], {}),
    ("run", [GOOD, [0.5, 0.0, INF]], {}),
    ("run", [GOOD, GOOD], {"beta": [0.5, 1.1]}),
    ("run", [GOOD, GOOD], {"beta": 2}),
    ("run", [GOOD, GOOD], {"dt": [0.5, -2.0]}),
    ("run", [GOOD, GOOD], {"dt": [0.5]}),
    ("run", [GOOD] * 5000 + [[0.4, 0.4, 0.4]], {}),
]


def compare(cases: list[dict[str, Any]], expected: list[str]) -> None:
    results = node.run(cases)
    assert [result["message"] for result in results] == expected
    assert all(result["unchanged"] for result in results)


def test_settings() -> None:
    cases, expected = [], []
    for name, args, options in SETTINGS:
        arguments = [sent(arg) for arg in args] + ([camel(options)] if options else [])
        cases.append({"kind": "error", "name": name, "args": arguments})
        expected.append(python_message(lambda: PYTHON[name](*args, **options)))  # noqa: B023
    compare(cases, expected)


def test_rules_that_do_not_fit() -> None:
    cases, expected = [], []
    for options in RULES:
        case = {"kind": "error", "name": "EventRule", "args": [camel(options)], "method": "check"}
        cases.append({**case, "call": [["walk", "sit"]]})
        expected.append(python_message(lambda: cf.EventRule(**options).check(("walk", "sit"))))  # noqa: B023
    compare(cases, expected)


def test_a_rule_in_words_of_its_own() -> None:
    cases = [
        {"kind": "error", "name": "EventRule", "args": [{name: value}]}
        for name, value in (("maxGap", 0), ("shift", "soon"), ("cost", 1))
    ]
    cases.append({"kind": "error", "name": "EventRule", "args": ["30s"]})
    start = "unknown option cost; EventRule has changeCost, leaveCost, minDuration, mergeGap, bias"
    messages = [result["message"] for result in node.run(cases)]
    assert messages[0] == "maxGap is 0; it must not be 0: give a positive duration, or null"
    assert messages[1].startswith("shift is 'soon'; it must be a duration: give a number, or text")
    assert messages[2].startswith(start)
    assert messages[3] == "options is '30s'; give it as { changeCost: \"30s\" }"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["DirichletFilter", "StickyFilter"])
def test_calls(name: str, dtype: str) -> None:
    cases, expected = [], []
    for method, probs, options in CALLS:
        filter_ = PYTHON[name](3, dtype=dtype)
        case = {"kind": "error", "name": name, "args": [3, {"dtype": dtype}], "method": method}
        cases.append({**case, "call": [sent(probs), camel(options)]})
        expected.append(python_message(lambda: getattr(filter_, method)(probs, **options)))  # noqa: B023
    compare(cases, expected)


def test_states() -> None:
    calls: list[tuple[str, Any, Any]] = [
        ("DirichletFilter", (-1.0, [1.0, 1.0]), {"eta": -1.0, "alpha": [1.0, 1.0]}),
        ("DirichletFilter", (1.0, [1.0, 0.0]), {"eta": 1.0, "alpha": [1.0, 0.0]}),
        ("DirichletFilter", (1.0, [1.0]), {"eta": 1.0, "alpha": [1.0]}),
        ("StickyFilter", ([0.5, 0.6],), {"probs": [0.5, 0.6]}),
        ("StickyFilter", ([0.5],), {"probs": [0.5]}),
    ]
    cases, expected = [], []
    for name, state, object_ in calls:
        filter_ = PYTHON[name](2)
        cases.append(
            {"kind": "error", "name": name, "args": [2], "method": "state", "call": [object_]}
        )
        expected.append(python_message(lambda: setattr(filter_, "state", state)))  # noqa: B023
    compare(cases, expected)


def test_policy_and_channel_calls() -> None:
    calls: list[tuple[str, list[Any], str, list[Any]]] = [
        ("Adaptive", [], "choose", [[0.5, 0.6], {"strong": 1.0}]),
        ("Adaptive", [], "choose", [[0.5, 0.5], {"strong": -1.0}]),
        ("Adaptive", [], "called", ["weak", [0.5, 0.5, 0.0], [0.5, 0.5], 1.0]),
        ("Adaptive", [], "called", ["weak", [0.5, 0.75], [0.5, 0.5], 1.0]),
        ("Adaptive", [], "called", ["weak", [0.5, 0.5], [0.5, 0.5], -1.0]),
        ("Channel", [[[2, 1], [1, 2]]], "apply", [[0.5, 0.25, 0.25]]),
        ("Channel", [[[2, 1], [1, 2]]], "apply", [[[0.5, 0.5], [0.5, 0.25]]]),
        ("Channel", [[[2, 1], [1, 2]]], "apply", [[0.5, 0.25]]),
    ]
    cases, expected = [], []
    for name, args, method, call in calls:
        object_ = PYTHON[name](*args)
        case = {"kind": "error", "name": name, "args": args}
        cases.append({**case, "method": method, "call": sent(call)})
        expected.append(python_message(lambda: getattr(object_, method)(*call)))  # noqa: B023
    compare(cases, expected)


def test_tracker() -> None:
    row = [0.5, 0.5]
    calls: list[tuple[dict[str, Any], str, list[Any]]] = [
        ({}, "update", ["ann", 9.5, "weak", row]),
        ({}, "update", ["ann", INF, "weak", row]),
        ({}, "update", ["bob", NAN, "weak", row]),
        ({}, "update", ["bob", 0.5, "weak", [0.5, 0.75]]),
        ({}, "update", ["bob", 0.5, "weak", [0.5, 0.25, 0.25]]),
        ({"beta": {"weak": 0.5}}, "update", ["ann", 11.5, "strong", row]),
        ({}, "drop", ["ann"]),
        ({}, "expire", [100.0]),
        ({"expire_after": 5.0}, "expire", [NAN]),
    ]
    cases, expected = [], []
    for options, method, call in calls:
        tracker = cf.Tracker(cf.DirichletFilter(2), **options)
        tracker.update("ann", 10.0, "weak", [0.75, 0.25])
        case = {"kind": "refused", "options": camel(options), "method": method, "call": sent(call)}
        cases.append(case)
        expected.append(python_message(lambda: getattr(tracker, method)(*call)))  # noqa: B023
    compare(cases, expected)


def test_softmax() -> None:
    rows = [[2.0, 0.0, 1.0], [700.0, -700.0, 0.0], [NAN, NAN, NAN]]
    cases = [{"kind": "softmax", "scores": sent(row), "temperature": 3.0} for row in rows]
    for row, result in zip(rows, node.run(cases), strict=True):
        got, expected = node.decode(result["out"], np.float64), cf.softmax(row, 3.0)
        assert np.allclose(got, expected, rtol=1e-15, atol=0, equal_nan=True)


def test_numbers_are_written_as_in_python() -> None:
    rng = np.random.default_rng(0)
    numbers = [
        1.5,
        2.0,
        1e16,
        123456789012345680.0,
        1e22,
        1.0001,
        *(2 + 10 ** rng.uniform(-6, 30, 50)),
    ]
    case = {"kind": "error", "name": "DirichletFilter", "args": [2], "method": "update"}
    cases = [{**case, "call": [[0.5, 0.5], {"beta": float(x)}]} for x in numbers]
    for number, result in zip(numbers, node.run(cases), strict=True):
        assert result["message"].startswith(f"beta is {float(number)!r};")
