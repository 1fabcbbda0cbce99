"""Import optional dependencies, with an error that names the remedy."""

from __future__ import annotations

import importlib
from typing import Any


def import_optional(name: str, extra: str = "tables") -> Any:
    """Import a library that only an extra needs: by default, that of tables and files."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this needs {name}, which is not installed: pip install 'classfilter[{extra}]'"
        ) from error
