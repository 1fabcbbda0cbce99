"""The command ``classfilter stream``."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import click

from ..events import EventRule
from ..inputs import TableFormat
from ..pipeline import Pipeline, under_rule
from ..support.atomic import check_not_input
from ..support.standard import require_open
from .events import rule_for, rule_options
from .options import (
    FILE,
    Settings,
    as_duration,
    check_classes,
    end,
    example,
    filter_options,
    message_of,
    table_options,
)

REJECTED = 3


@click.command(
    short_help="Filter lines as they come, NDJSON to NDJSON.",
    epilog=example("classifier | classfilter stream --config walk.json --state walk.state | app"),
)
@filter_options
@table_options
@rule_options
@click.option(
    "--events",
    type=FILE,
    is_flag=False,
    flag_value="-",
    metavar="[FILE]",
    help="Append a numbered line for each confirmed event to this file; without FILE, write events "
    "instead of results.",
)
@click.option(
    "--starts",
    is_flag=True,
    help="Also write a line as soon as the class and the start of an event are final; end is null.",
)
@click.option(
    "--lag",
    type=click.IntRange(1),
    metavar="ROWS",
    help="Decide events this many lines of a stream later, on rows smoothed with those lines.",
)
@click.option(
    "--state", type=FILE, help="Save the state of all streams to this file, and continue from it."
)
@click.option("--finish", is_flag=True, help="End all streams at the end of the input.")
@click.option(
    "--show",
    type=FILE,
    help="Print what a file of --state has: settings, lines taken, streams and their last times; "
    "then stop.",
)
@click.option(
    "--every",
    callback=as_duration,
    default="1s",
    show_default=True,
    help="How often to save the state.",
)
@click.option(
    "--line-number",
    metavar="KEY",
    help="The key of a number that grows from line to line: lines that --state has are skipped.",
)
@click.option(
    "--max-jump",
    callback=as_duration,
    default="366d",
    show_default=True,
    help="Reject a time that is further ahead in its stream, unless the next line confirms it.",
)
@click.option(
    "--expire-after",
    callback=as_duration,
    help="A stream expires after this time without a line; its next line restarts it.",
)
@click.option(
    "--max-streams",
    type=click.IntRange(1),
    help="Keep at most this many streams, those whose lines came last.",
)
def stream(
    settings: Settings,
    form: TableFormat,
    rule: dict[str, Any],
    events: Path | None,
    lag: int | None,
    state: Path | None,
    show: Path | None,
    **options: Any,
) -> None:
    """Filter lines as they come: NDJSON on standard input, a result for each on standard output.

    A line is an object with a key time and either one p_<class> per class or prediction; stream and
    source are optional. Its result is the same object with f_<class> and class added, written at
    once; results that it already had are replaced. With --scores independent, each p_<label> is
    filtered by itself, and the result lists the labels that are on instead of one class. An invalid
    line is rejected with its number on standard error, and the other lines go on. SIGTERM and
    Ctrl-C save the state and stop.

    After a crash, start it again with the same --state. It prints how many lines the state has
    taken: continue with the next one. With --line-number you may also start earlier, because lines
    that the state has are skipped and counted. Results may be ahead of the state, so resume from
    the state, not from the last result. Events are never ahead of it; after a crash, the last ones
    may come again, with the same number.

    With --lag, results still come at once, and events are those of classfilter events --lag.
    """
    from ..live import ReaderBlocked, description, serve

    if show is not None:
        click.echo(description(show))
        return
    if settings.tunes:
        raise click.UsageError(
            "stream cannot tune on lines that have not arrived; give --config, a file that "
            "classfilter tune writes, or settings such as --half-life 60s"
        )
    for option in ("finish", "starts"):
        if options[option] and events is None:
            raise click.UsageError(f"--{option} is given without --events; give both")
    require_open(0)
    require_open(1)
    for option, path in (("--state", state), ("--events", events)):
        if path is not None:
            check_not_input(path, 0, settings.config, argument=option)
    if form.time_format is not None:
        raise click.UsageError("--time-format is for tables; dates in lines are in ISO 8601")
    if events is None and (rule or lag is not None):
        name = "--" + next(iter(rule), "lag").replace("_", "-")
        raise click.UsageError(f"{name} is given without --events; give both")

    def rule_of(pipe: Pipeline) -> EventRule:
        return rule_for(pipe if lag is None else pipe.smoothing, rule)

    if events is not None and not rule:  # there may be one in the file; else say so at once
        if settings.heads.shown:
            rule_of(settings.make_pipe(settings.heads.shown))
        else:
            rule_for(None, rule)
    named, form = form, settings.for_table(form)

    def make_pipe(classes: tuple[str, ...]) -> Pipeline:
        check_classes(named, classes)
        pipe = settings.make_pipe(classes)
        return under_rule(pipe, None if events is None else rule_of(pipe))

    try:
        served = serve(
            make_pipe,
            form,
            state=state,
            events=events,
            lag=lag,
            **options,
        )
    except ValueError as error:
        raise ValueError(message_of(None, error)) from error
    except BrokenPipeError:
        end("the reader of the results is gone")
    except ReaderBlocked:
        end("terminated while the reader of the results did not read", 128 + signal.SIGTERM)
    sys.exit(REJECTED if served.rejected else 0)
