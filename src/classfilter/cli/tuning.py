"""The commands that work on whole recordings: ``tune``, ``compare``, ``report``."""

from __future__ import annotations

import shlex
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ..inputs import (
    SUFFIXES,
    Rows,
    TableFormat,
    TableInput,
    file_suffix,
    naming_lines,
    read_table,
    rows_of_table,
    write_table,
)
from ..pipeline import Pipeline, load
from ..support.atomic import atomic_write
from .files import TABLE, Input, check_out, input_options
from .options import (
    EVENT_DURATION,
    FILE,
    PICTURES,
    QUIET,
    REFERENCE,
    SORT,
    Settings,
    about,
    as_duration,
    check_classes,
    example,
    printable,
    progress_bar,
    require_one,
    table_options,
)


def _duration_text(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """Return a duration as it was typed: its unit says whether times must be seconds."""
    as_duration(ctx, param, text)
    return text


@click.command(
    "tune",
    short_help="Find the settings of a filter, without labels.",
    epilog=example("classfilter tune week.parquet -o walk.json --event-duration 5min"),
)
@input_options
@click.option("-o", "--out", type=FILE, required=True, help="Where to write the filter: JSON.")
@click.option(
    "--filter",
    type=click.Choice(["auto", "sticky", "dirichlet"]),
    default="auto",
    show_default=True,
    help="The family of filters; auto takes the best.",
)
@REFERENCE
@click.option(
    "--every",
    type=int,
    help="How often the reference will be called: once in so many steps.",
)
@click.option("--labels", is_flag=True, help="Choose the settings using the column label.")
@click.option(
    "--max-switches-per-hour",
    type=click.FloatRange(min=0),
    help="A limit: at most this many switches from one class to another.",
)
@click.option(
    "--max-delay",
    callback=_duration_text,
    metavar="DURATION",
    help="A limit: follow a change of class within this time: 30s. A number alone is in the unit "
    "of the times.",
)
@EVENT_DURATION
@click.option(
    "--max-false-events-per-day",
    type=click.FloatRange(min=0, min_open=True),
    help="With --labels: a limit on false events; among such rules, the one that finds most events "
    "is chosen.",
)
@click.option(
    "--detect-within",
    callback=_duration_text,
    metavar="DURATION",
    help="With --labels: an event counts as found if its start is reported within this time.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Also say in sentences how certain the choice is.",
)
@table_options
@SORT
@QUIET
def tune_command(
    table: Input,
    out: Path,
    explain: bool,
    sort: bool,
    quiet: bool,
    form: TableFormat,
    **settings: Any,
) -> None:
    """Find a filter, the weights of all sources and their channels, without labels.

    IN is a file as for filter, with one stream or many. It writes a file of settings for --config
    of the other commands, and prints what was chosen and what it does. If IN has the reference at
    every time, say with --every how often it will be called.
    """
    from ..tuning import record_of, tune

    file_suffix(out, (".json",))
    check_out(out, table)
    with _work_on(table, form, sort, quiet) as (streams, progress):
        tuned = tune(streams, **settings, progress=progress)
    tuned.save(out)
    command = "filter" if tuned.rule is None else "events"
    config, source = shlex.quote(str(out)), shlex.quote(str(table.path))
    text = "\n\n".join([
        record_of(tuned).summary(tuned, Path(table.name).name),
        *[record_of(tuned).explain()] * explain,
        f"Saved {out}. Next: classfilter {command} {source} --config {config} -o {command}.csv",
    ])  # fmt: skip
    click.echo(printable(text))  # at once, since the reader may be `head -n 1`


@click.command(
    "compare",
    short_help="Compare all filters on a file.",
    epilog=example("classfilter compare week.parquet --reference strong -o filters.png"),
)
@input_options
@click.option("-o", "--out", type=FILE, help=f"The picture (PNG, PDF, SVG), or the table: {TABLE}.")
@REFERENCE
@click.option(
    "--event-duration",
    callback=_duration_text,
    metavar="DURATION",
    help="How long an event usually lasts: 15min. Adds rows with a rule for events; by default, "
    "the mean duration by the labels.",
)
@table_options
@SORT
@QUIET
def compare_command(
    table: Input,
    out: Path | None,
    reference: str | None,
    event_duration: str | None,
    sort: bool,
    quiet: bool,
    form: TableFormat,
) -> None:
    """Run simple rules and tuned filters over a file, and print a table of the results.

    Filters are tuned on one half of the streams, without labels, and run on the other. With a
    column label, the table has accuracy and F1 of events, and says what is better or worse than the
    best. Without one, it has how often the class is what the reference predicts later.
    """
    from ..compare import TERMINAL, compare
    from ..plot import comparison

    if out is not None:
        file_suffix(out, (*PICTURES, *SUFFIXES))
        check_out(out, table)
    with _work_on(table, form, sort, quiet) as (streams, progress):
        events = True if event_duration is None else event_duration
        result = compare(streams, reference, events=events, progress=progress)
    width = shutil.get_terminal_size((TERMINAL, 24)).columns
    click.echo(printable(result.text(width)))
    if out is not None and out.suffix.lower() in PICTURES:
        with atomic_write(out) as file:
            comparison(result).savefig(file, format=out.suffix[1:].lower())
    elif out is not None:
        write_table(result.to_table(), out)


@click.command(
    "report",
    short_help="Write a page with pictures, tables and sliders.",
    epilog=example("classfilter report week.parquet -o report.html --event-duration 5min"),
)
@input_options
@click.option("-o", "--out", type=FILE, required=True, help="Where to write the page: HTML.")
@click.option(
    "--config",
    type=FILE,
    help="A file of settings; by default they are tuned on IN.",
)
@REFERENCE
@EVENT_DURATION
@table_options
@SORT
@QUIET
def report_command(
    table: Input,
    out: Path,
    config: Path | None,
    sort: bool,
    quiet: bool,
    form: TableFormat,
    **wanted: Any,
) -> None:
    """Write one HTML page about a file: what its streams are, and what filters make of them.

    The page opens in a browser without a network. Its sliders run the filter in the page, and it
    saves the settings as JSON. IN may have any number of rows; the page says how many it shows.
    """
    from ..report import TUNED, report
    from ..tuning import tune

    reference = wanted["reference"]
    require_one({"config": config}, {"event_duration": wanted["event_duration"]})
    file_suffix(out, (".html",))
    check_out(out, table, config)
    tuned, form = _settings(config, form)
    with _work_on(table, form, sort, quiet) as (streams, progress):
        if tuned is None:
            tuned = tune(streams, **wanted, progress=lambda done: progress(TUNED * done))
        else:
            _require_sources(config, tuned, reference, table, streams)
        report(streams, out, tuned, reference=reference, progress=progress)
    click.echo(f"{out}: open it in a browser")


def read_streams(
    source: TableInput, form: TableFormat, sort: bool = False
) -> tuple[Any, dict[Any, Rows]]:
    """Return a file as a dataframe, and the rows of each stream."""
    df = read_table(source, columns=form.columns)
    check_classes(form, form.layout(df.columns).classes)
    return df, by_stream(source, df, replace(form, sort=sort))


def by_stream(source: TableInput, df: Any, form: TableFormat) -> dict[Any, Rows]:
    """Return the rows of each stream of a file that was read; errors name the line."""
    with naming_lines(source):
        return rows_of_table(df, form).by_stream()


def make_pipe(
    settings: Settings, classes: tuple[str, ...], streams: Callable[[], dict[Any, Rows]]
) -> Pipeline:
    """Return the pipeline of the options or, where none makes it, what `tune` finds on streams."""
    if not settings.tunes:
        return settings.make_pipe(classes)
    from ..tuning import record_of, tune

    recordings = streams()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tuned = tune(recordings, **settings.tuning)
    if record_of(tuned).criterion == "nothing":
        rows = sum(int(rec.observed(tuned.reference).sum()) for rec in recordings.values())
        raise ValueError(
            f"there are too few predictions to tune a filter on: {rows} of {tuned.reference!r}; "
            "give its settings, --half-life 60s or --config FILE, or more rows"
        )
    for warning in caught:
        warnings.warn(warning.message, stacklevel=2)
    return tuned


def tuned_note(pipe: Pipeline) -> str:
    """Return what to say of a pipeline that was tuned on the table itself."""
    from ..tuning import filter_in_words, record_of

    return f"classfilter: tuned without labels: {filter_in_words(pipe, record_of(pipe))}"


def _settings(config: Path | None, form: TableFormat) -> tuple[Pipeline | None, TableFormat]:
    """Return the settings of a file, if there is one, and the format of a table for them."""
    if config is None:
        return None, form
    tuned = load(config)
    return tuned, form if tuned.heads.is_exclusive else replace(form, heads=tuned.heads)


def _require_sources(
    config: Path | None,
    pipe: Pipeline,
    reference: str | None,
    table: Input,
    streams: dict[Any, Rows],
) -> None:
    """Raise if a file of settings is for other sources than a table has."""
    sources = dict.fromkeys(name for rec in streams.values() for name in rec.sources)
    expected = pipe.beta if isinstance(pipe.beta, dict) else sources
    best = reference or pipe.reference
    if not sources.keys() <= expected.keys() or (best in expected and best not in sources):
        raise ValueError(
            f"--config is {config}, whose sources are {', '.join(expected)}; those of {table.name} "
            f"are {', '.join(sources)}: run classfilter tune on this file, or leave --config out"
        )


@contextmanager
def _work_on(
    table: Input, form: TableFormat, sort: bool, quiet: bool
) -> Iterator[tuple[dict[Any, Rows], Callable[[float], None]]]:
    """Give a file's streams and a progress bar; warnings and errors become lines about the file."""
    with about(table.name), progress_bar(quiet, table.path.name) as progress:
        with table.open() as source:
            streams = read_streams(source, form, sort)[1]
        yield streams, progress
