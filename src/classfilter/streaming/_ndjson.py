"""Filter lines as they come: NDJSON in, NDJSON out, an answer to each line at once.

A line is a JSON object with ``time``, one ``p_<class>`` a class and, where there are any,
``stream`` and ``source``, as in `classfilter.tables`; other keys are left alone. Its answer is the
same text with ``f_<class>`` and ``class`` added. Where all ``p_<class>`` are null, only time
passes. A line that cannot be used is refused by its number and changes nothing; the rest goes on.
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
from .._validation import check_weight, class_order
from ..data._timestamps import parse_timestamp
from ..filters._base import Filter
from ._pipes import LONGEST, lines, write
from ._streams import LiveStreams, resume

_BLANK = b" \t\r"
_NUMBERS = frozenset((int, float))

Maker = Callable[[tuple[str, ...]], Filter]


class Served(NamedTuple):
    """What was done.

    Attributes
    ----------
    lines : int
        All lines, blank ones too.
    filtered, rejected, skipped : int
        Those answered, those that could not be used, and those passed over because the checkpoint
        has them already.
    ended : {"end", "signal"}
        What ended it: the input, or SIGTERM or SIGINT.
    """

    lines: int
    filtered: int
    rejected: int
    skipped: int
    ended: Literal["end", "signal"]


def serve(
    make_filter: Maker,
    beta: Weights = 1.0,
    channel: Channels | None = None,
    *,
    source: int = 0,
    sink: int = 1,
    errors: TextIO | None = None,
    state: Path | None = None,
    every: float = 1.0,
) -> Served:
    """Answer lines until the input ends, or SIGTERM or SIGINT comes.

    Parameters
    ----------
    make_filter : callable
        Makes a filter for the classes of the first good line, in their order there. What it
        raises ends it all.
    beta : mapping of str to float, or float, default 1
        The weight of each source, or one for all. A line without a source is of ``"default"``.
    channel : mapping of str to Channel, optional
        Puts the answers of a source right before they go in; in the filter's order of classes.
    source, sink : int
        File descriptors to read from and to write to; one write a line.
    errors : text file, optional
        Where refused lines are told; standard error unless given.
    state : Path, optional
        A checkpoint: read at the start if it is there, replaced as time goes on, at the end, and
        at a signal. It is never ahead of the answers. The input may be replayed from any earlier
        line, or just go on: in each stream, lines that it has already are passed over.
    every : float, default 1
        Least seconds between checkpoints. Where these take long, they are further apart.

    Raises
    ------
    ValueError
        The checkpoint is damaged, or was made with another filter.
    BrokenPipeError
        The reader of the answers is gone. No checkpoint is written then.

    Examples
    --------
    >>> import os
    >>> from classfilter import DirichletFilter
    >>> (source, feed), (answers, sink) = os.pipe(), os.pipe()
    >>> _ = os.write(feed, b'{"time": 0, "p_rest": 0.75, "p_move": 0.25}')
    >>> os.close(feed)
    >>> serve(DirichletFilter, source=source, sink=sink)
    Served(lines=1, filtered=1, rejected=0, skipped=0, ended='end')
    >>> os.read(answers, 999)[:58]
    b'{"time": 0, "p_rest": 0.75, "p_move": 0.25,"f_rest":0.7808'
    >>> for fd in (source, answers, sink):
    ...     os.close(fd)
    """
    told = errors or sys.stderr
    if not every >= 0:
        raise ValueError(f"every is {every!r}; it must be seconds, 0 or more")
    live = _Live(make_filter, beta, channel or {}, state, every)
    number = filtered = rejected = 0
    with Signals() as signals:
        for several in lines(source, signals, live.wait):
            for line in several:
                number += 1
                try:
                    answer = live.answer(line)
                except _LineError as error:
                    rejected += 1
                    print(f"line {number}: {error}", file=told, flush=True)
                    continue
                if answer is not None:
                    write(sink, answer)
                    filtered += 1
            if live.wait() == 0:
                try:
                    live.save()
                except OSError as error:
                    print(f"{state} was not saved, going on: {error}", file=told, flush=True)
        live.save()
    skipped = live.streams.skipped if live.streams else 0
    return Served(number, filtered, rejected, skipped, "signal" if signals.asked else "end")


class _LineError(Exception):
    """A line cannot be used."""


class _Live:
    """Turns a line into its answer."""

    def __init__(
        self,
        make_filter: Maker,
        beta: Weights,
        channel: Channels,
        state: Path | None,
        every: float,
    ) -> None:
        self._channel = channel
        named = beta if isinstance(beta, Mapping) else {}
        self._for_all = None if isinstance(beta, Mapping) else check_weight("beta", beta)
        self._weights = {name: check_weight(f"beta[{name!r}]", named[name]) for name in named}
        self._make_filter, self._state, self._every = make_filter, state, every
        self._layouts: set[tuple[str, ...]] = set()  # keys of good lines
        self.streams: LiveStreams | None = None
        if state and not state.resolve().parent.is_dir():
            raise ValueError(f"{state} cannot be written; make its folder first")
        if state and state.exists():
            self._use(resume(make_filter, state, every))

    def wait(self) -> float | None:
        return self.streams.wait() if self.streams else None

    def save(self) -> None:
        if self.streams:
            self.streams.save()

    def answer(self, line: bytes) -> bytes | None:
        """Return the answer, with its newline; None where there is nothing to say."""
        if len(line) > LONGEST:
            raise _LineError(f"is longer than {LONGEST:,} bytes; end each object with a newline")
        body = line.strip(_BLANK)
        if not body:
            return None
        row = _parsed(body)
        if tuple(row) not in self._layouts:
            self._learn(row)
        at, name, source = row["time"], row.get("stream"), row.get("source", "default")
        if type(at) is not float:
            at = _seconds(at)
        if type(name) is not str:
            _check_name(row)
        weight = self._weights.get(source) if type(source) is str else None
        if weight is None:
            weight = self._weight(row)
        probs = self._take(row)
        if not _NUMBERS.issuperset(map(type, probs)):
            _check_probs(self._keys, probs)
            probs = (math.nan,) * len(probs)
        try:
            row_probs = list(probs)
            if str(source) in self._channel:
                given = np.array([row_probs], self._dtype)
                row_probs = correct_source(self._channel, str(source), given)[0].tolist()
            found = self._update(name, at, body, row_probs, weight)
        except (ValueError, TypeError, ArithmeticError) as error:
            _check_probs(self._keys, probs)  # it names the key
            raise _LineError(str(error)) from None
        if found is None:
            return None
        f = self._arrange(found.tolist())
        added = self._added[f.index(max(f))] % f
        brace = line.rindex(b"}")
        return b"%b%b%b\n" % (line[:brace], added.encode(), line[brace:])

    def _use(self, streams: LiveStreams) -> None:
        """Settle all that depends on the classes."""
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

    def _learn(self, row: dict[str, Any]) -> None:
        """Check the keys of a line; the next line with the same ones needs no check."""
        columns = tuple(key[2:] for key in row if key.startswith("p_"))
        if "time" not in row:
            raise _LineError("time is missing; give a number, or ISO 8601 text with a zone")
        if len(columns) < 2:
            raise _LineError(f"has {len(columns)} keys p_<class>; give two or more, one a class")
        taken = [key for key in (*(f"f_{name}" for name in columns), "class") if key in row]
        if taken:
            raise _LineError(f"already has {short(taken)}; drop or rename them first")
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
        """Take the classes of the first good line."""
        _seconds(row["time"])
        _check_name(row)
        self._weight(row)
        keys = [f"p_{name}" for name in columns]
        _check_probs(keys, tuple(row[key] for key in keys))
        if self.streams is None:
            fresh = self._make_filter(columns)
            self._use(LiveStreams(fresh, columns, self._state, self._every))
        elif set(columns) != set(self.streams.columns):
            raise ValueError(
                f"{self._state} was made with the classes {list(self.streams.columns)}, but the "
                f"first line has {list(columns)}; give lines of the same classes, or another file"
            )

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


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        text = body.decode()
        try:
            row, end = _scan(text, 0)
        except StopIteration:
            end = -1
        if end != len(text):
            row = _DECODER.decode(text)  # it has the words for what is wrong
        # Each key has a colon: where there are no more of them, no key is there twice.
        more = text.count(":") - len(row) if type(row) is dict else 0
        if more and more != str(row.get("time")).count(":"):
            _STRICT.decode(text)
    except (ValueError, RecursionError) as error:
        why = f"is not JSON: {error}; write one object a line, in UTF-8"
        raise _LineError(f"{short(body)} {why}") from None
    if type(row) is not dict:
        raise _LineError(f"is {short(row)}; it must be an object, {{...}}")
    return row


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number, write null")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {short(key)} is there twice")
        found[key] = value
    return found


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_STRICT = json.JSONDecoder(object_pairs_hook=_no_duplicates)
_scan = _DECODER.scan_once  # type: ignore[attr-defined]


def _seconds(value: Any) -> float:
    try:
        at = parse_timestamp(value)
    except OverflowError:
        at = None
    if at is None or not math.isfinite(at):
        hint = "give a finite number, or ISO 8601 text with a zone, such as 2024-05-01T08:00:00Z"
        raise _LineError(f"time is {short(value)}; {hint}")
    return at


def _check_name(row: dict[str, Any]) -> None:
    if "stream" in row and type(row["stream"]) not in (str, int):
        raise _LineError(f"stream is {short(row['stream'])}; it must be text or a whole number")


def _check_probs(keys: list[str], probs: tuple[Any, ...]) -> None:
    if all(p is None or p != p for p in probs):
        return
    for key, p in zip(map(short, keys), probs, strict=True):
        if p is None:
            raise _LineError(f"{key} is null, but others are not; where nothing was seen, all are")
        if type(p) not in _NUMBERS:
            raise _LineError(f"{key} is {short(p)}; it must be a number")
    try:
        _core.check_row(len(probs), list(probs), 1.0, 0.0)
    except ValueError as error:
        text = re.sub(r"^probs\[(\d+)\]", lambda m: short(keys[int(m[1])]), str(error))
        raise _LineError(text.replace("probs sums", "the p_<class> sum", 1)) from None
