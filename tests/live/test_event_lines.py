"""``classfilter stream --events``: the events of ``classfilter events``, each of them once."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.engine import store
from classfilter.inputs import TableFormat
from classfilter.live import serve
from conftest import Run
from ndjson_lines import as_line, many_rows
from saved_files import sql

FILTER = ["--half-life=2", "--beta=weak=0.25", "--beta=strong=1", "--beta=default=0.5"]
RULES = {
    "plain": ["--change-cost=2"],
    "costs": ["--change-cost=walk=1", "--change-cost=sit=2", "--change-cost=sleep=0.5"],
    "minimum": ["--change-cost=0.5", "--min-duration=walk=6", "--max-delay=9", "--merge-gap=3"],
    "reported": ["--change-cost=1", "--pad=1,2", "--shift=0.5", "--ignore=sleep", "--max-gap=5"],
    "uncertain": ["--change-cost=1", "--min-probability=0.6", "--max-duration=10"],
}
PLAIN = [*FILTER, *RULES["plain"]]
ROWS = [{"source": "default"} | row for row in many_rows(300, 1, ("1", "ann"))]


def stream(run: Run, rows: Iterable[dict[str, Any] | bytes], *options: str) -> tuple[int, str, str]:
    """Run the command with these lines."""
    lines = (x if isinstance(x, bytes) else as_line(x) for x in rows)
    return run("stream", *options, stdin=b"".join(lines))


def offline(run: Run, rows: Iterable[dict[str, Any]], *options: str) -> list[dict[str, Any]]:
    """Return the events that ``classfilter events`` finds in the same lines."""
    Path("rows.ndjson").write_bytes(b"".join(map(as_line, rows)))
    code, _, err = run("events", "rows.ndjson", "-o", "events.csv", "--quiet", *options)
    assert code == 0, err
    with Path("events.csv").open() as file:
        return [_numbers(row) for row in csv.DictReader(file)]


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    texts = ("stream", "class")
    return {key: x if key in texts or "T" in x else float(x) for key, x in row.items()}


# A file has the exact difference of start and end as it writes them, a line that of the numbers.
OF_LINES = ("event", "forced", "duration")


def by_stream(events: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        known = {key: x for key, x in event.items() if key not in OF_LINES}
        found.setdefault(event["stream"], []).append(known)
    return found


def parsed(text: str) -> list[dict[str, Any]]:
    """Return the events of lines, whose numbers grow by one."""
    events = [json.loads(line) for line in text.splitlines()]
    for event in events:
        if isinstance(event["start"], float):
            assert event["duration"] == event["end"] - event["start"]
    assert [event["event"] for event in events] == list(range(1, len(events) + 1))
    return events


@pytest.mark.parametrize("name", RULES)
def test_lines_are_the_events_of_the_file(run: Run, name: str) -> None:
    options = [*FILTER, *RULES[name]]
    code, out, err = stream(run, ROWS, "--events", *options)
    assert code == 0, err
    wanted = by_stream(offline(run, ROWS, *options))
    assert by_stream(parsed(out)) == wanted
    assert min(map(len, wanted.values())) > 3


def test_dates_stay_dates(run: Run) -> None:
    """A table rounds them to microseconds; here they are quarters of a second."""
    start = datetime(2024, 5, 1, tzinfo=UTC)
    quarters = [timedelta(seconds=round(4 * row["time"]) / 4) for row in ROWS]
    rows = [
        row | {"time": (start + time).isoformat()} for row, time in zip(ROWS, quarters, strict=True)
    ]
    _, out, _ = stream(run, rows, "--events", *PLAIN)
    found = by_stream(parsed(out))
    assert found == by_stream(offline(run, rows, *PLAIN))
    assert found["ann"][0]["start"].startswith("2024-05-01T00:00:")


def test_times_in_milliseconds(run: Run) -> None:
    rows = [row | {"time": 1000 * row["time"]} for row in ROWS]
    _, out, _ = stream(run, rows, "--events", "--unit=ms", *PLAIN)
    assert by_stream(parsed(out)) == by_stream(offline(run, rows, "--unit=ms", *PLAIN))


def test_a_file_gets_them_beside_the_results(run: Run) -> None:
    _, results, _ = stream(run, ROWS, *FILTER)
    _, events, _ = stream(run, ROWS, "--events", *PLAIN)
    _, out, _ = stream(run, ROWS, "--events=found.ndjson", *PLAIN)
    assert out == results
    assert Path("found.ndjson").read_text() == events


def test_lines_without_a_stream(run: Run) -> None:
    rows = [{key: x for key, x in row.items() if key != "stream"} for row in ROWS]
    rows = sorted(rows, key=lambda row: row["time"])
    _, out, _ = stream(run, rows, "--events", *PLAIN)
    events = parsed(out)
    assert "stream" not in events[0]
    wanted = by_stream({"stream": ""} | row for row in offline(run, rows, *PLAIN))
    assert by_stream({"stream": ""} | event for event in events) == wanted


def test_rejected_lines_change_no_event(run: Run) -> None:
    _, out, _ = stream(run, ROWS, "--events", *PLAIN)
    bad = [b"nonsense\n", as_line(ROWS[0] | {"time": -1e9}), as_line({"time": 0})]
    rows = [line for i, row in enumerate(ROWS) for line in (row, bad[i % 3])]
    code, other, _ = stream(run, rows, "--events", *PLAIN)
    assert code == 3
    assert other == out


def whole(run: Run, *options: str) -> bytes:
    """Return the lines of all events of which a state knows: streams go on."""
    stream(run, ROWS, "--events=whole", "--state=whole.state", *PLAIN, *options)
    return Path("whole").read_bytes()


def test_with_a_state_the_last_events_wait(run: Run) -> None:
    events = parsed(whole(run).decode())
    wanted = by_stream(offline(run, ROWS, *PLAIN))
    for name, found in by_stream(events).items():
        assert found == wanted[name][: len(found)]
        assert 0 < len(wanted[name]) - len(found) < 4


@pytest.mark.parametrize("seed", range(3))
def test_stopped_and_resumed(run: Run, seed: int) -> None:
    more = ["--lag=4"] if seed == 2 else []
    wanted, rng = whole(run, *more), random.Random(seed)
    cuts = [0, *sorted(rng.sample(range(len(ROWS)), 4)), len(ROWS)]
    for a, b in pairwise(cuts):
        code, _, err = stream(run, ROWS[a:b], "--events=found", "--state=state", *PLAIN, *more)
        assert code == 0, err
    assert Path("found").read_bytes() == wanted


def test_finish_ends_all_streams(run: Run) -> None:
    """As the end of the input does without a state, whether lines come before it or not."""
    whole(run)
    for parts in ([ROWS], [ROWS[:100], ROWS[100:], []]):
        for path in (Path("found"), Path("state")):
            path.unlink(missing_ok=True)
        for part in parts[:-1]:
            stream(run, part, "--events=found", "--state=state", *PLAIN)
        stream(run, parts[-1], "--events=found", "--state=state", "--finish", *PLAIN)
        found = by_stream(parsed(Path("found").read_text()))
        assert found == by_stream(offline(run, ROWS, *PLAIN))
        assert "0 streams" in run("stream", "--show=state")[1]


def test_show_prints_what_a_file_has(run: Run) -> None:
    dates = [row | {"time": f"2024-05-01T08:00:{i:02}Z"} for i, row in enumerate(ROWS[:9])]
    stream(run, dates, "--state=state", "--line-number=n", *FILTER)
    code, out, err = run("stream", "--show=state")
    assert (code, err) == (0, "")
    settings, lines, count, *streams = out.splitlines()
    assert json.loads(settings)["beta"] == {"weak": 0.25, "strong": 1.0, "default": 0.5}
    assert lines == f"9 lines taken, up to number {dates[-1]['n']}"
    assert count == "2 streams"
    newest = {row["stream"]: row["time"].replace("Z", "+00:00") for row in dates}
    assert dict(line.split() for line in streams) == newest


def committed(run: Run) -> int:
    """Leave a state as a process does that is killed before it prints what the state has."""
    stream(run, ROWS[:150], "--events=found", "--state=state", *PLAIN)
    there = Path("found").read_bytes().splitlines(keepends=True)
    rows = [json.loads(line) for line in there[-2:]]
    for row in rows:
        sql(Path("state"), "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, 0, 0)", *(
            row[key] for key in ("event", "stream", "class", "start", "end", "probability")
        ))  # fmt: skip
    return len(there)


@pytest.mark.parametrize("cut", [0, 1, 5, 11, 12, 40])
def test_killed_before_and_while_it_prints(run: Run, cut: int) -> None:
    """Events that the state has come again, with their numbers; a part of a line is removed."""
    wanted = whole(run).splitlines()
    count = committed(run)
    content = Path("found").read_bytes()
    if cut:
        last = content.splitlines(keepends=True)[-1]
        Path("found").write_bytes(content[: len(content) - len(last)] + last[:cut])
    code, _, err = stream(run, ROWS[150:], "--events=found", "--state=state", *PLAIN)
    assert code == 0, err
    found = Path("found").read_bytes().splitlines()
    again = found[count - 1 if cut else count :][:2]
    assert again == wanted[count - 2 : count]
    assert list(dict.fromkeys(found)) == wanted


def test_no_event_is_printed_before_the_state_has_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that cannot save prints nothing."""

    def full(*given: Any) -> Any:
        raise OSError(28, "No space left on device", "state")

    monkeypatch.setattr(store.StoreFile, "write", full)
    code, _, err = stream(run, ROWS, "--events=found", "--state=state", *PLAIN)
    assert code == 1
    assert "No space left on device" in err
    assert Path("found").read_bytes() == b""


def refused(run: Run, rows: Any, *options: str, code: int = 1) -> str:
    """Return the error; the files stay as they are."""
    before = {path: path.read_bytes() for path in Path().iterdir() if path.name != "lines"}
    got, out, err = stream(run, rows, *options)
    assert (got, out) == (code, "")
    after = {path: path.read_bytes() for path in Path().iterdir() if path.name != "lines"}
    assert after == before
    return err


@pytest.mark.parametrize("more", [[], ["--state=state"]])
def test_numbers_begin_in_an_empty_file(run: Run, more: list[str]) -> None:
    """A reader that knows them would drop the new events."""
    Path("found").write_text('{"event": 1}\n')
    err = refused(run, ROWS, "--events=found", *more, *PLAIN)
    assert "found has events already; give --state of the run that wrote them, or another" in err


@pytest.mark.parametrize("text", ["notes", '{"event": 1}\nnotes', "[1]"])
def test_a_file_of_something_else_stays_as_it_is(run: Run, text: str) -> None:
    stream(run, ROWS[:9], "--state=state", *PLAIN, "--events")
    Path("found").write_text(text)
    code, _, err = stream(run, ROWS[9:], "--events=found", "--state=state", *PLAIN)
    assert (code, Path("found").read_text()) == (1, text)
    assert "found ends with a line that is no event; give another file for --events" in err


def test_another_rule_is_refused(run: Run) -> None:
    stream(run, ROWS[:150], "--events=found", "--state=state", *PLAIN)
    for options in (["--events=found", "--change-cost=3"], []):
        err = refused(run, ROWS, "--state=state", *FILTER, *options)
        assert "state was written with " in err
        assert "change_cost" in err or "events" in err or "rule" in err
    stream(run, ROWS[:150], "--state=plain", *FILTER)
    err = refused(run, ROWS, "--state=plain", "--events=found", *PLAIN)
    assert "plain was written with " in err


def test_another_lag_is_refused(run: Run) -> None:
    stream(run, ROWS[:9], "--events=found", "--state=state", *PLAIN, "--lag=4")
    for other, here in (["--lag=5"], "5"), ([], "None"):
        code, _, err = stream(run, ROWS[:9], "--events=found", "--state=state", *PLAIN, *other)
        assert code == 1
        assert f"was written with lag 4, but here it is {here}; give the same" in err


def test_the_smoother_of_a_file_decides(run: Run) -> None:
    """By its own settings and rule; an option of the command changes what it names."""
    f = cf.StickyFilter(["walk", "sit", "sleep"], stay=0.5 ** (1 / 2))
    slow = cf.Pipeline(
        cf.StickyFilter(f.classes, stay=0.5 ** (1 / 9)), rule=cf.EventRule(3.0, shift=0.5)
    )
    cf.Pipeline(f, rule=cf.EventRule(1.0), smoother=slow).save("both.json")
    options = ["--config=both.json", "--lag=3"]
    for more in ([], ["--change-cost=1"]):
        code, out, err = stream(run, ROWS, "--events", *options, *more)
        assert code == 0, err
        found = by_stream(parsed(out))
        assert found == by_stream(offline(run, ROWS, *options, *more))
    _, out, _ = stream(run, ROWS, "--events", "--config=both.json")
    assert by_stream(parsed(out)) != found


def test_a_smoother_says_how_much_the_class_of_a_line_counts(tmp_path: Path) -> None:
    """The smoother has a channel for the source, the filter has none: as in a table."""
    f = cf.StickyFilter(["x", "y"], stay=0.5 ** (1 / 4))
    channel = {"default": cf.Channel([[8, 2], [1, 9]])}
    smoother = cf.Pipeline(f, channel=channel, rule=cf.EventRule(0.5))
    pipe = cf.Pipeline(f, smoother=smoother, rule=cf.EventRule(0.5))
    labels = ["x"] * 6 + ["y"] * 6 + ["x"] * 6
    lines = [{"time": float(i), "prediction": name} for i, name in enumerate(labels)]
    with TemporaryFile() as source, TemporaryFile() as sink:
        source.write("".join(json.dumps(line) + "\n" for line in lines).encode())
        source.seek(0)
        serve(
            lambda names: pipe, TableFormat.of(["x", "y"]), source=source.fileno(),
            sink=sink.fileno(), events=tmp_path / "events", lag=2,
        )  # fmt: skip
    found = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    rows = cf.rows(time=np.arange(18.0), probs=labels, classes=["x", "y"])
    events = cf.events(rows, pipe, smooth=True, lag=2)
    told = [event["probability"] for event in found]
    assert told == [event.probability for event in events][: len(told)]
    assert told


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("state", [[], ["--state=streams.db", "--every=0"]], ids=["", "state"])
def test_each_event_has_a_start_before_it(run: Run, name: str, state: list[str]) -> None:
    """Also if the process is stopped between them; pieces of an event have one start."""
    options = [*FILTER, *RULES[name], "--events=live.ndjson", "--starts", *state]
    if state:
        for part in (ROWS[:101], ROWS[101:230]):
            assert stream(run, part, *options)[0] == 0
    code, _, err = stream(run, ROWS[230:] if state else ROWS, *options, *["--finish"] * bool(state))
    assert code == 0, err
    lines = [json.loads(line) for line in Path("live.ndjson").read_text().splitlines()]
    assert [line["event"] for line in lines] == list(range(1, len(lines) + 1))
    starts = [line for line in lines if line["end"] is None]
    assert all(set(line) == {"event", "stream", "class", "start", "end"} for line in starts)
    events = [line for line in lines if line["end"] is not None]
    wanted = offline(run, ROWS, *FILTER, *RULES[name])
    assert by_stream(events) == by_stream(wanted)
    known = {(line["stream"], line["start"]): line for line in starts}
    assert len(known) == len(starts)
    missing = [line for line in events if (line["stream"], line["start"]) not in known]
    assert not missing or name == "uncertain"  # which divides events
    for line in events:
        start = known.pop((line["stream"], line["start"]), None)
        assert start is None or (start["class"], start["event"] < line["event"]) == (
            line["class"],
            True,
        )
    assert known == {}
