"""Times and durations in JavaScript: units, warnings and text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import classfilter as cf
import node_cases as node
from saved_files import file_of

ROWS = [[0.75, 0.25], [0.25, 0.75], [0.75, 0.25]] * 10
STEP = 5.0
PIPE = cf.Pipeline(cf.DirichletFilter(["walk", "sit"], half_life=60.0))


def tracked(times: list[Any], **options: Any) -> dict[str, Any]:
    rows = [["ann", time, None, row] for time, row in zip(times, ROWS, strict=False)]
    case = {"kind": "tracked", "config": file_of(PIPE), "options": options, "rows": rows}
    (result,) = node.run([case])
    return result


def clock(start: float, per_second: float = 1.0) -> list[float]:
    return [start + STEP * per_second * i for i in range(len(ROWS))]


@pytest.mark.parametrize(
    ("times", "options"),
    [
        (clock(1.7e9), {}),
        ([{"date": time} for time in clock(1.7e12, 1e3)], {}),
        ([{"date": time} for time in clock(1.7e12, 1e3)], {"unit": "ms"}),
        (clock(1.7e12, 1e3), {"unit": "ms"}),
        (clock(1.7e15, 1e6), {"unit": "us"}),
    ],
)
def test_units_and_dates_are_seconds(times: list[Any], options: dict[str, str]) -> None:
    result = tracked(times, **options)
    assert result["warnings"] == []
    tracker = cf.Tracker(PIPE)
    for at, row, got in zip(clock(1.7e9), ROWS, result["results"], strict=True):
        assert got["time"] == at
        assert node.same_bits(got["out"], tracker.update("ann", at, None, row))


LOOKS = "classfilter: time is {}, which looks like {} since 1970; give unit: "
FIT = "classfilter: time does not fit the filter: the median step is 5000, 83.3 half-lives (60)"


@pytest.mark.parametrize(
    ("times", "options", "warning"),
    [
        (clock(1.7e12, 1e3), {}, LOOKS.format("1700000000000", "milliseconds") + '"ms"'),
        (clock(1.7e15, 1e6), {}, LOOKS.format("1700000000000000", "microseconds") + '"us"'),
        (clock(1.7e18, 1e9), {}, LOOKS.format("1700000000000000000", "nanoseconds") + '"ns"'),
        (clock(-1.7e12, 1e3), {}, LOOKS.format("-1700000000000", "milliseconds") + '"ms"'),
        (clock(1.7e15, 1e6), {"unit": "ms"}, LOOKS.format("1700000000000000", "microseconds")),
        (clock(1234.5, 1e3), {}, FIT),  # as performance.now() gives them
        (clock(1.7e12, 1e3), {"unit": "s"}, None),
        (clock(1e11 - 1e3), {}, None),
        (clock(0.0, 100.0), {}, None),  # 500 s are 8.3 half-lives
        (clock(0.0, 0.0), {}, None),
    ],
)
def test_one_warning_where_the_unit_looks_wrong(
    times: list[float], options: dict[str, str], warning: str | None
) -> None:
    warnings = tracked(times, **options)["warnings"]
    assert len(warnings) == (warning is not None)
    assert warning is None or warnings[0].startswith(warning)


def test_a_late_stream_in_milliseconds_is_still_warned_of() -> None:
    assert len(tracked([*clock(1.7e9)[:20], *clock(1.7e12, 1e3)])["warnings"]) == 1


def test_an_unknown_unit_is_refused() -> None:
    case = {"kind": "error", "name": "Tracker", "args": [{"unit": "min"}]}
    (result,) = node.run([case])
    assert result["message"] == 'unit is "min"; it must be one of s, ms, us, ns'


def python_rate(text: str) -> float | None:
    """Return what Python makes of a dwell; None where it is rejected."""
    try:
        return cf.StickyFilter(3, dwell=text, prior=[0.5, 0.3, 0.2]).stay
    except ValueError:
        return None


def test_durations_are_read_as_in_python() -> None:
    people = ["60s", "1.5min", "5m", " 2 h ", "1d", "500ms", "60", "1e2s", "+.5s", "1e400s", "0s"]
    people += [
        "-3s",
        "",
        "s",
        "5 parsecs",
        "5S",
        "1 h 30 m",
        "1_0s",
        "0x10",
        "e",
        "1e",
        "--1",
        "٣s",
    ]
    rng = np.random.default_rng(0)
    letters = list("0123456789.eE+- msminhd")
    some = ["".join(rng.choice(letters, rng.integers(1, 7))) for _ in range(2000)]
    (rates,) = node.run([{"kind": "dwells", "texts": people + some}])
    read = 0
    for text, rate in zip(people + some, rates, strict=True):
        expected = python_rate(text)
        if expected is None:
            assert isinstance(rate, str), text
            assert "it must be" in rate
        else:
            read += 1
            assert rate == pytest.approx(expected, rel=1e-15), text
    assert read > 100


def test_durations_in_settings() -> None:
    pipe = {"classes": ["walk", "sit"], "filter": "dirichlet", "options": {"half_life": "1min"}}
    rows = [["ann", time, None, row] for time, row in zip(clock(0.0), ROWS, strict=True)]
    case = {"kind": "tracked", "options": {}, "rows": rows}
    text, number = node.run([{**case, "config": c} for c in (pipe, file_of(PIPE))])
    assert text == number


def test_durations_of_a_tracker_and_a_policy() -> None:
    rows = [["ann", t, None, ROWS[0]] for t in (0.0, 3601.0, 7201.0, 7261.5, 7261.75)]
    case = {"kind": "tracked", "config": file_of(PIPE), "rows": rows}
    cases = [{**case, "options": {"expireAfter": "1h", "maxJump": "1d", "unit": "s"}}]
    cases.append({**case, "options": {"maxJump": "1h", "unit": "s"}})
    first, second = node.run(cases)
    fresh = cf.DirichletFilter(2).update(ROWS[0], dt=0.0)
    new = [node.same_bits(result["out"], fresh) for result in first["results"]]
    assert new == [True, True, False, False, False]  # over after more than an hour
    refused = ["message" in result for result in second["results"]]
    assert refused == [False, True, False, False, False]  # the next row confirms the jump
    policy = {"kind": "error", "name": "Periodic"}
    good, bad = node.run([{**policy, "args": [{"seconds": text}]} for text in ("2m", "2x")])
    assert good["message"] is None
    assert bad["message"].startswith('seconds is "2x"; it must be a duration')
