"""TODO _optional."""

from __future__ import annotations

import importlib
from typing import Any


def import_optional(name: str) -> Any:
    """Import a library that only tables need."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this needs {name}, which is not installed: pip install 'classfilter[tables]'"
        ) from error
