"""A signal's handler that uses what its own thread is in the middle of using: an error, at once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import classfilter as cf

RULE = cf.EventRule(0.5)
CALLS: dict[str, Callable[[cf.Tracker, Path], object]] = {
    "update": lambda tracker, path: tracker.update("b", 9.0, None, [0.1, 0.9]),
    "update_many": lambda tracker, path: tracker.update_many(["b"], [9.0], None, [[0.1, 0.9]]),
    "pop_events": lambda tracker, path: tracker.pop_events(),
    "drop": lambda tracker, path: tracker.drop(["a"]),
    "save": lambda tracker, path: tracker.save(path / "file"),
    "probs": lambda tracker, path: tracker.probs("a"),
}


def started() -> cf.Tracker:
    tracker = cf.Tracker(cf.StickyFilter(["x", "y"], stay=0.5 ** (1 / 5)), events=RULE)
    for i in range(8):
        tracker.update("a", float(i), None, [0.9, 0.1] if i % 4 < 2 else [0.1, 0.9])
    return tracker


def with_handler(call: Callable[[], object], handler: Callable[[], object], at: int) -> bool:
    """Call; at the at-th point at which Python runs the handlers of signals, call one of them."""
    left = at

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal left
        if event in ("call", "c_return"):
            left -= 1
            if left == 0:
                sys.setprofile(None)
                handler()

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return left <= 0


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("inner", ["update", "save"])
def test_it_works_or_raises_and_changes_nothing(name: str, inner: str, tmp_path: Path) -> None:
    """The events and estimates are those of the calls that worked, whichever these are."""
    wanted = {calls: after(calls, tmp_path) for calls in [(name,), (name, inner), (inner, name)]}
    rejected = 0
    for at in range(1, 400, 3):
        tracker = started()
        worked: list[bool] = []

        def handler(tracker: cf.Tracker = tracker, worked: list[bool] = worked) -> None:
            nonlocal rejected
            try:
                CALLS[inner](tracker, tmp_path)
                worked.append(True)
            except RuntimeError:
                rejected += 1

        if not with_handler(lambda: CALLS[name](tracker, tmp_path), handler, at):  # noqa: B023
            break
        possible = [calls for calls in wanted if len(calls) == 1 + len(worked)]
        assert known(tracker) in [wanted[calls] for calls in possible], at
    assert rejected > 0


def after(calls: tuple[str, ...], path: Path) -> Any:
    tracker = started()
    for name in calls:
        CALLS[name](tracker, path)
    return known(tracker)


def known(tracker: cf.Tracker) -> Any:
    states = {name: (tracker.time(name), tracker.probs(name).tobytes()) for name in tracker.streams}
    tracker.drop(tracker.streams)
    return states, tracker.pop_events()


def test_a_bank_rejects_it_too() -> None:
    bank = cf.Bank(cf.StickyFilter(["x", "y"], stay=0.5 ** (1 / 5)), streams=2)
    with bank._lock, pytest.raises(RuntimeError, match="in the middle of another call"):
        bank.update([[0.5, 0.5]] * 2)


def test_events_are_those_offline_where_a_handler_updates() -> None:
    """The rows that were taken, whichever these are, give the events that they give offline."""
    rows: list[tuple[str, float, list[float]]] = []
    tracker = started()
    for at in range(1, 200):

        def handler(at: int = at) -> None:
            row = ("b", float(at), [0.9, 0.1] if at % 5 < 3 else [0.1, 0.9])
            try:
                tracker.update(*row[:2], None, row[2])
            except RuntimeError:
                return
            rows.append(row)

        main = ("a", 10.0 + at, [0.9, 0.1] if at % 7 < 3 else [0.1, 0.9])
        with_handler(lambda: tracker.update(*main[:2], None, main[2]), handler, 1 + at % 9)  # noqa: B023
    tracker.drop(["b"])
    live = [event for event in tracker.pop_events() if event.stream == "b"]
    _, times, probs = zip(*rows, strict=True)
    offline = cf.rows(time=times, probs=list(probs), classes=["x", "y"])
    pipeline = cf.Pipeline(cf.StickyFilter(["x", "y"], stay=0.5 ** (1 / 5)), rule=RULE)
    assert live == [*cf.events({"b": offline}, pipeline)]
