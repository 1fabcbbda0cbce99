"""The result of a comparison of filters, as a table."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..inputs import new_table
from ..support.html import block, bold, table

LOW_IS_GOOD = ("log_loss", "calibration_error", "brier")
HIGH_IS_GOOD = (
    "accuracy", "macro_f1", "micro_f1", "average_precision", "agreement", "event_f1"
)  # fmt: skip
MEASURE_TITLES = {
    "accuracy": "accuracy (%)",
    "macro_f1": "macro-F1 (%)",
    "micro_f1": "micro-F1 (%)",
    "average_precision": "average precision (%)",
    "agreement": "fits the future (times)",
    "log_loss": "log-loss",
    "calibration_error": "calibration error (%)",
    "brier": "Brier",
    "switches": "switches per hour",
    "delay": "delay (s)",
    "event_f1": "event F1@50 (%)",
    "event_precision": "precision (%)",
    "event_recall": "recall (%)",
    "events": "events per hour",
    "event_delay": "start late by (s)",
}
"""The title of each measure. Switches and delay have no best: a flickering estimate is fast."""
LEFT_OUT = ("brier", "calibration_error", "log_loss", "macro_f1", "delay")
"""What text has no place for, in turn: beyond `MOST_COLUMNS`, or the width."""
MOST_COLUMNS = 8
TEXT_WIDTH = 80
TITLE_WIDTH = 8


class Measure(NamedTuple):
    """A value, and its 95 % interval over resamplings of whole streams.

    With fewer than five streams both ends are NaN.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """The measures of one method.

    Attributes
    ----------
    name : str
        The method.
    smoothed : bool
        Whether it uses later rows too: a smoother. It is compared with smoothers only.
    measures : dict of str to Measure
        By the keys of `TITLES`. Of several labels at once they are averages: macro-F1, average
        precision and how well the future fits are means over labels, the others are of all labels
        together. Average precision has no interval.
    by_head : dict of str to dict of str to float
        Of several heads, such as labels, the measures of each: the same, with F1 in place of its
        averages.
    """

    name: str
    smoothed: bool
    measures: dict[str, Measure]
    by_head: dict[str, dict[str, float]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Comparison:
    """All methods on the same recordings; print it for a table.

    Attributes
    ----------
    rows : list of Row
        The methods, from simple to tuned, smoothers last.
    streams, steps : int
        How many recordings have predictions of the reference, and how many rows were measured.
    reference : str
        The source taken as the best.
    true_switches : float
        Changes per hour of the labels; NaN without labels. Of several labels at once, of one.
    labels : tuple of str
        Of several labels at once, their names.
    true_events : float
        Events per hour of the labels, where rows are compared; NaN without labels.
    """

    rows: list[Row] = field(repr=False)
    streams: int
    steps: int
    reference: str
    true_switches: float
    labels: tuple[str, ...] = ()
    true_events: float = float("nan")

    def best(self, measure: str, smoothed: bool = False) -> str | None:
        """Return the method that is best by a measure, among its kind; None if there is none."""
        known = self.rows[0].measures
        if measure not in known:
            raise ValueError(f"measure is {measure!r}; it must be one of {', '.join(known)}")
        rows = [row for row in self.rows if row.smoothed == smoothed]
        rows = [row for row in rows if not np.isnan(row.measures[measure].value)]
        if measure not in (*LOW_IS_GOOD, *HIGH_IS_GOOD) or not rows:
            return None
        sign = -1 if measure in LOW_IS_GOOD else 1
        return max(rows, key=lambda row: sign * row.measures[measure].value).name

    def cells(self, measure: str, intervals: bool = True) -> list[tuple[str, bool]]:
        """Return, for each row, the measure as text and whether it is the best of its kind."""
        names = {self.best(measure, smoothed) for smoothed in (False, True)}
        values = [(row.smoothed, row.measures[measure].value) for row in self.rows]
        best = {value for value, row in zip(values, self.rows, strict=True) if row.name in names}
        texts = [_text(measure, row.measures[measure], intervals) for row in self.rows]
        return [(text, value in best) for text, value in zip(texts, values, strict=True)]

    def to_table(self, kind: str = "polars", *, by_head: bool = False) -> Any:
        """Return the comparison as a dataframe of ``"polars"``, ``"pandas"`` or ``"pyarrow"``.

        `by_head` gives the measures of each label, or each head, where there are several.
        """
        if by_head:
            return self._label_table(kind)
        columns: dict[str, list[Any]] = {
            "method": [row.name for row in self.rows],
            "smoothed": [float(row.smoothed) for row in self.rows],
        }
        for key in self.rows[0].measures:
            for part in Measure._fields:
                name = key if part == "value" else f"{key}_{part}"
                columns[name] = [getattr(row.measures[key], part) for row in self.rows]
        return new_table(columns, kind, text=("method",))

    def _label_table(self, kind: str) -> Any:
        if not self.labels:
            must = "the classes exclude each other"
            raise ArgumentError("by_head", True, must=must, fix="leave it out")
        cells = [(row, label) for row in self.rows for label in self.labels]
        columns: dict[str, list[Any]] = {
            "method": [row.name for row, _ in cells],
            "smoothed": [float(row.smoothed) for row, _ in cells],
            "label": [label for _, label in cells],
        }
        for key in self.rows[0].by_head[self.labels[0]]:
            columns[key] = [row.by_head[label][key] for row, label in cells]
        return new_table(columns, kind, text=("method", "label"))

    def __str__(self) -> str:
        return self.text()

    def text(self, best: Callable[[str], str] = "[{}]".format, width: int = TEXT_WIDTH) -> str:
        """Return a table as text, with `best` applied to the best cells.

        Where it would be wider than `width`, intervals are left out, and then `LEFT_OUT`.
        """
        names = [row.name + " *" * row.smoothed for row in self.rows]
        first = max(map(len, names))
        for keys, intervals in self._choices():
            columns = [self._column(key, intervals) for key in keys]
            widths = [max(len(text) for text, _ in column) for column in columns]
            if first + sum(widths) + 3 * len(widths) <= width:
                break
        height = max(map(len, columns)) - len(names)
        lines = []
        for i, name in enumerate([*[""] * height, *names], -height - len(names)):
            line = f"{name:<{first}}"
            for column, wide in zip(columns, widths, strict=True):
                text, marked = column[i] if -i <= len(column) else ("", False)
                line += " " * (1 + wide - len(text)) + (best(text) if marked else f" {text} ")
            lines.append(line.rstrip())
        notes = [textwrap.fill(note, width) for note in self._notes(intervals)]
        return "\n".join([*lines, "", *notes])

    def _choices(self) -> Iterator[tuple[list[str], bool]]:
        """Give the measures of tables that are ever narrower, and whether they have intervals."""
        keys, spare = list(self.rows[0].measures), list(LEFT_OUT)
        while spare and len(keys) >= MOST_COLUMNS:
            keys = [key for key in keys if key != spare[0]]
            spare = spare[1:]
        yield keys, True
        yield keys, False
        for left_out in spare:
            keys = [key for key in keys if key != left_out]
            yield keys, False

    def _column(self, measure: str, intervals: bool) -> list[tuple[str, bool]]:
        """Return the lines of a title, and the cells, each with whether it is the best."""
        cells = self.cells(measure, intervals)
        wide = max(TITLE_WIDTH, *(len(text) for text, _ in cells))
        title = textwrap.wrap(MEASURE_TITLES[measure], wide, break_long_words=False)
        return [*((line, False) for line in title), *cells]

    def _notes(self, intervals: bool = True) -> list[str]:
        """Return what stands below the table."""
        streams = f"{self.streams} stream" + "s" * (self.streams != 1)
        lines = [f"{streams}, {self.steps} steps; reference: {self.reference}."]
        if intervals and any(
            not np.isnan(m.low) for row in self.rows for m in row.measures.values()
        ):
            lines[-1] += " ± is half of a 95 % interval."
        if any(row.smoothed for row in self.rows):
            lines[-1] += " * smoothed: uses later rows too."
        if self.labels:
            lines[-1] = f"{len(self.labels)} labels, {lines[-1]}"
            if "micro_f1" in self.rows[0].measures:
                lines.append(
                    "A label is on above 0.5. Micro: all labels together; macro, and average "
                    "precision: the mean over labels."
                )
            lines.append("Switches are those of one label, on average.")
        if "switches" in self.rows[0].measures and "events" in self.rows[0].measures:
            lines.append("Events are runs of the most probable class, before any rule for events.")
        if not np.isnan(self.true_switches):
            what = "A label truly" if self.labels else "The true class"
            events = ""
            if not np.isnan(self.true_events):
                events = f", and has {self.true_events:.1f} events"
            lines.append(f"{what} switches {self.true_switches:.1f} times{events} per hour.")
        elif "agreement" in self.rows[0].measures:
            mean = ", the mean over labels" * bool(self.labels)
            lines.append(
                f"Times: how much more likely later predictions of {self.reference} are in its "
                f"class than on average{mean}."
            )
        return lines

    def _repr_html_(self) -> str:
        keys = list(self.rows[0].measures)
        cells = {key: self.cells(key) for key in keys}
        rows = []
        for i, row in enumerate(self.rows):
            texts = [cells[key][i] for key in keys]
            shown = [bold(text) if best else text for text, best in texts]
            rows.append([row.name + " *" * row.smoothed, *shown])
        header = ["", *(MEASURE_TITLES[key] for key in keys)]
        notes = [*self._notes(), "Bold: the best of its kind."]
        return block(table(header, rows), "\n".join(notes))


def _text(measure: str, interval: Measure, with_interval: bool) -> str:
    """Return a value and, if there is one, half its interval, as text."""
    scale, digits = {
        "log_loss": (1, 2), "brier": (1, 2), "agreement": (1, 2), "switches": (1, 1),
        "delay": (1, 0), "events": (1, 1), "event_delay": (1, 0),
    }.get(measure, (100, 1))  # fmt: skip
    value = f"{scale * interval.value:.{digits}f}"
    if np.isnan(interval.low) or not with_interval:
        return value
    return f"{value} ± {scale * (interval.high - interval.low) / 2:.{digits}f}"
