"""The file of ``stream --events`` beside other files and processes, and times that are no dates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Run

RULE = ("--half-life=1", "--change-cost=1")


def lines(*rows: tuple[Any, float], stream: str | None = None) -> bytes:
    """Return a line for each time and probability."""
    named = {} if stream is None else {"stream": stream}
    made = [{"time": t, **named, "p_a": p, "p_b": 1 - p} for t, p in rows]
    return b"".join(json.dumps(row).encode() + b"\n" for row in made)


@pytest.mark.parametrize("events", ["state", "link", "./state"])
def test_states_and_events_need_two_files(run: Run, events: str) -> None:
    Path("link").symlink_to("state")
    code, _, err = run(
        "stream", "--state=state", f"--events={events}", *RULE, stdin=lines((0, 0.9))
    )
    assert code == 1
    assert "state is the file of states and that of events; give two files" in err
    assert not Path("state").exists()


@pytest.mark.parametrize("events", ["/dev/null", "."])
def test_what_is_no_file_is_refused_at_once(run: Run, events: str) -> None:
    code, out, _ = run("stream", f"--events={events}", *RULE, stdin=lines((0, 0.9)))
    assert (code, out) == (1, "")


def events_of(run: Run, *given: bytes) -> list[dict[str, Any]]:
    """Return the events of runs that go on from each other, and of their last streams."""
    for part in given:
        code, _, err = run(
            "stream", "--events=found", "--state=state", "--max-streams=1", *RULE, stdin=part
        )
        assert code == 0, err
    return [json.loads(line) for line in Path("found").read_text().splitlines()]


def test_the_first_line_says_whether_events_have_dates(run: Run) -> None:
    """Lines of other streams, and a restart between them, change nothing."""
    dates = lines(("2024-05-01T08:00:00Z", 0.9), ("2024-05-01T08:00:05Z", 0.9), stream="a")
    numbers = lines((1714550410.0, 0.9), (1714550415.0, 0.9), stream="b")
    last = lines((1714550420.0, 0.9), stream="c")
    found = events_of(run, dates, numbers, last)
    assert [event["start"] for event in found] == [
        "2024-05-01T08:00:00+00:00",
        "2024-05-01T08:00:10+00:00",
    ]
    for name in ("found", "state"):
        Path(name).unlink()
    assert [e["start"] for e in events_of(run, numbers, dates, last)] == [1714550410, 1714550400]


def test_a_time_that_has_no_date_stays_a_number(run: Run) -> None:
    """One stream of milliseconds must not end the others, again at each restart."""
    dates = lines(("2024-05-01T08:00:00Z", 0.9), stream="a")
    wrong = lines((1714550407000, 0.9), (1714550409000, 0.9), stream="b")
    last = lines(("9999-12-31T23:59:55Z", 0.9), ("9999-12-31T23:59:59Z", 0.9), stream="c")
    end = lines(("2024-05-01T08:00:30Z", 0.9), stream="d")
    found = events_of(run, dates, wrong, last, end)
    starts = {event["stream"]: (event["start"], event["end"]) for event in found}
    assert starts["b"] == (1714550407000.0, 1714550411000.0)
    assert starts["c"] == ("9999-12-31T23:59:55+00:00", 253402300803.0)
