"""Filter lines as they come: NDJSON in, NDJSON out, a result for each line at once.

A line is a JSON object with ``time``, one ``p_<class>`` per class and, where there are any,
``stream`` and ``source``, as in tables; other keys are left alone. Its result is the same text with
``f_<class>`` and ``class`` added. Where all ``p_<class>`` are null, only time passes. Instead of
them there may be a label, ``prediction``, where the classes are known. An invalid line is rejected
by its number and changes nothing; the rest goes on.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Mapping
from operator import itemgetter
from pathlib import Path
from reprlib import repr as short
from typing import Any, Literal, NamedTuple, NoReturn, TextIO

import numpy as np

from .. import _core
from .._channel import Channels, correct_source
from .._signals import Signals
from .._typing import Weights
from .._validation import check_weight, class_order, table_label_indices
from ..data._timestamps import parse_timestamp
from ..filters._base import Filter
from ._pipes import MAX_LINE, lines, write
from ._streams import LiveStreams, resume

_BLANK = b" \t\r"
_NUMBERS = frozenset((int, float))

MakeFilter = Callable[[tuple[str, ...]], Filter]


class Served(NamedTuple):
    """The counts of `serve`.

    Attributes
    ----------
    lines : int
        All lines, blank ones too.
    filtered, rejected, skipped : int
        Lines with a result, invalid lines, and lines that the checkpoint has already.
    ended : {"end", "signal"}
        What ended it: the input, or SIGTERM or SIGINT.
    """

    lines: int
    filtered: int
    rejected: int
    skipped: int
    ended: Literal["end", "signal"]


def serve(
    make_filter: MakeFilter,
    beta: Weights = 1.0,
    channel: Channels | None = None,
    *,
    source: int = 0,
    sink: int = 1,
    errors: TextIO | None = None,
    state: Path | None = None,
    every: float = 1.0,
    expire_after: float | None = None,
    max_streams: int | None = None,
    classes: tuple[str, ...] | None = None,
) -> Served:
    """Filter lines until the input ends, or SIGTERM or SIGINT comes.

    Parameters
    ----------
    make_filter : callable
        Returns a filter for the classes of the first valid line, in their order there. What it
        raises ends `serve`.
    beta : mapping of str to float, or float, default 1
        The weight of each source, or one for all. A line without a source is of ``"default"``.
    channel : mapping of str to Channel, optional
        Corrects the predictions of a source before the filter takes them; in the filter's order of
        classes.
    source, sink : int
        File descriptors to read from and to write to; one write per line.
    errors : text file, optional
        Where messages about rejected lines go; standard error by default.
    state : Path, optional
        A checkpoint: read at the start if it exists, replaced as time goes on, at the end, and at a
        signal. It is never ahead of the results. The input may be replayed from any earlier line,
        or just go on: in each stream, lines that it has already are skipped.
    every : float, default 1
        Minimum of seconds between checkpoints. Where these take long, they are further apart.
    expire_after, max_streams : float, int, optional
        When streams are dropped, as in `Tracker`. One that comes again begins anew; in a replay
        too, where its lines from before are filtered again.
    classes : tuple of str, optional
        The classes of lines that have ``prediction``; needed unless a line before them, or the
        checkpoint, has named all.

    Raises
    ------
    ValueError
        The checkpoint is damaged, or was written with another filter.
    BrokenPipeError
        The reader of the results is gone. No checkpoint is written then.

    Examples
    --------
    >>> import os
    >>> from classfilter import DirichletFilter
    >>> (source, feed), (results, sink) = os.pipe(), os.pipe()
    >>> _ = os.write(feed, b'{"time": 0, "p_rest": 0.75, "p_move": 0.25}')
    >>> os.close(feed)
    >>> serve(DirichletFilter, source=source, sink=sink)
    Served(lines=1, filtered=1, rejected=0, skipped=0, ended='end')
    >>> os.read(results, 999)[:58]
    b'{"time": 0, "p_rest": 0.75, "p_move": 0.25,"f_rest":0.7808'
    >>> for fd in (source, results, sink):
    ...     os.close(fd)
    """
    log = errors or sys.stderr
    if not every >= 0:
        raise ValueError(f"every is {every!r}; it must be seconds, 0 or more")
    limits = {"expire_after": expire_after, "max_streams": max_streams}
    live = _Live(make_filter, beta, channel or {}, state, every, limits, classes)
    number = filtered = rejected = 0
    with Signals() as signals:
        for batch in lines(source, signals, live.wait):
            for line in batch:
                number += 1
                try:
                    result = live.filter_line(line)
                except _LineError as error:
                    rejected += 1
                    print(f"line {number}: {error}", file=log, flush=True)
                    continue
                if result is not None:
                    write(sink, result)
                    filtered += 1
            if live.wait() == 0:
                try:
                    live.save()
                except OSError as error:
                    print(f"{state} was not saved, going on: {error}", file=log, flush=True)
        live.save()
    skipped = live.streams.skipped if live.streams else 0
    return Served(number, filtered, rejected, skipped, "signal" if signals.received else "end")


class _LineError(Exception):
    """A line is invalid."""


class _Live:
    """Turns a line into its result."""

    def __init__(
        self,
        make_filter: MakeFilter,
        beta: Weights,
        channel: Channels,
        state: Path | None,
        every: float,
        limits: dict[str, Any],
        classes: tuple[str, ...] | None,
    ) -> None:
        self._channel, self._limits, self._classes = channel, limits, classes
        named = beta if isinstance(beta, Mapping) else {}
        self._for_all = None if isinstance(beta, Mapping) else check_weight("beta", beta)
        self._weights = {name: check_weight(f"beta[{name!r}]", named[name]) for name in named}
        self._make_filter, self._state, self._every = make_filter, state, every
        self._layouts: set[tuple[str, ...]] = set()  # the keys of valid lines
        self.streams: LiveStreams | None = None
        if state and not state.resolve().parent.is_dir():
            raise ValueError(f"{state} cannot be written; make its folder first")
        if state and state.exists():
            self._use(resume(make_filter, state, every, **limits))

    def wait(self) -> float | None:
        return self.streams.wait() if self.streams else None

    def save(self) -> None:
        if self.streams:
            self.streams.save()

    def filter_line(self, line: bytes) -> bytes | None:
        """Return the result, with its newline; None for a blank line or one that is skipped."""
        if len(line) > MAX_LINE:
            raise _LineError(f"is longer than {MAX_LINE:,} bytes; end each object with a newline")
        body = line.strip(_BLANK)
        if not body:
            return None
        row = _parse(body)
        if tuple(row) not in self._layouts:
            self._check_keys(row)
        at, name, source = row["time"], row.get("stream"), row.get("source", "default")
        if type(at) is not float:
            at = _seconds(at)
        if type(name) is not str:
            _check_name(row)
        weight = self._weights.get(source) if type(source) is str else None
        if weight is None:
            weight = self._weight(row)
        probs = self._take(row) if self._keys[0] in row else self._label(row)
        if not _NUMBERS.issuperset(map(type, probs)):
            _check_probs(self._keys, probs)
            probs = (math.nan,) * len(probs)
        try:
            row_probs = list(probs)
            if str(source) in self._channel:
                rows = np.array([row_probs], self._dtype)
                row_probs = correct_source(self._channel, str(source), rows)[0].tolist()
            estimate = self._update(name, at, body, row_probs, weight)
        except (ValueError, TypeError, ArithmeticError) as error:
            _check_probs(self._keys, probs)  # it names the key
            raise _LineError(str(error)) from None
        if estimate is None:
            return None
        f = self._arrange(estimate.tolist())
        added = self._added[f.index(max(f))] % f
        brace = line.rindex(b"}")
        return b"%b%b%b\n" % (line[:brace], added.encode(), line[brace:])

    def _use(self, streams: LiveStreams) -> None:
        """Prepare all that depends on the classes."""
        columns = streams.columns
        order = class_order(streams.fresh, columns).tolist()
        self._keys = [f"p_{columns[k]}" for k in order]
        self._take = itemgetter(*self._keys)
        self._arrange = itemgetter(*(order.index(k) for k in range(len(columns))))
        quoted = [json.dumps(name).replace("%", "%%") for name in columns]
        numbers = "".join(f',"f_{name[1:]}:%r' for name in quoted)
        self._added = [f'{numbers},"class":{name}' for name in quoted]
        self._update = streams.update
        self._dtype = streams.fresh.probs.dtype
        self.streams = streams

    def _check_keys(self, row: dict[str, Any]) -> None:
        """Check the keys of a line; a later line with the same keys needs no check."""
        columns = tuple(key[2:] for key in row if key.startswith("p_"))
        if "time" not in row:
            raise _LineError("time is missing; give a number, or ISO 8601 text")
        if len(columns) < 2 and "prediction" in row:
            columns = self._known_classes()
        if len(columns) < 2:
            hint = "give two or more, one per class, or prediction"
            raise _LineError(f"has {len(columns)} keys p_<class>; {hint}")
        results = [key for key in (*(f"f_{name}" for name in columns), "class") if key in row]
        if results:
            raise _LineError(f"already has {short(results)}; drop or rename them first")
        if not self._layouts:
            self._begin(row, columns)
        known = self.streams.columns if self.streams else columns
        wrong = sorted(set(columns) ^ set(known))
        if wrong:
            what = "is missing" if wrong[0] in known else "is none of the classes"
            hint = f"give p_<class> for each of {list(known)}, and no others"
            raise _LineError(f"{short('p_' + wrong[0])} {what}; {hint}")
        if len(self._layouts) == 1000:
            self._layouts.clear()
        self._layouts.add(tuple(row))

    def _begin(self, row: dict[str, Any], columns: tuple[str, ...]) -> None:
        """Take the classes of the first valid line."""
        _seconds(row["time"])
        _check_name(row)
        self._weight(row)
        keys = [f"p_{name}" for name in columns]
        if keys[0] in row:
            _check_probs(keys, tuple(row[key] for key in keys))
        else:
            _label_index(row, columns)
        if self.streams is None:
            fresh = self._make_filter(columns)
            self._use(LiveStreams(fresh, columns, self._state, self._every, **self._limits))
        elif set(columns) != set(self.streams.columns):
            raise ValueError(
                f"{self._state} was written with the classes {list(self.streams.columns)}, but the "
                f"first line has {list(columns)}; give lines of the same classes, or another file"
            )

    def _known_classes(self) -> tuple[str, ...]:
        """Return the classes that a label may name."""
        known = self.streams.columns if self.streams else self._classes
        if known is None:
            hint = "give p_<class> in the first line, or a filter with names (--config, --classes)"
            raise _LineError(f"has prediction, but the classes are not known; {hint}")
        return known

    def _label(self, row: dict[str, Any]) -> tuple[float, ...]:
        """Return the one-hot row of a label, in the filter's order of classes; NaN without one."""
        assert self.streams is not None
        k = _label_index(row, self.streams.columns)
        if k < 0:
            return (math.nan,) * len(self._keys)
        key = f"p_{self.streams.columns[k]}"
        return tuple(float(name == key) for name in self._keys)

    def _weight(self, row: dict[str, Any]) -> float:
        source = row.get("source", "default")
        if type(source) not in (str, int):
            raise _LineError(f"source is {short(source)}; it must be a name: fill it in")
        if self._for_all is not None:
            return self._for_all
        if str(source) not in self._weights:
            what = "is" if "source" in row else "is missing, which means"
            hint = f"beta names {list(self._weights)}: add it there"
            raise _LineError(f"source {what} {short(source)}, which has no weight; {hint}")
        return self._weights[str(source)]


def _parse(body: bytes) -> dict[str, Any]:
    try:
        text = body.decode()
        try:
            row, end = _scan(text, 0)
        except StopIteration:
            end = -1
        if end != len(text):
            row = _DECODER.decode(text)  # it says what is wrong
        # Each key has a colon: where there are no more of them, no key is there twice.
        more = text.count(":") - len(row) if type(row) is dict else 0
        if more and more != str(row.get("time")).count(":"):
            _STRICT.decode(text)
    except (ValueError, RecursionError) as error:
        why = f"is not JSON: {error}; write one object per line, in UTF-8"
        raise _LineError(f"{short(body)} {why}") from None
    if type(row) is not dict:
        raise _LineError(f"is {short(row)}; it must be an object, {{...}}")
    return row


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number, write null")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for key, value in pairs:
        if key in row:
            raise ValueError(f"the key {short(key)} is there twice")
        row[key] = value
    return row


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_STRICT = json.JSONDecoder(object_pairs_hook=_no_duplicates)
_scan = _DECODER.scan_once  # type: ignore[attr-defined]


def _seconds(value: Any) -> float:
    try:
        at = parse_timestamp(value)
    except OverflowError:
        at = None
    if at is None or not math.isfinite(at):
        hint = "give a finite number, or ISO 8601 text such as 2024-05-01T08:00:00Z"
        raise _LineError(f"time is {short(value)}; {hint}")
    return at


def _label_index(row: dict[str, Any], classes: tuple[str, ...]) -> int:
    """Return the class index of a line's label, -1 where it is missing."""
    label, known = row["prediction"], table_label_indices(classes)
    if label is None or label == "":
        return -1
    if type(label) not in (str, int) or label not in known:
        hint = f"the classes are {list(classes)}: give a name, or null where there is none"
        raise _LineError(f"prediction is {short(label)}; {hint}")
    return known[label]


def _check_name(row: dict[str, Any]) -> None:
    if "stream" in row and type(row["stream"]) not in (str, int):
        raise _LineError(f"stream is {short(row['stream'])}; it must be text or a whole number")


def _check_probs(keys: list[str], probs: tuple[Any, ...]) -> None:
    if all(p is None or p != p for p in probs):
        return
    for key, p in zip(map(short, keys), probs, strict=True):
        if p is None:
            raise _LineError(
                f"{key} is null, but others are not; a missing observation has only null"
            )
        if type(p) not in _NUMBERS:
            raise _LineError(f"{key} is {short(p)}; it must be a number")
        if not abs(p) <= sys.float_info.max:  # the core takes no integer beyond it
            raise _LineError(f"{key} is {short(p)}; a probability must be finite and not negative")
    try:
        _core.check_row(len(probs), list(probs), 1.0, 0.0)
    except ValueError as error:
        text = re.sub(r"^probs\[(\d+)\]", lambda m: short(keys[int(m[1])]), str(error))
        text = text.replace("probs sums", "the p_<class> sum", 1)
        raise _LineError(text.replace("normalise it", "normalise them", 1)) from None
