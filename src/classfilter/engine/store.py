"""The file of streams: a SQLite database that changes as a whole, or not at all."""

from __future__ import annotations

import errno
import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import itemgetter
from os import PathLike
from pathlib import Path, PurePath
from reprlib import repr as short
from typing import Any, NamedTuple, Self
from urllib.parse import quote
from zlib import crc32

import numpy as np

from ..filters import pack_state
from ..pipeline import Pipeline, differing, from_settings
from ..support.atomic import check_regular, naming, real_path
from ..support.types import Array
from .stages import Confirmed
from .table import SPARE, Changes, Columns

VERSION = 1
APPLICATION = 0x636C6673
"""The mark of these files among all SQLite databases."""
SCHEMA = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT)",
    "CREATE TABLE streams (number INTEGER PRIMARY KEY, name, place, time, state BLOB, sum)",
    'CREATE TABLE events (number INTEGER PRIMARY KEY, stream, class, start, "end", probability, '
    "forced, sum)",
)
SPARSE = 4
"""A file whose rows have numbers beyond so many times their count is numbered anew."""
WAIT = 1.0
"""Seconds for another process to end what it has begun; one that keeps the file keeps it longer."""
REMEDY = "move the file away to start over"
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
    streams : Changes
        All streams or, of a save of what changed, some. The slot of a stream is the number of its
        row.
    meta : dict
        What else is known, as JSON has it.
    events : list of (stream, event)
        Events that nobody has fetched yet. A start among them has None as its end and probability.
    first_event : int
        The number of the first of them.
    """

    kind: str
    pipe: Pipeline
    streams: Changes
    meta: dict[str, Any]
    events: list[tuple[Any, Confirmed]]
    first_event: int


class Written(NamedTuple):
    """What a save of this process left in a file, so that the next one writes what changed.

    Attributes
    ----------
    tokens : list of str
        What the save left in the file; then, what a save left that may not have come to its end.
    place : int
        Larger than the places of all streams: they go in the order of these.
    """

    path: Path
    tokens: list[str]
    place: int
    events: list[tuple[Any, Confirmed]]
    first_event: int


class Read(NamedTuple):
    """A file as it was read: what it holds, the rest of each stream's state, and what to keep."""

    saved: Saved
    rest: list[bytes]
    written: Written | None

    def states(self) -> Array:
        """Return the states of the filter, where streams have no others."""
        if any(self.rest):
            raise ValueError("a state is too long")
        return self.saved.streams.columns.states


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
            raise ValueError(
                f"{self.path} is not a {what}, but the file of a {kind}; {self._remedy}"
            )
        return False

    def _meta(self, *names: str) -> list[Any]:
        with self.damage():
            values = dict(self._db.execute("SELECT name, value FROM meta"))
            return [json.loads(values[name]) for name in names]

    def _foreign(self) -> ValueError:
        return ValueError(
            f"{self.path} is damaged, or is not a {CONTENT[self.kind]}; {self._remedy}"
        )

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
            texts = self._db.execute("SELECT name, value FROM meta ORDER BY name").fetchall()
            streams = self._db.execute("SELECT * FROM streams").fetchall()
            events = self._db.execute("SELECT * FROM events ORDER BY number").fetchall()
            meta = {name: json.loads(value) for name, value in texts}
            settings, digest, token, total, count = (
                meta.pop(name) for name in ("settings", "digest", "token", "sum", "count")
            )
            if total != check_sum(*(text for text in texts if text[0] != "sum")):
                raise ValueError("the check sum of its settings is wrong")
            own = from_settings(settings) if pipe is None else pipe
        if own.digest != digest:
            settings.pop("expected", None)
            self.require_same(settings, own.settings)
        with self.damage():
            streams.sort(key=itemgetter(2, 0))  # the database would move the states, too
            if len(streams) != count:
                raise ValueError(f"it has {len(streams)} streams, not {count}")
            for what, rows in {"a stream": streams, "an event": events}.items():
                if any(check_sum(*row[:-1]) != row[-1] for row in rows):
                    raise ValueError(f"the check sum of {what} is wrong")
            columns, rest = _columns(own, [row[3:5] for row in streams])
            names = [_name(row[1]) for row in streams]
            if len(set(names)) < len(names):
                raise ValueError("a stream is there twice")
            slots = np.array([row[0] for row in streams], np.intp)
            place = 1 + max((int(row[2]) for row in streams), default=-1)
            confirmed = [_event(row[:-1], own._names) for row in events]
            first = events[0][0] if events else 1
            if [row[0] for row in events] != [*range(first, first + len(events))]:
                raise ValueError("an event is missing")
        written: Written | None = Written(self.path, [token], place, confirmed, first)
        if not 0 <= slots.min(initial=0) <= slots.max(initial=0) <= SPARSE * len(names) + SPARE:
            slots, written = np.arange(len(names)), None
        there = Changes(names, slots, columns, np.empty(0, np.intp), len(names))
        return Read(Saved(self.kind, own, there, meta, confirmed, first), rest, written)

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

    def since(self, before: Written | None) -> Written | None:
        """Return what the file has by a save of this process; None where all is to be written.

        From now on until `write` nobody else writes.
        """
        with self._faults():
            if not self.path.exists() or self.path.stat().st_ino != self._there:
                self.close()  # it was removed or moved away
                self._open()
            self._hold()
            if before is None or self.is_new or before.path != self.path:
                return None
            [token] = self._meta("token")
        if token not in before.tokens:
            raise ValueError(
                f"{self.path} was written by another process meanwhile; end that, or save to "
                "another file"
            )
        # Where it is the other one, that was complete, but a signal's handler raised after it.
        return before if token == before.tokens[0] else None

    def write(self, saved: Saved, rest: Callable[[int], bytes], since: Written | None) -> Written:
        """Write what changed since a save, which `since` returned, or all.

        `rest` gives that of the state of a stream, by its place in `saved`.
        """
        with self._faults():
            try:
                written = self._change(saved, rest, since)
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

    def _change(self, saved: Saved, rest: Callable[[int], bytes], since: Written | None) -> Written:
        db, token = self._db, os.urandom(8).hex()
        streams, events, there, place = saved.streams, saved.events, 0, 0
        if since is None:
            self._empty()
        else:
            since.tokens[1:] = [token]
            place, there = since.place, len(since.events)
            gone = ((n,) for n in streams.gone.tolist())
            db.executemany("DELETE FROM streams WHERE number = ?", gone)
            if since.first_event != saved.first_event or events[:there] != since.events:
                db.execute("DELETE FROM events")
                there = 0
        rows = _rows(streams, rest)
        db.executemany(
            "INSERT OR REPLACE INTO streams VALUES (?1, ?2, ?3, ?4, ?5, "
            "check_sum(?1, ?2, ?3, ?4, ?5))",
            _new_rows(streams.names, place, rows),
        )
        db.executemany(
            "UPDATE streams SET time = ?2, state = ?3, "
            "sum = check_sum(?1, name, place, ?2, ?3) WHERE number = ?1",
            rows,
        )
        db.executemany(
            "INSERT INTO events VALUES "
            "(?1, ?2, ?3, ?4, ?5, ?6, ?7, check_sum(?1, ?2, ?3, ?4, ?5, ?6, ?7))",
            _event_rows(events[there:], saved.first_event + there, saved.pipe._names),
        )
        meta = saved.meta | {
            "kind": saved.kind,
            "count": streams.total,
            "digest": saved.pipe.digest,
            "token": token,
            "settings": saved.pipe.content,
        }
        texts = [(name, json.dumps(meta[name])) for name in sorted(meta)]
        texts.append(("sum", str(check_sum(*texts))))
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", texts)
        place += len(streams.names)
        return Written(self.path, [token], place, events, saved.first_event)

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
    # The others are for a folder that cannot be written; the last does not see a log.
    log = Path(f"{real_path(path)}-wal")
    has_log = log.exists() and log.stat().st_size
    ways = ["rw"] if write else ["rw", "ro"] if has_log else ["rw", "ro", "ro&immutable=1"]
    for way in ways:
        where, db = f"{uri_of(path.absolute())}?mode={way}", None
        try:
            db = sqlite3.connect(
                where, uri=True, timeout=WAIT, isolation_level=None, check_same_thread=False
            )
            db.execute("PRAGMA trusted_schema = OFF")
            db.create_function("check_sum", -1, check_sum, deterministic=True)
            db.execute("SELECT 1 FROM sqlite_master")
            return db
        except sqlite3.Error as error:
            if db is not None:
                db.close()
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            unwritable = code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
            if not unwritable or way == ways[-1]:
                raise
    raise AssertionError


def uri_of(path: PurePath) -> str:
    r"""Return an absolute path as the database takes it; a Windows share has no host then.

    Examples
    --------
    >>> from pathlib import PurePosixPath, PureWindowsPath
    >>> uri_of(PurePosixPath("/data/what now?.db"))
    'file:///data/what%20now%3F.db'
    >>> uri_of(PureWindowsPath(r"C:\data\state.db")), uri_of(PureWindowsPath(r"\\nas\a\b"))
    ('file:///C:/data/state.db', 'file:////nas/a/b')
    """
    text = quote(os.fsencode(path.as_posix()), "/:")
    return f"file://{'' if text.startswith('/') else '/'}{text}"


def check_sum(*values: Any) -> int:
    """Return a number that tells whether a row has changed."""
    state = values[-1]
    if type(state) is not bytes:
        return crc32(repr(values).encode())
    return crc32(state, crc32(repr(values[:-1]).encode()))


def _new_rows(
    names: Iterable[Any], place: int, rows: Iterator[tuple[int, float, bytes]]
) -> Iterator[tuple[int, Any, int, float, bytes]]:
    """Yield whole rows of streams, while there are names, from this place on."""
    for at, name in enumerate(names, place):
        number, time, state = next(rows)
        yield number, name_as_value(name), at, time, state


def _rows(streams: Changes, rest: Callable[[int], bytes]) -> Iterator[tuple[int, float, bytes]]:
    """Yield the number, the time and the state of streams."""
    columns = streams.columns
    parts = [np.column_stack([columns.seen, columns.jumps]), columns.states]
    little = [np.ascontiguousarray(part, part.dtype.newbyteorder("<")) for part in parts]
    bits = np.hstack([part.view("<u4") for part in little])
    data, size = bits.tobytes(), 4 * bits.shape[1]
    rows = zip(streams.slots.tolist(), columns.times.tolist(), strict=True)
    for i, (number, time) in enumerate(rows):
        yield number, time, data[i * size : (i + 1) * size] + rest(i)


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
