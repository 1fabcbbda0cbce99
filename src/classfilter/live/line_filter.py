"""Turns a line of NDJSON into its result: the same text, with the estimate of its stream."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np

from ..engine import StoreFile
from ..errors import ArgumentError
from ..inputs import COLUMNS, TableFormat, TimeScale, check_named, per_second, softmax
from ..pipeline import DEFAULT_SOURCE, Pipeline
from ..support.validation import factorize
from .line_values import (
    NUMBERS,
    LineError,
    check_name,
    check_probs,
    check_scores,
    head_scores,
    label_probs,
    line_number,
    parse,
    seconds,
)
from .pipes import MAX_LINE
from .streams import LiveStreams, resume

_BLANK = b" \t\r"
MAX_LAYOUTS = 1000
MAX_EXACT = 1 << 53
FIRST_ROWS = 50
"""The times of so many lines are looked at."""


class LineFilter:
    """Filters lines, one after the other.

    Parameters
    ----------
    make_pipe, line_number
        As in `serve`.
    form : TableFormat
        How lines are written.

    Attributes
    ----------
    streams : LiveStreams or None
        None until the classes are known.
    taken : int
        How many lines came.
    first_rows : list or None
        The streams and times of the first lines; None once they have been looked at.
    """

    def __init__(
        self,
        make_pipe: Callable[[tuple[str, ...]], Pipeline],
        form: TableFormat,
        line_number: str | None = None,
    ) -> None:
        self._make_pipe, self._form, self._number_key = make_pipe, form, line_number
        key = {name: form.columns.get(name, name) for name in COLUMNS}
        self._time, self._stream, self._source = key["time"], key["stream"], key["source"]
        self._label_keys = key["prediction"], key["confidence"]
        # By the keys of valid lines: whether they have a label, and whether earlier results.
        self._layouts: dict[tuple[str, ...], tuple[bool, bool]] = {}
        self._factor = per_second(form.unit)
        self.first_rows: list[tuple[str | None, float, bool]] | None = []
        self._unnumbered = self.taken = 0
        self.streams: LiveStreams | None = None

    def open(self, state: Path | None, every: float, limits: Mapping[str, Any]) -> None:
        """Use a file of states, and go on from what it has."""
        self._every, self._limits = every, limits
        self._file = None if state is None else StoreFile(state, "lines", stay=True)
        if self._file is not None and not self._file.is_new:
            try:
                self._use(resume(self._make_pipe, self._file, every, self._form.unit, **limits))
            except BaseException:
                self._file.close()
                raise

    def close(self) -> None:
        """Close the file."""
        if self.streams is not None:
            self.streams.close()
        elif self._file is not None:
            self._file.close()

    def wait(self) -> float | None:
        """Return the seconds until the file is due; None if there is nothing to save."""
        return self.streams.wait() if self.streams else None

    def filter_line(self, line: bytes) -> bytes | None:
        """Return the result, with its newline; None for a blank line or one that is skipped."""
        self.taken += 1
        if self.streams is not None:
            self.streams.taken += 1
        if len(line) > MAX_LINE:
            self._unnumbered += 1
            raise LineError(f"is longer than {MAX_LINE:,} bytes; end each object with a newline")
        body = line.strip(_BLANK)
        if not body:
            return None
        try:
            row = parse(body, self._time)
        except LineError:
            self._unnumbered += 1
            raise
        if self._number_key is not None and not self._take_number(row):
            return None
        layout = self._layouts.get(tuple(row))
        labelled, has_results = layout or self._layout_of(row)
        at, name = row[self._time], row.get(self._stream)
        source = row.get(self._source, DEFAULT_SOURCE)
        if type(at) is not float:
            short_int = type(at) is int and -MAX_EXACT < at < MAX_EXACT
            at = float(at) / self._factor if short_int else seconds(self._time, at, self._factor)
        else:
            at /= self._factor
        if type(name) is not str:
            name = check_name(self._stream, row)
        if type(source) is not str or source not in self._weights:
            self._check_source(row, self._pipe)
        scores = self._label(row) if labelled else self._take(row)
        probs = list(scores)
        if not self._is_exclusive:
            probs = head_scores(self._keys, scores, self._form.scores, self._pipe.heads)
        elif not NUMBERS.issuperset(map(type, scores)):
            check_scores(self._keys, scores)
            # With no probability, a label counts: a table has both columns for all rows.
            labelled = row.get(self._label_keys[0]) is not None
            probs = list(self._label(row)) if labelled else [math.nan] * len(scores)
            self._check_letters(row, "prediction" if math.isnan(probs[0]) else "confidence")
        elif self._form.scores != "probabilities" and not labelled:
            probs = self._converted(scores)
        given: Any = probs
        if labelled and row.get(self._label_keys[1]) is None and probs[0] == probs[0]:
            given = probs.index(max(probs))  # how much a class counts, a smoother may say otherwise
        try:
            estimate = self._update(name, at, source, given)
        except (ValueError, TypeError, ArithmeticError) as error:
            if self._form.scores == "probabilities" and self._is_exclusive:
                check_probs(self._keys, scores)  # it names the key
            raise LineError(str(error)) from None
        if self.first_rows is not None:
            is_date = type(row[self._time]) is str
            self.first_rows.append((name, at, not is_date))
            assert self.streams is not None
            if self.streams.dates is None:
                self.streams.dates = is_date
        f = estimate.tolist()
        if self._is_exclusive:
            added = self._added[f.index(max(f))] % self._arrange(f)
        else:
            added = f"{self._numbers % self._arrange(f)}{self._decided(f)}"
        if has_results:
            line = self._without_results(row)
        brace = line.rindex(b"}")
        return b"%b%b%b\n" % (line[:brace], added.encode(), line[brace:])

    def notice(self, end: bool = False) -> ArgumentError | None:
        """Return, once, what seems to be wrong with the times of the first lines."""
        rows = self.first_rows
        if not rows or not (end or len(rows) in (1, FIRST_ROWS)):
            return None
        names, times, numbers = zip(*rows, strict=True)
        scale = TimeScale(self._form.unit, self._pipe.filter)
        scale.see(np.array(times), factorize(names).codes, all(numbers))
        finding = scale.finding()
        if end or finding is not None or len(rows) >= FIRST_ROWS:
            self.first_rows = None
        return finding

    def _take_number(self, row: dict[str, Any]) -> bool:
        """Return whether the line is new by its number."""
        assert self._number_key is not None
        try:
            number = line_number(self._number_key, row)
        except LineError:
            self._unnumbered += 1
            raise
        return self.streams is None or self.streams.take_line(number, self._unnumbered)

    def _use(self, streams: LiveStreams) -> None:
        """Prepare all that depends on the classes."""
        columns, pipe = streams.columns, streams.pipe
        order = pipe.heads.order_in(columns).tolist()
        self._pipe, self._weights = pipe, pipe._weights
        self._is_exclusive = pipe.heads.is_exclusive
        self._form = _for_pipe(self._form, pipe)
        self._keys = [self._key(columns[k]) for k in order]
        self._take = _items(self._keys)
        self._arrange = _items([order.index(k) for k in range(len(columns))])
        quoted = [json.dumps(name).replace("%", "%%") for name in columns]
        self._numbers = "".join(f',"f_{name[1:]}:%r' for name in quoted)
        self._added = [f'{self._numbers},"class":{quoted[k]}' for k in order]
        self._results = self._result_keys(columns)
        self._update = streams.tracker.update
        self.streams = streams

    def _result_keys(self, columns: tuple[str, ...]) -> list[str]:
        heads = self._form.heads
        return [*(f"f_{name}" for name in columns), *heads.results[len(heads.shown) :]]

    def _decided(self, estimate: list[float]) -> str:
        """Return the class of each head, and the labels that are on, as keys and values."""
        heads, decided, on = self._pipe.heads, dict[str, Any](), list[str]()
        for name, own, span in zip(heads.names, heads.columns, heads.spans, strict=True):
            p = estimate[span]
            if len(own) > 1:
                decided[name] = own[p.index(max(p))].partition(":")[2]
            elif p[0] > 0.5:
                on.append(own[0])
        if heads.labels:
            decided["labels"] = on
        return f",{json.dumps(decided, separators=(',', ':'))[1:-1]}"

    def _key(self, name: str) -> str:
        return self._form.columns.get(f"p_{name}", f"p_{name}")

    def _classes_of(self, row: dict[str, Any]) -> tuple[str, ...]:
        """Return the classes that the keys of a line name, in their order."""
        here = {name: key for key, name in self._form.columns.items()}
        names = [here.get(key, key) for key in row if key in here or key not in self._form.columns]
        classes = tuple(dict.fromkeys(name[2:] for name in names if name.startswith("p_")))
        if self._form.classes and set(self._form.classes) <= set(classes):
            return tuple(name for name in classes if name in self._form.classes)
        return classes

    def _layout_of(self, row: dict[str, Any]) -> tuple[bool, bool]:
        """Return whether a line has a label, and whether earlier results, by its keys.

        The first valid line decides whether keys are named as the classes, without ``p_``.
        """
        form = self._form
        if not self._layouts:
            known = self.streams.columns if self.streams else form.classes
            there = {key: name for name, key in form.columns.items()}
            names = [there.get(key, key) for key in row]
            with _as_of_line():
                keys = replace(form, heads=form.heads.like(known)).unprefixed(names)
            self._form = replace(form, columns={**form.columns, **keys})
        try:
            return self._check_keys(row)
        except BaseException:
            self._form = form
            raise

    def _check_keys(self, row: dict[str, Any]) -> tuple[bool, bool]:
        """Check the keys of a line; a later line with the same keys needs no check."""
        if self._time not in row:
            raise LineError(f"{self._time} is missing; give a number, or ISO 8601 text")
        known = self.streams.columns if self.streams else self._form.classes
        columns = self._classes_of(row)
        complete = set(known) <= set(columns) if known else len(columns) > 1
        alone = "prediction" in self._form.columns or not complete
        labelled = self._label_keys[0] in row and alone and self._form.heads.is_exclusive
        self._check_letters(row, "stream", "source", *(["confidence"] if labelled else []))
        if labelled:
            scored, columns = columns, self._known_classes()
            form = replace(self._form, heads=self._form.heads.like(columns))
            with _as_of_line():  # they are not read
                form.check_scores_beside_labels([name for name in scored if name in columns])
        if len(columns) < self._form.heads.fewest:
            raise LineError(self._too_few(len(columns)))
        new = self._result_keys(columns)
        results = [key for key in new if key in row]
        if results and len(results) < len(new):
            raise LineError(f"already has {short(results)}; drop or rename them first")
        if not self._layouts:
            self._begin(row, columns, labelled)
        known = self.streams.columns if self.streams else columns
        wrong = sorted(set(columns) ^ set(known))
        if wrong:
            what = "is missing" if wrong[0] in known else "is none of the classes"
            hint = f"give p_<class> for each of {list(known)}, and no others"
            raise LineError(f"{short('p_' + wrong[0])} {what}; {hint}")
        if len(self._layouts) == MAX_LAYOUTS:
            self._layouts.clear()
        layout = self._layouts[tuple(row)] = labelled, bool(results)
        return layout

    def _check_letters(self, row: dict[str, Any], *names: str) -> None:
        """Refuse keys that are these in other letters, as tables do: they are not read."""
        here = {key: name for name, key in self._form.columns.items()}
        with _as_of_line():
            check_named([here.get(key, key) for key in row], *names)

    def _too_few(self, count: int) -> str:
        """Return what is wrong with a line that has so many keys."""
        if not self._form.heads.is_exclusive:
            return "has no keys p_<label>; give one per label, null where it was not observed"
        hint = "give two or more, one per class, or prediction"
        if count:
            hint += "; if it is one score by itself, give --scores independent"
        if self._layouts:
            hint = f"give {short(self._keys)}, as in the first line, or prediction"
        return f"has {count} keys p_<class>; {hint}"

    def _begin(self, row: dict[str, Any], columns: tuple[str, ...], labelled: bool) -> None:
        """Take the classes of the first valid line."""
        seconds(self._time, row[self._time], self._factor)
        check_name(self._stream, row)
        pipe = self.streams.pipe if self.streams else self._make_pipe(columns)
        self._form = _for_pipe(self._form, pipe)
        self._check_source(row, pipe)
        keys = [self._key(name) for name in columns]
        if not pipe.heads.is_exclusive:
            keys = [self._key(name) for name in pipe.heads.shown]
            given = tuple(row[key] for key in keys)
            head_scores(keys, given, self._form.scores, pipe.heads)
        elif labelled:
            label_probs(row, self._label_keys, columns, self._form.scores)
        elif self._form.scores == "probabilities":
            check_probs(keys, tuple(row[key] for key in keys))
        else:
            scores = tuple(row[key] for key in keys)
            if check_scores(keys, scores):
                self._converted(scores)
        if self.streams is None:
            where = self._file, self._every, self._form.unit
            self._use(LiveStreams(pipe, columns, *where, **self._limits))
            assert self.streams is not None
            self.streams.taken = self.taken
            if self._number_key is not None:
                self._take_number(row)
        elif set(columns) != set(self.streams.columns):
            raise ValueError(
                f"{self._file and self._file.path} was written with the classes "
                f"{list(self.streams.columns)}, but the first line has {list(columns)}; give lines "
                "of the same classes, or another file"
            )
        else:
            self._use(self.streams)  # with the keys of this line

    def _known_classes(self) -> tuple[str, ...]:
        """Return the classes that a label may name."""
        known = self.streams.columns if self.streams else self._form.classes
        if not known:
            hint = "give p_<class> in the first line, or a filter with names (--config, --classes)"
            raise LineError(f"has prediction, but the classes are not known; {hint}")
        return known

    def _label(self, row: dict[str, Any]) -> tuple[float, ...]:
        """Return the row of a label, in the filter's order of classes."""
        assert self.streams is not None
        columns = self.streams.columns
        certain = str(row.get(self._source, DEFAULT_SOURCE)) in self._pipe._logarithms
        values = label_probs(row, self._label_keys, columns, self._form.scores, certain)
        probs = {self._key(name): p for name, p in zip(columns, values, strict=True)}
        return tuple(probs[key] for key in self._keys)

    def _converted(self, scores: tuple[Any, ...]) -> list[float]:
        """Return logits or percentages as probabilities."""
        try:
            if self._form.scores == "logits":
                logits: list[float] = softmax(scores).tolist()
                return logits
        except (ValueError, OverflowError):
            raise LineError(f"the p_<class> are {short(scores)}; they must be finite") from None
        total = sum(scores)
        if min(scores) < 0 or not abs(total - 100) <= 5:
            hint = "percentages are not negative, and sum to 100"
            raise LineError(f"the p_<class> are {short(scores)}; {hint}")
        return [p / 100 for p in scores]

    def _without_results(self, row: dict[str, Any]) -> bytes:
        """Return a line, written anew without the results that it had."""
        kept = {key: value for key, value in row.items() if key not in self._results}
        return json.dumps(kept).encode()

    def _check_source(self, row: dict[str, Any], pipe: Pipeline) -> None:
        """Raise unless the source of a line has a weight."""
        source = row.get(self._source, DEFAULT_SOURCE)
        if type(source) not in (str, int):
            raise LineError(f"{self._source} is {short(source)}; it must be a name: fill it in")
        if isinstance(pipe.beta, Mapping) and str(source) not in pipe.beta:
            what = "is" if self._source in row else "is missing, which means"
            hint = f"beta names {list(pipe.beta)}: add it there"
            raise LineError(f"{self._source} {what} {short(source)}, which has no weight; {hint}")


@contextmanager
def _as_of_line() -> Iterator[None]:
    """Raise what is wrong with a table as the error of a line."""
    try:
        yield
    except ArgumentError as error:
        raise LineError(error.replaced(argument="it").text(typed=True)) from None


def _for_pipe(form: TableFormat, pipe: Pipeline) -> TableFormat:
    """Return how lines are written: what the pipeline is for."""
    if pipe.heads.is_exclusive and not form.heads.is_exclusive:
        problem = "is {}, but the classes of the filter exclude each other"
        raise ArgumentError("scores", "independent", problem=problem, fix="give a MultiLabelFilter")
    return replace(form, heads=pipe.heads if form.classes else pipe.heads.kind)


def _items(keys: list[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what takes the items of some keys, as a tuple of one too."""
    first = keys[0]
    return itemgetter(*keys) if len(keys) > 1 else lambda row: (row[first],)
