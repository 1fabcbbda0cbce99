"""The tracker for JavaScript follows the rules of keyed streams: order, jumps, expiry, clock."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import classfilter as cf
import node_cases as node
from node_cases import sent
from stream_rules import StreamRules

OPTIONS = {"expire_after": "expireAfter", "max_streams": "maxStreams", "max_jump": "maxJump"}
ROWS = {"row": [0.75, 0.25], "missing": [math.nan, math.nan], "failing": [0.5, 0.5]}
HOUR, START = 3600.0, 1.7e9
FLEET = [f"u{i}" for i in range(100)]
Step = tuple[Any, ...]
"""("row", stream, time), the same as "missing" or "failing"; ("expire", now); ("drop", stream)."""


class Expected:
    """The rules, with a filter and a count of calls for each stream."""

    def __init__(self, limits: dict[str, Any]) -> None:
        self.rules = StreamRules(**limits)
        self.filters: dict[Any, cf.DirichletFilter] = {}
        self.calls: dict[Any, int] = {}

    def check(self, step: Step, result: dict[str, Any]) -> None:
        kind, name, *time = step
        if kind == "expire":
            assert result["dropped"] == self.rules.expire(name)
        elif kind == "drop":
            del self.rules.streams[name]
        else:
            self.check_row(kind, name, time[0], result)
        assert result["held"] == self.rules.held

    def check_row(self, kind: str, name: Any, time: float, result: dict[str, Any]) -> None:
        rules = copy.deepcopy(self.rules) if kind == "failing" else self.rules
        outcome = rules.row(name, time)
        if not outcome.accepted or kind == "failing":
            self.rules = self.rules if outcome.accepted else rules  # it remembers a jump
            start = "the policy failed" if outcome.accepted else "time is "
            assert result["message"].startswith(start)
            if name in self.rules.streams:
                assert node.same_bits(result["probs"], np.asarray(self.filters[name].probs))
            return
        if outcome.fresh:
            self.filters[name], self.calls[name] = cf.DirichletFilter(2), 0
        assert json.loads(result["before"])["calls"] == self.calls[name]
        self.calls[name] += 1
        assert (result["calls"], result["dt"]) == (self.calls[name], outcome.dt)
        estimate = self.filters[name].update(ROWS[kind], dt=outcome.dt)
        assert node.same_bits(result["out"], np.asarray(estimate))


def check(limits: dict[str, Any], steps: list[Step]) -> list[list[Any]]:
    """Compare each step in Node with the rules; return the streams held after each."""
    options = {OPTIONS[name]: value for name, value in limits.items() if value is not None}
    case = {"kind": "streams", "options": options}
    (ran,) = node.run([{**case, "steps": [[sent(item) for item in step] for step in steps]}])
    expected = Expected(limits)
    for step, result in zip(steps, ran["results"], strict=True):
        expected.check(step, result)
    return [result["held"] for result in ran["results"]]


@st.composite
def some_steps(draw: st.DrawFn, expires: bool) -> list[Step]:
    """Rows of streams with clocks that go on, jump and go back; some are wrong for good."""
    names = draw(st.permutations(["a", "b", "c", "d", "e", "f", "1", 1, 2.5, None]))
    names = names[: draw(st.integers(1, 10))]
    wrong = st.sampled_from([0.0] * 6 + [4.0, -7.0, 60.0, -60.0, 1e9, 1e9 + 4.0, -1e9])
    error = {name: draw(wrong) for name in names}
    kinds = ["row"] * 12 + ["missing", "failing", "odd", "milliseconds", "infinite"]
    kinds += ["expire"] * expires
    now = 1000.0
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 40))):
        now += draw(st.sampled_from([0.0, 0.0, 1.0, 1.0, 3.0, 10.0, 10.5, 25.0, 70.0]))
        kind, name = draw(st.sampled_from(kinds)), draw(st.sampled_from(names))
        time = now + error[name]
        if kind == "expire":
            steps.append((kind, now + draw(st.sampled_from([0.0, 5.0, 30.0, -30.0, 1e9]))))
            continue
        if kind == "odd":
            time += draw(st.sampled_from([-2.0, -15.0, 15.0, 30.0, 1e6]))
        elif kind == "milliseconds":
            time *= 1000
        elif kind == "infinite":
            time = draw(st.sampled_from([math.nan, math.inf]))
        steps.append((kind if kind in ROWS else "row", name, time))
    return steps


@given(
    data=st.data(),
    expire_after=st.sampled_from([None, 10.0, 10.0, 25.0]),
    max_streams=st.sampled_from([None, None, 1, 2, 3, 5]),
    max_jump=st.sampled_from([None, None, 3.0, 10.0, 25.0, 100.0]),
)
def test_any_rows(data: st.DataObject, **limits: Any) -> None:
    check(limits, data.draw(some_steps(limits["expire_after"] is not None)))


def fleet(first: float, last: float, names: list[str] = FLEET, wrong: Any = ()) -> list[Step]:
    """Return a row of each stream every ten minutes; the clocks of the wrong ones are in ms."""
    times = START + np.arange(first, last, 600.0)
    return [("row", u, float(t) * (1000.0 if u in wrong else 1.0)) for t in times for u in names]


@pytest.mark.parametrize("wrong", [[], ["u7"], ["u7", "u8"], ["u0"], ["u99"], ["u0", "u1"]])
def test_wrong_clocks_drop_nothing_and_expiry_goes_on(wrong: list[str]) -> None:
    together = fleet(0.0, 2 * HOUR, wrong=wrong)
    half = FLEET[::2] + [u for u in wrong if u not in FLEET[::2]]
    steps = together + fleet(2 * HOUR, 4 * HOUR, half, wrong)
    held = check({"expire_after": HOUR, "max_streams": 1000}, steps)
    assert set(held[len(together) - 1]) == set(FLEET)
    assert set(held[-1]) == set(half)


def test_a_wrong_first_row_is_outlived() -> None:
    """The first row sets the clock; three streams that agree set it right."""
    steps = [("row", "broken", START * 1000), *fleet(0.0, 1.0), *fleet(600.0, 3 * HOUR, FLEET[:50])]
    held = check({"expire_after": HOUR}, steps)
    assert set(held[100]) == {"broken", *FLEET}
    assert set(held[-1]) == set(FLEET[:50])


def test_a_fleet_that_pauses_begins_anew() -> None:
    steps = fleet(0.0, HOUR) + fleet(10 * HOUR, 10 * HOUR + 1, FLEET[:60])
    held = check({"expire_after": HOUR}, steps)
    assert len(held[-60]) == len(held[-59]) == 100  # two clocks may be wrong
    assert held[-58:] == [FLEET[:3], *(FLEET[:n] for n in range(4, 61))]


def test_a_single_stream_begins_anew_after_a_pause() -> None:
    times = [START, START + 5, START + 5 + HOUR, START + 6 + 2 * HOUR, START + 7 + 2 * HOUR]
    check({"expire_after": HOUR}, [("row", "ann", t) for t in times])


def test_wrong_clocks_with_a_right_one_between_do_not_agree() -> None:
    names = ["x", "y", "z"]
    steps = fleet(0.0, 1.0)
    for name in names:
        steps += [("row", name, START + 99 * HOUR), ("row", "u0", START)]
    held = check({"expire_after": HOUR}, steps)
    assert set(held[-1]) == {*FLEET, *names}


@pytest.mark.parametrize(("others", "agree"), [(5, True), (6, False)])
def test_eight_wrong_clocks_are_remembered(others: int, agree: bool) -> None:
    """The first of them is forgotten when the ninth comes, and then only two agree."""
    later = [99.0, *(200.0 + 10 * i for i in range(others)), 99.0, 99.0]
    wrong: list[Step] = [("row", f"x{i}", START + t * HOUR) for i, t in enumerate(later)]
    held = check({"expire_after": HOUR}, [*fleet(0.0, 1.0), *wrong])
    assert len(held[-1]) == (3 if agree else 100 + len(wrong))


@pytest.mark.parametrize(
    ("rows", "left"),
    [
        ("b 0.75, c 0.125, b 1, b 1.25", "cb"),  # a row behind the clock does not turn it back
        ("a 0, a 5, b 5, b 5.75, b 6.5", "b"),  # a stream alone moves it
        ("a 0, b 0, c 0, x 50.5, y 50, z 50, u 51.25, u 52", "u"),  # it is the latest time agreed
        ("a 0, b 0, c 0, w 90, x 50, y 50, z 50, u 90, v 90", "xyzuv"),  # then others count anew
    ],
)
def test_the_clock_of_all_streams(rows: str, left: str) -> None:
    steps: list[Step] = [("row", row[0], float(row[1:]) * HOUR) for row in rows.split(", ")]
    assert check({"expire_after": HOUR}, steps)[-1] == list(left)


def test_expire_sets_the_clock_also_back() -> None:
    times: list[Step] = [("expire", START - 5 * HOUR), ("expire", START - 3 * HOUR)]
    assert check({"expire_after": HOUR}, [("row", "ann", START), *times])[1:] == [["ann"], []]


def test_a_limit_itself_is_allowed() -> None:
    """Just as far as a limit is no jump, confirms a jump, moves the clock, and ends no stream."""
    check({"max_jump": 5.0}, [("row", "ann", t) for t in (0.0, 5.0, 50.0, 55.0)])
    times = {"ann": [0.0], "bob": [0.0], "cat": [HOUR, HOUR + 1]}
    held = check({"expire_after": HOUR}, [("row", u, t) for u in times for t in times[u]])
    assert held[-2:] == [["ann", "bob", "cat"], ["cat"]]
    check({"expire_after": HOUR}, [("row", "ann", 0.0), ("row", "ann", HOUR)])


def test_the_next_row_confirms_a_jump() -> None:
    """A year ahead, refused; once more, accepted; rows of before are late from then on."""
    year = 365.0 * 24 * HOUR
    times = [0.0, year, 5.0, year, 10.0, year, year + 5.0, 15.0, year + 10.0]
    check({"max_jump": HOUR}, [("row", "ann", t) for t in times])


def test_dropped_streams_come_back_last() -> None:
    rows = fleet(0.0, 600.0, FLEET[:5])
    steps = [*rows, ("drop", "u0"), ("row", "u0", START), ("drop", "u1"), ("row", "v", START)]
    held = check({"max_streams": 5}, [*steps, *fleet(600.0, 601.0, FLEET[:3])])
    assert held[-4] == ["u2", "u3", "u4", "u0", "v"]
    assert held[-1] == ["u4", "v", "u0", "u1", "u2"]


def refused(options: dict[str, Any], method: str, *call: Any) -> str:
    """Return why a tracker with a stream "ann" at time 10 refuses a call, which changes nothing."""
    (result,) = node.run([{"kind": "refused", "options": options, "method": method, "call": call}])
    assert result["unchanged"]
    return str(result["message"])


@pytest.mark.parametrize("method", ["update", "time", "probs", "label", "nextSource"])
def test_lists_and_objects_are_no_names(method: str) -> None:
    options = {"policy": "periodic"} if method == "nextSource" else {}
    row = [11.0, "weak", [0.5, 0.5]]
    for name, shown in ((["site", 7], '["site", 7]'), ({"site": 7}, "an object")):
        expected = f"stream is {shown}, which equals no other one; give text or a number"
        assert refused(options, method, name, *row).startswith(expected)
    assert refused(options, method, "NaN", *row).startswith("stream is NaN")


def test_a_jump_is_rejected_in_words() -> None:
    message = refused({"maxJump": 5.0}, "update", "ann", 20.5, "weak", [0.5, 0.5])
    assert message.startswith("time is 20.5, more than 5 after 10")


@pytest.mark.parametrize("name", OPTIONS.values())
@pytest.mark.parametrize("value", [0, -1.5, "NaN", "-3s", None])
def test_limits_are_positive(name: str, value: Any) -> None:
    (result,) = node.run([{"kind": "error", "name": "Tracker", "args": [{name: value}]}])
    assert result["message"].startswith(f"{name} is ")
