"""Files of streams: damaged in any place, compressed, of an earlier release or of others."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

import numpy as np
import pytest

import classfilter as cf
from classfilter.engine import store
from classfilter.policy import Adaptive
from ndjson_lines import VALID, as_line, saved_streams, serve_here
from saved_files import flipped, replace_parts

CLASSES = ["walk", "sit"]
WEIGHTS = {"weak": 0.25, "strong": 1.0}
GOOD = [0.7, 0.3]


class Kind(NamedTuple):
    """What writes a file, and what reads it and returns its content."""

    write: Callable[[Path], Any]
    read: Callable[[Path], Any]


def tracker(path: Path) -> None:
    tracker = cf.Tracker(
        cf.DirichletFilter(CLASSES), beta=WEIGHTS, policy=Adaptive(0.5), expire_after=100.0
    )
    for at, stream in enumerate(("ann", 7, ("b", None))):
        tracker.update(stream, float(at), "weak", GOOD)
    tracker.save(path)


def read_tracker(path: Path) -> Any:
    tracker = cf.Tracker.load(path)
    saved = tracker._saved("tracker")
    content = [saved.names, saved.meta, tracker.pipe.settings]
    return *map(repr, content), *(column.tobytes() for column in saved.columns[:4])


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
    return serve_here(later, state=path, errors=StringIO()), saved_streams(path)


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
    "tracker": Kind(tracker, read_tracker),
    "bank": Kind(bank, read_bank),
    "lines": Kind(lines, read_lines),
    "cascade": Kind(cascade, read_cascade),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@every_kind
@pytest.mark.parametrize("step", [61, pytest.param(1, marks=pytest.mark.slow)])
def test_damage_in_any_place_is_refused_or_harmless(kind: Kind, step: int, tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    kind.write(path)
    content = path.read_bytes()
    other.write_bytes(content)
    whole, refused = kind.read(other), 0
    for at in range(0, len(content), step):
        other.write_bytes(flipped(content, at))
        try:
            got, message = kind.read(other), str(other)
        except ValueError as error:
            got, message, refused = whole, str(error), refused + 1
        assert got == whole, f"byte {at}"
        assert str(other) in message, f"byte {at}"
        other.write_bytes(content[:at])
        with pytest.raises(ValueError, match=re.escape(str(other))):
            kind.read(other)
    assert refused > len(content) / step / 2


@every_kind
def test_what_is_compressed_is_refused(kind: Kind, tmp_path: Path) -> None:
    """A thousand bytes of zeros that are packed may become a billion."""
    path, packed = tmp_path / "file", tmp_path / "packed"
    kind.write(path)
    with zipfile.ZipFile(path) as file, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as out:
        for name in file.namelist():
            out.writestr(name, file.read(name))
    with pytest.raises(ValueError, match="packed is damaged, or no"):
        kind.read(packed)


@every_kind
def test_the_file_of_another_kind_is_refused(kind: Kind, tmp_path: Path) -> None:
    for name, other in KINDS.items():
        if other is not kind:
            other.write(tmp_path / name)
            with pytest.raises(ValueError, match=rf"is no.*, but the file of a {name}"):
                kind.read(tmp_path / name)
    for content in (b"", b"some text", b"\x80\x04K\x01."):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(ValueError, match="file is damaged, or no"):
            kind.read(tmp_path / "file")
    np.savez(tmp_path / "other.npz", x=1)
    with pytest.raises(ValueError, match=r"is no.*: it has no 'version'"):
        kind.read(tmp_path / "other.npz")
    np.savez(tmp_path / "other.npz", version=store.VERSION)
    with pytest.raises(ValueError, match=r"is no.*: it has no 'kind'"):
        kind.read(tmp_path / "other.npz")


@pytest.mark.parametrize("version", [2, "x", [1, 2]])
def test_a_version_that_is_not_known(version: Any, tmp_path: Path) -> None:
    tracker(tmp_path / "file")
    replace_parts(tmp_path / "file", version=version)
    message = (
        "of the format, but this reads version 1; use the release that wrote it, or "
        "move the file away to start from the beginning"
    )
    with pytest.raises(ValueError, match=f"file has version .* {message}$"):
        cf.Tracker.load(tmp_path / "file")


class Announced:
    """A lock that says when somebody waits for it a second time."""

    def __init__(self, second: Event) -> None:
        self._lock, self._entered, self._second = Lock(), 0, second

    def __enter__(self) -> None:
        self._entered += 1
        if self._entered == 2:
            self._second.set()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _is_owned(self) -> bool:
        return False


def test_of_two_saves_at_once_the_newer_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is slow, as on a disk that stalls: it ends only once the second waits, or ended."""
    tracker, path = cf.Tracker(cf.RawFilter(CLASSES)), tmp_path / "file"
    tracker.update("old", 0.0, None, GOOD)
    writing, second = Event(), Event()
    monkeypatch.setattr(tracker, "_saving", Announced(second))
    write = store.write

    def slow_write(path: Any, saved: store.Saved) -> None:
        if saved.names == ["old"]:
            writing.set()
            second.wait()
        write(path, saved)

    monkeypatch.setattr(store, "write", slow_write)
    first = Thread(target=tracker.save, args=(path,))
    first.start()
    writing.wait()
    tracker.update("new", 0.0, None, GOOD)
    tracker.save(path)
    second.set()
    first.join()
    assert cf.Tracker.load(path).streams == ["old", "new"]
