"""Options of several commands: those that make a filter, and names of files."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from ..errors import ArgumentError
from ..filters import DirichletFilter, MultiLabelFilter
from ..inputs import (
    EXCLUSIVE,
    LABELS,
    PER_SECOND,
    SCORES,
    Heads,
    OddRowsWarning,
    TableFormat,
    heads_of,
    matches,
)
from ..inputs import duration as parse_duration
from ..pipeline import Pipeline, load
from ..support.types import Weights
from ..support.validation import text_names

Command = Callable[..., None]


def option_group(*decorators: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds options, in the order of the help text."""

    def decorate(command: Command) -> Command:
        for option in reversed(decorators):
            command = option(command)
        return command

    return decorate


def example(*lines: str) -> str:
    """Return an example for the end of a help text: lines that stay as they are, to be copied."""
    return "\n".join(["\b", "Example:", *(f"  {line}" for line in lines)])


FILE = click.Path(path_type=Path, readable=False)  # the error of opening it says more
PICTURES = (".png", ".pdf", ".svg")


class Settings(NamedTuple):
    """The pipeline that the options ask for, of the classes of the data.

    The heads, with the classes where a file of settings names them; the file; whether no option
    makes the filter, and what `tune` then gets.
    """

    make_pipe: Callable[[tuple[str, ...]], Pipeline]
    heads: Heads
    config: Path | None = None
    tunes: bool = False
    tuning: Mapping[str, Any] = {}

    @property
    def default(self) -> bool:
        """Whether no option was given."""
        return self.tunes and not self.tuning

    def for_table(self, form: TableFormat) -> TableFormat:
        """Return the format of a table, with the classes of the filter."""
        if not self.heads.shown:
            return form
        if form.classes and set(self.heads.shown) != set(form.classes):
            raise click.UsageError("--classes and --config name different classes; leave one out")
        return replace(form, heads=self.heads)


def as_duration(_ctx: click.Context, _param: click.Parameter, text: str | None) -> float | None:
    """Parse a time such as 60s; a number alone stays as it is."""
    try:
        return None if text is None else parse_duration("", text)
    except ArgumentError:
        raise click.BadParameter(
            f"{text!r} is not a duration; give one such as 500ms, 60s, 5m or 2h"
        ) from None


def _weights(
    _ctx: click.Context, _param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, float] | float | None:
    """Parse the weight of each source, or one for all."""
    weights: dict[str, float] = {}
    for text in texts:
        source, _, weight = text.rpartition("=")
        if re.search(r"=[0-9.]+,", source):
            raise click.BadParameter(f"{text!r} has several weights; repeat --beta, one for each")
        try:
            weights[source] = float(weight)
        except ValueError:
            raise click.BadParameter(
                f"{text!r} is not a weight; give SOURCE=WEIGHT, such as weak=0.1"
            ) from None
    check_different(texts, "weight", "source")
    return weights.get("", weights or None)


def check_different(texts: tuple[str, ...], value: str, name: str) -> None:
    """Refuse texts NAME=VALUE of which two have one name, or one is for all beside others."""
    names: set[str] = set()
    for text in texts:
        one = text.rpartition("=")[0]
        if one in names:
            raise click.BadParameter(f"{text!r} is the second {value} of {one or 'all'}; give one")
        names.add(one)
    if "" in names and len(names) > 1:
        raise click.BadParameter(f"a {value} for all and others are given; name every {name}")


def filter_options(command: Command) -> Command:
    """Add the options that make a filter to a command; it gets them as `Settings`."""

    @wraps(command)
    def with_settings(**arguments: Any) -> None:
        names = ("config", "half_life", "gamma", "estimate", "floor", "beta")
        options = {name: arguments.pop(name) for name in names}
        tuning = {name: arguments.pop(name, None) for name in ("reference", "event_duration")}
        tuning = {name: value for name, value in tuning.items() if value is not None}
        require_one(options, tuning)
        heads = _named_heads(arguments["classes"] or (), arguments["scores"])
        settings = _settings_of_options(heads=heads, **options)
        command(settings=settings._replace(tuning=tuning), **arguments)

    return SETTINGS(with_settings)


def _settings_of_options(
    config: Path | None, beta: Weights | None, heads: Heads, **options: Any
) -> Settings:
    options = {name: value for name, value in options.items() if value is not None}
    if "gamma" in options and "half_life" in options:
        raise click.UsageError("--gamma and --half-life are both given; give one of them")
    if config is None:
        weights = 1.0 if beta is None else beta
        tunes = beta is None and not options

        def new_pipe(classes: tuple[str, ...]) -> Pipeline:
            if heads.is_exclusive:
                return Pipeline(DirichletFilter(classes, **options), beta=weights)
            f: Any = DirichletFilter(2, **options)
            if not heads.shown:
                return Pipeline(MultiLabelFilter(classes, f), beta=weights)
            sizes = zip(heads.names, heads.sizes, strict=True)
            f = {name: DirichletFilter(size, **options) for name, size in sizes}
            return Pipeline(MultiLabelFilter(heads.layout, f), beta=weights)

        try:
            new_pipe(heads.shown or ("a", "b"))  # before the first row comes, which may take long
        except ArgumentError as error:
            raise ValueError(message_of(None, error)) from None
        return Settings(new_pipe, heads, tunes=tunes)
    if options:
        name = f"--{next(iter(options))}".replace("_", "-")
        raise click.UsageError(f"{name} and --config are both given; change the file instead")
    pipe = load(config)
    if pipe.heads.is_exclusive and not heads.is_exclusive:
        raise click.UsageError(
            f"--scores is independent, but the classes of {config} exclude each other; leave "
            "--scores out, or give settings of a multi-label filter"
        )
    if isinstance(beta, Mapping) and isinstance(pipe.beta, dict):
        beta = {**pipe.beta, **beta}
    if beta is not None:
        pipe = Pipeline.of(pipe, beta=beta)

    def make_pipe(classes: tuple[str, ...]) -> Pipeline:
        pipe.heads.order_in(classes)
        return pipe

    return Settings(make_pipe, pipe.heads, config)


def _classes(
    _ctx: click.Context, _param: click.Parameter, text: str | None
) -> tuple[str, ...] | None:
    """Parse the names of the classes."""
    try:
        return None if text is None else text_names(text.split(","), 1)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of names, such as walk,sit") from None


def _named_heads(classes: tuple[str, ...], scores: str) -> Heads:
    """Return the heads that --classes names, activity:walk of the head activity, or their kind."""
    layout: dict[str, list[str]] = {}
    for name in classes:
        head, _, one = name.partition(":")
        layout.setdefault(head, []).extend([one] if one else [])
    kind = heads_of(None, scores)
    if kind.is_exclusive or not any(layout.values()):
        return kind
    return heads_of({head: names or None for head, names in layout.items()}, scores)


def _column_names(
    _ctx: click.Context, _param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    """Parse the names of columns."""
    columns: dict[str, str] = {}
    for text in texts:
        name, equals, column = text.partition("=")
        if not (name and equals and column):
            raise click.BadParameter(f"{text!r} is not NAME=COLUMN, such as time=ts")
        if name in columns:
            raise click.BadParameter(f"{text!r} is the second column for {name}; give one")
        columns[name] = column
    return columns


def require_one(making: Mapping[str, Any], tuning: Mapping[str, Any]) -> None:
    """Raise if options of both kinds are given: those that make a filter, and those that tune."""
    made, tuned = (
        [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
        for options in (making, tuning)
    )
    if made and tuned:
        raise click.UsageError(
            f"{tuned[0]} and {made[0]} are both given; {tuned[0]} is for finding the settings of "
            f"the filter, {made[0]} gives them: leave one out"
        )


def _event_durations(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> str | dict[str, str] | None:
    """Return durations as they were typed: one, or one for each class."""
    by_class: dict[str, str] = {}
    for text in texts:
        name, equals, length = text.rpartition("=")
        as_duration(ctx, param, length)
        if not equals and len(texts) > 1:
            raise click.BadParameter(
                f"{text!r} names no class; give one duration, or CLASS=DURATION for each class"
            )
        if name in by_class:
            raise click.BadParameter(f"{name!r} has two durations; give one")
        by_class[name] = length
    return by_class.get("") or by_class or None


SORT = click.option(
    "--sort", is_flag=True, help="Accept rows in any order, which needs all of them in memory."
)
QUIET = click.option("--quiet", is_flag=True, help="Print neither progress nor a summary.")
SMOOTHING = option_group(
    click.option("--smooth", is_flag=True, help="Use all later rows of the stream too."),
    click.option(
        "--lag",
        type=click.IntRange(0),
        metavar="ROWS",
        help="Use only this many later rows of the stream.",
    ),
)
REFERENCE = click.option(
    "--reference",
    help="The best source, to judge the others by; by default the one observed least often.",
)
EVENT_DURATION = click.option(
    "--event-duration",
    callback=_event_durations,
    multiple=True,
    metavar="[CLASS=]DURATION",
    help="How long an event usually lasts: 15min. The filter and the rule for events are tuned for "
    "it. Give it once for all classes, or once for each: walk=10min.",
)
SETTINGS = option_group(
    click.option("--config", type=FILE, help="A file of settings, as tune writes it."),
    click.option(
        "--beta",
        callback=_weights,
        multiple=True,
        metavar="[SOURCE=]WEIGHT",
        help="The weight of a source, from 0 to 1: weak=0.1. A number alone is for all sources. "
        "Repeatable.",
    ),
    click.option(
        "--half-life",
        callback=as_duration,
        metavar="DURATION",
        help="The memory of the filter: 60s or 5m. A number alone is in the unit of the times; "
        "text with a unit needs times that are dates or seconds.",
    ),
    click.option("--gamma", type=float, help="The same as a decay per time unit; 0.9 by default."),
    click.option(
        "--estimate",
        type=click.Choice(["mode", "mean"]),
        help="By default the mode.",
    ),
    click.option("--floor", type=float, help="The smallest probability; 0.001 by default."),
)
FORMAT = option_group(
    click.option(
        "--classes",
        callback=_classes,
        metavar="NAMES",
        help="The classes, separated by commas; by default those of the data. With --scores "
        "independent, activity:walk,activity:sit are classes of one head.",
    ),
    click.option(
        "--columns",
        callback=_column_names,
        multiple=True,
        metavar="NAME=COLUMN",
        help="Which column is time, stream, source, p_<class>, ...: time=ts. Repeatable.",
    ),
    click.option(
        "--scores",
        type=click.Choice(SCORES),
        default=SCORES[0],
        show_default=True,
        help="What the numbers in p_<class> and confidence are; independent if several classes, or "
        "none, may be true at the same time.",
    ),
    click.option(
        "--time-format",
        metavar="FORMAT",
        help='The format of dates in text, such as "%d.%m.%Y %H:%M:%S"; by default ISO 8601.',
    ),
    click.option(
        "--unit",
        type=click.Choice(list(PER_SECOND)),
        help="The unit of numeric times; by default they are taken as they are.",
    ),
)


READING = ("classes", "columns", "scores", "unit", "time_format")
"""The options of reading, as those of `rows`."""


def table_options(command: Command) -> Command:
    """Add the options that say how a table is written; the command gets a `TableFormat`."""

    @wraps(command)
    def with_format(**arguments: Any) -> None:
        reading = {name: arguments.pop(name) for name in READING}
        classes: tuple[str, ...] = reading.pop("classes") or ()
        heads = _named_heads(classes, reading["scores"])
        settings = arguments.get("settings")
        is_exclusive = (heads if settings is None else settings.heads).is_exclusive
        kind = EXCLUSIVE if is_exclusive else LABELS
        if 0 < len(classes) < kind.fewest:
            hint = "give two or more, or --scores independent for one score by itself"
            raise click.UsageError(f"--classes names only {classes[0]!r}; {hint}")
        try:
            form = TableFormat.of(heads if heads.shown else kind.like(classes), **reading)
        except ValueError as error:
            raise ValueError(message_of(None, error)) from error
        command(form=form, **arguments)

    return FORMAT(with_format)


_BOLD = ("\x1b[1m", "\x1b[0m")


def printable(text: str) -> str:
    """Return text that cannot control a terminal, but for bold: names may come from anyone."""
    shown = (c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
    text = "".join(shown)
    for code in _BOLD:
        text = text.replace(repr(code)[1:-1], code)
    return text


def check_classes(form: TableFormat, classes: tuple[str, ...]) -> None:
    """Raise if a table or a line has other classes than --classes names."""
    if form.classes and not matches(form.classes, classes):
        raise ValueError(
            f"the data has the classes {list(classes)}, but --classes is {list(form.classes)}; "
            "give those of the columns p_<class>"
        )


def check_smoothing(smooth: bool, lag: int | None) -> None:
    """Raise if both are given."""
    if smooth and lag is not None:
        raise click.UsageError(
            "--smooth and --lag are both given; --smooth uses all later rows, --lag only so many"
        )


@contextmanager
def progress_bar(
    quiet: bool, name: str, total: Callable[[], float | None] = lambda: 1.0
) -> Iterator[Callable[[float], None]]:
    """Show a progress bar on a terminal; `total` is what is done at its end."""
    console = Console(stderr=True, quiet=quiet)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
    with bar:
        task = bar.add_task(name, total=None if bar.disable else total())
        yield lambda done: bar.update(task, completed=done)


def end(message: str, code: int = 1) -> NoReturn:
    """Print the reason in one line, and exit."""
    sys.stderr.write(f"classfilter: {printable(' '.join(message.split()))}\n")
    sys.exit(code)


@contextmanager
def warnings_as_lines(path: Path | str) -> Iterator[None]:
    """Print the warnings of the block as lines on standard error, each once."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:  # before an error, which they may explain
        messages = [warning.message for warning in caught]
        texts = [
            message_of(path, m.about) if isinstance(m, OddRowsWarning) else str(m) for m in messages
        ]
        for text in dict.fromkeys(texts):
            click.echo(printable(f"classfilter: {text}"), err=True)


@contextmanager
def about(path: Path | str) -> Iterator[None]:
    """Print the warnings of the block as lines, and name a file in its errors."""
    try:
        with warnings_as_lines(path):
            yield
    except ValueError as error:
        raise ValueError(message_of(path, error)) from error


def message_of(path: Path | str | None, error: Exception) -> str:
    """Return an error's message in words of the command line, with the file's name before it."""
    text = str(error)
    if isinstance(error, ArgumentError):
        option = _typed_option(error.argument) if error.row is None else None
        if option is not None:
            name = option if error.entry is None else f"{option} {error.entry}"
            problem = error.problem
            if error.value is None:
                problem = problem.replace("is {}", "is not given", 1)
            error = error.replaced(argument=name, problem=problem, entry=None)
            path = None
        text = error.text(typed=True)
    return text if path is None or str(path) in text else f"{path}: {text}"


NOT_OPTIONS = ("classes", "labels", "lag", "filter", "scores", "unit")
"""Arguments that are not what the option of their name has: errors about them are about a file."""


def _typed_option(argument: str) -> str | None:
    """Return the option of the command that an argument is given as."""
    if argument.startswith("-"):
        return argument
    context = click.get_current_context(silent=True)
    params = () if context is None or argument in NOT_OPTIONS else context.command.params
    name = {"path": "out"}.get(argument, argument)
    options = [p.opts[0] for p in params if isinstance(p, click.Option) and p.name == name]
    return options[0] if options else None
