"""The programs of docs/recipes.md: what a full disk, a hostile line or a kill does to them."""

from __future__ import annotations

import asyncio
import doctest
import errno
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import classfilter as cf

PAGE = Path(__file__).parents[1] / "docs/recipes.md"


def program(name: str) -> Any:
    """Return a class or a function of the page."""
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text()):
        if re.match(r"(import|from|class|(async )?def) ", example.source):
            exec(example.source, names)
        if name in names:
            return names[name]
    raise AssertionError(f"the page has no {name}")


def service(path: Path) -> Any:
    """Return the service of the page, which saves to a path."""
    return program("Service")(path)


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


class Message(NamedTuple):
    offset: int
    key: str
    value: str


class KilledError(Exception):
    """The process ends here."""


class Consumer:
    """It gives the messages after the last offset that was committed."""

    def __init__(self, messages: list[Message], killed_at: int = -1) -> None:
        self.messages, self.committed, self.killed_at = messages, 0, killed_at

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages[self.committed :])

    def commit(self, offset: int) -> None:
        if offset == self.killed_at:
            raise KilledError
        self.committed = offset + 1


def test_a_consumer_that_is_killed_takes_each_message_once(tmp_path: Path) -> None:
    rng, consume = np.random.default_rng(0), program("consume")
    rows = [{"time": n, "probs": rng.dirichlet([2, 1]).tolist()} for n in range(100)]
    messages = [Message(n, f"user {n % 3}", json.dumps(row)) for n, row in enumerate(rows)]
    f, path = cf.DirichletFilter(["walk", "sit"], half_life=30.0), tmp_path / "partition.db"
    whole = dict(consume(Consumer(messages), cf.Tracker(f), tmp_path / "other.db", every=10))
    consumer, results = Consumer(messages, killed_at=49), {}
    with pytest.raises(KilledError):  # after the tracker was saved
        results.update(consume(consumer, cf.Tracker(f), path, every=10))
    assert (consumer.committed, len(results)) == (40, 50)
    consumer.killed_at = -1
    results |= consume(consumer, cf.Tracker.load(path), path, every=10)
    assert len(results) == 100
    assert all(np.array_equal(results[n], whole[n]) for n in whole)
