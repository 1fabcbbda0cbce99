"""What is known of one stream as bytes, for a store that keeps each stream by itself.

One byte is the version; then come the digest of the settings, 8 bytes; the time of the last row;
the number of rows at that time, 2 bytes, and the hash of each, 8 bytes; and the numbers of the
filter's state, as many as the filter has. All are little-endian. The rest is what the stages after
the filter know.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from ..support.types import Array

VERSION = 1
MAX_TIES = 1000
"""So many rows at the time of the last one are remembered: the last ones."""
REMEDY = "start a new checkpoint: another checkpointLocation"
_HEAD = struct.Struct("<B8sdH")


class StreamRow(NamedTuple):
    """What is known of a stream after its last row.

    Attributes
    ----------
    time : float
        That of the last row.
    ties : tuple of int
        The hash of each row at that time.
    numbers : ndarray (S,)
        The filter's state.
    later : bytes
        What the stages after the filter know; none where there are none.
    """

    time: float
    ties: tuple[int, ...]
    numbers: Array
    later: bytes = b""


def pack(row: StreamRow, digest: bytes) -> bytes:
    """Return what is known of a stream as bytes."""
    ties = row.ties[-MAX_TIES:]
    head = _HEAD.pack(VERSION, digest, row.time, len(ties))
    numbers = row.numbers.astype(row.numbers.dtype.newbyteorder("<"), copy=False)
    return head + struct.pack(f"<{len(ties)}q", *ties) + numbers.tobytes() + row.later


def unpack(
    data: bytes, digest: bytes, like: Array, stream: Any, *, later: bool = False
) -> StreamRow:
    """Return what bytes hold of a stream, with as many numbers as `like`, or raise and say why not.

    With `later`, they hold the states of the stages after the filter, too.

    Examples
    --------
    >>> start = np.array([1.0, 1.0])
    >>> data = pack(StreamRow(5.0, (7,), np.array([2.0, 3.0])), b"settings")
    >>> len(data), unpack(data, b"settings", start, "ann")
    (43, StreamRow(time=5.0, ties=(7,), numbers=array([2., 3.]), later=b''))
    >>> unpack(data, b"changed.", start, "ann")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: the state of stream 'ann' was written with other settings ...
    """
    whose = f"the state of stream {stream!r}"
    if not data or data[0] != VERSION:
        raise ValueError(
            f"{whose} has version {data[0] if data else None} of the format, but this reads "
            f"version {VERSION}; use the release that wrote it, or {REMEDY}"
        )
    if len(data) < _HEAD.size:
        raise ValueError(f"{whose} is damaged: it has {len(data)} bytes; {REMEDY}")
    _, written, time, count = _HEAD.unpack_from(data)
    if written != digest:
        raise ValueError(
            f"{whose} was written with other settings (digest {written.hex()}) of filter, beta, "
            f"channel or rule than those given (digest {digest.hex()}); give the same, or {REMEDY}"
        )
    start = _HEAD.size + 8 * count
    end = start + like.nbytes
    if (len(data) <= end) if later else (len(data) != end):
        wanted = f"more than {end}" if later else str(end)
        raise ValueError(f"{whose} is damaged: it has {len(data)} bytes, not {wanted}; {REMEDY}")
    ties = tuple(struct.unpack_from(f"<{count}q", data, _HEAD.size))
    kind = like.dtype.newbyteorder("<")
    numbers = np.frombuffer(data, kind, like.size, offset=start).astype(like.dtype)
    return StreamRow(time, ties, numbers, data[end:])
