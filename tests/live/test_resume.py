"""Live streams that are stopped and restarted continue to the bit."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from ndjson_lines import (
    VALID,
    as_line,
    child,
    read_line,
    saved_streams,
    serve_here,
)
from ndjson_lines import run as run_lines


def test_a_file_without_expiry_goes_on_with_it(tmp_path: Path) -> None:
    state = tmp_path / "state.json"

    def line(name: str, at: float) -> bytes:
        return as_line(VALID | {"time": at, "stream": name})

    serve_here([line("b", 5.0), line("c", 12.0), line("a", 0.0)], state=state)
    serve_here([line("d", 13.0)], state=state, expire_after=10.0)
    assert [stream.id for stream in saved_streams(state)] == ["b", "c", "d"]
    serve_here([line("e", 14.0)], state=state, max_streams=2)
    assert [stream.id for stream in saved_streams(state)] == ["d", "e"]


@pytest.mark.parametrize(
    ("names", "start"),
    [("abttctd", start) for start in range(5)] + [("abtttcd", start) for start in range(3)],
)
def test_lines_of_equal_time_are_recognized(tmp_path: Path, names: str, start: int) -> None:
    """Those named t are the same text: each counts as often as it came."""
    times = [1, 2, 2, 2, 2, 2, 3]
    lines = [as_line(VALID | {"time": t, "x": x}) for t, x in zip(times, names, strict=True)]
    whole, state = serve_here(lines), tmp_path / "state.json"
    assert serve_here(lines[:4], state=state) == whole[:4]
    assert serve_here(lines[start:], state=state) == whole[4:]


def test_time_may_not_go_back_after_the_replay(tmp_path: Path) -> None:
    def at(*times: float) -> bytes:
        return b"".join(as_line(VALID | {"time": t, "stream": s}) for t in times for s in (1, "2"))

    state = str(tmp_path / "state.json")
    run_lines(at(1, 2, 3), state=state)
    results, messages = run_lines(at(1, 0, 4, 3), state=state)
    assert [json.loads(line)["time"] for line in results] == [4, 4]
    _, *told, seventh, eighth, skipped, served = messages.splitlines()
    assert told == [
        f"line {n}: {state} has it already (time {t} of stream {name!r} is not after 3.0); "
        f"skipped, {n} so far"
        for n, t, name in ((1, 1.0, "1"), (2, 1.0, "2"), (4, 0.0, "2"))
    ]
    assert skipped == f"{state} had 4 lines already; they were skipped"
    assert [error.partition(";")[0] for error in (seventh, eighth)] == [
        f"line {n}: time is 3.0, before 4.0, that of the last row of stream {name!r}"
        for n, name in ((7, "1"), (8, "2"))
    ]
    assert json.loads(served) == [8, 2, 2, 4, "end"]


def test_a_clock_that_went_back_is_reported_while_it_happens(tmp_path: Path) -> None:
    """The lines look as if they came again: not only the end of the input says so."""
    state = tmp_path / "state"
    serve_here(at("ann", 1e6), state=state)
    with child(state=str(state)) as process:
        read_line(process.stderr.fileno())  # where it resumes
        process.stdin.write(at("ann", 5)[0])
        assert read_line(process.stderr.fileno()).decode() == (
            f"line 1: {state} has it already (time 5.0 of stream 'ann' is not after 1000000.0); "
            "skipped, 1 so far\n"
        )


def at(stream: str, *times: float) -> list[bytes]:
    """Return lines of a stream."""
    return [as_line(VALID | {"time": t, "stream": stream}) for t in times]


def test_it_says_where_it_resumes_and_what_it_skips(tmp_path: Path) -> None:
    state, messages = tmp_path / "state", io.StringIO()
    serve_here(at("ann", 1, 2, 3) + at("bob", 1), state=state, errors=messages)
    assert messages.getvalue() == ""
    serve_here(at("ann", 2, 3, 4), state=state, errors=messages)
    begins, *_, ends = messages.getvalue().splitlines()
    assert begins == (
        f"{state}: 2 streams, times up to 3.0; give the lines after those it has, or from any "
        "earlier one"
    )
    assert ends == (
        f"{state} had 2 lines already; they were skipped; no line came after the time there of "
        "1 of its streams: 'bob' (1.0); where that time is wrong, move the file away"
    )


def test_a_time_far_in_the_future(tmp_path: Path) -> None:
    """Without a limit, it is named after a restart; with one, it is rejected and harms nothing."""
    lines = [*at("ann", 1), *at("ann", 1e12), *at("ann", 2)]
    later, messages = at("ann", 3, 4), io.StringIO()
    state = tmp_path / "state"
    assert len(serve_here(lines, state=state, errors=messages)) == 2
    assert "line 3: time is 2.0, before 1000000000000.0, that of" in messages.getvalue()
    assert serve_here(later, state=state, errors=messages) == []
    assert "state had 2 lines already" in messages.getvalue()
    assert "no line came after the time there of 1 of its streams: 'ann' (1000000000000.0)" in (
        messages.getvalue()
    )
    whole = serve_here(at("ann", 1, 2, 3, 4))
    safe, messages = tmp_path / "safe", io.StringIO()
    results = serve_here(lines, state=safe, errors=messages, max_jump=1e6)
    results += serve_here(later, state=safe, max_jump=1e6)
    assert results == whole
    assert messages.getvalue() == (
        "line 2: time is 1000000000000.0, more than 1e+06 after 1.0, that of the last row of "
        "stream 'ann'; it is rejected, unless the next row of the stream confirms it\n"
    )


def numbered(*numbers: int) -> list[bytes]:
    return [as_line(VALID | {"time": n // 3, "n": n}) for n in numbers]


def test_numbered_lines_are_skipped_by_their_numbers(tmp_path: Path) -> None:
    state, messages = tmp_path / "state", io.StringIO()
    whole = serve_here(numbered(*range(12)))
    options: dict[str, Any] = {"state": state, "line_number": "n", "errors": messages}
    results = serve_here(numbered(*range(5), 3, 4), **options)
    *told, end = messages.getvalue().splitlines()
    assert told == [
        f"line {n}: {state} has it already (by its number); skipped, {n - 5} so far" for n in (6, 7)
    ]
    assert end == f"{state} had 2 lines already; they were skipped"
    results += serve_here(numbered(*range(2, 9)), **options)
    assert f"{state}: 1 stream, lines up to number 4; it goes on after these" in (
        messages.getvalue()
    )
    results += serve_here(numbered(*range(9, 12)), **options)
    assert results == whole


def test_the_number_of_a_rejected_line_is_saved(tmp_path: Path) -> None:
    options: dict[str, Any] = {"state": tmp_path / "state", "line_number": "n"}
    serve_here(numbered(1), **options)
    assert serve_here([as_line(VALID | {"n": 2, "p_walk": 9.0})], **options) == []
    assert len(serve_here(numbered(2, 3), **options)) == 1


def test_a_gap_after_a_restart_is_an_error(tmp_path: Path) -> None:
    """As where a producer goes on after the last result, and not after what was saved."""
    state = tmp_path / "state"
    options: dict[str, Any] = {"state": state, "line_number": "n", "errors": io.StringIO()}
    serve_here(numbered(1, 2), **options)
    before = state.read_bytes()
    with pytest.raises(ValueError, match=r"up to number 2, but the first new one has number 4"):
        serve_here(numbered(4, 5), **options)
    assert state.read_bytes() == before
    later = [b"no JSON\n", *numbered(4, 9)]  # it may be number 3; a gap between new lines is none
    assert len(serve_here(later, **options)) == 2
    for wrong in ("1", None, 1.5, -1, True):
        assert serve_here([as_line(VALID | {"time": 9, "n": wrong})], **options) == []
    assert "n is True; it must be the number of the line, a whole number" in (
        options["errors"].getvalue()
    )
    assert serve_here([as_line(VALID | {"time": 9})], **options) == []
    assert "n is missing; it must be the number of the line" in options["errors"].getvalue()
