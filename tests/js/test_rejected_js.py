"""The package for JavaScript rejects what Python rejects; the error names it, nothing changes."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import classfilter as cf
import node_cases as node
from classfilter.inputs import Heads
from classfilter.policy import Adaptive, Periodic
from node_cases import camel, sent
from saved_files import file_of

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
    ("StickyFilter", [2], {"stay": 0.5, "dwell": 3}),
    ("StickyFilter", [2], {"stay": 0.5, "transitions": [[0.9, 0.1], [0.1, 0.9]]}),
    ("StickyFilter", [2], {"dwell": 2, "transitions": [[0.9, 0.1], [0.1, 0.9]]}),
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


def as_shown(value: Any) -> str:
    """Return a number as a message of JavaScript has it; of anything else, nothing."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return ""
    return f"{value:g}" if 1e-3 <= abs(value) < 1e6 else ""


def check(cases: list[tuple[dict[str, Any], Any, list[str]]]) -> None:
    """Compare: Python raises, and so does JavaScript, with the words, and unchanged."""
    results = node.run([case for case, *_ in cases])
    for (case, in_python, words), result in zip(cases, results, strict=True):
        with pytest.raises((ValueError, TypeError)):
            in_python()
        assert result["message"] is not None, case
        assert [word for word in words if word not in result["message"]] == [], result
        assert result["unchanged"], case


def test_settings() -> None:
    cases = []
    for name, args, options in SETTINGS:
        arguments = [sent(arg) for arg in args] + ([camel(options)] if options else [])
        case = {"kind": "error", "name": name, "args": arguments}
        words = [key for key in camel(options) if key != "dtype" or len(options) == 1]
        words += [as_shown(value) for value in options.values()] if len(options) == 1 else []
        cases.append((case, partial(PYTHON[name], *args, **options), words))
    check(cases)


def test_rules_that_do_not_fit() -> None:
    cases = []
    for options in RULES:
        case = {"kind": "error", "name": "EventRule", "args": [camel(options)], "method": "check"}
        in_python = partial(cf.EventRule(**options).check, Heads.exclusive(("walk", "sit")))
        cases.append(({**case, "call": [["walk", "sit"]]}, in_python, list(camel(options))[-1:]))
    check(cases)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["DirichletFilter", "StickyFilter"])
def test_calls(name: str, dtype: str) -> None:
    cases = []
    for method, probs, options in CALLS:
        case = {"kind": "error", "name": name, "args": [3, {"dtype": dtype}], "method": method}
        in_python = partial(getattr(PYTHON[name](3, dtype=dtype), method), probs, **options)
        words = [*options] or ["probs"]
        bad = [i for i, row in enumerate(probs) if row != GOOD and isinstance(row, list)]
        words += [str(bad[0])] if method == "run" and bad and len(probs) > 1 else []
        cases.append(({**case, "call": [sent(probs), camel(options)]}, in_python, words))
    check(cases)


STATES: list[tuple[str, Any, Any]] = [
    ("DirichletFilter", (-1.0, [1.0, 1.0]), {"eta": -1.0, "alpha": [1.0, 1.0]}),
    ("DirichletFilter", (1.0, [1.0, 0.0]), {"eta": 1.0, "alpha": [1.0, 0.0]}),
    ("DirichletFilter", (1.0, [1.0]), {"eta": 1.0, "alpha": [1.0]}),
    ("StickyFilter", ([0.5, 0.6],), {"probs": [0.5, 0.6]}),
    ("StickyFilter", ([0.5],), {"probs": [0.5]}),
]
OTHERS: list[tuple[str, list[Any], str, list[Any]]] = [
    ("Adaptive", [], "choose", [[0.5, 0.6], {"strong": 1.0}]),
    ("Adaptive", [], "choose", [[0.5, 0.5], {"strong": -1.0}]),
    ("Adaptive", [], "called", ["weak", [0.5, 0.5, 0.0], [0.5, 0.5], 1.0]),
    ("Adaptive", [], "called", ["weak", [0.5, 0.75], [0.5, 0.5], 1.0]),
    ("Adaptive", [], "called", ["weak", [0.5, 0.5], [0.5, 0.5], -1.0]),
    ("Channel", [[[2, 1], [1, 2]]], "apply", [[0.5, 0.25, 0.25]]),
    ("Channel", [[[2, 1], [1, 2]]], "apply", [[[0.5, 0.5], [0.5, 0.25]]]),
    ("Channel", [[[2, 1], [1, 2]]], "apply", [[0.5, 0.25]]),
]
ROW = [0.5, 0.5]
TRACKED: list[tuple[dict[str, Any], str, list[Any], str]] = [
    ({}, "update", ["ann", 9.5, "weak", ROW], "time is 9.5"),
    ({}, "update", ["ann", INF, "weak", ROW], "time is"),
    ({}, "update", ["bob", NAN, "weak", ROW], "time is"),
    ({}, "update", ["bob", 0.5, "weak", [0.5, 0.75]], "probs sums to 1.25"),
    ({}, "update", ["bob", 0.5, "weak", [0.5, 0.25, 0.25]], "probs has 3"),
    ({"beta": {"weak": 0.5}}, "update", ["ann", 11.5, "strong", ROW], 'source is "strong"'),
    ({}, "drop", ["ann"], 'streams is "ann"'),
    ({}, "expire", [100.0], "expireAfter"),
    ({"expire_after": 5.0}, "expire", [NAN], "now is"),
]


def test_states_policies_channels_and_trackers() -> None:
    cases: list[Any] = []
    for name, state, object_ in STATES:
        case: dict[str, Any] = {
            "kind": "error",
            "name": name,
            "args": [2],
            "method": "state",
            "call": [object_],
        }
        cases.append((case, partial(setattr, PYTHON[name](2), "state", state), []))
    for name, args, method, call in OTHERS:
        case = {"kind": "error", "name": name, "args": args, "method": method, "call": sent(call)}
        cases.append((case, partial(getattr(PYTHON[name](*args), method), *call), []))
    for options, method, call, words in TRACKED:
        tracker = cf.Tracker(cf.DirichletFilter(2), **options)
        tracker.update("ann", 10.0, "weak", [0.75, 0.25])
        case = {"kind": "refused", "options": camel(options), "method": method, "call": sent(call)}
        cases.append((case, partial(getattr(tracker, method), *call), [words]))
    check(cases)


SETTINGS_FILES: list[tuple[Any, str]] = [
    ("classes = []", "config is not JSON"),
    ("", "config is not JSON"),
    ('{"classes": ["a"], "filter": "sticky", "classes": []}', "key classes appears twice"),
    ('{"a": [{"b:": 1}], "beta": {"a": 1, "\\u0061": 0}}', "key a appears twice"),
    ([], "config is []"),
    ({"classes": ["a", "b"], "filter": "sticky", "other": 1}, "unknown key other"),
    ({"classes": ["a", "b"], "filter": "ema"}, 'filter is "ema"'),
    ({"classes": ["a", "b"], "filter": "sticky", "events": {"cost": 1}}, "events: unknown option"),
    ({"classes": ["a", "b"], "filter": "sticky", "events": {"bias": {"c": 1}}}, 'bias names "c"'),
    ({"classes": ["a", "b"], "filter": "sticky", "options": {"stay": 2}}, "stay is 2"),
]


@pytest.mark.parametrize(("config", "words"), SETTINGS_FILES)
def test_settings_that_are_none(config: Any, words: str) -> None:
    (result,) = node.run([{"kind": "error", "name": "load", "args": [config]}])
    assert words in result["message"]


def test_transitions_need_what_python_prepares() -> None:
    pipe = cf.Pipeline(cf.StickyFilter(2, transitions=[[0.9, 0.1], [0.2, 0.8]]))
    case = {"kind": "error", "name": "load"}
    bare, whole = node.run([{**case, "args": [c]} for c in (pipe.settings, file_of(pipe))])
    assert "Pipeline.save" in bare["message"]
    assert whole["message"] is None


def test_softmax() -> None:
    rows = [[2.0, 0.0, 1.0], [700.0, -700.0, 0.0], [NAN, NAN, NAN]]
    cases = [{"kind": "softmax", "scores": sent(row), "temperature": 3.0} for row in rows]
    for row, result in zip(rows, node.run(cases), strict=True):
        got, expected = node.decode(result["out"], np.float64), cf.softmax(row, 3.0)
        assert np.allclose(got, expected, rtol=1e-15, atol=0, equal_nan=True)
