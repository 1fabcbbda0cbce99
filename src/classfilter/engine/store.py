"""The file of streams: settings, names and columns of any table; complete, checked, versioned."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from reprlib import repr as short
from typing import Any, NamedTuple
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.lib.format import (
    read_array,
    read_array_header_1_0,
    read_array_header_2_0,
    read_magic,
)

from ..pipeline import Pipeline, differing, from_settings
from ..support.atomic import atomic_write, check_regular
from ..support.types import Array
from .stages import Confirmed
from .table import Columns

VERSION = 1
NAMES_AT_ONCE = 4096
REMEDY = "move the file away to start from the beginning"
_OF_DAMAGE = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip
_KEYS = ("version", "kind", "digest", "settings", "meta", "streams", "states", "times")


class Saved(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    kind : {"tracker", "bank", "lines", "cascade"}
        What wrote it.
    pipeline : Pipeline
        The settings.
    names : list or None
        The streams, None where they have numbers; where they are dropped, the next to go first.
    columns : Columns
        What is known of each of them.
    meta : dict
        What else is known, as JSON has it.
    more : dict of str to ndarray
        More arrays.
    """

    kind: str
    pipe: Pipeline
    names: Any
    columns: Columns
    meta: dict[str, Any]
    more: dict[str, Array]


def write(path: str | PathLike[str], saved: Saved) -> None:
    """Write a file; it appears complete or not at all, and only its owner can read it."""
    columns = saved.columns._asdict()
    for name in ("extra", "held", "events"):  # objects: what is needed of them is in `more`
        del columns[name]
    arrays: dict[str, Any] = columns | saved.more
    with atomic_write(fspath(path), private=True) as file:
        np.savez(
            file,
            version=VERSION,
            kind=saved.kind,
            digest=saved.pipe.digest,
            settings=json.dumps(saved.pipe.content),
            meta=json.dumps(saved.meta),
            streams=_packed(saved.names),
            **arrays,
        )


def read(
    path: str | PathLike[str], kind: str, otherwise: str, pipe: Pipeline | None = None
) -> Saved:
    """Read a file of a kind, or raise and say what is wrong with it.

    `otherwise` says what else it may be, and the remedy. With `pipe`, the settings must be those.
    """
    content = read_npz(path, otherwise)
    what = otherwise.partition(";")[0]
    version = content["version"].tolist() if "version" in content else VERSION
    if version != VERSION:
        raise ValueError(
            f"{path} has version {short(version)} of the format, but this reads version {VERSION}; "
            f"use the release that wrote it, or {REMEDY}"
        )
    missing = [key for key in _KEYS if key not in content]
    if missing:
        raise ValueError(f"{path} is {what}: it has no {missing[0]!r}")
    if str(content["kind"]) != kind:
        raise ValueError(f"{path} is {what}, but the file of a {content['kind']}")
    with damaged(path):
        settings, meta = (_mapping(str(content[name])) for name in ("settings", "meta"))
        digest = str(content["digest"])
        if pipe is None:
            pipe = from_settings(settings)
    if pipe.digest != digest:
        settings.pop("expected", None)
        require_same(path, settings, pipe.settings)
    with damaged(path):
        names = _unpacked(content["streams"])
        columns = _columns(content, len(content["states"]) if names is None else len(names))
        if names is not None and len(set(names)) < len(names):
            raise ValueError("a stream is there twice")
        more = {key: x for key, x in content.items() if key not in (*_KEYS, "seen", "jumps")}
        return Saved(kind, pipe, names, columns, meta, more)


def _mapping(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if type(found) is not dict:
        raise ValueError(f"it has {short(found)} in place of names and values")
    return found


def finite(number: Any) -> float:
    """Return a number of a file, or raise."""
    if type(number) not in (int, float) or not math.isfinite(number):
        raise ValueError(f"a number in it is {short(number)}")
    return float(number)


def require_same(path: str | PathLike[str], saved: dict[str, Any], here: dict[str, Any]) -> None:
    """Raise, since a file was written with other settings: its states mean something else now."""
    difference = differing(saved, here)
    if difference is None:
        raise ValueError(f"{path} is damaged: its settings are not those that it was written with")
    name, there, now = difference
    raise ValueError(
        f"{path} was written with {name.removeprefix('options.')} {there!r}, but here it is "
        f"{now!r}; give the same, or {REMEDY}"
    )


def _columns(content: dict[str, Array], count: int) -> Columns:
    states = content["states"]
    if states.ndim != 2 or len(states) != count:
        raise ValueError(f"it has states of shape {states.shape} for {count} streams")
    times, seen, jumps = (content[name] for name in ("times", "seen", "jumps"))
    for column in (times, seen, jumps):
        if column.shape != (count,) or column.dtype != np.float64:
            raise ValueError("its columns have unequal lengths")
    if np.isinf([times, seen, jumps]).any():
        raise ValueError("a time is not finite")
    extra, held, events = np.full((3, count), None, object)
    return Columns(np.ascontiguousarray(states), times, seen, jumps, extra, held, events)


def joined(parts: list[bytes]) -> dict[str, Array]:
    """Return bytes of each stream as arrays, for a file."""
    sizes = np.array([len(part) for part in parts], np.int64)
    return {"later": np.frombuffer(b"".join(parts), np.uint8), "later_sizes": sizes}


def split(arrays: dict[str, Array], count: int) -> Iterator[bytes]:
    """Yield the bytes of each stream that `joined` made arrays of."""
    sizes, data = arrays["later_sizes"], arrays["later"].tobytes()
    if sizes.shape != (count,) or not (sizes > 0).all() or sizes.sum() != len(data):
        raise ValueError("the states of its events do not fit its streams")
    ends = np.cumsum(sizes).tolist()
    for end, size in zip(ends, sizes.tolist(), strict=True):
        yield data[end - size : end]


def confirmed(event: Any, classes: range) -> Confirmed:
    """Return an event of a file, or raise: of one of the classes, with times."""
    k, *numbers, forced = event
    if k not in classes or len(numbers) != 3:
        raise ValueError("an event has no class, or no time")
    start, end, probability = map(finite, numbers)
    return int(k), start, end, probability, bool(forced)


@contextmanager
def damaged(path: str | PathLike[str]) -> Iterator[None]:
    """Say of any error in the block that the file is damaged."""
    try:
        yield
    except _OF_DAMAGE as error:
        what = " ".join(str(error).split())
        raise ValueError(f"{path} is damaged: {what}; take an earlier copy, or {REMEDY}") from None


class TooLargeError(ValueError):
    """An array needs more memory than its file has bytes."""


def read_npz(path: str | PathLike[str], otherwise: str) -> dict[str, Array]:
    """Return the arrays of a `.npz` file; `otherwise` says what else it may be, and the remedy.

    They are stored as they are, so none needs more memory than the file has bytes; their headers
    are looked at before there is memory for any of them.
    """
    try:
        check_regular(Path(path))  # opening a pipe would wait for a writer
    except FileExistsError:
        raise ValueError(f"{path} is damaged, or {otherwise}") from None
    with Path(path).open("rb") as opened:
        try:
            with ZipFile(opened) as archive:
                room = os.fstat(opened.fileno()).st_size
                for member in archive.infolist():
                    room -= _size(archive, member, room)
                return {
                    m.filename.removesuffix(".npy"): _array(archive, m) for m in archive.infolist()
                }
        except TooLargeError as error:
            what, _, remedy = otherwise.partition("; ")
            raise ValueError(f"{path} is damaged, or {what}: {error}; {remedy}") from None
        except Exception:  # zipfile and NumPy raise a dozen kinds for a damaged file
            raise ValueError(f"{path} is damaged, or {otherwise}") from None


def _size(archive: ZipFile, member: ZipInfo, room: int) -> int:
    """Return how many bytes an array takes, by its header; raise if these are not in the file."""
    with archive.open(member) as file:
        major, _ = read_magic(file)
        read_header = read_array_header_1_0 if major == 1 else read_array_header_2_0
        shape, _, dtype = read_header(file)
        size = math.prod(map(abs, shape)) * max(dtype.itemsize, 1) + file.tell()
    what = f"{member.filename} takes {size:,} bytes"
    if member.compress_type != ZIP_STORED:
        raise TooLargeError(f"{what}, compressed; it must be stored as it is")
    if size > room:
        raise TooLargeError(f"{what}, but the file has only {room:,} for it")
    return size


def _array(archive: ZipFile, member: ZipInfo) -> Array:
    with archive.open(member) as file:
        array: Array = read_array(file, allow_pickle=False)
    return array


def _packed(names: list[Any] | None) -> Array:
    """Return names as JSON, in bytes; block by block, since JSON takes much memory meanwhile."""
    if names is None:
        return np.frombuffer(b"null", np.uint8)
    blocks = (names[i : i + NAMES_AT_ONCE] for i in range(0, len(names), NAMES_AT_ONCE))
    texts = [json.dumps([name_as_json(name) for name in block])[1:-1].encode() for block in blocks]
    return np.frombuffer(b"[%b]" % b",".join(texts), np.uint8)


def _unpacked(text: Array) -> list[Any] | None:
    if text.dtype != np.uint8:
        raise ValueError("the names of its streams are no text")
    names = json.loads(text.tobytes())
    return None if names is None else [name_from_json(name) for name in names]


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
