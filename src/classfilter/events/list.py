"""Events, and a list of them that shows itself as a table, and is made from one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, Self, SupportsIndex, overload

from ..errors import ArgumentError, RowError
from ..inputs import FRAMES, REMEDY, as_frame, parse_timestamp
from ..support.html import block, table
from ..support.imports import import_optional
from ..support.text import aligned
from ..support.types import NUMBER
from ..support.validation import is_missing
from .dates import (
    check_zone,
    common_zone,
    exact,
    is_date,
    microseconds,
    time_text,
    to_seconds,
    zone_of,
)

EVENT_COLUMNS = ("stream", "class", "start", "end", "duration", "probability")
SHOWN = 10
"""How many events are shown."""
LIST_REMEDY = "give a list of Event, or a table with the columns class, start and end"


class Event(NamedTuple):
    """A class of a stream, from its start to its end.

    Attributes
    ----------
    stream : hashable or None
        The name of the stream; None where there is only one.
    label : str
        The class.
    start : float
        When it begins, in the unit of the rows' times: UNIX seconds, where these were dates.
    end : float or None
        When it ends; None while it is provisional, that is, still going on or not yet confirmed.
    probability : float or None
        The mean probability of the class in it; None where it is not known, as in labelled data.

    Examples
    --------
    >>> event = Event("ann", "walk", 60.0, 90.0, 0.92)
    >>> event.label, event.duration
    ('walk', 30.0)
    """

    stream: Any
    label: str
    start: float
    end: float | None
    probability: float | None = None

    @property
    def duration(self) -> float | None:
        """How long it lasts; None while it is provisional."""
        return None if self.end is None else self.end - self.start


class CurrentEvent(Event):
    """The event of a stream that goes on at present.

    Attributes
    ----------
    final : bool
        Whether nothing that comes can change its class or its start, or withdraw it.
    """

    final = False

    def __new__(cls, *values: Any, final: bool = False) -> Self:
        """Return an event, which also knows whether its start is final."""
        event = super().__new__(cls, *values)
        event.final = final
        return event

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, final={self.final})"


def event_of(
    stream: Any, names: Sequence[str], k: int, start: float, end: float | None, p: float | None
) -> Event:
    """Return the event of a class, by its number."""
    return Event(stream, names[k], start, end, p)


class Events(list[Event]):
    """A list of `Event` that knows what its times are, and shows itself as a table.

    Parameters
    ----------
    events : iterable of Event
        Rows of five values will do.
    dates : bool, default False
        Whether the times are dates, as UNIX seconds; these are shown and written as dates.
    zone : str, optional
        The zone that dates are shown in: ``"Europe/Berlin"``, ``"+02:00"``, ``"UTC"``. Without it
        they are in UTC, and shown without a zone.

    Examples
    --------
    >>> Events([Event("ann", "walk", 0.0, 60.0, 0.9), Event("ann", "sit", 60.0, 90.0, 0.7)])
    2 events, 2 classes, 1 stream
    stream  class  start  end  duration  probability
    ann     walk   0      60   60        0.9
    ann     sit    60     90   30        0.7
    """

    def __init__(
        self, events: Iterable[Any] = (), *, dates: bool = False, zone: str | None = None
    ) -> None:
        check_zone(zone)
        super().__init__(event if isinstance(event, Event) else Event(*event) for event in events)
        self.dates = bool(dates)
        self.zone = zone

    @classmethod
    def of(cls, events: Any) -> Events:
        """Return events as they are given, in a list or in a table, as a list of this type."""
        if isinstance(events, cls):
            return events
        if hasattr(events, "columns") or hasattr(events, "column_names"):
            return cls.from_table(events)
        try:
            return cls(events)
        except TypeError:
            kind = type(events).__name__
            problem = "is not a list of events, but of type {}"
            raise ArgumentError("events", kind, problem=problem, fix=LIST_REMEDY) from None

    @classmethod
    def from_table(cls, df: Any, *, columns: Mapping[str, str] | None = None) -> Events:
        """Return the events of a dataframe of pandas, Polars or PyArrow.

        Parameters
        ----------
        df : dataframe
            With the columns ``class``, ``start`` and ``end``, and perhaps ``stream`` and
            ``probability``; others are ignored. Without ``end``, ``duration`` counts. Times are
            numbers, dates, or dates as text.
        columns : mapping of str to str, optional
            The names of columns in the table, where they differ: ``{"class": "label"}``.

        Examples
        --------
        >>> import polars as pl
        >>> df = pl.DataFrame({"label": ["walk"], "start": [0], "end": [60]})
        >>> Events.from_table(df, columns={"class": "label"})[0]
        Event(stream=None, label='walk', start=0.0, end=60.0, probability=None)
        """
        frame = as_frame(df)
        names = column_names(frame.columns, columns)
        try:
            cells = {name: frame[column].to_list() for name, column in names.items()}
        except OverflowError:  # an event ends a step after its last row
            raise ValueError(
                "an event starts or ends outside of the years 1 to 9999, where there are no dates; "
                "give times as numbers"
            ) from None
        rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
        return from_cells(rows)

    def to_table(self, kind: str = "polars") -> Any:
        """Return the events as a dataframe of ``"polars"``, ``"pandas"`` or ``"pyarrow"``.

        Its columns are ``stream``, ``class``, ``start``, ``end``, ``duration`` (a number) and
        ``probability``. Dates are columns of dates, to the microsecond; in Polars, which has no
        zones such as ``+02:00``, those are in UTC.

        Examples
        --------
        >>> Events([Event("ann", "walk", 0.0, 60.0, 0.9)]).to_table("pandas").columns.tolist()
        ['stream', 'class', 'start', 'end', 'duration', 'probability']
        """
        if kind not in FRAMES:
            raise ArgumentError("kind", kind, must=f"it must be one of {', '.join(FRAMES)}")
        library = import_optional(kind)
        named = [None if e.stream is None else str(e.stream) for e in self]
        text = {"stream": named, "class": [e.label for e in self]}
        times: dict[str, Any] = {"start": [e.start for e in self], "end": [e.end for e in self]}
        numbers = {
            "duration": [e.duration for e in self],
            "probability": [e.probability for e in self],
        }
        make = {"polars": _polars, "pandas": _pandas, "pyarrow": _pyarrow}[kind]
        if not self.dates:
            return make(library, text, {}, times | numbers, None)
        dates = {name: [microseconds(x) for x in column] for name, column in times.items()}
        return make(library, text, dates, numbers, self.zone)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Events: ...
    def __getitem__(self, index: Any) -> Any:
        part = super().__getitem__(index)
        return self._like(part) if isinstance(index, slice) else part

    def _like(self, events: Iterable[Event]) -> Events:
        """Return other events whose times are of the same kind."""
        return Events(events, dates=self.dates, zone=self.zone)

    def _summary(self) -> str:
        labels, streams = {e.label for e in self}, {e.stream for e in self}
        parts = ((len(self), "event"), (len(labels), "class"), (len(streams), "stream"))
        return ", ".join(f"{n} {word}{_plural(word) * (n != 1)}" for n, word in parts)

    def _rows(self) -> list[list[str]]:
        """Return the first events as text."""
        return [
            [
                "" if e.stream is None else str(e.stream),
                e.label,
                time_text(e.start, self.dates, self.zone),
                "" if e.end is None else time_text(e.end, self.dates, self.zone),
                "" if e.duration is None else f"{e.duration:.10g}",
                "" if e.probability is None else f"{e.probability:.3g}",
            ]
            for e in self[:SHOWN]
        ]

    def __repr__(self) -> str:
        if not self:
            return self._summary()
        table = aligned([EVENT_COLUMNS, *self._rows()], left=range(len(EVENT_COLUMNS)))
        rest = [f"... {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        return "\n".join([self._summary(), table, *rest])

    def _repr_html_(self) -> str:
        times: dict[str, list[float]] = {}
        for e in self:
            times.setdefault(e.label, []).append(e.duration or 0.0)
        totals = [[name, len(t), f"{math.fsum(t):.10g}"] for name, t in times.items()]
        rest = f"{len(self) - SHOWN} more events follow." if len(self) > SHOWN else ""
        if not self:
            return block(self._summary())
        total = table(["class", "events", "total time"], totals)
        return block(self._summary(), total, table(EVENT_COLUMNS, self._rows()), rest)


def column_names(header: list[str], columns: Mapping[str, str] | None) -> dict[str, str]:
    """Return the name in the table of each column of events that it has."""
    chosen = dict(columns or {})
    for name, column in chosen.items():
        if name not in EVENT_COLUMNS:
            must = f"it must be one of {', '.join(EVENT_COLUMNS)}"
            raise ArgumentError(
                "columns",
                name,
                problem="names {}",
                must=must,
                fix='give the columns as {"class": "label"}',
            )
        if column not in header:
            problem = f"has {{}} for {name}, which the table does not have"
            raise ArgumentError("columns", column, problem=problem, must=f"it has {header}")
    used = set(chosen.values())
    names = {name: name for name in EVENT_COLUMNS if name in header and name not in used} | chosen
    wanted = ["class", "start", *(["end"] if "duration" not in names else [])]
    missing = [name for name in wanted if name not in names]
    if missing:
        fix = 'name it, columns={"' + missing[0] + '": ...}'
        raise ArgumentError(
            "the table",
            header,
            problem=f"has no column {missing[0]}",
            must=f"it has {header}",
            fix=fix,
        )
    return names


def from_cells(
    rows: list[dict[str, Any]], lines: list[int] | None = None, second_0: Any = None
) -> Events:
    """Return the events of rows of cells, by the names of the columns.

    `lines` are the lines of the rows in a file, for errors. Times that are `Decimal` are seconds
    since `second_0`, as which they are dates or numbers.
    """
    zero = exact(0.0 if second_0 is None else to_seconds("start", second_0))
    dated = set() if second_0 is None else {is_date(second_0)}
    zones = [zone_of(second_0)] if True in dated else []
    events = []

    def reject(row: int, name: str, **fields: Any) -> RowError:
        line = None if lines is None else lines[row]
        return RowError(f"column {name}", rows[row][name], row=row, line=line, **fields)

    def time_of(row: int, name: str) -> float | None:
        cell = rows[row].get(name)
        if name == "end" and is_missing(cell):
            return None
        if isinstance(cell, Decimal):
            return float(cell + zero)
        value = parse_timestamp(cell)
        if value is None or not math.isfinite(value):
            raise reject(row, name, fix=REMEDY)
        dated.add(is_date(cell))
        if is_date(cell):
            zones.append(zone_of(cell))
        if len(dated) > 1:
            raise reject(row, name, must="times must be either all numbers or all dates")
        return value

    for row, cells in enumerate(rows):
        start, end = time_of(row, "start"), time_of(row, "end")
        assert start is not None
        if "end" not in cells and not is_missing(cells["duration"]):
            end = start + _number_of_cell(
                cells["duration"], lambda row=row: reject(row, "duration")
            )
        label = cells["class"]
        if is_missing(label):
            raise reject(row, "class", must="every event needs a class")
        stream, probability = cells.get("stream"), cells.get("probability")
        p = None
        if not is_missing(probability):
            p = _number_of_cell(probability, lambda row=row: reject(row, "probability"))
        name = str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
        events.append(Event(None if is_missing(stream) else stream, name, start, end, p))
    return Events(events, dates=True in dated, zone=common_zone(zones))


def _number_of_cell(cell: Any, rejection: Any) -> float:
    if isinstance(cell, (str, *NUMBER)) and not isinstance(cell, bool):
        try:
            value = float(cell)
        except (ValueError, OverflowError):
            value = math.nan
        if math.isfinite(value):
            return value
    raise rejection().replaced(must="it must be a number")


def _plural(word: str) -> str:
    return "es" if word.endswith("s") else "s"


def _polars(pl: Any, text: Any, dates: Any, numbers: Any, zone: str | None) -> Any:
    zone = "UTC" if zone and zone[0] in "+-" else zone
    columns = {name: pl.Series(name, cells, pl.String) for name, cells in text.items()}
    for name, cells in dates.items():
        columns[name] = pl.Series(name, cells, pl.Int64).cast(pl.Datetime("us", zone))
    columns |= {name: pl.Series(name, cells, pl.Float64) for name, cells in numbers.items()}
    return pl.DataFrame([columns[name] for name in EVENT_COLUMNS])


def _pandas(pd: Any, text: Any, dates: Any, numbers: Any, zone: str | None) -> Any:
    columns = {name: pd.Series(cells, dtype=object) for name, cells in text.items()}
    for name, cells in dates.items():
        moments = pd.to_datetime(pd.Series(cells, dtype="Int64"), unit="us", utc=True)
        columns[name] = moments.dt.tz_convert(check_zone(zone) if zone else None)
    columns |= {name: pd.Series(cells, dtype="float64") for name, cells in numbers.items()}
    return pd.DataFrame({name: columns[name] for name in EVENT_COLUMNS})


def _pyarrow(pa: Any, text: Any, dates: Any, numbers: Any, zone: str | None) -> Any:
    columns = {name: pa.array(cells, pa.string()) for name, cells in text.items()}
    for name, cells in dates.items():
        columns[name] = pa.array(cells, pa.timestamp("us", zone))
    columns |= {name: pa.array(cells, pa.float64()) for name, cells in numbers.items()}
    return pa.table({name: columns[name] for name in EVENT_COLUMNS})
