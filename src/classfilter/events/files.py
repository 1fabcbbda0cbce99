"""Files of events: CSV, BIDS events.tsv, Audacity, RTTM, TextGrid, WebVTT, JSON and Raven."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, Fix
from ..support.atomic import atomic_write
from .dates import date_text, exact, plain, to_seconds
from .delimited import (
    read_audacity,
    read_csv,
    read_rttm,
    read_tsv,
    write_audacity,
    write_csv,
    write_rttm,
    write_tsv,
)
from .list import Events, from_cells
from .rows import Format, check_events, check_names, check_streams, one_stream
from .textgrid import read_textgrid, write_textgrid

RAVEN_COLUMNS = (
    "Selection", "View", "Channel", "Begin Time (s)", "End Time (s)", "Low Freq (Hz)",
    "High Freq (Hz)", "Common Name",
)  # fmt: skip


def write_json(events: Events) -> str:
    """Return JSON as ActivityNet has it: label, score and segment of each event, by stream.

    Dates are text in ISO 8601. The stream None is the key ``""``.
    """
    results: dict[str, list[dict[str, Any]]] = {}
    for e in events:
        assert e.end is not None
        times = [float(e.start), float(e.end)]
        item: dict[str, Any] = {"label": e.label}
        if e.probability is not None:
            item["score"] = float(e.probability)
        item["segment"] = [date_text(x, events.zone) for x in times] if events.dates else times
        results.setdefault("" if e.stream is None else str(e.stream), []).append(item)
    return json.dumps({"results": results}, indent=1, ensure_ascii=False) + "\n"


def write_webvtt(events: Sequence[Any], probability: bool = True) -> str:
    """Return WebVTT, with times to the millisecond.

    The first line of a cue is the class, in the voice of its stream; the second the probability.
    """
    check_names(events, "[\n\r]", "line breaks", "WebVTT")
    cues = []
    for e in sorted(events, key=lambda e: e.start):
        start, end = (round(x * 1000) for x in (e.start, e.end))
        if start < 0:
            must, fix = "WebVTT has no negative times", "give an earlier start"
            raise ArgumentError("start", float(e.start), must=must, fix=fix)
        if start == end:
            must = "a cue of WebVTT must last for a millisecond"
            problem, fix = f"is {{}}, the start {e.start}", "leave the event out"
            raise ArgumentError("end", float(e.end), problem=problem, must=must, fix=fix)
        voice = "" if e.stream is None else f"<v {escape(e.stream, quote=False)}>"
        p = "" if e.probability is None or not probability else f"\n{float(e.probability)!r}"
        cue = f"{voice}{escape(e.label, quote=False)}{p}"
        cues.append(f"\n{_clock(start)} --> {_clock(end)}\n{cue}\n")
    return "WEBVTT\n" + "".join(cues)


def write_raven(events: Sequence[Any], low_freq: float = 0.0, high_freq: float = 15_000.0) -> str:
    """Return a selection table: each event spans the same band of frequencies, in Hz."""
    if not 0.0 <= low_freq < high_freq:
        must = "it must be below high_freq, and not below 0"
        raise ArgumentError("low_freq", low_freq, must=must)
    one_stream(events, "a selection table")
    check_names(events, "[\t\n\r]", "tabs or line breaks", "a selection table", "nocall")
    known = any(e.probability is not None for e in events)
    path = [e.stream for e in events if e.stream is not None][:1]
    lines = [[*RAVEN_COLUMNS, *["Confidence"] * known, *["Begin Path"] * len(path)]]
    for i, e in enumerate(sorted(events, key=lambda e: (e.start, e.label)), 1):
        times = [plain(x) for x in (e.start, e.end)]
        cells = [str(i), "Spectrogram 1", "1", *times, f"{low_freq:g}", f"{high_freq:g}", e.label]
        share = "" if e.probability is None else repr(float(e.probability))
        lines.append([*cells, *[share] * known, *path])
    return "".join("\t".join(line) + "\n" for line in lines)


def _clock(millis: int) -> str:
    """Return a time as WebVTT has it.

    Examples
    --------
    >>> _clock(3_723_004), _clock(360_000_000)
    ('01:02:03.004', '100:00:00.000')
    """
    seconds, millis = divmod(millis, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{millis:03}"


FORMATS = {
    "csv": Format(write_csv, read_csv, (), ("columns",), seconds=False),
    "tsv": Format(write_tsv, read_tsv, (), ("columns", "stream")),
    "txt": Format(write_audacity, read_audacity, (), ("stream",)),
    "rttm": Format(write_rttm, read_rttm),
    "textgrid": Format(write_textgrid, read_textgrid, ("tiers", "duration"), ("tiers",)),
    "vtt": Format(write_webvtt, None, ("probability",)),
    "json": Format(write_json, None, seconds=False),
    "raven": Format(write_raven, None, ("low_freq", "high_freq")),
}
"""By suffix."""
READ = tuple(name for name, kind in FORMATS.items() if kind.read)
RAVEN = (".selections.txt", ".selection.table.txt")
"""How names of selection tables end: those of Raven, and those of BirdNET."""


_SECOND_0 = (
    "give the date of second 0, such as ",
    Fix("start", "2024-05-01T22:00:00+02:00"),
    ", or write CSV or JSON",
)


def write_events(
    events: Any,
    path: str | Path,
    format: str | None = None,  # noqa: A002
    *,
    start: Any = None,
    overlaps: bool = False,
    **options: Any,
) -> None:
    """Write events to a file; it appears complete or not at all.

    Parameters
    ----------
    events : list of Event, or dataframe
        With the columns of `Events.from_table`. All must be confirmed, that is, have an end.
    path : str or Path
        Its suffix is the format: ``.csv``, ``.tsv`` (BIDS), ``.txt`` (Audacity's label track),
        ``.rttm``, ``.TextGrid`` (Praat), ``.vtt`` (WebVTT), ``.json`` (as ActivityNet has it) or
        ``.selections.txt`` (Raven).
    format : str, optional
        The format, where the suffix is another: ``"rttm"``.
    start : float, str or datetime, optional
        The time that is second 0 of the file, for all formats but CSV and JSON. They hold seconds
        only, so events whose times are dates need it.
    overlaps : bool, default False
        Allow events of one stream and class that overlap; otherwise they are an error.
    **options
        Of one format: ``tiers`` and ``duration`` of TextGrid, ``probability`` of WebVTT, and
        ``low_freq`` and ``high_freq`` of Raven; see docs/events.md.

    Examples
    --------
    >>> import tempfile
    >>> night = Events([("ann", "walk", 0.0, 60.5, 0.9), ("ann", "sit", 60.5, 90.0, 0.7)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_events(night, f"{folder}/night.rttm")
    ...     print(Path(f"{folder}/night.rttm").read_text().strip())
    SPEAKER ann 1 0.0 60.5 <NA> <NA> walk 0.9 <NA>
    SPEAKER ann 1 60.5 29.5 <NA> <NA> sit 0.7 <NA>
    """
    name, kind = event_format(path, format)
    _check_format_options(name, options, kind.write_options)
    listed = Events.of(events)
    check_events(listed, overlaps)
    check_streams(listed)
    _check_start(name, kind, start)
    if not kind.seconds:
        text = kind.write(listed, **options)
    else:
        if listed.dates and start is None:
            problem = f"is {{}}, but the times are dates and {name} holds seconds"
            raise ArgumentError("start", None, problem=problem, fix=_SECOND_0)
        zero = exact(0.0 if start is None else to_seconds("start", start))
        timed = [
            e._replace(
                stream=None if e.stream is None else str(e.stream),
                start=exact(e.start) - zero,  # type: ignore[arg-type]
                end=exact(e.end) - zero,  # type: ignore[arg-type]
            )
            for e in listed
        ]
        text = kind.write(timed, **options)
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        bad = text[error.start : error.end]
        raise ArgumentError(
            "events", bad, problem="have a name with {}, which is not Unicode"
        ) from None
    with atomic_write(path) as file:
        file.write(data)


def read_events(
    path: str | Path,
    format: str | None = None,  # noqa: A002
    *,
    start: Any = None,
    overlaps: bool = False,
    **options: Any,
) -> Events:
    r"""Read events from a file that `write_events` or another program has written.

    Parameters
    ----------
    path : str or Path
        Its suffix is the format: ``.csv``, ``.tsv`` (BIDS), ``.txt`` (Audacity's label track),
        ``.rttm`` or ``.TextGrid`` (Praat).
    format : str, optional
        The format, where the suffix is another: ``"rttm"``.
    start : float, str or datetime, optional
        The time of second 0 of the file, for all formats but CSV; if it is a date, the events have
        dates.
    overlaps : bool, default False
        Allow events of one stream and class that overlap; otherwise they are an error.
    **options
        Of one format: ``columns`` of CSV and TSV, as in `Events.from_table`; ``stream``, the name
        for the stream of TSV and TXT, where there is none; ``tiers`` of TextGrid.

    Returns
    -------
    Events
        In the order of the file. Names of streams are text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/night.txt").write_text("0.0\t60.5\twalk\n60.5\t90\tsit\n")
    ...     read_events(f"{folder}/night.txt", start="2024-05-01T22:00:00+02:00")
    2 events, 2 classes, 1 stream
    stream  class  start                        end                          duration  probability
            walk   2024-05-01T22:00:00+02:00    2024-05-01T22:01:00.5+02:00  60.5
            sit    2024-05-01T22:01:00.5+02:00  2024-05-01T22:01:30+02:00    29.5
    """
    name, kind = event_format(path, format)
    if kind.read is None:
        must = f"{name} is only written; read_events reads {_format_names(READ)}"
        fix = 'a table of another program is read with format="tsv" and columns='
        raise ArgumentError("path", str(path), must=must, fix=fix)
    _check_format_options(name, options, kind.read_options)
    text = _decode(Path(path).read_bytes())
    _check_start(name, kind, start)
    cells, lines = kind.read(text, **options)
    events = from_cells(cells, lines, start)
    check_events(events, overlaps, lines)
    return events


def event_format(
    path: str | Path,
    format: str | None = None,  # noqa: A002
) -> tuple[str, Format]:
    """Return the name of a format, and the format."""
    ending = Path(path).suffix.removeprefix(".")
    if str(path).lower().endswith(RAVEN):
        ending = "raven"
    name = ending if format is None else format
    kind = FORMATS.get(name.lower()) if isinstance(name, str) else None
    if kind is None:
        must = f"the formats are {_format_names(FORMATS)}"
        if format is not None:
            raise ArgumentError("format", format, must=must)
        raise ArgumentError("path", str(path), must=must, fix="give one of these suffixes")
    return name, kind


def _check_start(name: str, kind: Format, start: Any) -> None:
    if start is not None and not kind.seconds:
        raise ArgumentError("start", start, must=f"{name} holds times as they are, without it")


def _format_names(formats: Iterable[str]) -> str:
    return ", ".join(name for name in formats if name != "textgrid") + " and TextGrid"


def _check_format_options(name: str, options: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for option, value in options.items():
        if option not in known:
            must = f"{name} has no such option"
            must += f"; it has {', '.join(known)}" if known else ""
            raise ArgumentError(option, value, must=must)


def _decode(data: bytes) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 with a byte order mark, as Praat has it."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ArgumentError(
            "the file", data[error.start : error.start + 1], problem="is not UTF-8: it has {}",
            fix="save it as UTF-8", line=line,
        ) from None  # fmt: skip
