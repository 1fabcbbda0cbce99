"""When the start and the end of each event become known, if rows come one by one."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..events import Event, event_of
from ..inputs import as_rows
from ..pipeline import Pipeline
from .decide import pipe_and_rule
from .engine import Engine, update_stream_of


class KnownEvent(NamedTuple):
    """An event, and when it was known of.

    Attributes
    ----------
    event : Event
    start_known, end_known : float
        The time of the row by which its start was final, and by which the event was; infinite where
        only the end of the stream told.
    """

    event: Event
    start_known: float
    end_known: float


def known_events(rows: Any, pipe: Pipeline) -> list[KnownEvent]:
    """Return the events of rows, and when `pop_starts` and `pop_events` of a tracker return them.

    Of an event that `max_duration` divides, all pieces have the start of the first one.

    Examples
    --------
    >>> import classfilter as cf
    >>> p = [[1, 0]] * 10 + [[0, 1]] * 10
    >>> rows = cf.rows(time=range(20), probs=p, classes=["rest", "fall"])
    >>> pipe = cf.Pipeline(cf.RawFilter(["rest", "fall"]), rule=cf.EventRule(1.0))
    >>> for event, start_known, end_known in known_events(rows, pipe):
    ...     print(event.label, event.start, start_known, end_known)
    rest 0.0 3.0 14.0
    fall 10.0 14.0 inf
    """
    rows = as_rows(rows)
    _, rule = pipe_and_rule(pipe, None, smooth=False, lag=None)
    engine, update = Engine(pipe, rule=rule, starts=True), update_stream_of(pipe.filter)
    observed = pipe.observe_rows(rows.factorized_sources, rows.probs, rows.one_hot, rows.classes)
    predictions, weights = pipe.heads.for_filter(observed[0]), observed[1]
    classes = tuple(map(str, pipe.classes))
    starts: dict[tuple[Any, int, float], float] = {}
    of_class: dict[tuple[Any, int], float] = {}
    events_known: list[KnownEvent] = []

    def note(at: float) -> None:
        starts.update(dict.fromkeys(engine.pop_starts(), at))
        for stream, (k, start, end, probability, _) in engine.pop():
            key = stream, k
            of_class[key] = starts.pop((*key, start), of_class.get(key, at))
            event = event_of(stream, classes, k, start, end, probability)
            events_known.append(KnownEvent(event, of_class[key], at))

    order, _, _ = rows.grouped()
    for i in order.tolist():
        at = float(rows.time[i])
        engine.take_one(update, rows.streams[rows.stream[i]], at, (predictions[i], weights[i]))
        note(at)
    engine.finish()
    note(math.inf)
    return events_known
