"""The command line: ``classfilter filter | stream | plot | tune | compare | policy | ...``.

Exit codes: 0, done; 1, a file or its content cannot be used; 2, the command was misspelt; 3, done,
but some lines of a stream were refused; 130, interrupted.
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
from .._signals import Terminated, raise_on_signal
from .._typing import Weights
from .._version import __version__
from ..data._batch import file_classes, file_rows, filter_file
from ..data._files import file_suffix, read_table
from ..data._recording import Recording, recordings
from ..data._timestamps import seconds
from ._embedded import export, verify
from ._options import FILE, PICTURES, TABLE, Settings, about, duration, filter_options
from ._tuning import compare, policy, tune

REFUSED = 3


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: classfilter filter day.csv -o out.csv --beta weak=0.1 --beta strong=1",
)
@click.version_option(__version__, prog_name="classfilter")
def cli() -> None:
    """Turn the flickering output of black-box classifiers into a steady class track.

    Each command has its own --help, with an example. Exit codes: 0, done; 1, a file or its content
    cannot be used; 2, the command was misspelt; 3, done, but some lines were refused; 130
    and 143, ended by SIGINT and SIGTERM.
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
@click.option("--sort", is_flag=True, help="Rows in any order of time; needs the file in memory.")
@click.option("--threads", type=click.IntRange(1), help="How many; one a processor.")
@click.option("--quiet", is_flag=True, help="Neither progress nor summary.")
def filter_command(
    settings: Settings, table: Path, out: Path, sort: bool, threads: int | None, quiet: bool
) -> None:
    """Filter every stream of a file: IN is CSV, Parquet or NDJSON, by its ending.

    Columns: time, one p_<class> a class and, where there are any, stream, source and label. OUT
    has the same rows, with f_<class> and class. Only a part of the file is in memory at a time.
    """
    file_suffix(out)
    console = Console(stderr=True, quiet=quiet)
    shown = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )

    began = time.perf_counter()
    try:
        f = settings.made(file_classes(table))
        with shown, raise_on_signal() as check:
            total = None if table.suffix.lower() != ".parquet" else file_rows(table)
            task = shown.add_task(table.name, total=total)

            def progress(rows: int) -> None:
                shown.update(task, completed=rows)
                check()

            done = filter_file(
                table,
                out,
                f,
                settings.beta,
                settings.channel,
                sort=sort,
                threads=threads,
                progress=progress,
            )
    except ValueError as error:
        raise ValueError(about(table, error)) from error
    took = time.perf_counter() - began
    console.print(
        f"{out}: {done.rows:,} rows, streams: {done.streams:,}; {took:.1f} s, "
        f"{done.rows / took:,.0f} rows a second",
        highlight=False,
        soft_wrap=True,
    )


@cli.command(
    short_help="Filter lines as they come, NDJSON to NDJSON.",
    epilog="Example: classifier | classfilter stream --config walk.toml --state walk.state | app",
)
@filter_options
@click.option("--state", type=FILE, help="Keep all states in this file, and go on from there.")
@click.option(
    "--every", callback=duration, default="1s", show_default=True, help="How often to keep them."
)
def stream(settings: Settings, state: Path | None, every: float) -> None:
    """Filter lines as they come: NDJSON on standard input, an answer to each on standard output.

    A line is an object with time, one p_<class> a class and, where there are any, stream and
    source; its answer is the same with f_<class> and class, written at once. A line that cannot be
    used is told on standard error by its number, and the rest goes on. SIGTERM and Ctrl-C end it
    with the state kept. After a crash, start it again with the same --state and replay the input
    from any earlier point: lines that the state has already are passed over.
    """
    from ..streaming._ndjson import serve

    try:
        served = serve(settings.made, settings.beta, settings.channel, state=state, every=every)
    except BrokenPipeError:
        _end("the reader of the answers is gone")
    sys.exit(REFUSED if served.rejected else 0)


@cli.command(
    short_help="Draw a stream of a file.",
    epilog="Example: classfilter plot out.csv -o out.png --stream ann --from 0 --to 3600",
)
@click.argument("table", metavar="IN", type=FILE)
@click.option("-o", "--out", type=FILE, required=True, help="The picture: PNG, PDF or SVG.")
@filter_options
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
) -> None:
    """Draw a stream of a file: classes over time, and the probabilities, raw and filtered.

    IN is what filter reads or wrote: with columns f_<class> these are drawn; without them, the
    stream is filtered with the options.
    """
    from ..plot import overview

    ending = file_suffix(out, PICTURES)
    try:
        df = read_table(table)
        key, rec = _one_stream(recordings(df), name)
        P = _filtered(df, key, rec) if f"f_{rec.classes[0]}" in df.columns else None
        if P is None:
            P = rec.run(settings.made(rec.classes), settings.beta, settings.channel)
        shown = _between(rec, start, stop)
        figure = overview(rec, P, rows=shown, strong=_strongest(rec, settings.beta))
    except ValueError as error:
        raise ValueError(about(table, error)) from error
    with atomic_write(out) as file:
        figure.savefig(file, format=ending[1:])


@cli.command(
    short_help="Filter simulated days and draw the hardest minutes.",
    epilog="Example: classfilter demo -o demo.png",
)
@click.option("-o", "--out", default="demo.png", show_default=True, help="The picture.")
@click.option("--days", type=click.IntRange(1), default=25, show_default=True, help="How many.")
def demo(out: str, days: int) -> None:
    """Filter simulated days, print how well it went, and draw the hardest minutes."""
    from ..demo import main as run

    run(out, days)


cli.add_command(tune)
cli.add_command(compare)
cli.add_command(policy)
cli.add_command(export)
cli.add_command(verify)


def _one_stream(found: dict[Any, Recording], name: str | None) -> tuple[Any, Recording]:
    by_text = {str(key): (key, rec) for key, rec in found.items()}
    if name is None and len(found) == 1:
        return next(iter(found.items()))
    some = ", ".join(list(by_text)[:5]) + ", ..." * (len(by_text) > 5)
    if name is None:
        raise ValueError(f"there are {len(found)} streams ({some}); choose one with --stream")
    if name not in by_text:
        raise ValueError(f"there is no stream {name!r}; there are {some}")
    return by_text[name]


def _filtered(df: Any, key: Any, rec: Recording) -> Any:
    """Return the columns f_<class> of one stream, as `filter` wrote them."""
    if key is not None:
        df = df.filter(df["stream"] == key)
    return df.select([f"f_{name}" for name in rec.classes]).to_numpy()


def _between(rec: Recording, start: str | None, stop: str | None) -> slice:
    ends = [rec.time[0], rec.time[-1]] if len(rec) else [0.0, 0.0]
    for i, text in enumerate((start, stop)):
        if text is not None:
            number = re.fullmatch(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?", text)
            ends[i] = seconds([float(text) if number else text])[0]
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
    """Say why in one line, and exit."""
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
