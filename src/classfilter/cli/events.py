"""Events on the command line: the options of a rule, and the command ``classfilter events``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..errors import ArgumentError
from ..events import EventRule
from ..inputs import (
    TableFormat,
    as_frame,
    classes_of_labels,
    naming_lines,
    read_rows,
    read_table,
)
from ..pipeline import Chain
from .files import Input, check_out, input_options
from .options import (
    EVENT_DURATION,
    FILE,
    REFERENCE,
    Settings,
    about,
    check_classes,
    check_names,
    check_smoothing,
    example,
    filter_options,
    printable,
    table_options,
    warnings_as_lines,
)
from .tuning import by_stream, make_chain, tuned_note


class RuleOptions(NamedTuple):
    """What the options say of a rule, by the arguments of `EventRule`."""

    given: dict[str, Any]

    def rule(self, chain: Chain | None) -> EventRule:
        """Return the rule: that of the chain, with what was given."""
        before = None if chain is None else chain.rule
        if before is None and not self.given:
            raise click.UsageError(
                "there is no rule for events; give --change-cost, such as 30s, or --config with a "
                "section [events], which tune --event-duration writes"
            )
        return EventRule(**self.given) if before is None else replace(before, **self.given)


def _by_class(
    _ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str] | str | None:
    """Parse one value for all classes, or CLASS=VALUE for each."""
    check_names(texts, "value", "class")
    values = dict(text.rpartition("=")[::2] for text in texts)
    return values.get("", values or None)


def _biases(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> Any:
    given = _by_class(ctx, param, texts)
    try:
        if isinstance(given, dict):
            return {name: float(text) for name, text in given.items()}
        return None if given is None else float(given)
    except ValueError:
        raise click.BadParameter("a bias must be a number, such as walk=0.1") from None


def _pad(_ctx: click.Context, _param: click.Parameter, text: str | None) -> tuple[str, str] | None:
    before, _, after = (text or "").partition(",")
    return None if text is None else (before, after or before)


def rule_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a rule to a command; it gets them as `RuleOptions`."""

    @wraps(command)
    def with_rule(*settings: Any, **arguments: Any) -> None:
        names = EventRule.__dataclass_fields__
        given = {name: arguments.pop(name) for name in names if name in arguments}
        if given["ignore"] is not None:
            given["ignore"] = given["ignore"].split(",")
        rule = RuleOptions({name: x for name, x in given.items() if x is not None})
        command(*settings, rule=rule, **arguments)

    each: dict[str, Any] = {"callback": _by_class, "multiple": True, "metavar": "[CLASS=]DURATION"}
    one: dict[str, Any] = {"metavar": "DURATION"}
    decorated: Callable[..., None] = with_rule
    for option in (
        click.option(
            "--max-delay", **one, help="The longest time that an event stays provisional."
        ),
        click.option("--max-duration", **one, help="Divide longer events."),
        click.option(
            "--max-gap", **one, help="The longest time that a row stands for; events end after it."
        ),
        click.option("--ignore", metavar="CLASSES", help="Report no events of these: other,rest."),
        click.option("--shift", **one, help="Report every change earlier by this time."),
        click.option("--pad", callback=_pad, metavar="BEFORE[,AFTER]", help="Extend each event."),
        click.option(
            "--min-probability", type=float, help="Report no event where no class is this probable."
        ),
        click.option(
            "--evidence",
            type=click.Choice(["time", "log"]),
            help="What a row is worth: its probability (time), or the logarithm.",
        ),
        click.option(
            "--bias",
            callback=_biases,
            multiple=True,
            metavar="[CLASS=]NUMBER",
            help="Subtracted from the probability of a class.",
        ),
        click.option(
            "--merge-gap",
            **each,
            help="Join two events of a class if the gap between them is no longer.",
        ),
        click.option("--min-duration", **each, help="No event is shorter: walk=10s. Repeatable."),
        click.option("--leave-cost", **each, help="The cost of leaving a class."),
        click.option(
            "--change-cost",
            **each,
            help="How much longer a change must make the result right: 30s, or walk=30s for each "
            "class.",
        ),
    ):
        decorated = option(decorated)
    return decorated


@click.command(
    "events",
    short_help="Write the events of a file: start, end, class.",
    epilog=example(
        "classfilter events day.csv -o events.csv --event-duration 5min",
        "classfilter events day.csv -o day.rttm --config walk.toml --min-duration 10s",
    ),
)
@input_options
@click.option(
    "-o", "--out", type=FILE, required=True,
    help="Where to write, by its suffix: csv, tsv, txt, rttm, TextGrid, vtt, json or "
    "selections.txt (Raven).",
)  # fmt: skip
@EVENT_DURATION
@REFERENCE
@filter_options
@table_options
@rule_options
@click.option("--smooth", is_flag=True, help="Use later rows too: better events, after the fact.")
@click.option(
    "--lag",
    type=click.IntRange(0),
    metavar="ROWS",
    help="Use only this many later rows of a stream: the events of stream --lag.",
)
@click.option("--sort", is_flag=True, help="Accept rows in any order of time.")
@click.option("--start", help="The date of second 0, where dates go to a format of seconds.")
@click.option("--quiet", is_flag=True, help="No summary.")
def events_command(
    settings: Settings,
    table: Input,
    out: Path,
    rule: RuleOptions,
    smooth: bool,
    lag: int | None,
    sort: bool,
    start: str | None,
    quiet: bool,
    form: TableFormat,
) -> None:
    """Filter every stream of a file and write its events: start, end, class, probability.

    Say how long an event usually lasts, with --event-duration, and the filter and the rule for
    events are tuned on IN, without labels; or give their settings.

    IN is what filter reads or wrote: with columns f_<class>, and no option that makes a filter or
    tunes it, these are taken as they are. Of several labels at once, each is decided by itself, and
    events overlap.
    """
    from ..engine import events
    from ..events import Events, event_format, write_events
    from ..inputs import filtered_format, filtered_heads

    check_out(out, table, settings.config)
    check_smoothing(smooth, lag)
    if "event_duration" in settings.tuning and "change_cost" in rule.given:
        raise click.UsageError(
            "--event-duration and --change-cost are both given; --event-duration is for finding "
            "the cost of a change: leave one out"
        )
    note = None
    smooth = smooth or lag is not None
    try:
        event_format(out)  # before the work, as what is wrong with a rule by itself
        EventRule(**rule.given)
        with table.open() as source, warnings_as_lines(table.name):
            df = read_table(source, columns=form.columns)
            form = replace(form, sort=sort)
            if settings.default and filtered_heads(df.columns, form.scores).shown:
                if smooth:
                    name = "--smooth" if lag is None else "--lag"
                    raise click.UsageError(f"the rows are filtered already; leave out {name}")
                filtered = filtered_format(df.columns, form.columns, form.scores, form.unit)
                with naming_lines(source):
                    found = events(read_rows(df, replace(filtered, sort=sort)), rule.rule(None))
            else:
                known = settings.for_table(form)
                layout = known.layout(df.columns)
                classes = layout.classes or classes_of_labels(as_frame(df), layout)
                check_classes(form, classes)
                chain = make_chain(
                    settings,
                    classes,
                    lambda: by_stream(source, df, replace(known, sort=sort)),
                )
                if settings.tunes:
                    note = tuned_note(chain)
                    if "event_duration" not in settings.tuning and not rule.given:
                        note += "\nclassfilter: say how long an event lasts: --event-duration 5min"
                decide = rule.rule(chain.smoother if smooth else chain)
                with naming_lines(source):
                    rows = read_rows(df, replace(known, heads=known.heads.like(classes)))
                    found = events(rows, chain, decide, smooth=smooth, lag=lag)
        if "stream" not in found.columns:
            found = Events.from_table(found)
        write_events(found, out, start=start)
    except ValueError as error:
        path = None if isinstance(error, ArgumentError) and error.row is None else table.name
        raise ValueError(about(path, error)) from error
    if note and not quiet:
        click.echo(printable(note), err=True)
    if not quiet:
        click.echo(f"{out}: {len(found):,} event{'s' * (len(found) != 1)}", err=True)
