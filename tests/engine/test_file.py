"""Files of streams: what a save writes, and that nothing is lost whatever fails."""

from __future__ import annotations

import random
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import classfilter as cf
from classfilter.engine import store
from classfilter.policy import Adaptive
from ndjson_lines import VALID, as_line, saved_times, serve_here
from saved_files import flipped, sql

CLASSES = ["walk", "sit"]
WEIGHTS = {"weak": 0.25, "strong": 1.0}
GOOD = [0.7, 0.3]
REMEDY = "use the release that wrote it, or move the file away to start over"


class Kind(NamedTuple):
    """What writes a file, and what reads it and returns its content."""

    write: Callable[[Path], Any]
    read: Callable[[Path], Any]


def tracker(path: Path, rows: int = 3) -> None:
    tracker = cf.Tracker(
        cf.DirichletFilter(CLASSES), beta=WEIGHTS, policy=Adaptive(0.5), expire_after=100.0
    )
    for at, stream in enumerate(("ann", 7, ("b", None), "ann", 7)[:rows]):
        tracker.update(stream, float(at), "weak", GOOD)
    tracker.save(path)


def content(tracker: cf.Tracker) -> Any:
    saved = tracker._saved("tracker")
    return (
        repr((saved.streams.names, saved.meta, saved.pipe.settings, saved.events)),
        *(column.tobytes() for column in saved.streams.columns[:4]),
        [tracker._rest_of(saved.streams.columns)(i) for i in range(saved.streams.total)],
    )


def bank(path: Path) -> None:
    bank = cf.Bank(cf.StickyFilter(CLASSES), 3)
    bank.update([GOOD] * 3)
    bank.save(path)


def read_bank(path: Path) -> Any:
    bank = cf.Bank(cf.StickyFilter(CLASSES), 0)
    bank.load(path)
    return [bank.filter(n).probs.tobytes() for n in range(len(bank))]


def lines(path: Path) -> None:
    serve_here([as_line(VALID | {"time": t, "stream": t % 2}) for t in (0, 1, 1, 2)], state=path)


def read_lines(path: Path) -> Any:
    later = [as_line(VALID | {"time": 9, "stream": n}) for n in (0, 1)]
    return serve_here(later, state=path, errors=StringIO()), saved_times(path)


def a_cascade() -> cf.Cascade:
    return cf.Cascade(cf.DirichletFilter(CLASSES), {"net": lambda window: GOOD}, beta=0.5)


def cascade(path: Path) -> None:
    cascade = a_cascade()
    cascade.step([0.0], time=5.0)
    cascade.save(path)


def read_cascade(path: Path) -> Any:
    cascade = a_cascade()
    cascade.load(path)
    return repr(cascade.state)


KINDS = {
    "tracker": Kind(tracker, lambda path: content(cf.Tracker.load(path))),
    "bank": Kind(bank, read_bank),
    "lines": Kind(lines, read_lines),
    "cascade": Kind(cascade, read_cascade),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


# --- what is in the file ----------------------------------------------------------------------


@every_kind
def test_damage_is_told_or_changes_nothing(kind: Kind, tmp_path: Path) -> None:
    """A bit in any place, an end that is cut off, and some bytes at random."""
    path, other, refused, rng = tmp_path / "file", tmp_path / "other", 0, random.Random(0)
    kind.write(path)
    content = path.read_bytes()
    other.write_bytes(content)
    whole, used = kind.read(other), [i for i, byte in enumerate(content) if byte]
    damaged = [flipped(content, at) for at in rng.sample(used, 250)]
    damaged += [content[:at] for at in range(1, len(content), 97)]
    for _ in range(150):
        changed = bytearray(content)
        for at in rng.sample(used, rng.randrange(1, 9)):
            changed[at] = rng.randrange(256)
        damaged.append(bytes(changed))
    for one in damaged:
        for left in tmp_path.glob("other?*"):  # a log that cannot be brought into the file
            left.unlink(missing_ok=True)
        other.write_bytes(one)
        try:
            got = kind.read(other)
        except (ValueError, OSError) as error:
            refused += str(other) in str(error)
        else:
            assert got == whole
    assert refused > len(damaged) / 2


@every_kind
def test_the_file_of_another_kind_is_refused(kind: Kind, tmp_path: Path) -> None:
    for name, other in KINDS.items():
        if other is not kind:
            other.write(tmp_path / name)
            before = (tmp_path / name).read_bytes()
            for use in kind:
                with pytest.raises(ValueError, match=rf"is not a .*, but the file of a {name}; "):
                    use(tmp_path / name)
            assert (tmp_path / name).read_bytes() == before
    sql(tmp_path / "foreign", "CREATE TABLE streams (name)")
    (tmp_path / "text").write_text("some text" * 99)
    for name in ("foreign", "text"):
        before = (tmp_path / name).read_bytes()
        for use in kind:
            with pytest.raises(ValueError, match=f"{name} is damaged, or is not a "):
                use(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before


@every_kind
def test_a_version_that_is_not_known(kind: Kind, tmp_path: Path) -> None:
    kind.write(tmp_path / "file")
    sql(tmp_path / "file", "PRAGMA user_version = 2")
    for use in kind:
        message = f"file has version 2 of the format, but this reads version 1; {REMEDY}$"
        with pytest.raises(ValueError, match=message):
            use(tmp_path / "file")


def test_one_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    path = tmp_path / "file"
    tracker(path)
    assert cf.Tracker.load(path).streams == ["ann", 7, ("b", None)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
    names = [name for (name,) in sql(path, "SELECT name FROM streams")]
    assert names == ["ann", 7, b'["b", null]']


@pytest.mark.parametrize(
    "limits", [{}, {"expire_after": 40.0}, {"max_jump": 60.0}, {"max_streams": 9}]
)
@pytest.mark.parametrize("policy", [None, Adaptive(0.5)])
@pytest.mark.parametrize("seed", range(2))
def test_a_save_of_what_changed_equals_one_of_all(
    limits: Any, policy: Any, seed: int, tmp_path: Path
) -> None:
    """Streams come, go, move, are renamed and take each other's slots; events are fetched."""
    rng, path = random.Random(seed), tmp_path / "file"
    pipe = cf.Pipeline(cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 5)), beta=WEIGHTS, policy=policy)
    first = cf.Tracker(pipe, events=cf.EventRule(0.5), **limits)
    clock = 0.0
    for _ in range(60):
        for _ in range(rng.randrange(4)):
            clock += rng.choice([0.0, 0.0, 1.0, 5.0])
            probs = rng.choice([[0.9, 0.1], [0.2, 0.8], [np.nan, np.nan]])
            wrong = 1e3 * (rng.random() < 0.2)  # some clocks
            with suppress(ValueError):
                first.update(f"s{rng.randrange(20)}", clock + wrong, "weak", probs)
        if limits.get("expire_after") and rng.random() < 0.1:
            first.expire(clock - 10.0)
        if first.streams and rng.random() < 0.2:
            first.drop([rng.choice(first.streams)])
        if first.streams and rng.random() < 0.2:
            first.hand_over(rng.choice(first.streams), f"new{rng.random()}")
        if rng.random() < 0.2:
            first.pop_events()
        if rng.random() < 0.2:
            first = cf.Tracker.load(path) if path.exists() else first
            continue
        first.save(path)
        whole = cf.Tracker.load(path)
        assert content(whole) == content(first)
        first = whole


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    path = tmp_path / "file"
    tracker = cf.Tracker(cf.StickyFilter(CLASSES))
    for name in "abcd":
        tracker.update(name, 1.0, None, GOOD)
    tracker.save(path)
    sql(path, "UPDATE streams SET time = 0")
    tracker.update("b", 1.0, None, GOOD)  # at the same time: the state tells
    tracker.update("e", 1.0, None, GOOD)
    tracker.save(path)
    times = saved_times(path)
    assert times == {"a": 0.0, "b": 1.0, "c": 0.0, "d": 0.0, "e": 1.0}


# --- others -----------------------------------------------------------------------------------


@every_kind
def test_a_file_that_another_process_keeps(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "WAIT", 0.01)
    path = tmp_path / "file"
    kind.write(path)
    with store.StoreFile(path, next(name for name in KINDS if KINDS[name] is kind)):
        with pytest.raises(ValueError, match="file is in use by another process; end that, or"):
            kind.write(path)
        if kind is not KINDS["lines"]:
            kind.read(path)
    kind.write(path)


def test_two_trackers_do_not_write_one_file_in_turn(tmp_path: Path) -> None:
    path = tmp_path / "file"
    tracker(path)
    one, two = cf.Tracker.load(path), cf.Tracker.load(path)
    one.save(path)
    for _ in range(2):
        with pytest.raises(ValueError, match="file was written by another process meanwhile; end"):
            two.save(path)
    two.save(tmp_path / "other")
    one.save(path)


def test_without_locks_of_the_system_a_second_process_is_told(tmp_path: Path) -> None:
    """Some file systems have no flock."""
    child = (
        "import fcntl, sys\n"
        "def flock(*_): raise OSError(37, 'No locks available')\n"
        "fcntl.flock = flock\n"
        "from classfilter.engine import store\n"
        "store.WAIT = 0.01\n"
        f"store.StoreFile({str(tmp_path / 'file')!r}, 'lines')\n"
    )
    with store.StoreFile(tmp_path / "file", "lines"):
        done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True)
    assert done.returncode == 1
    assert "file is in use by another process" in done.stderr


# --- faults -----------------------------------------------------------------------------------


class Faulty(sqlite3.Connection):
    """A connection whose n-th statement fails once, as the database would let it fail."""

    left, code, told = 0, sqlite3.SQLITE_FULL, 0

    def _count(self) -> None:
        Faulty.left -= 1
        if Faulty.left == 0:
            error = sqlite3.OperationalError("it failed")
            error.sqlite_errorcode = Faulty.code
            raise error

    def execute(self, statement: str, *more: Any) -> Any:
        if statement != "ROLLBACK":
            self._count()
        return super().execute(statement, *more)

    def executemany(self, *given: Any) -> Any:
        self._count()
        result = super().executemany(*given)
        self._count()  # it may fail after some of the rows, too
        return result


@contextmanager
def failing(n: int, code: int) -> Iterator[None]:
    """Let the n-th statement fail."""
    connect = sqlite3.connect
    Faulty.left, Faulty.code = n, code
    sqlite3.connect = lambda *given, **how: connect(*given, factory=Faulty, **how)  # type: ignore[assignment]
    try:
        yield
    finally:
        sqlite3.connect = connect


CODES = {
    "disk full": (sqlite3.SQLITE_FULL, OSError),
    "locked": (sqlite3.SQLITE_BUSY, ValueError),
    "read-only": (sqlite3.SQLITE_READONLY, OSError),
    "a broken disk": (sqlite3.SQLITE_IOERR, OSError),
    "a corrupt page": (sqlite3.SQLITE_CORRUPT, ValueError),
}


@pytest.mark.parametrize("fault", CODES)
@pytest.mark.parametrize("new", [True, False])
def test_whichever_statement_fails_nothing_is_lost(fault: str, new: bool, tmp_path: Path) -> None:
    """The error names the file; what was there is there; the next save writes all that changed."""
    path, (code, kind) = tmp_path / "file", CODES[fault]
    tracker = cf.Tracker(cf.StickyFilter(CLASSES), events=cf.EventRule(0.5), max_streams=3)
    for n in range(1, 100):
        before = None if new or not path.exists() else content(cf.Tracker.load(path))
        if new:
            path.unlink(missing_ok=True)
        for i in range(4):
            name = f"s{(n + i) % 5}"
            tracker.update(name, float(n), None, [0.9, 0.1] if n // 3 % 2 else [0.1, 0.9])
        told = None
        try:
            with failing(n, code):
                tracker.save(path)
        except kind as error:
            told = str(error)
        if Faulty.left > 0:
            break
        if told is None:  # only how the next save goes on failed
            assert content(cf.Tracker.load(path)) == content(tracker)
        else:
            assert str(path) in told
            assert (content(cf.Tracker.load(path)) if path.exists() else None) == before
        tracker.save(path)
        assert content(cf.Tracker.load(path)) == content(tracker)
        if n % 7 == 0:
            tracker.pop_events()
    assert n > 10


@pytest.mark.parametrize("fault", CODES)
def test_whichever_statement_of_a_load_fails(fault: str, tmp_path: Path) -> None:
    path, (code, kind) = tmp_path / "file", CODES[fault]
    tracker(path)
    there = path.read_bytes()
    for n in range(1, 30):
        with suppress(kind), failing(n, code):
            cf.Tracker.load(path)
        if Faulty.left > 0:
            break
        assert path.read_bytes() == there
        assert KINDS["tracker"].read(path)
    assert n > 4


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real one: the database may not have more pages than it has."""
    path, connected = tmp_path / "file", store._connected
    tracker = cf.Tracker(cf.StickyFilter(CLASSES))
    tracker.update("ann", 0.0, None, GOOD)
    tracker.save(path)

    def full(*given: Any) -> Any:
        db = connected(*given)
        db.execute("PRAGMA max_page_count = 1")  # it stays as large as it is
        return db

    tracker.update_many([f"s{i}" for i in range(500)], 1.0, None, [GOOD] * 500)
    with monkeypatch.context() as patched:
        patched.setattr(store, "_connected", full)
        with pytest.raises(OSError, match="No space left on device") as error:
            tracker.save(path)
    assert error.value.filename == str(path)
    assert cf.Tracker.load(path).streams == ["ann"]
    tracker.save(path)
    assert len(cf.Tracker.load(path)) == 501


def test_a_corrupt_page(tmp_path: Path) -> None:
    path = tmp_path / "file"
    tracker(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    for use in KINDS["tracker"]:
        with pytest.raises(ValueError, match=re.escape(f"{path} is damaged: ")):
            use(path)


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file can be loaded from there: `_connected` does without a log."""
    tracker(tmp_path / "file")
    connect = sqlite3.connect

    def readonly(where: str, **how: Any) -> Any:
        if where.endswith("mode=rw") or where.endswith("mode=ro"):
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise error
        return connect(where, **how)

    monkeypatch.setattr(sqlite3, "connect", readonly)
    assert KINDS["tracker"].read(tmp_path / "file")
    with pytest.raises(PermissionError) as error:
        tracker(tmp_path / "file")
    assert error.value.filename == str(tmp_path / "file")
    (tmp_path / "file-wal").write_bytes(b"a log, which would not be read")
    with pytest.raises(PermissionError) as error:
        KINDS["tracker"].read(tmp_path / "file")
    assert error.value.filename == str(tmp_path / "file")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for use in (cf.Tracker.load, a_cascade().load, cf.Bank(cf.RawFilter(2), 0).load):
        with pytest.raises(FileNotFoundError) as error:
            use(tmp_path / "file")
        assert error.value.filename == str(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        tracker(tmp_path / "folder" / "file")


def test_a_file_that_was_moved_away_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "file"
    tracker(path)
    again = cf.Tracker.load(path)
    path.rename(tmp_path / "old")
    again.save(path)
    assert content(cf.Tracker.load(path)) == content(again)
    shutil.copy(tmp_path / "old", path)  # an earlier copy in its place
    with pytest.raises(ValueError, match="was written by another process meanwhile"):
        again.save(path)


def test_a_save_that_a_signal_interrupts_after_it_was_complete(tmp_path: Path) -> None:
    """The next one knows that the file has it."""
    path = tmp_path / "file"
    tracker = cf.Tracker(cf.StickyFilter(CLASSES))
    tracker.update("a", 0.0, None, GOOD)
    tracker.save(path)
    tracker.update("b", 0.0, None, GOOD)

    class Interrupted(sqlite3.Connection):
        def execute(self, statement: str, *more: Any) -> Any:
            result = super().execute(statement, *more)
            if statement == "COMMIT":
                raise KeyboardInterrupt
            return result

    connect = sqlite3.connect
    sqlite3.connect = lambda *given, **how: connect(*given, factory=Interrupted, **how)  # type: ignore[assignment]
    try:
        with pytest.raises(KeyboardInterrupt):
            tracker.save(path)
    finally:
        sqlite3.connect = connect
    assert cf.Tracker.load(path).streams == ["a", "b"]
    tracker.update("c", 0.0, None, GOOD)
    tracker.save(path)
    assert content(cf.Tracker.load(path)) == content(tracker)


# --- handlers of signals ----------------------------------------------------------------------

SAVER = """
import os, signal, sys
import classfilter as cf
path, tracker = sys.argv[1], cf.Tracker(cf.StickyFilter(["a", "b"]), events=cf.EventRule(1.0))
for n in range(2000):
    tracker.update(f"s{n}", 0.0, None, [0.5, 0.5])
def stop(*_):
    try:
        tracker.save(path)
    except RuntimeError as error:
        assert "middle of another call" in str(error)
    print(len(cf.Tracker.load(path)), flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, stop)
tracker.save(path)
print("ready", flush=True)
while True:
    tracker.update("s7", 0.0, None, [0.5, 0.5])
    tracker.save(path)
"""


@pytest.mark.parametrize("n", range(3))
def test_a_handler_that_saves_neither_hangs_nor_tears(n: int, tmp_path: Path) -> None:
    """Whatever its own thread is in the middle of: it saves, or is told that it cannot."""
    with subprocess.Popen(
        [sys.executable, "-c", SAVER, str(tmp_path / "file")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(30) == 0
        finally:
            process.kill()
        assert process.stdout.readline() == "2000\n"
