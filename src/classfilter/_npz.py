"""Files of arrays, read whole: what is damaged, or something else, is named."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ._typing import Array


def read_npz(path: str | PathLike[str], otherwise: str) -> dict[str, Array]:
    """Return the arrays of a `.npz` file; `otherwise` says what else it may be, and the remedy."""
    try:
        with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (BadZipFile, EOFError, KeyError, TypeError, ValueError):  # as NumPy meets other files
        raise ValueError(f"{path} is damaged, or {otherwise}") from None
