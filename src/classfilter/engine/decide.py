"""Events of tables and recordings: filter, or take what was filtered, then decide by a rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..events import Decided, Duration, Event, EventRule, Events, ThresholdRule
from ..filters import Filter
from ..inputs import (
    FRAMES,
    TableFormat,
    TableRows,
    TimeKind,
    as_frame,
    columns_by_name_here,
    from_labels,
    naming_streams,
    read_rows,
    table_of,
)
from ..pipeline import Chain, Channels
from ..support.imports import import_optional
from ..support.types import Array, Floats, Ints, Weights
from ..support.validation import class_order
from .batch_smoother import smooth_rows
from .recording import Recording
from .recordings import streams_of
from .rows import group_and_sort
from .tables import BatchFilter, format_for, look_at_rows

Rule = EventRule | ThresholdRule
RULES = (EventRule, ThresholdRule)
NONE = Decided(np.empty(0, np.intp), *np.empty((3, 0)))
"""No events."""


def events(
    data: Any,
    filter: Filter | Chain | Rule,  # noqa: A002
    rule: Rule | None = None,
    *,
    smooth: bool = False,
    lag: int | None = None,
    beta: Weights | None = None,
    channel: Channels | None = None,
    sort: bool = False,
    columns: Mapping[str, str] | None = None,
    scores: str = "probabilities",
    unit: str | None = None,
) -> Any:
    """Return events, start, end and class, of a table or of recordings.

    Parameters
    ----------
    data : dataframe, str or Path; or Recording, several, or a mapping of streams to them
        Predictions, which are filtered first; or, where `filter` is a rule, rows that are taken as
        they are: the columns ``f_<class>`` of a table that was filtered before, or ``p_<class>``.
    filter : Filter, Chain, EventRule or ThresholdRule
        What filters the rows, such as a `Tuned`; or a rule, where nothing is to be filtered.
    rule : EventRule or ThresholdRule, optional
        How events are decided; by default, the rule of the chain or, of smoothed rows, that of its
        `smoother`.
    smooth : bool, default False
        Smooth the rows instead of filtering them: better events, after the fact.
    lag : int, optional
        How many later rows each smoothed row uses; by default all.
    beta, channel, sort, columns, scores, unit
        As in `filter_table`. With ``scores="independent"``, and of several labels at once, each
        label is decided by itself, on or off, and events of different labels overlap.

    Returns
    -------
    dataframe of the same kind, or Events
        Of a table: the columns ``stream``, where there is one, ``class``, ``start``, ``end``,
        ``duration`` and ``probability``; streams in order of appearance, in each the events by
        their start. Times are dates where those of the table are, and else numbers: in seconds,
        where there is a `unit`. Of recordings: a list of `Event`.

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
    if isinstance(data, (Recording, Mapping, list, tuple)):
        _require_no_table_options(sort=sort, columns=columns, scores=scores, unit=unit)
        return _of_recordings(data, chain, rule, smooth, lag)
    with table_of(data, columns) as table:
        if chain is None:
            form = filtered_format(as_frame(table).columns, columns, scores, unit)
            rows, independent = read_rows(table, form), form.independent
            classes, P = rows.classes, rows.probs
        else:
            rows = read_rows(table, format_for(chain, columns, scores, unit))
            look_at_rows(rows, chain, unit)
            independent = chain.independent
            classes = tuple(rows.classes[k] for k in class_order(chain, rows.classes))
            if smooth:
                P = smooth_rows(chain, rows, lag=lag, sort=sort)
            else:
                P = BatchFilter(chain).run(rows, sort=sort)
        decoder = Decoder(rule, classes, P.dtype, independent)
        return _as_table(rows, classes, *_of_rows(rows, P, decoder, sort))


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


def _of_rows(rows: TableRows, P: Array, decoder: Decoder, sort: bool) -> tuple[Ints, Decided]:
    """Return the stream of each event of a table, and the events."""
    with naming_streams(rows):
        order, _ = group_and_sort(rows.time, rows.stream.codes, sort, kind=rows.time_kind)
    counts = np.bincount(rows.stream.codes, minlength=len(rows.stream.categories))
    parts = [
        decoder.decide(rows.time[part], P[part]) for part in np.split(order, np.cumsum(counts)[:-1])
    ]
    streams = np.repeat(np.arange(len(parts)), [len(part.k) for part in parts])
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return streams, Decided(*columns) if parts else NONE


def _as_table(rows: TableRows, classes: tuple[str, ...], streams: Ints, decided: Decided) -> Any:
    """Return the events as a table of the kind that came in."""
    nw = import_optional("narwhals")
    names = rows.stream.categories
    found = events_of(
        [
            Event(names[i], classes[k], start, end, p)
            for i, k, start, end, p in zip(
                streams.tolist(), *(column.tolist() for column in decided), strict=True
            )
        ],
        rows.time_kind,
    )
    kind = next(kind for kind in FRAMES if kind == rows.frame.implementation.value)
    table = nw.from_native(found.to_table(kind), eager_only=True)
    column = rows.layout.columns.get("stream")
    if column is None:
        return table.drop("stream").to_native()
    if column in rows.frame.columns:  # as in the table: a number stays a number
        first = np.unique(rows.stream.codes, return_index=True)[1]
        stream = rows.frame[column][first.tolist()][streams.tolist()].alias("stream")
    else:  # in the index of pandas
        cells = [names[i] for i in streams.tolist()]
        stream = nw.new_series("stream", cells, backend=rows.frame.implementation)
    return table.with_columns(stream).to_native()


def label_events(
    recordings: Recording | Iterable[Recording] | Mapping[Any, Recording] | Any,
    max_gap: Duration | None = None,
) -> Events:
    """Return the true events of recordings that have labels: stretches of one label.

    Of several labels at once, they are the stretches in which each label is true.

    Parameters
    ----------
    recordings : Recording, several, or a mapping of streams to them; or a dataframe or a path
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
    >>> rec = cf.Recording(range(4), "a", [[0.9, 0.1]] * 4, ["x", "y"], label=[0, 0, 1, 1])
    >>> [(event.label, event.start, event.end) for event in cf.label_events(rec)]
    [('x', 0.0, 2.0), ('y', 2.0, 4.0)]
    """
    rule, found = EventRule(max_gap=max_gap), []
    kinds = set()
    for stream, rec in _by_stream(streams_of(recordings)).items():
        if rec.label is None:
            remedy = "give recordings with labels"
            raise ArgumentError("recordings", stream, "has no labels in stream {}", remedy=remedy)
        kinds.add(rec._time_kind)
        if rec.independent:
            P = np.where(rec.label < 0, np.nan, rec.label)
        else:
            P = from_labels(rec.label, np.ones(len(rec)), len(rec.classes)).probs
        decided = Decoder(rule, rec.classes, np.float64, rec.independent).decide(rec.time, P)
        found += [event._replace(probability=None) for event in listed(stream, rec, decided)]
    return events_of(found, *kinds)


def _of_recordings(
    data: Any, chain: Chain | None, rule: Rule, smooth: bool, lag: int | None
) -> Events:
    found, kinds = [], set()
    for stream, rec in _by_stream(data).items():
        kinds.add(rec._time_kind)
        if chain is None:
            P = rec.probs
        elif smooth:
            P = rec.smooth(chain, lag=lag)
        else:
            P = rec.run(chain)
        independent = rec.independent if chain is None else chain.independent
        decided = Decoder(rule, rec.classes, P.dtype, independent).decide(rec.time, P)
        found += listed(stream, rec, decided)
    return events_of(found, *kinds)


def events_of(found: list[Event], *kinds: TimeKind) -> Events:
    """Return a list of events whose times are shown as they were given: dates in their zone."""
    dates = any(kind.kind == "date" for kind in kinds)
    if dates and not all(kind.kind == "date" for kind in kinds):
        rule = "times must be either all numbers or all dates"
        raise ArgumentError("recordings", sorted({kind.kind for kind in kinds}), "have {}", rule)
    zones = {kind.zone_name(offsets=True) for kind in kinds}
    zone = zones.pop() if len(zones) == 1 else "UTC"
    return Events(found, dates=dates, zone=zone if dates else None)


def _by_stream(data: Any) -> Mapping[Any, Recording]:
    """Return recordings by the names of their streams; several without names are numbered."""
    several = {None: data} if isinstance(data, Recording) else data
    streams = several if isinstance(several, Mapping) else dict(enumerate(several))
    for stream, rec in streams.items():
        if not isinstance(rec, Recording):
            kind = type(rec).__name__
            problem = f"has {{}} for stream {stream!r}, which is not a Recording"
            raise ArgumentError("recordings", kind, problem)
    return streams


def _require_no_table_options(**given: Any) -> None:
    for name, value in given.items():
        if value not in (None, False, "probabilities"):
            problem = "is {}, which is for tables; the recordings are read already"
            raise ArgumentError(name, value, problem, remedy="leave it out")


def listed(stream: Any, rec: Recording, decided: Decided) -> list[Event]:
    """Return the events of a recording as a list."""
    return [
        Event(stream, rec.classes[k], start, end, p)
        for k, start, end, p in zip(*(column.tolist() for column in decided), strict=True)
    ]


def filtered_format(
    names: list[str], columns: Mapping[str, str] | None, scores: str, unit: str | None
) -> TableFormat:
    """Return the format of a table whose rows are taken as they are: filtered, or predictions.

    `names` are those of its columns.
    """
    filtered, independent = filtered_classes(names, scores)
    if not filtered:
        return TableFormat.of(None, columns, scores, unit)
    named = columns_by_name_here(columns) | {f"p_{name}": f"f_{name}" for name in filtered}
    return TableFormat.of(filtered, named, unit=unit, independent=independent)


def filtered_classes(columns: list[str], scores: str) -> tuple[list[str], bool]:
    """Return the classes that a table was filtered for, if any, and whether they are labels.

    Of several labels at once, a result has a column ``labels`` in place of ``class``.
    """
    independent = scores == "independent" or ("labels" in columns and "class" not in columns)
    names = [name[2:] for name in columns if name.startswith("f_")]
    return names if len(names) > (0 if independent else 1) else [], independent
