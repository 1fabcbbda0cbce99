"""Events on the command line: the options of a rule, and the command ``classfilter events``."""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from ..errors import ArgumentError
from ..events import EVIDENCE, FORMATS, OPTIONS, EventRule, Option
from ..inputs import (
    TableFormat,
    as_frame,
    classes_of_labels,
    naming_lines,
    read_rows,
    read_table,
)
from ..pipeline import Pipeline
from .files import Input, check_out, input_options
from .options import (
    EVENT_DURATION,
    FILE,
    QUIET,
    REFERENCE,
    SMOOTHING,
    SORT,
    Command,
    Settings,
    check_classes,
    check_different,
    check_smoothing,
    example,
    filter_options,
    message_of,
    option_group,
    printable,
    table_options,
    warnings_as_lines,
)
from .tuning import by_stream, make_pipe, tuned_note


def rule_for(pipe: Pipeline | None, options: dict[str, Any]) -> EventRule:
    """Return the rule of a pipeline, with the options of a rule that were given."""
    before = None if pipe is None else pipe.rule
    if before is None and not options:
        raise click.UsageError(
            "there is no rule for events; give --change-cost, such as 30s, or --config with a "
            "rule under events, which tune --event-duration writes"
        )
    return EventRule(**options) if before is None else replace(before, **options)


def _all_or_each(
    _ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str] | str | None:
    """Parse one value for all classes, or CLASS=VALUE for each."""
    check_different(texts, "value", "class")
    values = dict(text.rpartition("=")[::2] for text in texts)
    return values.get("", values or None)


def _biases(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> Any:
    values = _all_or_each(ctx, param, texts)
    try:
        if isinstance(values, dict):
            return {name: float(text) for name, text in values.items()}
        return None if values is None else float(values)
    except ValueError:
        raise click.BadParameter("a bias must be a number, such as walk=0.1") from None


def _pad(_ctx: click.Context, _param: click.Parameter, text: str | None) -> tuple[str, str] | None:
    before, _, after = (text or "").partition(",")
    return None if text is None else (before, after or before)


def rule_options(command: Command) -> Command:
    """Add the options of a rule to a command; it gets those that were given."""

    @wraps(command)
    def with_rule(**arguments: Any) -> None:
        options = {name: arguments.pop(name) for name in OPTIONS}
        if options["ignore"] is not None:
            options["ignore"] = options["ignore"].split(",")
        rule = {name: x for name, x in options.items() if x is not None}
        command(rule=rule, **arguments)

    return RULE(with_rule)


METAVARS = {
    "cost": "DURATION",
    "duration": "DURATION",
    "number": "NUMBER",
    "pair": "BEFORE[,AFTER]",
    "classes": "CLASSES",
}


def _rule_option(name: str, option: Option) -> Any:
    """Return the option of the command line for an option of the rule."""
    more: dict[str, Any] = {"metavar": METAVARS.get(option.kind), "help": option.says}
    if option.by_class:
        check = _biases if option.kind == "number" else _all_or_each
        more |= {"multiple": True, "callback": check, "metavar": f"[CLASS=]{more['metavar']}"}
        more["help"] += " Repeatable."
    elif option.kind == "pair":
        more["callback"] = _pad
    elif option.kind == "evidence":
        more["type"] = click.Choice(EVIDENCE)
    elif option.kind == "number":
        more["type"] = float
    return click.option(f"--{name.replace('_', '-')}", **more)


RULE = option_group(*(_rule_option(name, option) for name, option in OPTIONS.items()))


@click.command(
    "events",
    short_help="Write the events of a file: start, end, class.",
    epilog=example(
        "classfilter events day.csv -o events.csv --event-duration 5min",
        "classfilter events day.csv -o day.rttm --config walk.json --min-duration 10s",
    ),
)
@input_options
@click.option(
    "-o", "--out", type=FILE, required=True,
    help="Where to write, by its suffix: "
    + ", ".join(f"{kind.suffixes[0]} ({kind.title})" for kind in FORMATS.values()),
)  # fmt: skip
@EVENT_DURATION
@REFERENCE
@filter_options
@table_options
@rule_options
@SMOOTHING
@SORT
@click.option("--start", help="The date of second 0, if IN has dates but OUT holds seconds.")
@QUIET
def events_command(
    settings: Settings,
    table: Input,
    out: Path,
    rule: dict[str, Any],
    smooth: bool,
    lag: int | None,
    sort: bool,
    start: str | None,
    quiet: bool,
    form: TableFormat,
) -> None:
    """Filter every stream of a file and write its events: start, end, class, probability.

    If you say how long an event usually lasts, with --event-duration, the filter and the rule for
    events are tuned on IN, without labels. Or give their settings.

    IN is a file that filter reads, or one that it wrote: its columns f_<class> are used as they are
    unless you give settings. Each label of multi-label data is decided by itself, so events may
    overlap.
    """
    from ..engine import events
    from ..events import Events, event_format, write_events
    from ..inputs import filtered_format, filtered_heads

    check_out(out, table, settings.config)
    check_smoothing(smooth, lag)
    if "event_duration" in settings.tuning and "change_cost" in rule:
        raise click.UsageError(
            "--event-duration and --change-cost are both given; --event-duration is for finding "
            "the cost of a change: leave one out"
        )
    note = None
    smooth = smooth or lag is not None
    try:
        event_format(out)  # before the work, as what is wrong with a rule by itself
        EventRule(**rule)
        with table.open() as source, warnings_as_lines(table.name):
            df = read_table(source, columns=form.columns)
            form = replace(form, sort=sort)
            if settings.default and filtered_heads(df.columns, form.scores).shown:
                if smooth:
                    name = "--smooth" if lag is None else "--lag"
                    raise click.UsageError(f"the rows are filtered already; leave out {name}")
                filtered = filtered_format(df.columns, form.columns, form.scores, form.unit)
                with naming_lines(source):
                    decided = events(
                        read_rows(df, replace(filtered, sort=sort)), rule_for(None, rule)
                    )
            else:
                read_as = settings.for_table(form)
                layout = read_as.layout(df.columns)
                classes = layout.classes or classes_of_labels(as_frame(df), layout)
                check_classes(form, classes)
                pipe = make_pipe(
                    settings,
                    classes,
                    lambda: by_stream(source, df, replace(read_as, sort=sort)),
                )
                if settings.tunes:
                    note = tuned_note(pipe)
                    if "event_duration" not in settings.tuning and not rule:
                        note += "\nclassfilter: say how long an event lasts: --event-duration 5min"
                decide = rule_for(pipe.smoothing if smooth else pipe, rule)
                with naming_lines(source):
                    rows = read_rows(df, replace(read_as, heads=read_as.heads.like(classes)))
                    decided = events(rows, pipe, decide, smooth=smooth, lag=lag)
        if "stream" not in decided.columns:
            decided = Events.from_table(decided)
        write_events(decided, out, start=start)
    except ValueError as error:
        path = None if isinstance(error, ArgumentError) and error.row is None else table.name
        raise ValueError(message_of(path, error)) from error
    if note and not quiet:
        click.echo(printable(note), err=True)
    if not quiet:
        click.echo(f"{out}: {len(decided):,} event{'s' * (len(decided) != 1)}", err=True)
