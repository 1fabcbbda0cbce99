"""The file of streams: a SQLite database that changes as a whole, or not at all."""

from __future__ import annotations

import errno
import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from reprlib import repr as short
from typing import Any, NamedTuple, Self

import numpy as np

from ..filters import pack_state
from ..pipeline import Pipeline, differing, from_settings
from ..support.atomic import check_regular, naming
from ..support.types import Array, Bools, Ints
from .stages import Confirmed
from .table import Columns

VERSION = 1
APPLICATION = 0x636C6673
"""The mark of these files among all SQLite databases."""
SCHEMA = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT)",
    "CREATE TABLE streams (number INTEGER PRIMARY KEY, name, time, state BLOB)",
    'CREATE TABLE events (number INTEGER PRIMARY KEY, stream, class, start, "end", probability, '
    "forced)",
)
WAIT = 1.0
"""Seconds for another process to end what it has begun; one that keeps the file keeps it longer."""
REMEDY = "move the file away to start from the beginning"
CONTENT = {
    "tracker": "saved tracker",
    "bank": "saved bank",
    "lines": "state of streams",
    "cascade": "state of a cascade",
}
_OF_DAMAGE = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip
_ERRNO = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_IOERR: errno.EIO,
}


class Saved(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    kind : {"tracker", "bank", "lines", "cascade"}
        What wrote it.
    pipe : Pipeline
        The settings.
    names : sequence
        The streams; where they are dropped, the next to go first.
    slots : ndarray of int (N,)
        A number of each stream, that it keeps from one save to the next.
    columns : Columns
        What is known of each of them.
    meta : dict
        What else is known, as JSON has it.
    events : list of (stream, event)
        Events that nobody has fetched yet. A start among them has None as its end and probability.
    first_event : int
        The number of the first of them.
    """

    kind: str
    pipe: Pipeline
    names: Sequence[Any]
    slots: Ints
    columns: Columns
    meta: dict[str, Any]
    events: list[tuple[Any, Confirmed]]
    first_event: int


class Read(NamedTuple):
    """A file as it was read: what it holds, the rest of each stream's state, and its rows."""

    saved: Saved
    rest: list[bytes]
    numbers: Ints
    token: str

    def states(self) -> Array:
        """Return the states of the filter, where streams have no others."""
        if any(self.rest):
            raise ValueError("a state is too long")
        return self.saved.columns.states


class Written:
    """What a file has of the streams of a process, so that a save writes only what changed.

    Attributes
    ----------
    token, pending : str
        What the last save left in the file, and what a save left that may not have come to its end.
    numbers : ndarray of int (N,)
        The row of each stream; a stream that goes later than another has a larger one.
    """

    def __init__(self, path: Path, token: str, saved: Saved, numbers: Ints) -> None:
        self.path, self.token, self.pending = path, token, token
        self.slots, self.numbers = saved.slots, numbers
        self.names, self.bits = _objects(saved.names), _bits(saved.columns)
        self.objects = saved.columns[4:]
        self.events, self.first_event = saved.events, saved.first_event

    def rows(self, saved: Saved) -> tuple[Ints, Bools]:
        """Return the row of each stream now, and which of them are to be written."""
        count = len(saved.slots)
        if not len(self.slots):
            return np.arange(1, count + 1), np.ones(count, bool)
        place = np.full(1 + max(self.slots.max(), saved.slots.max(initial=0)), -1)
        place[self.slots] = np.arange(len(self.slots))
        at = place[saved.slots]
        known = (at >= 0) & (self.names[at] == _objects(saved.names)).astype(bool)
        numbers = np.where(known, self.numbers[at], -1)
        same = known & (self.bits[at] == _bits(saved.columns)).all(axis=1)
        for before, now in zip(self.objects, saved.columns[4:], strict=True):
            same &= (before[at] == now).astype(bool)
        # Streams only move to the end: from the first that is out of order, all get new rows.
        largest = np.maximum.accumulate(np.append(0, numbers))[:-1]
        first = np.append(np.flatnonzero(numbers <= largest), count)[0]
        numbers[first:] = 1 + self.numbers.max() + np.arange(count - first)
        same[first:] = False
        return numbers, ~same


class StoreFile:
    """An open file. Its user may write, and nobody else does meanwhile; anybody may read it.

    What is written is in the file as a whole or not at all, whatever ends the process; once `write`
    returns, it is on the disk.

    Parameters
    ----------
    path : path
        Where it is, or will be.
    kind : str
        One of CONTENT.
    remedy : str
        What to do where it is another file.
    write : bool, default True
        Whether to write; other processes are told then that it is in use.
    stay : bool, default False
        Whether they are told so after a `write`, too.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        kind: str,
        remedy: str = REMEDY,
        *,
        write: bool = True,
        stay: bool = False,
    ) -> None:
        self.path, self.kind, self._remedy = Path(path), kind, remedy
        self._writes, self._stays = write, stay
        self._db: Any = None
        try:
            check_regular(self.path)  # opening a pipe would wait for a writer
        except FileExistsError:
            if write:
                raise
            raise self._foreign() from None
        self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file, and remove one that was made for nothing."""
        with suppress(sqlite3.Error):
            if self._db is not None:
                self._db.close()
        if self.is_new and self._is_made:
            self.path.unlink(missing_ok=True)

    def _open(self) -> None:
        self.is_new = self._is_made = self._writes and not self.path.exists()
        if self._is_made:
            with naming(self.path):
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        self._there = self.path.stat().st_ino
        with self._faults():
            try:
                self._db = _connected(self.path, self._writes)
                self.is_new = self._checked()
                if self._writes:
                    # What is committed is on the disk: in the log, and later in the file. A new
                    # file that is written once needs no log.
                    self._db.execute("PRAGMA synchronous = FULL")
                    if self._stays or not self.is_new:
                        self._db.execute("PRAGMA journal_mode = WAL")
                    self._hold()
                    self.is_new = self._checked()
                elif self.is_new:
                    raise self._foreign()
            except BaseException:
                self.close()
                raise

    def _hold(self) -> None:
        """Keep others from writing."""
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def _checked(self) -> bool:
        """Return whether there is nothing in the file yet; raise unless it can be read here."""
        [mark], [version] = (
            self._db.execute(f"PRAGMA {name}").fetchone()
            for name in ("application_id", "user_version")
        )
        schema = [sql for (sql,) in self._db.execute("SELECT sql FROM sqlite_master") if sql]
        if not schema and not mark:
            if 0 < self.path.stat().st_size < 512:  # too short for a database: it counts as none
                raise self._foreign()
            return True
        if mark != APPLICATION:
            raise self._foreign()
        if version != VERSION:
            raise ValueError(
                f"{self.path} has version {version} of the format, but this reads version "
                f"{VERSION}; use the release that wrote it, or {REMEDY}"
            )
        if schema != list(SCHEMA):
            raise self._damage("its tables are others")
        [kind] = self._meta("kind")
        if kind != self.kind:
            what = CONTENT[self.kind]
            raise ValueError(f"{self.path} is no {what}, but the file of a {kind}; {self._remedy}")
        return False

    def _meta(self, *names: str) -> list[Any]:
        with self.damage():
            values = dict(self._db.execute("SELECT name, value FROM meta"))
            return [json.loads(values[name]) for name in names]

    def _foreign(self) -> ValueError:
        return ValueError(f"{self.path} is damaged, or no {CONTENT[self.kind]}; {self._remedy}")

    def _damage(self, what: object) -> ValueError:
        text = " ".join(str(what).split())
        return ValueError(f"{self.path} is damaged: {text}; take an earlier copy, or {REMEDY}")

    @contextmanager
    def damage(self) -> Iterator[None]:
        """Say of any error in the block that the file is damaged."""
        try:
            yield
        except _OF_DAMAGE as error:
            raise self._damage(error) from None

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Let errors of the database name the file."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                remedy = "end that, or give another file"
                what: Exception = ValueError(f"{self.path} is in use by another process; {remedy}")
            elif code in _ERRNO:
                what = OSError(_ERRNO[code], os.strerror(_ERRNO[code]), str(self.path))
            else:
                what = self._foreign() if code == sqlite3.SQLITE_NOTADB else self._damage(error)
            raise what from error

    # ---- reading ----

    def read(self, pipe: Pipeline | None = None) -> Read:
        """Return what the file holds; with `pipe`, the settings must be those."""
        with self._faults(), self.damage():
            if not self._writes:
                self._db.execute("BEGIN")
            texts = self._db.execute("SELECT name, value FROM meta").fetchall()
            streams = self._db.execute("SELECT * FROM streams ORDER BY number").fetchall()
            events = self._db.execute("SELECT * FROM events ORDER BY number").fetchall()
            meta = {name: json.loads(value) for name, value in texts}
            settings, digest, token = (meta.pop(name) for name in ("settings", "digest", "token"))
            own = from_settings(settings) if pipe is None else pipe
        if own.digest != digest:
            settings.pop("expected", None)
            self.require_same(settings, own.settings)
        with self.damage():
            columns, rest = _columns(own, [row[2:] for row in streams])
            names = [_name(row[1]) for row in streams]
            if len(set(names)) < len(names):
                raise ValueError("a stream is there twice")
            numbers = np.array([row[0] for row in streams], np.int64)
            confirmed = [_event(row, own._names) for row in events]
            first = events[0][0] if events else 1
            if [row[0] for row in events] != [*range(first, first + len(events))]:
                raise ValueError("an event is missing")
        slots = np.arange(len(names))
        saved = Saved(self.kind, own, names, slots, columns, meta, confirmed, first)
        return Read(saved, rest, numbers, token)

    def require_same(self, saved: dict[str, Any], here: dict[str, Any]) -> None:
        """Raise for other settings than those of the file: its states mean something else now."""
        difference = differing(saved, here)
        if difference is None:
            raise self._damage("its settings are not those that it was written with")
        name, there, now = difference
        raise ValueError(
            f"{self.path} was written with {name.removeprefix('options.')} {there!r}, but here it "
            f"is {now!r}; give the same, or {REMEDY}"
        )

    # ---- writing ----

    def write(
        self, saved: Saved, rest: Callable[[int], bytes], before: Written | None = None
    ) -> Written:
        """Write what changed since a save, or all; `rest` is that of the state of a stream."""
        with self._faults():
            if not self.path.exists() or self.path.stat().st_ino != self._there:
                self.close()  # it was removed or moved away
                self._open()
            self._hold()
            try:
                written = self._change(saved, rest, before)
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
            was_new, self.is_new = self.is_new, False
            if self._stays:
                self._hold()
            elif was_new:
                with suppress(sqlite3.Error):  # the next to open it tries again
                    self._db.execute("PRAGMA journal_mode = WAL")
        return written

    def _change(
        self, saved: Saved, rest: Callable[[int], bytes], before: Written | None
    ) -> Written:
        db, token, events = self._db, os.urandom(8).hex(), saved.events
        since = self._since(before)
        if since is None:
            self._empty()
            numbers, changed = np.arange(1, len(saved.slots) + 1), np.ones(len(saved.slots), bool)
            there = 0
        else:
            since.pending = token
            numbers, changed = since.rows(saved)
            gone = np.setdiff1d(since.numbers, numbers, assume_unique=True).tolist()
            db.executemany("DELETE FROM streams WHERE number = ?", ((n,) for n in gone))
            there = len(since.events)
            if since.first_event != saved.first_event or events[:there] != since.events:
                db.execute("DELETE FROM events")
                there = 0
        db.executemany(
            "INSERT OR REPLACE INTO streams VALUES (?, ?, ?, ?)",
            _rows(saved, numbers, np.flatnonzero(changed), rest),
        )
        db.executemany(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
            _event_rows(events[there:], saved.first_event + there, saved.pipe._names),
        )
        meta = saved.meta | {
            "kind": saved.kind,
            "digest": saved.pipe.digest,
            "token": token,
            "settings": saved.pipe.content,
        }
        texts = ((name, json.dumps(value)) for name, value in meta.items())
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", texts)
        return Written(self.path, token, saved, numbers)

    def _since(self, before: Written | None) -> Written | None:
        """Return what the file has by a save of this process, None where all is to be written."""
        if before is None or self.is_new or before.path != self.path:
            return None
        [token] = self._meta("token")
        if token == before.token:
            return before
        if token == before.pending:  # it was complete, but a signal's handler raised after it
            return None
        raise ValueError(
            f"{self.path} was written by another process meanwhile; end that, or save to another "
            "file"
        )

    def _empty(self) -> None:
        """Make the tables, or empty them."""
        if self.is_new:
            marks = f"application_id = {APPLICATION}", f"user_version = {VERSION}"
            for statement in (*SCHEMA, *(f"PRAGMA {mark}" for mark in marks)):
                self._db.execute(statement)
        for table in ("meta", "streams", "events"):
            self._db.execute(f"DELETE FROM {table}")


def _connected(path: Path, write: bool) -> sqlite3.Connection:
    """Open a database."""
    # The others are for a folder that cannot be written; in the last, no log is waiting.
    for way in ("rw",) if write else ("rw", "ro", "ro&immutable=1"):
        where, db = f"{path.absolute().as_uri()}?mode={way}", None
        try:
            db = sqlite3.connect(
                where, uri=True, timeout=WAIT, isolation_level=None, check_same_thread=False
            )
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("SELECT 1 FROM sqlite_master")
            return db
        except sqlite3.Error as error:
            if db is not None:
                db.close()
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            unwritable = code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
            if write or not unwritable or "immutable" in way:
                raise
    raise AssertionError


def _objects(values: Sequence[Any]) -> Array:
    return np.fromiter(values, object, len(values))


def _bits(columns: Columns) -> Array:
    """Return time and numbers of each stream as bits, (N, W), to compare and to write."""
    parts = [np.column_stack(columns[1:4]), columns.states]
    little = [np.ascontiguousarray(part, part.dtype.newbyteorder("<")) for part in parts]
    return np.hstack([part.view("<u4") for part in little])


def _rows(
    saved: Saved, numbers: Ints, places: Ints, rest: Callable[[int], bytes]
) -> Iterator[tuple[int, Any, float, bytes]]:
    """Yield the rows of some streams."""
    columns = Columns(*(column[places] for column in saved.columns))
    bits = _bits(columns)[:, 2:]
    data, size = bits.tobytes(), 4 * bits.shape[1]
    row = zip(places.tolist(), numbers[places].tolist(), columns.times.tolist(), strict=True)
    for at, (i, number, time) in enumerate(row):
        state = data[at * size : (at + 1) * size] + rest(i)
        yield number, name_as_value(saved.names[i]), time, state


def _columns(pipe: Pipeline, rows: list[Any]) -> tuple[Columns, list[bytes]]:
    """Return the columns of rows (time, state), checked, and the rest of each state."""
    start, count = pack_state(pipe._fresh.state, pipe._dtype), len(rows)
    size = 16 + start.nbytes
    if any(len(state) < size for _, state in rows):
        raise ValueError("a state is cut off")
    times = np.array([time for time, _ in rows], np.float64)
    data = np.frombuffer(b"".join(state[:size] for _, state in rows), np.uint8).reshape(count, size)
    f8, f = np.dtype("<f8"), start.dtype.newbyteorder("<")
    seen, jumps = (
        np.ascontiguousarray(data[:, first : first + 8]).view(f8)[:, 0].astype(np.float64)
        for first in (0, 8)
    )
    states = np.ascontiguousarray(data[:, 16:]).view(f).astype(start.dtype)
    if np.isinf([times, seen, jumps]).any():
        raise ValueError("a time is not finite")
    extra, held, events = np.full((3, count), None, object)
    columns = Columns(states, times, seen, jumps, extra, held, events)
    return columns, [state[size:] for _, state in rows]


def _event_rows(
    events: Sequence[tuple[Any, Confirmed]], first: int, classes: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    for number, (stream, (k, *times, forced)) in enumerate(events, first):
        yield number, name_as_value(stream), str(classes[k]), *times, int(forced)


def _event(row: tuple[Any, ...], classes: Sequence[str]) -> tuple[Any, Confirmed]:
    """Return an event of a file, or raise: of a class, with times; a start has no end."""
    _, stream, name, start, *rest, forced = row
    end, probability = rest if rest == [None, None] else map(finite, rest)
    k = [*map(str, classes)].index(name)
    return _name(stream), (k, finite(start), end, probability, bool(forced))


def finite(number: Any) -> float:
    """Return a number of a file, or raise."""
    if type(number) not in (int, float) or not math.isfinite(number):
        raise ValueError(f"a number in it is {short(number)}")
    return float(number)


def name_as_value(name: Any) -> Any:
    """Return the name of a stream for a database; as JSON in bytes, where it has no such type."""
    if type(name) is str and name.isascii():
        return name
    value = name_as_json(name)
    if type(value) is str:
        is_plain = value == value.encode(errors="replace").decode()  # no half of a character
    else:
        is_plain = value is None or type(value) is float
        is_plain |= type(value) is int and -(1 << 63) <= value < 1 << 63
    return value if is_plain else json.dumps(value).encode()


def _name(value: Any) -> Any:
    """Return the name that `name_as_value` made a value of."""
    return name_from_json(json.loads(value)) if type(value) is bytes else value


def name_as_json(name: Any) -> Any:
    """Return the name of a stream as JSON has it: a list for a tuple."""
    if isinstance(name, np.generic):
        name = name.item()
    if type(name) is tuple:
        return [name_as_json(part) for part in name]
    if name is not None and type(name) not in (str, int, float, bool):
        raise TypeError(
            f"stream {name!r} is a {type(name).__name__}; a tracker is saved with streams named by "
            "text, numbers, or tuples of them"
        )
    return name


def name_from_json(name: Any) -> Any:
    """Return the name that `name_as_json` wrote."""
    return tuple(map(name_from_json, name)) if type(name) is list else name
