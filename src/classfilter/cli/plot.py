"""The command ``classfilter plot``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from ..errors import ArgumentError
from ..inputs import REMEDY, Rows, TableFormat, file_suffix, parse_timestamp, per_second
from ..support.atomic import atomic_write
from ..support.types import Weights
from .files import Input, check_out, input_options
from .options import (
    FILE,
    PICTURES,
    REFERENCE,
    Settings,
    about,
    example,
    filter_options,
    table_options,
)
from .tuning import make_pipe, read_streams


@click.command(
    short_help="Draw a stream of a file.",
    epilog=example("classfilter plot out.csv -o out.png --stream ann --from 0 --to 3600"),
)
@input_options
@click.option("-o", "--out", type=FILE, required=True, help="The picture: PNG, PDF or SVG.")
@REFERENCE
@filter_options
@table_options
@click.option("--stream", "name", help="Which stream; needed if there are several.")
@click.option("--from", "start", help="The first time shown, as in the file.")
@click.option("--to", "stop", help="The last time shown.")
@click.option("--zone", help="The time zone of dates: Europe/Berlin. By default their own.")
def plot(
    settings: Settings,
    table: Input,
    out: Path,
    name: str | None,
    start: str | None,
    stop: str | None,
    zone: str | None,
    form: TableFormat,
) -> None:
    """Draw a stream of a file: classes over time, and the probabilities, raw and filtered.

    IN is a file that filter reads, or one that it wrote: then its columns f_<class> are drawn.
    Otherwise the stream is filtered first, with your settings or with those that tune finds.
    """
    from ..plot import overview

    suffix = file_suffix(out, PICTURES)
    check_out(out, table, settings.config)
    with about(table.name):
        with table.open() as source:
            df, streams = read_streams(source, settings.for_table(form))
        key, rec = _one_stream(streams, name)
        column = form.columns.get("stream", "stream")
        P, pipe = _filtered(df, column, key, rec), None
        if P is None or not settings.tunes:
            pipe = make_pipe(settings, rec.classes, lambda: streams)
        if pipe is not None and P is None:
            P = pipe.run(rec)
        rows = _between(rec, start, stop, per_second(form.unit))
        strong = None if pipe is None else _strongest(rec, pipe.beta)
        figure = overview(rec, P, rows=rows, strong=strong, zone=zone)
    with atomic_write(out) as file:
        figure.savefig(file, format=suffix[1:])


def _one_stream(streams: dict[Any, Rows], name: str | None) -> tuple[Any, Rows]:
    by_text = {str(key): (key, rec) for key, rec in streams.items()}
    if name is None and len(streams) == 1:
        return next(iter(streams.items()))
    names = ", ".join(list(by_text)[:5]) + ", ..." * (len(by_text) > 5)
    if name is None:
        raise ValueError(f"there are {len(streams)} streams ({names}); choose one with --stream")
    if name not in by_text:
        raise ValueError(f"there is no stream {name!r}; there are {names}")
    return by_text[name]


def _filtered(df: Any, column: str, key: Any, rec: Rows) -> Any:
    """Return the columns f_<class> of one stream, as `filter` wrote them; None without any."""
    names = [f"f_{name}" for name in rec.classes]
    missing = [name for name in names if name not in df.columns]
    if len(missing) == len(names):
        return None
    if missing:
        raise ValueError(
            f"the table has some of the columns {names}, but not {missing}; filter it again"
        )
    if key is not None:
        df = df.filter(df[column] == key)
    return df.select(names).to_numpy()


def _between(rec: Rows, start: str | None, stop: str | None, factor: float) -> slice:
    ends = [rec.time[0], rec.time[-1]] if len(rec) else [0.0, 0.0]
    for i, (option, text) in enumerate((("--from", start), ("--to", stop))):
        if text is not None:
            at = parse_timestamp(text, factor)
            if at is None:
                raise ArgumentError(option, text, fix=REMEDY)
            ends[i] = at
    first, last = np.searchsorted(rec.time, ends[0]), np.searchsorted(rec.time, ends[1], "right")
    if first >= last:
        raise ValueError(f"no row has a time from {ends[0]} to {ends[1]}; change --from and --to")
    return slice(int(first), int(last))


def _strongest(rec: Rows, beta: Weights) -> str | None:
    """Return the source with the largest weight, if there are others."""
    if not isinstance(beta, dict) or len(rec.sources) < 2:
        return None
    return max(rec.sources, key=lambda name: beta.get(name, 0.0))
