"""Files that appear complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `path` once it is complete, and only then."""
    path = Path(path).resolve()
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        if error.filename == str(draft):  # of which the user knows nothing
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise
    finally:
        draft.unlink(missing_ok=True)
