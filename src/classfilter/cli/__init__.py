"""The command line: ``classfilter filter | events | stream | plot | tune | compare | ...``.

Exit codes: 0, done; 1, a file or its content is invalid; 2, invalid usage; 3, done, but with
rejected lines; 130 and 143, ended by SIGINT and SIGTERM.
"""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from .._version import __version__
from ..engine import filter_to
from ..inputs import TableFile, TableFormat
from ..pipeline import Pipeline
from ..support.signals import Signals, Terminated
from .embedded import export_command, verify_command
from .events import events_command
from .files import TABLE, Input, Output, input_options
from .options import (
    FILE,
    QUIET,
    REFERENCE,
    SMOOTHING,
    SORT,
    Settings,
    about,
    check_classes,
    check_smoothing,
    end,
    example,
    filter_options,
    printable,
    progress_bar,
    table_options,
)
from .plot import plot
from .stream import stream
from .tuning import (
    compare_command,
    make_pipe,
    read_streams,
    report_command,
    tune_command,
    tuned_note,
)

MAX_TUNED = 1_000_000
"""Rows of a file that is filtered without settings, at most: tuning takes 25 s, and 0.9 GB."""

GROUPS = {
    "Prepare": ("tune", "compare", "report", "plot", "demo"),
    "Run": ("filter", "events", "stream"),
    "Deploy": ("export", "verify"),
}


class Commands(click.Group):
    """The commands, listed by what they are for."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands of each group."""
        for title, names in GROUPS.items():
            with formatter.section(title):
                rows = [(name, self.commands[name].get_short_help_str(70)) for name in names]
                formatter.write_dl(rows)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    cls=Commands,
    epilog=example("classfilter events day.csv -o events.csv --event-duration 5min"),
)
@click.version_option(__version__, prog_name="classfilter")
def cli() -> None:
    """Turn the flickering output of black-box classifiers into a steady class.

    Each command has its own --help, with an example to copy. Exit codes: 0, success; 1, a file or
    its content is invalid; 2, invalid usage; 3, success, but some lines were rejected; 130 and 143,
    stopped by SIGINT and SIGTERM.
    """


@cli.command(
    "filter",
    short_help="Filter every stream of a file.",
    epilog=example(
        "classfilter filter day.parquet -o out.parquet --half-life 60s \\",
        "    --beta weak=0.1 --beta strong=1",
    ),
)
@input_options
@click.option(
    "-o", "--out", type=FILE, required=True, help=f"Where to write: {TABLE}; - is standard output."
)
@REFERENCE
@filter_options
@table_options
@SMOOTHING
@SORT
@click.option("--threads", type=click.IntRange(1), help="How many; by default one per processor.")
@QUIET
def filter_command(
    settings: Settings,
    table: Input,
    out: Path,
    smooth: bool,
    lag: int | None,
    sort: bool,
    threads: int | None,
    quiet: bool,
    form: TableFormat,
) -> None:
    """Filter every stream of a file: IN is CSV, Parquet or NDJSON, by its suffix; - is a pipe.

    IN has a column time and either one column p_<class> per class or a column prediction; stream,
    source and label are optional. OUT has the same rows, with f_<class> and class added. With
    --smooth or --lag, each result also uses later rows of its stream. With --scores independent,
    each p_<label> is filtered by itself, and OUT lists the labels that are on instead of one class.

    If you give no settings, the filter is first tuned on IN, without labels, which needs the whole
    file in memory. Otherwise only a part of the file is in memory at a time.
    """
    check_smoothing(smooth, lag)
    result = Output.of(out, table, settings.config)
    with about(table.name), table.open() as source:
        file = TableFile(source, replace(settings.for_table(form), sort=sort))
        start = time.perf_counter()  # after the import of Polars
        check_classes(form, file.classes)
        if settings.tunes and file.rows > MAX_TUNED:
            raise ValueError(
                f"there are more than {MAX_TUNED:,} rows, too many to find the settings of the "
                "filter on; run classfilter tune on some of the streams, and give --config"
            )
        pipe = make_pipe(settings, file.classes, lambda: read_streams(source, file.format, sort)[1])
        with (
            progress_bar(quiet, table.path.name, lambda: file.rows) as show,
            Signals() as signals,
            result.open() as written,
        ):

            def progress(rows: int) -> None:
                show(rows)
                signals.raise_received()

            done = filter_to(
                file,
                written,
                result.suffix,
                Pipeline.of(pipe, smoothing=smooth or bool(lag)),
                lag=0 if lag is None and not smooth else lag,
                threads=threads,
                progress=progress,
            )
    took = time.perf_counter() - start
    if settings.tunes and not quiet:
        click.echo(printable(tuned_note(pipe)), err=True)
    if not quiet:
        text = f"{result.name}: {done.rows:,} rows, streams: {done.streams:,}; {took:.1f} s, "
        click.echo(printable(f"{text}{done.rows / took:,.0f} rows per second"), err=True)


@cli.command(
    short_help="Filter simulated days and draw the hardest minutes.",
    epilog=example("classfilter demo -o demo.png --report report.html"),
)
@click.option("-o", "--out", default="demo.png", show_default=True, help="The picture.")
@click.option(
    "--days", type=click.IntRange(1), default=25, show_default=True, help="How many days."
)
@click.option("--report", help="Also write an interactive page about the first days: HTML.")
def demo(out: str, days: int, report: str | None) -> None:
    """Filter simulated days, print how accurate it is, and draw the hardest minutes."""
    from ..demo import demonstrate

    demonstrate(out, days, report)


for _command in (
    events_command,
    stream,
    plot,
    tune_command,
    compare_command,
    report_command,
    export_command,
    verify_command,
):
    cli.add_command(_command)


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
        end("interrupted", 128 + signal.SIGINT)
    except Terminated:
        end("terminated", 128 + signal.SIGTERM)
    except OSError as error:
        end(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (ValueError, TypeError, ImportError) as error:
        end(str(error))


if __name__ == "__main__":
    main()
