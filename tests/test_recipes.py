"""The service of docs/recipes.md: a full disk does not end it."""

from __future__ import annotations

import asyncio
import doctest
import errno
import os
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
    full, fsync = True, os.fsync

    def fsync_if_there_is_room(fd: int) -> None:
        if full:
            raise OSError(errno.ENOSPC, "no space left on device")
        fsync(fd)

    monkeypatch.setattr(os, "fsync", fsync_if_there_is_room)
    running = service(tmp_path / "service.npz")

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
