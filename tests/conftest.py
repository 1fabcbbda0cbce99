"""Fixtures of several test modules."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from threading import Barrier, Thread
from typing import Any

import pytest

import classfilter as cf

Run = Callable[..., tuple[int, str, str]]


@contextmanager
def rejected(
    argument: str, kind: type[cf.ArgumentError] = cf.ArgumentError, **fields: Any
) -> Iterator[pytest.ExceptionInfo[cf.ArgumentError]]:
    """Expect an error about an argument, with these fields; what it says is in messages.txt."""
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.value.argument == argument
    assert {name: getattr(caught.value, name) for name in fields} == fields


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Run]:
    """Call the command in this process, in a folder of its own: exit code, output, errors.

    With `stdin`, that is its standard input.
    """
    from classfilter.cli import main

    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["classfilter", *arguments])
        code = 0
        with standard_input(stdin):
            try:
                main()
            except SystemExit as stop:
                code = int(stop.code or 0)
        out, err = capfd.readouterr()
        return code, out, err

    yield call
    assert not list(tmp_path.glob(".*.tmp")), "a half-written file was left behind"


@contextmanager
def standard_input(data: bytes) -> Iterator[None]:
    """Let the standard input of this process be these bytes."""
    before = os.dup(0)
    with TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        os.dup2(file.fileno(), 0)
        try:
            yield
        finally:
            os.dup2(before, 0)
            os.close(before)


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows are shared by threads, too."""
    from classfilter.filters import runner

    monkeypatch.setattr(runner, "MIN_ROWS_PER_THREAD", 10)


@pytest.fixture
def busy_threads() -> Iterator[Callable[..., None]]:
    """Run functions at the same time, with threads that switch all the time."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def run(*functions: Callable[[], None]) -> None:
        errors: list[BaseException] = []
        barrier = Barrier(len(functions))

        def guarded(function: Callable[[], None]) -> None:
            try:
                barrier.wait()
                function()
            except BaseException as error:
                errors.append(error)

        threads = [Thread(target=guarded, args=(function,)) for function in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors

    yield run
    sys.setswitchinterval(interval)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark session for all tests of a process."""
    from fleet_frames import session

    started = session()
    yield started
    started.stop()
