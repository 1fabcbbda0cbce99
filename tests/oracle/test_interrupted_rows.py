"""Ctrl-C at any point of an update: the rows of the call are taken whole, or not at all."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

import pytest

import classfilter as cf
from classfilter.policy import Adaptive, Policy
from entry_points import PIPE, same
from expected_rows import Result, Taken, expected
from hostile_rows import SPAN, Case, Row, case, of, turns
from interrupts import interrupted


def observe(tracker: cf.Tracker, rows: list[Row]) -> list[Taken]:
    return [
        Taken(tracker.update(row.stream, row.time, row.source, row.probs).tobytes()) for row in rows
    ]


def update(tracker: cf.Tracker, rows: list[Row]) -> object:
    (row,) = rows
    return tracker.update(row.stream, row.time, row.source, row.probs)


def update_many(tracker: cf.Tracker, rows: list[Row]) -> object:
    streams, times, sources, probs = zip(
        *((row.stream, row.time, row.source, row.probs) for row in rows), strict=True
    )
    return tracker.update_many(streams, times, sources, probs)


BEFORE, AFTER = turns("ab", 0, 5), [*of("c", 10), *of("a", 10), *of("d", 10), *turns("bcd", 12)]
KNOWN, NEW = Row("a", 7, "strong", (0.3, 0.6, 0.1)), Row("c", 7, "weak", (0.2, 0.3, 0.5))
CALLS: dict[str, Any] = {
    "a row of a known stream": (update, [KNOWN]),
    "a row of a new stream": (update, [NEW]),
    "many rows": (update_many, [KNOWN, NEW, *of("c", 8), *of("b", 9)]),
}
POLICIES = [None, Adaptive(budget=0.5, horizon=4)]


@pytest.mark.covering(1)
@pytest.mark.parametrize("policy", POLICIES, ids=["", "policy"])
@pytest.mark.parametrize("limits", [{}, {"max_streams": 3}, {"expire_after": SPAN}], ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_taken_whole_or_not_at_all(
    name: str, limits: dict[str, Any], policy: Policy | None
) -> None:
    method, rows = CALLS[name]
    whole = case(name, *BEFORE, *rows, *AFTER, **limits)
    first, last = len(BEFORE), len(BEFORE) + len(rows)
    called = whole.rows[first:last]
    none = replace(whole, steps=(*whole.rows[:first], *whole.rows[last:]))
    wanted = [_after(taken, first, len(AFTER)) for taken in (whole, none)]
    for at in count(1):
        tracker = cf.Tracker(whole.fresh(), policy=policy, **PIPE, **limits)
        observe(tracker, whole.rows[:first])
        stopped = interrupted(lambda: method(tracker, called), at)  # noqa: B023
        after = Result([*observe(tracker, whole.rows[last:])], tracker.streams)
        try:
            same(after, wanted[0])
        except AssertionError:
            assert stopped, f"the call was not interrupted at point {at}"
            same(after, wanted[1])
        if not stopped:
            break


@pytest.mark.parametrize("name", CALLS)
def test_what_the_policy_knows_fits_the_state(name: str) -> None:
    """After the row, or before it: as of the tracker that was not interrupted."""
    method, rows = CALLS[name]

    def known(tracker: cf.Tracker, stream: str) -> Any:
        calls = tracker._table.columns.extra[tracker._table.slot(stream)]
        return tracker.time(stream), tracker.probs(stream).tobytes(), calls.saved()

    def started() -> cf.Tracker:
        tracker = cf.Tracker(case("").fresh(), policy=POLICIES[1], **PIPE)
        observe(tracker, case("", *BEFORE).rows)
        return tracker

    before, after = started(), started()
    method(after, case("", *rows).rows)
    for at in count(1):
        tracker = started()
        stopped = interrupted(lambda: method(tracker, case("", *rows).rows), at)  # noqa: B023
        for stream in tracker.streams:
            pair = [known(t, stream) for t in (before, after) if stream in t]
            assert known(tracker, stream) in pair
        if not stopped:
            break


@pytest.mark.parametrize("name", CALLS)
def test_streams_expire_after_an_interrupt(name: str) -> None:
    """Even one whose row the clock did not note."""
    method, rows = CALLS[name]
    for at in count(1):
        tracker = cf.Tracker(case("").fresh(), expire_after=SPAN, **PIPE)
        observe(tracker, case("", *BEFORE).rows)
        stopped = interrupted(lambda: method(tracker, case("", *rows).rows), at)  # noqa: B023
        observe(tracker, case("", *of("z", 12, 70, 130, 190)).rows)
        assert tracker.streams == ["z"]
        if not stopped:
            break


def _after(case: Case, first: int, rows: int) -> Result:
    result = expected(case)
    return Result(result.steps[-rows:], result.streams)
