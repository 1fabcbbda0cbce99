"""The state of a live stream as bytes, which Spark's state store keeps.

One byte is the version; then come the digest of the settings, 8 bytes; the time of the last row;
the number of rows at that time, 2 bytes, and the hash of each, 8 bytes; and the numbers of the
filter's state, as many as the filter has. All are little-endian.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._support.types import Array, Weights
from ..chain._channel import Channels
from ..filters._base import Filter
from ..live._checkpoint import filter_settings

VERSION = 1
MAX_TIES = 1000
"""So many rows at the time of the last one are remembered: the last ones."""
REMEDY = "start a new checkpoint: another checkpointLocation"
_HEAD = struct.Struct("<B8sdH")


class StreamState(NamedTuple):
    """What is known of a stream after its last row.

    Attributes
    ----------
    time : float
        That of the last row.
    ties : list of int
        The hash of each row at that time.
    numbers : ndarray (S,)
        The filter's state.
    """

    time: float
    ties: list[int]
    numbers: Array


def settings_digest(filter: Filter, beta: Weights, channel: Channels) -> bytes:  # noqa: A002
    """Return 8 bytes that tell settings apart: filter, weights and channels."""
    matrices = {
        name: [c.matrix.tolist(), np.asarray(c.prior).tolist()]
        for name, c in channel.items()
        if c is not None
    }
    weights = dict(beta) if isinstance(beta, Mapping) else beta
    settings = [filter_settings(filter), weights, matrices]
    text = json.dumps(settings, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def pack(state: StreamState, digest: bytes) -> bytes:
    """Return a stream's state as bytes."""
    ties = state.ties[-MAX_TIES:]
    head = _HEAD.pack(VERSION, digest, state.time, len(ties))
    numbers = state.numbers.astype(state.numbers.dtype.newbyteorder("<"), copy=False)
    return head + struct.pack(f"<{len(ties)}q", *ties) + numbers.tobytes()


def unpack(data: bytes, digest: bytes, like: Array, stream: Any) -> StreamState:
    """Return the state that bytes hold, with as many numbers as `like`, or raise and say why not.

    Examples
    --------
    >>> start = np.array([1.0, 1.0])
    >>> data = pack(StreamState(5.0, [7], np.array([2.0, 3.0])), b"settings")
    >>> len(data), unpack(data, b"settings", start, "ann")
    (43, StreamState(time=5.0, ties=[7], numbers=array([2., 3.])))
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
            f"{whose} was written with other settings (digest {written.hex()}) of filter, beta or "
            f"channel than those given (digest {digest.hex()}); give the same, or {REMEDY}"
        )
    start = _HEAD.size + 8 * count
    if len(data) != start + like.nbytes:
        raise ValueError(
            f"{whose} is damaged: it has {len(data)} bytes, not {start + like.nbytes}; {REMEDY}"
        )
    ties = list(struct.unpack_from(f"<{count}q", data, _HEAD.size))
    numbers = np.frombuffer(data, like.dtype.newbyteorder("<"), offset=start).astype(like.dtype)
    return StreamState(time, ties, numbers)
