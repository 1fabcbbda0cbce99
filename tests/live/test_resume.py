"""Live streams that are stopped and restarted continue to the bit."""

import io
from pathlib import Path
from typing import Any

import pytest

from ndjson_lines import (
    VALID,
    as_line,
    saved_times,
    serve_here,
)


def test_a_file_without_expiry_goes_on_with_it(tmp_path: Path) -> None:
    state = tmp_path / "state"

    def line(name: str, at: float) -> bytes:
        return as_line(VALID | {"time": at, "stream": name})

    serve_here([line("b", 5.0), line("c", 12.0), line("a", 0.0)], state=state)
    serve_here([line("d", 13.0)], state=state, expire_after=10.0, errors=io.StringIO())
    assert list(saved_times(state)) == ["b", "c", "d"]
    serve_here([line("e", 14.0)], state=state, max_streams=2, errors=io.StringIO())
    assert list(saved_times(state)) == ["d", "e"]


def at(stream: str, *times: float) -> list[bytes]:
    """Return lines of a stream."""
    return [as_line(VALID | {"time": t, "stream": stream}) for t in times]


def test_it_says_where_it_resumes(tmp_path: Path) -> None:
    """Lines that it has are late, as any other: only their number could tell that they came."""
    state, messages = tmp_path / "state", io.StringIO()
    lines = at("ann", 1, 2, 3) + at("bob", 1)
    whole = serve_here(lines + at("ann", 4))
    results = serve_here(lines, state=state, errors=messages)
    assert messages.getvalue() == ""
    results += serve_here(at("ann", 2) + at("ann", 4), state=state, errors=messages)
    assert results == whole
    begins, late = messages.getvalue().splitlines()
    assert begins == f"{state}: 2 streams, 4 lines taken; give the lines after those"
    assert late.startswith(
        "line 1: time is 2.0, before 3.0, the time of the last row of stream 'ann'"
    )


@pytest.mark.parametrize("stop", range(8))
def test_lines_of_equal_time_are_each_taken_once(tmp_path: Path, stop: int) -> None:
    times = [1, 2, 2, 2, 2, 2, 3]
    lines = [as_line(VALID | {"time": t, "x": x}) for t, x in zip(times, "abttctd", strict=True)]
    whole, state, messages = serve_here(lines), tmp_path / "state", io.StringIO()
    assert serve_here(lines[:stop], state=state) == whole[:stop]
    assert serve_here(lines[stop:], state=state, errors=messages) == whole[stop:]


def test_a_time_far_in_the_future(tmp_path: Path) -> None:
    """With a limit, it is rejected and harms nothing, also where a file is between the lines."""
    lines = [*at("ann", 1), *at("ann", 1e12), *at("ann", 2)]
    state, messages = tmp_path / "state", io.StringIO()
    results = serve_here(lines, state=state, errors=messages, max_jump=1e6)
    assert messages.getvalue() == (
        "line 2: time is 1000000000000.0, more than 1e+06 after 1.0, the time of the last row of "
        "stream 'ann'; it is rejected, unless the next row of the stream confirms it\n"
    )
    results += serve_here(at("ann", 3, 4), state=state, errors=messages, max_jump=1e6)
    assert results == serve_here(at("ann", 1, 2, 3, 4))


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
    options["errors"] = io.StringIO()
    serve_here(numbered(1), **options)
    assert serve_here([as_line(VALID | {"n": 2, "p_walk": 9.0})], **options) == []
    assert len(serve_here(numbered(2, 3), **options)) == 1


def test_a_gap_after_a_restart_is_an_error(tmp_path: Path) -> None:
    """As where a producer goes on after the last result, and not after what was saved."""
    state = tmp_path / "state"
    options: dict[str, Any] = {"state": state, "line_number": "n", "errors": io.StringIO()}
    serve_here(numbered(1, 2), **options)
    before = saved_times(state)
    with pytest.raises(ValueError, match=r"up to number 2, but the first new one has number 4"):
        serve_here(numbered(4, 5), **options)
    assert saved_times(state) == before
    later = [b"no JSON\n", *numbered(4, 9)]  # it may be number 3; a gap between new lines is none
    assert len(serve_here(later, **options)) == 2
    for wrong in ("1", None, 1.5, -1, True):
        assert serve_here([as_line(VALID | {"time": 9, "n": wrong})], **options) == []
    assert "n is True; it must be the number of the line, a whole number" in (
        options["errors"].getvalue()
    )
    assert serve_here([as_line(VALID | {"time": 9})], **options) == []
    assert "n is missing; it must be the number of the line" in options["errors"].getvalue()
