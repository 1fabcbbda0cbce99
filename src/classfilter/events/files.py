"""Files of events, in the formats of `formats/`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, Fix
from ..support.atomic import atomic_write
from .dates import exact, to_seconds
from .formats import FORMATS, Format, check_events, check_streams
from .list import Events, from_cells

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
        Its suffix is the format, such as ``.csv``, ``.rttm`` or ``.TextGrid``.
        ``classfilter events --help`` lists all of them.
    format : str, optional
        The format, where the suffix is another: ``"rttm"``.
    start : float, str or datetime, optional
        The time that is second 0 of the file, for all formats but CSV and JSON. They hold seconds
        only, so events whose times are dates need it.
    overlaps : bool, default False
        Allow events of one stream and class that overlap; otherwise they are an error.
    **options
        Of one format: ``tiers`` and ``duration`` of TextGrid, ``probability`` of WebVTT, and
        ``low_freq`` and ``high_freq`` of Raven; see docs/event-files.md.

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
    kind = event_format(path, format)
    _check_format_options(kind, options, kind.write_options)
    listed = Events.of(events)
    check_events(listed, overlaps)
    check_streams(listed)
    _check_start(kind, start)
    if not kind.seconds:
        text = kind.write(listed, **options)
    else:
        if listed.dates and start is None:
            problem = f"is {{}}, but the times are dates and {kind.name} holds seconds"
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
        kind.check(timed)
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
        Its suffix is the format, such as ``.csv``, ``.rttm`` or ``.TextGrid``.
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
    kind = event_format(path, format)
    if kind.read is None:
        must = f"{kind.name} can only be written; read_events reads {_suffixes(reading=True)}"
        fix = 'a table of another program is read with format="tsv" and columns='
        raise ArgumentError("path", str(path), must=must, fix=fix)
    _check_format_options(kind, options, kind.read_options)
    text = _decode(Path(path).read_bytes())
    _check_start(kind, start)
    cells, lines = kind.read(text, **options)
    events = from_cells(cells, lines, start)
    check_events(events, overlaps, lines)
    return events


def event_format(path: str | Path, format: str | None = None) -> Format:  # noqa: A002
    """Return the format that is named, or that the suffix of a path says: the longest one."""
    if format is not None:
        kind = FORMATS.get(format.lower()) if isinstance(format, str) else None
        if kind is None:
            raise ArgumentError("format", format, f"the formats are {', '.join(FORMATS)}")
        return kind
    name = str(path).lower()
    fits = [
        (len(suffix), kind)
        for kind in FORMATS.values()
        for suffix in (*kind.suffixes, f".{kind.name}")
        if name.endswith(suffix.lower())
    ]
    if not fits:
        raise ArgumentError("path", str(path), f"its suffix must be one of {_suffixes()}")
    return max(fits, key=lambda fit: fit[0])[1]


def _suffixes(reading: bool = False) -> str:
    kinds = [kind for kind in FORMATS.values() if kind.read or not reading]
    return ", ".join(kind.suffixes[0] for kind in kinds)


def _check_start(kind: Format, start: Any) -> None:
    if start is not None and not kind.seconds:
        raise ArgumentError(
            "start", start, f"{kind.name} holds the times as they are: leave it out"
        )


def _check_format_options(
    kind: Format, options: Mapping[str, Any], allowed: tuple[str, ...]
) -> None:
    for option, value in options.items():
        if option not in allowed:
            must = f"{kind.name} has no such option"
            must += f"; it has {', '.join(allowed)}" if allowed else ""
            raise ArgumentError(option, value, must)


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
