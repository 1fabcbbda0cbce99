"""Events of rows: filter, or take what was filtered, then decide by a rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ArgumentError, names_keywords
from ..events import Decided, Duration, Event, EventRule, Events, ThresholdRule
from ..filters import Filter
from ..inputs import (
    COLUMNS,
    FRAMES,
    Rows,
    TimeKind,
    as_frame,
    as_rows,
    filtered_classes,
    filtered_format,
    from_labels,
    is_read,
    order_of,
    read_rows,
    table_of,
)
from ..pipeline import Chain, Channels
from ..support.imports import import_optional
from ..support.types import Array, Floats, Ints, Weights
from ..support.validation import class_order
from .batch_smoother import smooth_rows
from .tables import BatchFilter, rows_for

Rule = EventRule | ThresholdRule
RULES = (EventRule, ThresholdRule)
NONE = Decided(np.empty(0, np.intp), *np.empty((3, 0)))
"""No events."""


@names_keywords
def events(
    rows: Any,
    filter: Filter | Chain | Rule,  # noqa: A002
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
    filter : Filter, Chain, EventRule or ThresholdRule
        What filters the rows, such as a `Tuned`; or a rule, where nothing is to be filtered.
    rule : EventRule or ThresholdRule, optional
        How events are decided; by default, the rule of the chain or, of smoothed rows, that of its
        `smoother`.
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
    chain, rule = chain_and_rule(filter, rule, smooth, lag, beta=beta, channel=channel)
    if chain is None:
        with rows_as_they_are(rows) as read:
            return _decided(read, read.classes, read.probs, rule)
    with rows_for(rows, chain, results=False) as read:
        classes = tuple(read.classes[k] for k in class_order(chain, read.classes))
        P = smooth_rows(chain, read, lag=lag) if smooth else BatchFilter(chain).run(read)
        return _decided(read, classes, P, rule)


@contextmanager
def rows_as_they_are(data: Any) -> Iterator[Rows]:
    """Give rows that are not filtered: where a table was filtered before, its results."""
    if not is_read(data):
        with table_of(data) as table:
            yield read_rows(table, filtered_format(as_frame(table).columns))
        return
    rows = as_rows(data)
    if rows.layout is not None and filtered_classes(rows.frame.columns)[0]:
        columns = {here: name for here, name in rows.layout.columns.items() if here in COLUMNS}
        scores = "independent" if rows.independent else "probabilities"
        form = filtered_format(rows.frame.columns, columns, scores, rows.unit)
        rows = read_rows(rows.frame.to_native(), replace(form, sort=rows.sort))
    yield rows


def _decided(rows: Rows, classes: tuple[str, ...], P: Array, rule: Rule) -> Any:
    """Return the events of rows: a table, where they were one, or a list."""
    decoder = Decoder(rule, classes, P.dtype, rows.independent)
    order, _ = order_of(rows)
    counts = np.bincount(rows.stream, minlength=len(rows.streams))
    found = []
    for i, own in enumerate(np.split(order, np.cumsum(counts)[:-1])):
        if i < len(rows.streams):
            decided = decoder.decide(rows.time[own], P[own])
            found.append(listed(rows.streams[i], classes, decided))
    events = events_of([event for several in found for event in several], rows.time_kind)
    if rows.frame is None:
        return events
    streams = np.repeat(np.arange(len(found)), [len(several) for several in found])
    return _as_table(rows, events, streams)


def chain_and_rule(
    filter: Filter | Chain | Rule,  # noqa: A002
    rule: Rule | None,
    smooth: bool,
    lag: int | None,
    **parts: Any,
) -> tuple[Chain | None, Rule]:
    """Return what filters the rows, None where they are taken as they are; and what decides.

    `parts` are the weights and channels, None where they are not given.
    """
    chain = None
    if isinstance(filter, RULES):
        if rule is not None or smooth or any(part is not None for part in parts.values()):
            raise TypeError("filter is a rule; give a filter before it, or leave the others out")
        rule = filter
    else:
        chain = Chain.of(filter, **parts, smoothing=smooth)
        rule = rule or chain.rule
        if rule is None:
            remedy = 'give one, such as rule=EventRule(change_cost="30s")'
            raise ArgumentError("rule", None, "is {}, and the chain has none", remedy=remedy)
    if not isinstance(rule, RULES):
        raise ArgumentError("rule", rule, rule="it must be an EventRule or a ThresholdRule")
    if lag is not None and not smooth:
        raise ArgumentError("lag", lag, "is {}, without smooth=True", remedy="give both")
    return chain, rule


class Decoder:
    """Decides the events of whole streams.

    Parameters
    ----------
    rule : EventRule or ThresholdRule
        How they are decided.
    classes : tuple
        Those of the probabilities, in their order.
    dtype : dtype
        That of the probabilities.
    independent : bool
        Whether the classes are labels that may be true at once.
    """

    def __init__(
        self, rule: Rule, classes: tuple[Any, ...], dtype: Any, independent: bool = False
    ) -> None:
        self._rule, self._classes, self._core = rule, classes, None
        if isinstance(rule, EventRule):
            self._core = rule.compiled(classes, dtype, independent)
        else:
            rule.check(classes)

    def decide(self, time: Floats, probs: Array) -> Decided:
        """Return the events of one stream, of its rows (T,) and (T, K), by their start."""
        state, confirmed = self.run(self.start(), time, probs)
        parts = zip(confirmed, self.finish(state), strict=True)
        columns = [np.concatenate(pair) for pair in parts]
        order = np.lexsort((columns[0], columns[1]))
        return Decided(*(column[order] for column in columns))

    def start(self) -> Any:
        """Return the state of a new stream."""
        return () if self._core is None else self._core.start()

    def run(self, state: Any, time: Floats, probs: Array) -> tuple[Any, Decided]:
        """Take further rows of a stream: the new state, and the events that are final by now.

        A `ThresholdRule` decides at the end; until then, the state has all rows.
        """
        if self._core is None:
            return (*state, (time, probs)), NONE
        state, *confirmed = self._core.run(state, time, np.ascontiguousarray(probs))
        return state, Decided(*confirmed[:4])

    def finish(self, state: Any) -> Decided:
        """End a stream: its last events."""
        if self._core is not None:
            return Decided(*self._core.finish(state)[:4])
        assert isinstance(self._rule, ThresholdRule)
        time, probs = map(np.concatenate, zip(*state, strict=True))
        return self._rule.decide(time, probs, self._classes)


def _as_table(rows: Rows, events: Events, streams: Ints) -> Any:
    """Return events, each of a stream, as a table of the kind that came in."""
    nw = import_optional("narwhals")
    kind = next(kind for kind in FRAMES if kind == rows.frame.implementation.value)
    table = nw.from_native(events.to_table(kind), eager_only=True)
    column = None if rows.layout is None else rows.layout.columns.get("stream")
    if column is None:
        return table.drop("stream").to_native()
    if column in rows.frame.columns:  # as in the table: a number stays a number
        first = np.unique(rows.stream, return_index=True)[1]
        stream = rows.frame[column][first.tolist()][streams.tolist()].alias("stream")
    else:  # in the index of pandas
        cells = [rows.streams[i] for i in streams.tolist()]
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
    read, rule, found = as_rows(rows), EventRule(max_gap=max_gap), []
    if read.label is None:
        rule_ = "they need a column label" if read.frame is not None else "give label="
        raise ArgumentError("rows", None, "have no labels", rule_)
    for stream, one in read.by_stream().items():
        assert one.label is not None
        if one.independent:
            P = np.where(one.label < 0, np.nan, one.label)
        else:
            P = from_labels(one.label, np.ones(len(one)), len(one.classes)).probs
        decided = Decoder(rule, one.classes, np.float64, one.independent).decide(one.time, P)
        of_stream = listed(stream, one.classes, decided)
        found += [event._replace(probability=None) for event in of_stream]
    return events_of(found, read.time_kind)


def events_of(found: list[Event], kind: TimeKind) -> Events:
    """Return a list of events whose times are shown as they were given: dates in their zone."""
    dates = kind.kind == "date"
    return Events(found, dates=dates, zone=kind.zone_name(offsets=True) if dates else None)


def listed(stream: Any, classes: Sequence[str], decided: Decided) -> list[Event]:
    """Return the events of a stream as a list."""
    return [
        Event(stream, classes[k], start, end, p)
        for k, start, end, p in zip(*(column.tolist() for column in decided), strict=True)
    ]
