"""The commands that work on whole recordings: ``classfilter tune``, ``compare`` and ``policy``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from .._atomic import atomic_write
from ..data._files import SUFFIXES, file_suffix, read_table, write_table
from ..data._recording import Recording, recordings
from ._options import FILE, PICTURES, TABLE, about

REFERENCE = click.option(
    "--reference", help="The best source. Unless given, the one that answers least often."
)
SORT = click.option("--sort", is_flag=True, help="Rows in any order of time.")
QUIET = click.option("--quiet", is_flag=True, help="No progress.")
INPUT = click.argument("table", metavar="IN", type=FILE)


@click.command(
    short_help="Find the settings of a filter, without labels.",
    epilog="Example: classfilter tune week.parquet -o walk.toml --reference strong",
)
@INPUT
@click.option("-o", "--out", type=FILE, required=True, help="Where to write the filter: TOML.")
@click.option(
    "--filter",
    "kind",
    type=click.Choice(["auto", "sticky", "dirichlet"]),
    default="auto",
    show_default=True,
    help="The family of filters, or the best.",
)
@REFERENCE
@click.option("--labels", is_flag=True, help="Choose by the column label.")
@SORT
@QUIET
def tune(
    table: Path,
    out: Path,
    kind: str,
    reference: str | None,
    labels: bool,
    sort: bool,
    quiet: bool,
) -> None:
    """Find a filter, its memory, the weights of all sources and their channels, without labels.

    IN holds what filter reads, one stream or many. OUT is for --config of the other commands. What
    was chosen, and how sure it is, is told on standard output.
    """
    from ..tuning._tune import tune as run

    _check_out(table, out, (".toml",))
    console = Console(stderr=True, quiet=quiet)
    streams = _streams(table, sort)
    try:
        with _bar(console, table.name) as progress, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = run(
                streams,
                kind,  # type: ignore[arg-type]
                reference,
                labels=labels,
                progress=progress,
            )
    except ValueError as error:
        raise ValueError(about(table, error)) from error
    if found.criterion != "nothing":  # then the warning says it all
        click.echo(found.explanation)
    found.save(out)
    _tell(told)


@click.command(
    short_help="Compare all filters on a file.",
    epilog="Example: classfilter compare week.parquet --reference strong -o filters.png",
)
@INPUT
@click.option("-o", "--out", type=FILE, help=f"The picture (PNG, PDF, SVG), or the table: {TABLE}.")
@REFERENCE
@SORT
@QUIET
def compare(table: Path, out: Path | None, reference: str | None, sort: bool, quiet: bool) -> None:
    """Run every filter over a file, and tell who wins.

    What is tuned is tuned on one half of the streams, without labels, and runs on the other. With a
    column label, accuracy and the like; without it, how far each filter agrees with hindsight.
    """
    from ..evaluation._compare import compare as run
    from ..plot import comparison

    if out is not None:
        _check_out(table, out, (*PICTURES, *SUFFIXES))
    console = Console(stderr=True, quiet=quiet)
    streams = _streams(table, sort)
    try:
        with _bar(console, table.name) as progress, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = run(streams, reference, progress=progress)
    except ValueError as error:
        raise ValueError(about(table, error)) from error
    _tell(told)
    bold = sys.stdout.isatty()
    click.echo(found.text(lambda cell: click.style(cell, bold=True)) if bold else str(found))
    _keep(out, lambda: comparison(found), found.to_table)


@click.command(
    short_help="Compare policies: when to call the strong classifier.",
    epilog="Example: classfilter policy both.parquet -o curve.png",
)
@INPUT
@click.option("-o", "--out", type=FILE, help=f"The picture (PNG, PDF, SVG), or the table: {TABLE}.")
@click.option("--config", type=FILE, help="A TOML file of tune; without it, it tunes by itself.")
@click.option("--strong", default="strong", show_default=True, help="The source that is dear.")
@click.option(
    "--gap", "gaps", type=int, multiple=True, help="Steps from one strong call to the next."
)
@SORT
@QUIET
def policy(
    table: Path,
    out: Path | None,
    config: Path | None,
    strong: str,
    gaps: tuple[int, ...],
    sort: bool,
    quiet: bool,
) -> None:
    """Tell how right the filter is for so many strong calls an hour, periodic and adaptive.

    IN holds the answers of two sources, both at every time, so that any policy can be tried on it.
    Without --config, each half of the streams is run with what tune finds on the other. With a
    column label, right is what it says; without it, what the strong classifier says, asked every
    time.
    """
    from ..evaluation._policy_curve import GAPS, policy_curve
    from ..plot import policy_curve as draw
    from ..tuning._result import Tuned

    if out is not None:
        _check_out(table, out, (*PICTURES, *SUFFIXES))
    tuned = None if config is None else Tuned.load(config)
    console = Console(stderr=True, quiet=quiet)
    streams = _streams(table, sort)
    try:
        with _bar(console, table.name) as progress, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = policy_curve(
                streams, tuned, strong=strong, gaps=gaps or GAPS, progress=progress
            )
    except ValueError as error:
        raise ValueError(about(table, error)) from error
    _tell(told)
    click.echo(str(found))
    _keep(out, lambda: draw(found), found.to_table)


def _keep(out: Path | None, draw: Callable[[], Any], table: Callable[[], Any]) -> None:
    """Write the picture or the table, by the ending; or nothing."""
    if out is not None and out.suffix.lower() in PICTURES:
        with atomic_write(out) as file:
            draw().savefig(file, format=out.suffix[1:].lower())
    elif out is not None:
        write_table(table(), out)


def _tell(told: Sequence[warnings.WarningMessage]) -> None:
    """Say each warning once, in one line."""
    for message in dict.fromkeys(str(warning.message) for warning in told):
        click.echo(f"classfilter: {message}", err=True)


def _check_out(table: Path, out: Path, endings: tuple[str, ...]) -> None:
    """Refuse, before the work, what could not be written after it, or would replace the data."""
    file_suffix(out, endings)
    if not out.resolve().parent.is_dir():
        raise ValueError(f"{out} cannot be written; make its folder first")
    if out.exists() and table.exists() and out.samefile(table):
        raise ValueError(f"{out} is the input too; write to another file")


def _streams(table: Path, sort: bool) -> list[Recording]:
    try:
        return list(recordings(read_table(table), sort=sort).values())
    except ValueError as error:
        raise ValueError(about(table, error)) from error


@contextmanager
def _bar(console: Console, name: str) -> Iterator[Callable[[float], None]]:
    """Show how much is done, where somebody looks."""
    shown = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=console.quiet or not console.is_terminal,
    )
    with shown:
        task = shown.add_task(name, total=1.0)
        yield lambda done: shown.update(task, completed=done)
