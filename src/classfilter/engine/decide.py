"""Events of rows: filter, or take what was filtered, then decide by a rule."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ArgumentError, names_keywords
from ..events import Event, EventRule, Events, event_of
from ..filters import Filter
from ..inputs import (
    COLUMNS,
    FRAMES,
    Rows,
    TimeKind,
    as_frame,
    as_rows,
    filtered_format,
    filtered_heads,
    is_read,
    read_rows,
    table_of,
)
from ..pipeline import Channels, Pipeline
from ..support.imports import import_optional
from ..support.types import Duration, Weights
from .engine import Engine
from .stages import RULES, Rule
from .tables import rows_for


@names_keywords
def events(
    rows: Any,
    filter: Filter | Pipeline | Rule,  # noqa: A002
    rule: Rule | None = None,
    *,
    smooth: bool = False,
    lag: int | None = None,
    beta: Weights | None = None,
    channel: Channels | None = None,
) -> Any:
    """Return events: start, end and class.

    Parameters
    ----------
    rows : dataframe, str or Path, or Rows
        Predictions, as for `filter_table`, which are filtered first; or, where `filter` is a rule,
        rows that are taken as they are: the columns ``f_<class>`` of a table that was filtered
        before, or ``p_<class>``.
    filter : Filter, Pipeline, EventRule or ThresholdRule
        What filters the rows; or a rule, where nothing is to be filtered.
    rule : EventRule or ThresholdRule, optional
        How events are decided; by default, the rule of the pipeline or, of smoothed rows, that of
        its `smoother`.
    smooth : bool, default False
        Smooth the rows instead of filtering them: better events, after the fact.
    lag : int, optional
        How many later rows each smoothed row uses; by default all.
    beta, channel
        As in `filter_table`.

    Returns
    -------
    dataframe of the same kind, or Events
        Of a table: the columns ``stream``, where there is one, ``class``, ``start``, ``end``,
        ``duration`` and ``probability``; streams in order of appearance, in each the events by
        their start. Times are dates where those of the table are, and else numbers: in seconds,
        where a unit was given. Of rows that were arrays: a list of `Event`.

    Examples
    --------
    >>> import pandas as pd
    >>> import classfilter as cf
    >>> df = pd.DataFrame({"time": range(6), "p_walk": [0.9, 0.8, 0.4, 0.9, 0.2, 0.1]})
    >>> df["p_sit"] = 1 - df["p_walk"]
    >>> cf.events(df, cf.EventRule(change_cost=1.0))[["class", "start", "end"]]
      class  start  end
    0  walk    0.0  4.0
    1   sit    4.0  6.0
    """
    pipe, rule = pipe_and_rule(filter, rule, smooth, lag, beta=beta, channel=channel)
    if pipe is None:
        with rows_as_they_are(rows) as read:
            engine = Engine(None, rule=rule, heads=read.heads)
            return _decided(engine, read, read.classes)
    with rows_for(rows, pipe, results=False) as read:
        smoothing = smooth and lag != 0
        engine = Engine(
            None if smoothing else pipe, smoother=pipe if smoothing else None, lag=lag, rule=rule
        )
        classes = tuple(read.classes[k] for k in pipe.heads.order_in(read.classes))
        return _decided(engine, read, classes)


@contextmanager
def rows_as_they_are(data: Any) -> Iterator[Rows]:
    """Give rows that are not filtered: where a table was filtered before, its results."""
    if not is_read(data):
        with table_of(data) as table:
            yield read_rows(table, filtered_format(as_frame(table).columns))
        return
    rows = as_rows(data)
    if rows.layout is not None and filtered_heads(rows.frame.columns).shown:
        columns = {role: name for role, name in rows.layout.columns.items() if role in COLUMNS}
        scores = "probabilities" if rows.heads.is_exclusive else "independent"
        form = filtered_format(rows.frame.columns, columns, scores, rows.unit)
        rows = read_rows(rows.frame.to_native(), replace(form, sort=rows.sort))
    yield rows


def _decided(engine: Engine, rows: Rows, classes: tuple[str, ...]) -> Any:
    """Return the events of rows: a table, where they were one, or a list."""
    events, streams = decided(engine, rows, classes)
    return events if rows.frame is None else _as_table(rows, events, streams)


def decided(engine: Engine, rows: Rows, classes: tuple[str, ...]) -> tuple[Events, list[int]]:
    """Return the events of whole streams, by stream and start, and the number of each one's stream.

    `classes` are their names, in the order of the engine.
    """
    engine.take(rows, over=rows.streams)
    number = {name: i for i, name in enumerate(rows.streams)}
    confirmed = [(number[name], event) for name, event in engine.pop()]
    confirmed.sort(key=lambda one: (one[0], one[1][1], one[1][0]))
    events = [event_of(rows.streams[i], classes, *event[:4]) for i, event in confirmed]
    return events_of(events, rows.time_kind), [i for i, _ in confirmed]


def decided_as_they_are(rule: Rule, rows: Rows) -> Events:
    """Return the events of rows that are not filtered."""
    engine = Engine(None, rule=rule, heads=rows.heads, dtype=rows.probs.dtype)
    return decided(engine, rows, rows.classes)[0]


def pipe_and_rule(
    filter: Filter | Pipeline | Rule,  # noqa: A002
    rule: Rule | None,
    smooth: bool,
    lag: int | None,
    **parts: Any,
) -> tuple[Pipeline | None, Rule]:
    """Return what filters the rows, None where they are taken as they are; and what decides.

    `parts` are the weights and channels, None where they are not given.
    """
    pipe = None
    if isinstance(filter, RULES):
        if rule is not None or smooth or any(part is not None for part in parts.values()):
            raise TypeError("filter is a rule; give a filter before it, or leave the others out")
        rule = filter
    else:
        pipe = Pipeline.of(filter, **parts, smoothing=smooth)
        rule = rule or pipe.rule
        if rule is None:
            fix = 'give one, such as rule=EventRule(change_cost="30s")'
            raise ArgumentError("rule", None, problem="is {}, and the pipeline has none", fix=fix)
    if not isinstance(rule, RULES):
        raise ArgumentError("rule", rule, must="it must be an EventRule or a ThresholdRule")
    if lag is not None and not smooth:
        raise ArgumentError("lag", lag, problem="is {}, without smooth=True", fix="give both")
    return pipe, rule


def _as_table(rows: Rows, events: Events, streams: list[int]) -> Any:
    """Return events, each of a stream, as a table of the kind that came in."""
    nw = import_optional("narwhals")
    kind = next(kind for kind in FRAMES if kind == rows.frame.implementation.value)
    table = nw.from_native(events.to_table(kind), eager_only=True)
    column = None if rows.layout is None else rows.layout.columns.get("stream")
    if column is None:
        return table.drop("stream").to_native()
    if column in rows.frame.columns:  # as in the table: a number stays a number
        first = np.unique(rows.stream, return_index=True)[1]
        stream = rows.frame[column][first.tolist()][streams].alias("stream")
    else:  # in the index of pandas
        cells = [rows.streams[i] for i in streams]
        stream = nw.new_series("stream", cells, backend=rows.frame.implementation)
    return table.with_columns(stream).to_native()


@names_keywords
def label_events(rows: Any, max_gap: Duration | None = None) -> Events:
    """Return the true events of rows that have labels: stretches of one label.

    Of several labels at once, they are the stretches in which each label is true.

    Parameters
    ----------
    rows : Rows, dataframe or path
        Rows without a label are unknown: events end there.
    max_gap : duration, optional
        As in `EventRule`.

    Returns
    -------
    Events
        For `metrics.event_scores`, with probability None.

    Examples
    --------
    >>> import classfilter as cf
    >>> p = [[0.9, 0.1]] * 4
    >>> rows = cf.rows(time=range(4), probs=p, classes=["x", "y"], label=[0, 0, 1, 1])
    >>> [(event.label, event.start, event.end) for event in cf.label_events(rows)]
    [('x', 0.0, 2.0), ('y', 2.0, 4.0)]
    """
    read = as_rows(rows)
    if read.label is None:
        must = "they need a column label" if read.frame is not None else "give label="
        raise ArgumentError("rows", None, problem="have no labels", must=must)
    label = read.label.reshape(len(read), -1)
    labelled = set(read.stream[(label >= 0).any(axis=1)].tolist())
    without = [name for i, name in enumerate(read.streams) if i not in labelled]
    if without:
        fix = "leave the stream out, or give its labels"
        raise ArgumentError("rows", without[0], problem="have no label in stream {}", fix=fix)
    truth = read.heads.certain(label)
    events = decided_as_they_are(EventRule(max_gap=max_gap), replace(read, probs=truth))
    return Events(
        [event._replace(probability=None) for event in events], dates=events.dates, zone=events.zone
    )


def events_of(events: list[Event], kind: TimeKind) -> Events:
    """Return a list of events whose times are shown as they were given: dates in their zone."""
    dates = kind.kind == "date"
    return Events(events, dates=dates, zone=kind.zone_name(offsets=True) if dates else None)
