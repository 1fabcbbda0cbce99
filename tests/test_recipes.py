"""The service of docs/recipes.md: neither a full disk nor a hostile line ends it."""

from __future__ import annotations

import asyncio
import doctest
import errno
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import classfilter as cf

PAGE = Path(__file__).parents[1] / "docs/recipes.md"


def service(path: Path) -> Any:
    """Return the service of the page, which saves to a path."""
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text()):
        exec(example.source, names)
        if "Service" in names:
            return names["Service"](path)
    raise AssertionError("the page has no Service")


def test_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    full, save = True, cf.Tracker.save

    def save_if_there_is_room(tracker: cf.Tracker, path: Path) -> None:
        if full:
            raise OSError(errno.ENOSPC, "no space left on device")
        save(tracker, path)

    monkeypatch.setattr(cf.Tracker, "save", save_if_there_is_room)
    running = service(tmp_path / "service.db")

    async def session() -> None:
        nonlocal full
        ended = asyncio.Event()
        saving = asyncio.create_task(running.save(0.001, ended))
        running.tracker.update("ann", 0.0, "strong", [0.9, 0.1])
        while len(caplog.records) < 2 and not saving.done():
            await asyncio.sleep(0)
        assert not running.path.exists()
        full = False
        while not running.path.exists() and not saving.done():
            await asyncio.sleep(0)
        ended.set()
        await saving

    asyncio.run(session())
    assert "was not saved: [Errno 28] no space left on device" in caplog.text
    assert cf.Tracker.load(running.path).streams == ["ann"]


GOOD = {"user": "ann", "time": 0, "source": "strong", "probs": [0.9, 0.1]}
HOSTILE = {
    "deep": (b'{"user": ' + b"[" * 30_000 + b"]" * 30_000 + b"}", b'{"error": "maximum recursion'),
    "an integer beyond all floats": (
        json.dumps(GOOD | {"time": 10**400}).encode(), b'{"error": "time is 1000'
    ),
    "too many digits": (b'{"user": ' + b"9" * 5000 + b"}", b'{"error": '),
    "a list for a name": (json.dumps(GOOD | {"user": [1]}).encode(), b'{"error": "unhashable'),
    "a flag for a time": (json.dumps(GOOD | {"time": True}).encode(), b'{"error": "time is True'),
    "no object": (b"null", b'{"error": '),
    "too long": (b"x" * 100_000, b""),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_line(name: str, tmp_path: Path) -> None:
    """It has an error, or its connection is closed; the next client has an answer."""
    running, (line, expected) = service(tmp_path / "service.db"), HOSTILE[name]
    unhandled: list[Any] = []

    async def session() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, about: unhandled.append(about))
        server = await asyncio.start_server(running.talk, "127.0.0.1", 0)
        replies = []
        for data in (line, json.dumps(GOOD).encode()):
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(data + b"\n")
            writer.write_eof()
            with suppress(ConnectionError):  # the rest of a line that is too long is not read
                replies.append(await asyncio.wait_for(reader.read(), 20.0))
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
        server.close()
        await server.wait_closed()
        assert expected == b"" or replies[0].startswith(expected)
        assert json.loads(replies[-1]) == {"user": "ann", "class": "walk"}

    asyncio.run(session())
    assert not unhandled
    assert running.tracker.streams == ["ann"]
