"""Events as a selection table of Raven, which BirdNET writes, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._errors import ArgumentError, RowError
from ._dates import minus, plain, plus
from ._delimited import read_table
from ._rows import Row, check_names, one_stream, probability_of, seconds_of

NO_CALL = "nocall"
CLASS, STREAM = ("Common Name", "Species", "Annotation"), ("Begin Path", "Begin File")
START, END, OFFSET = "Begin Time (s)", "End Time (s)", "File Offset (s)"


def write_raven(rows: Sequence[Row], low_freq: float = 0.0, high_freq: float = 15_000.0) -> str:
    """Return a selection table: each event spans the same band of frequencies, in Hz."""
    if not 0.0 <= low_freq < high_freq:
        raise ArgumentError(
            "low_freq", low_freq, rule="it must be below high_freq, and not below 0"
        )
    one_stream(rows, "a selection table")
    check_names(rows, "[\t\n\r]", "tabs or line breaks", "a selection table", NO_CALL)
    known = any(row.probability is not None for row in rows)
    path = rows[0].stream if rows else None
    header = [
        "Selection",
        "View",
        "Channel",
        START,
        END,
        "Low Freq (Hz)",
        "High Freq (Hz)",
        CLASS[0],
    ]
    header += ["Confidence"] * known + [STREAM[0]] * (path is not None)
    lines = ["\t".join(header)]
    for i, row in enumerate(sorted(rows, key=lambda row: (row.start, row.label)), 1):
        band = [f"{low_freq:g}", f"{high_freq:g}"]
        cells = [str(i), "Spectrogram 1", "1", plain(row.start), plain(row.end), *band, row.label]
        if known:
            cells.append("" if row.probability is None else repr(float(row.probability)))
        lines.append("\t".join([*cells, *([path] if path is not None else [])]))
    return "\n".join(lines) + "\n"


def read_raven(
    text: str, columns: Mapping[str, str] | None = None, stream: str | None = None
) -> list[Row]:
    """Return the selections of a table; a selection has a row for each view, and counts once."""
    header = text.partition("\n")[0].rstrip("\r").split("\t")
    usual = {"start": START, "end": END, "probability": "Confidence"}
    for name, several in (("class", CLASS), ("stream", STREAM)):
        usual[name] = next((column for column in several if column in header), several[0])
    names, table, lines = read_table(text, "\t", columns, usual)
    found: dict[tuple[object, ...], Row] = {}
    for i, (cells, line) in enumerate(zip(table, lines, strict=True)):
        label = cells[names["class"]]
        if label == NO_CALL:
            continue
        if not label.strip():
            rule = "every event needs a class"
            raise RowError(names["class"], label, rule=rule, row=i, line=line)
        start = seconds_of(cells[names["start"]], names["start"], i, line)
        end = seconds_of(cells[names["end"]], names["end"], i, line)
        if OFFSET in cells:  # of several files after each other
            offset = seconds_of(cells[OFFSET], OFFSET, i, line)
            start, end = offset, plus(offset, minus(end, start))
        p = probability_of(cells.get(names.get("probability", ""), ""), "", i, line)
        path = cells[names["stream"]] if "stream" in names else stream
        row = Row(path, label, start, end, p, line)
        found.setdefault((cells.get("Selection", line), path, label, start, end), row)
    return list(found.values())
