"""Tables that commands read and write: files, standard input and output, pipes."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import click

from ..inputs import SEPARATORS, TableInput, file_suffix, kind_of
from ..support.atomic import atomic_write, check_folder, check_not_input
from ..support.standard import require_open
from .options import FILE, Command, option_group

STANDARD = Path("-")
FILE_KINDS = ("csv", "tsv", "parquet", "ndjson")
TABLE = "CSV, Parquet or NDJSON, by its suffix"


class Input(NamedTuple):
    """The file that a command reads, as it was typed; its kind and separator, where given."""

    path: Path
    kind: str | None
    separator: str | None

    @property
    def name(self) -> str:
        """How messages call it."""
        return "standard input" if self.path in (STANDARD, Path("/dev/stdin")) else str(self.path)

    @contextmanager
    def open(self) -> Iterator[TableInput]:
        """Give it as a regular file; what comes from a pipe is kept in a temporary one."""
        suffix = kind_of(_suffix(self.path, self.kind))[0]
        if not _is_pipe(self.path):
            yield TableInput(self.path, suffix, self.name, self.separator)
            return
        with tempfile.NamedTemporaryFile(prefix="classfilter-") as file:
            with self._stream() as stream:
                shutil.copyfileobj(stream, file)
            file.flush()
            yield TableInput(Path(file.name), suffix, self.name, self.separator)

    @contextmanager
    def _stream(self) -> Iterator[BinaryIO]:
        if self.path == STANDARD:
            require_open(0)
            yield sys.stdin.buffer
        else:
            with self.path.open("rb") as stream:
                yield stream


class Output(NamedTuple):
    """The file that a command writes, as it was typed; its suffix, or that of its kind."""

    path: Path
    suffix: str

    @classmethod
    def of(cls, path: Path, table: Input, config: Path | None) -> Output:
        """Return it, or raise, before the work, if it could not be written."""
        suffix = _suffix(path, table.kind)
        if path == STANDARD:
            require_open(1)
        else:
            check_out(path, table, config)
        return cls(path, suffix)

    @property
    def name(self) -> str:
        """How messages call it."""
        return "standard output" if self.path == STANDARD else str(self.path)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open it; a regular file is replaced at the end."""
        if not _is_pipe(self.path):
            with atomic_write(self.path) as file:
                yield file
            return
        try:
            standard = self.path == STANDARD
            with open(1 if standard else self.path, "wb", closefd=not standard) as file:
                yield file
        except OSError as error:
            raise OSError(f"{self.name} cannot be written: {error}") from None


def check_out(out: Path, *inputs: Input | Path | None) -> None:
    """Raise, before the work, if a result cannot be written, or would replace what is read."""
    check_folder(out)
    paths = [one.path if isinstance(one, Input) else one for one in inputs]
    check_not_input(out, *(0 if path == STANDARD else path for path in paths), argument="-o")


def _is_pipe(path: Path) -> bool:
    """Return whether it is standard input or output, or another file without an end."""
    named = path in (STANDARD, Path("/dev/stdin"), Path("/dev/stdout"))  # perhaps of a file
    return named or path.is_fifo() or path.is_char_device() or path.is_socket()


def _suffix(path: Path, kind: str | None) -> str:
    """Return the suffix of a table; of one that has none of ours, that of --format, or CSV."""
    if kind is None and _is_pipe(path):
        kind = "csv"
    try:
        return file_suffix(path)
    except ValueError as error:
        if kind is None:
            raise ValueError(f"{error}, or give --format") from None
        return f".{kind}"


def input_options(command: Command) -> Command:
    """Add the argument IN and the options that say how it is written; it gets an `Input`."""

    @wraps(command)
    def with_input(**arguments: Any) -> None:
        names = {name: char for char, name in SEPARATORS.items()}
        separator = arguments.pop("separator")
        if separator is not None and separator not in {*names, *SEPARATORS}:
            raise click.UsageError(
                f"--separator is {separator!r}; it must be one of {', '.join(names)}"
            )
        path, kind = arguments.pop("table"), arguments.pop("file_kind")
        table = Input(path, kind, names.get(separator, separator))
        command(table=table, **arguments)

    return option_group(
        click.argument("table", metavar="IN", type=FILE),
        click.option(
            "--format",
            "file_kind",
            type=click.Choice(FILE_KINDS),
            help="The format of IN if it is standard input (-) or has no known suffix; filter uses "
            "it for OUT too. CSV by default.",
        ),
        click.option(
            "--separator",
            metavar="CHARACTER",
            help="The separator of a CSV file: comma, semicolon, tab or bar; by default it follows "
            "from the header.",
        ),
    )(with_input)
