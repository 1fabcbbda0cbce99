"""Filter lines as they come: NDJSON in, NDJSON out, a result for each line at once.

A line is a JSON object with ``time``, one ``p_<class>`` per class and, where there are any,
``stream`` and ``source``, as in tables; other keys are left alone. Its result is the same text with
``f_<class>`` and ``class`` added. Where all ``p_<class>`` are null, only time passes. Instead of
them there may be a label, ``prediction``, and its ``confidence``, where the classes are known. Of
several labels at once, each ``p_<label>`` counts by itself and may be null by itself, and
``labels``, a list of those that are on, takes the place of ``class``. An invalid line is rejected
by its number and changes nothing; the rest goes on. Sources that go wrong are reported beside the
rejected lines.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO, cast

from ..engine import Health, changed
from ..errors import ArgumentError
from ..inputs import TableFormat
from ..pipeline import Pipeline
from ..support.atomic import check_folder, check_regular, real_path
from ..support.signals import Signals
from .line_filter import LineFilter
from .line_values import LineError
from .pipes import Sink, lines
from .streams import EventFile, LiveStreams

LINES = 16
"""In many lines at once, it looks after so many; where they come one by one, after each."""


class SourceWatch:
    """Says what is wrong with sources: the first three times of each, then powers of two."""

    def __init__(self, log: TextIO) -> None:
        self._log, self._before = log, Health()
        self._line = 0
        self._times: Counter[tuple[str, str]] = Counter()

    def look(self, streams: LiveStreams | None, line: int, *, now: bool = False) -> None:
        """Report what began or ended, if it is time to look; nothing of several labels at once."""
        if streams is None or not streams.pipe.heads.is_exclusive:
            return
        if not now and line < self._line + LINES:
            return
        self._line = line
        health = streams.tracker.health()
        for source, kind, text in changed(self._before, health):
            self._say(source, kind, text, line)
        self._before = health

    def _say(self, source: str, kind: str, text: str, line: int) -> None:
        self._times[source, kind] += 1
        times = self._times[source, kind]
        if times > 3 and times & (times - 1):
            return
        often = f" (no. {times})" if times > 1 else ""
        print(f"line {line}: source {source!r}: {text}{often}", file=self._log, flush=True)

    def summarize(self) -> None:
        """Say what is still wrong at the end, and how often anything was."""
        for row in self._before:
            times = sum(n for (source, kind), n in self._times.items()
                        if source == row.source and not kind.startswith("no longer"))  # fmt: skip
            if times:
                now = "; ".join(row.verdicts) or "as usual now"
                often = "once" if times == 1 else f"{times} times"
                text = f"source {row.source!r} was reported {often}; at the end: {now}"
                print(text, file=self._log, flush=True)


MakePipe = Callable[[tuple[str, ...]], Pipeline]


class Served(NamedTuple):
    """The counts of `serve`.

    Attributes
    ----------
    lines : int
        All lines, blank ones too.
    filtered, rejected, skipped : int
        Lines with a result, invalid lines, and lines that the file of states has already.
    ended : {"end", "signal"}
        What ended it: the input, or SIGTERM or SIGINT.
    """

    lines: int
    filtered: int
    rejected: int
    skipped: int
    ended: Literal["end", "signal"]


def serve(
    make_pipe: MakePipe,
    form: TableFormat | None = None,
    *,
    source: int = 0,
    sink: int = 1,
    errors: TextIO | None = None,
    state: Path | None = None,
    every: float = 1.0,
    line_number: str | None = None,
    events: Path | None = None,
    finish: bool = False,
    **limits: Any,
) -> Served:
    """Filter lines until the input ends, or SIGTERM or SIGINT comes.

    Parameters
    ----------
    make_pipe : callable
        Returns the pipeline for the classes of the first valid line, in their order there. What it
        raises ends `serve`. A line without a source is of ``"default"``.
    form : TableFormat, optional
        The keys of lines, what their numbers are, and the classes; where it has some, other keys
        ``p_<...>`` are none. Lines that have ``prediction`` need classes there, in a line before
        them, or in the file.
    source, sink : int
        File descriptors to read from and to write to; one write per line.
    errors : text file, optional
        Where messages about rejected lines go; standard error by default.
    state : Path, optional
        A SQLite database of all states: read at the start if it exists, changed as time goes on, at
        the end, and at a signal. It is never ahead of the results. The input goes on after the
        lines that it has taken or, with `line_number`, anywhere before. One process at a time can
        use it.
    every : float, default 1
        Minimum of seconds between two saves. Where these take long, they are further apart.
    line_number : str, optional
        The key of a number that grows from line to line. The file then knows the last one, lines up
        to it are skipped, and a resumed input that leaves some out is an error.
    events : Path, optional
        Append a line for each event that is confirmed to this file; with the path ``-``, write them
        in place of the results. The pipeline needs a rule then. With `state`, they are printed once
        that has them; after a crash, some come again, with the same number. Without it, all streams
        are over at the end, and their last events are confirmed.
    finish : bool, default False
        With `state`, too, all streams are over at the end.
    limits
        ``expire_after``, ``max_streams``, ``max_jump`` and ``lag`` as in `Tracker`; and ``starts``,
        whether a line is written, too, when the start of an event is final: its end is null.

    Raises
    ------
    ValueError
        The file of states is damaged, in use, or was written with another filter; or the input goes
        on behind lines that it lacks.
    BrokenPipeError, ReaderBlocked
        The reader of the results is gone; or, after a signal, it does not read. Nothing is saved
        then.

    Examples
    --------
    >>> import os
    >>> from classfilter import Pipeline, DirichletFilter
    >>> (source, feed), (results, sink) = os.pipe(), os.pipe()
    >>> _ = os.write(feed, b'{"time": 0, "p_rest": 0.75, "p_move": 0.25}')
    >>> os.close(feed)
    >>> serve(lambda classes: Pipeline(DirichletFilter(classes)), source=source, sink=sink)
    Served(lines=1, filtered=1, rejected=0, skipped=0, ended='end')
    >>> os.read(results, 999)[:58]
    b'{"time": 0, "p_rest": 0.75, "p_move": 0.25,"f_rest":0.7808'
    >>> for fd in (source, results, sink):
    ...     os.close(fd)
    """
    log = cast(TextIO, _Log(errors or sys.stderr))
    if not every >= 0:
        raise ValueError(f"every is {every!r}; it must be seconds, 0 or more")
    only = events == Path("-")  # of the sink
    for path in (state, None if only else events):
        if path:
            check_folder(path)
            check_regular(path)
    if state and events and not only and real_path(state) == real_path(events):
        raise ValueError(f"{state} is the file of states and that of events; give two files")
    filtered = rejected = skipped = 0
    with ExitStack() as stack:
        signals = stack.enter_context(Signals())
        live = LineFilter(make_pipe, form or TableFormat(), line_number)
        live.open(state, every, limits)
        stack.callback(live.close)
        if live.streams is not None:
            print(f"{state}: {live.streams.summary()}", file=log, flush=True)
        out, watch = Sink(sink, signals), SourceWatch(log)
        event_file = None
        if events is not None and not only:
            if live.streams is None and events.exists() and events.stat().st_size:
                raise ValueError(
                    f"{events} has events already; give --state of the run that wrote them, or "
                    "another file"
                )
            event_file = EventFile(events)
            stack.callback(event_file.close)
            stack.callback(live.close)  # before that: its thread brings the events to the disk
        print_event = out.write if event_file is None else event_file.write

        def print_events() -> None:
            if live.streams is not None and events is not None:
                for line in live.streams.event_lines():
                    print_event(line)

        sync = (lambda: None) if event_file is None else event_file.sync

        print_events()
        for batch in lines(source, signals, live.wait):
            for line in batch:
                try:
                    result = live.filter_line(line)
                except LineError as error:
                    rejected += 1
                    print(f"line {live.taken}: {error}", file=log, flush=True)
                    continue
                if result is not None:
                    if events is None or not only:
                        out.write(result)
                    filtered += 1
                    if state is None:
                        print_events()
                    if live.first_rows is not None:
                        _say(live.notice(), log)
                    watch.look(live.streams, live.taken)
                elif live.streams is not None and live.streams.skipped > skipped:
                    skipped = live.streams.skipped
                    if skipped & (skipped - 1) == 0:  # the first, and where their count doubles
                        text = f"line {live.taken}: {state} has it already (by its number); skipped"
                        print(f"{text}, {skipped:,} so far", file=log, flush=True)
            watch.look(live.streams, live.taken, now=True)
            if live.streams is not None and live.wait() == 0:
                try:
                    live.streams.save(sync)
                except OSError as error:
                    print(f"{state} was not saved, going on: {error}", file=log, flush=True)
                print_events()
        if live.streams is not None and events is not None and (finish or state is None):
            live.streams.finish()
        if live.streams is not None:
            for _ in range(2):  # then the file forgets the events that were printed
                live.streams.save_all(sync)
                print_events()
        _say(live.notice(end=True), log)
        if skipped:
            text = f"{state} had {skipped:,} lines already; they were skipped"
            print(text, file=log, flush=True)
        watch.summarize()
    ended: Literal["end", "signal"] = "signal" if signals.received else "end"
    return Served(live.taken, filtered, rejected, skipped, ended)


class _Log:
    """Where messages go: one that cannot be written, on a full disk, does not end the service."""

    def __init__(self, to: TextIO) -> None:
        self._to = to

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._to.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._to.flush()


def _say(notice: ArgumentError | None, log: TextIO) -> None:
    """Say what seems to be wrong."""
    if notice is not None:
        print(f"classfilter: {notice.text(typed=True)}", file=log, flush=True)
