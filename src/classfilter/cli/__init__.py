"""The command line: ``classfilter filter | stream | plot | tune | compare | report | ...``.

Exit codes: 0, done; 1, a file or its content is invalid; 2, invalid usage; 3, done, but with
rejected lines; 130 and 143, ended by SIGINT and SIGTERM.
"""

from __future__ import annotations

import re
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .._atomic import atomic_write
from .._signals import Signals, Terminated
from .._typing import Weights
from .._version import __version__
from ..data._batch import filter_file
from ..data._files import file_suffix
from ..data._format import TableFormat
from ..data._recording import Recording
from ..data._table_file import TableFile
from ..data._timestamps import REMEDY, parse_timestamp
from ._embedded import export, verify
from ._options import (
    CLASSES,
    FILE,
    PICTURES,
    TABLE,
    Settings,
    about,
    duration,
    filter_options,
    table_options,
)
from ._tuning import compare, policy, read_streams, report, tune

REJECTED = 3


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: classfilter filter day.csv -o out.csv --beta weak=0.1 --beta strong=1",
)
@click.version_option(__version__, prog_name="classfilter")
def cli() -> None:
    """Turn the flickering output of black-box classifiers into a steady class.

    Each command has its own --help, with an example. Exit codes: 0, done; 1, a file or its content
    is invalid; 2, invalid usage; 3, done, but with rejected lines; 130 and 143, ended by SIGINT and
    SIGTERM.
    """


@cli.command(
    "filter",
    short_help="Filter every stream of a file.",
    epilog="Example: classfilter filter day.parquet -o out.parquet --beta weak=0.1 --beta strong=1 "
    "--half-life 60s",
)
@click.argument("table", metavar="IN", type=FILE)
@click.option("-o", "--out", type=FILE, required=True, help=f"Where to write: {TABLE}.")
@filter_options
@table_options
@click.option("--smooth", is_flag=True, help="Use all later rows too; needs the file in memory.")
@click.option(
    "--lag",
    type=click.IntRange(0),
    metavar="ROWS",
    help="Smooth with only so many later rows of a stream, in parts.",
)
@click.option("--sort", is_flag=True, help="Rows in any order of time; needs the file in memory.")
@click.option("--threads", type=click.IntRange(1), help="How many; by default one per processor.")
@click.option("--quiet", is_flag=True, help="Neither progress nor summary.")
def filter_command(
    settings: Settings,
    table: Path,
    out: Path,
    smooth: bool,
    lag: int | None,
    sort: bool,
    threads: int | None,
    quiet: bool,
    form: TableFormat,
) -> None:
    """Filter every stream of a file: IN is CSV, Parquet or NDJSON, by its suffix.

    Columns: time, one p_<class> per class, or prediction, and, where there are any, stream, source
    and label. OUT has the same rows, with f_<class> and class; it may be IN. Only a part of the
    file is in memory at a time. With --smooth or --lag, each result uses later rows of its stream
    too.
    """
    file_suffix(out)
    console = Console(stderr=True, quiet=quiet)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )

    start = time.perf_counter()
    try:
        file = TableFile(table, settings.for_table(form))
        f = settings.make_filter(file.classes)
        with bar, Signals() as signals:
            total = file.rows if file.suffix == ".parquet" else None
            task = bar.add_task(table.name, total=total)

            def progress(rows: int) -> None:
                bar.update(task, completed=rows)
                signals.raise_received()

            done = filter_file(
                file,
                out,
                f,
                settings.beta,
                settings.channel,
                lag=0 if lag is None and not smooth else lag,
                sort=sort,
                threads=threads,
                progress=progress,
            )
    except ValueError as error:
        raise ValueError(about(table, error)) from error
    took = time.perf_counter() - start
    if settings.default:
        note = f"{f}, all sources with weight 1; set it with --half-life, --beta or --config"
        console.print(f"classfilter: {note}", highlight=False, markup=False, soft_wrap=True)
    console.print(
        f"{out}: {done.rows:,} rows, streams: {done.streams:,}; {took:.1f} s, "
        f"{done.rows / took:,.0f} rows per second",
        highlight=False,
        soft_wrap=True,
    )


@cli.command(
    short_help="Filter lines as they come, NDJSON to NDJSON.",
    epilog="Example: classifier | classfilter stream --config walk.toml --state walk.state | app",
)
@filter_options
@CLASSES
@click.option("--state", type=FILE, help="Save all states to this file, and continue from it.")
@click.option(
    "--every", callback=duration, default="1s", show_default=True, help="How often to save them."
)
@click.option(
    "--expire-after", callback=duration, help="Drop a stream after so long without lines."
)
@click.option("--max-streams", type=click.IntRange(1), help="Keep so many, the latest ones.")
def stream(
    settings: Settings,
    classes: tuple[str, ...] | None,
    state: Path | None,
    every: float,
    expire_after: float | None,
    max_streams: int | None,
) -> None:
    """Filter lines as they come: NDJSON on standard input, a result for each on standard output.

    A line is an object with time, one p_<class> per class, or prediction, and, where there are any,
    stream and source; its result is the same with f_<class> and class, written at once. An invalid
    line is rejected with a message on standard error, by its number, and the rest goes on. SIGTERM
    and Ctrl-C save the state and end it. After a crash, start it again with the same --state and
    replay the input from any earlier point: lines that the state has already are skipped.
    """
    from ..streaming._ndjson import serve

    try:
        served = serve(
            settings.make_filter,
            settings.beta,
            settings.channel,
            state=state,
            every=every,
            expire_after=expire_after,
            max_streams=max_streams,
            classes=settings.for_table(TableFormat(classes)).classes,
        )
    except BrokenPipeError:
        _end("the reader of the results is gone")
    sys.exit(REJECTED if served.rejected else 0)


@cli.command(
    short_help="Draw a stream of a file.",
    epilog="Example: classfilter plot out.csv -o out.png --stream ann --from 0 --to 3600",
)
@click.argument("table", metavar="IN", type=FILE)
@click.option("-o", "--out", type=FILE, required=True, help="The picture: PNG, PDF or SVG.")
@filter_options
@table_options
@click.option("--stream", "name", help="Which stream; needed where there are several.")
@click.option("--from", "start", help="The first time shown, as in the file.")
@click.option("--to", "stop", help="The last time shown.")
def plot(
    settings: Settings,
    table: Path,
    out: Path,
    name: str | None,
    start: str | None,
    stop: str | None,
    form: TableFormat,
) -> None:
    """Draw a stream of a file: classes over time, and the probabilities, raw and filtered.

    IN is what filter reads or wrote: with columns f_<class> these are drawn; without them, the
    stream is filtered with the options.
    """
    from ..plot import overview

    suffix = file_suffix(out, PICTURES)
    try:
        df, streams = read_streams(table, settings.for_table(form))
        key, rec = _one_stream(streams, name)
        column = form.columns.get("stream", "stream")
        P = _filtered(df, column, key, rec) if f"f_{rec.classes[0]}" in df.columns else None
        if P is None:
            P = rec.run(settings.make_filter(rec.classes), settings.beta, settings.channel)
        rows = _between(rec, start, stop)
        figure = overview(rec, P, rows=rows, strong=_strongest(rec, settings.beta))
    except ValueError as error:
        raise ValueError(about(table, error)) from error
    with atomic_write(out) as file:
        figure.savefig(file, format=suffix[1:])


@cli.command(
    short_help="Filter simulated days and draw the hardest minutes.",
    epilog="Example: classfilter demo -o demo.png --report report.html",
)
@click.option("-o", "--out", default="demo.png", show_default=True, help="The picture.")
@click.option("--days", type=click.IntRange(1), default=25, show_default=True, help="How many.")
@click.option("--report", help="Write a page on the first days too, to play with: HTML.")
def demo(out: str, days: int, report: str | None) -> None:
    """Filter simulated days, print how accurate it is, and draw the hardest minutes."""
    from ..demo import main as run

    run(out, days, report)


cli.add_command(tune)
cli.add_command(compare)
cli.add_command(policy)
cli.add_command(report)
cli.add_command(export)
cli.add_command(verify)


def _one_stream(streams: dict[Any, Recording], name: str | None) -> tuple[Any, Recording]:
    by_text = {str(key): (key, rec) for key, rec in streams.items()}
    if name is None and len(streams) == 1:
        return next(iter(streams.items()))
    some = ", ".join(list(by_text)[:5]) + ", ..." * (len(by_text) > 5)
    if name is None:
        raise ValueError(f"there are {len(streams)} streams ({some}); choose one with --stream")
    if name not in by_text:
        raise ValueError(f"there is no stream {name!r}; there are {some}")
    return by_text[name]


def _filtered(df: Any, column: str, key: Any, rec: Recording) -> Any:
    """Return the columns f_<class> of one stream, as `filter` wrote them."""
    if key is not None:
        df = df.filter(df[column] == key)
    return df.select([f"f_{name}" for name in rec.classes]).to_numpy()


def _between(rec: Recording, start: str | None, stop: str | None) -> slice:
    ends = [rec.time[0], rec.time[-1]] if len(rec) else [0.0, 0.0]
    for i, (option, text) in enumerate((("--from", start), ("--to", stop))):
        if text is not None:
            number = re.fullmatch(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?", text)
            at = parse_timestamp(float(text) if number else text)
            if at is None:
                raise ValueError(f"{option} is {text!r}; {REMEDY}")
            ends[i] = at
    first, last = np.searchsorted(rec.time, ends[0]), np.searchsorted(rec.time, ends[1], "right")
    if first >= last:
        raise ValueError(f"no row has a time from {ends[0]} to {ends[1]}; change --from and --to")
    return slice(int(first), int(last))


def _strongest(rec: Recording, beta: Weights) -> str | None:
    """Return the source with the largest weight, if there are others."""
    if not isinstance(beta, dict) or len(rec.sources) < 2:
        return None
    return max(rec.sources, key=lambda name: beta.get(name, 0.0))


def _end(message: str, code: int = 1) -> NoReturn:
    """Print the reason in one line, and exit."""
    sys.stderr.write(f"classfilter: {' '.join(message.split())}\n")
    sys.exit(code)


def main() -> None:
    """Run the command line."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _end("interrupted", 128 + signal.SIGINT)
    except Terminated:
        _end("terminated", 128 + signal.SIGTERM)
    except OSError as error:
        _end(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (ValueError, TypeError, ImportError) as error:
        _end(str(error))


if __name__ == "__main__":
    main()
