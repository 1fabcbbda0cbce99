"""Imports: the public path of a class, and optional libraries."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def public(*classes: type, module: str = "classfilter") -> None:
    """Set the module of classes to their public path, which pickles and messages show."""
    for cls in classes:
        cls.__module__ = module


def import_optional(name: str, extra: str = "tables") -> Any:
    """Import a library that only an extra needs: by default, that of tables and files."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this needs {name}, which is not installed: pip install 'classfilter[{extra}]'"
        ) from error
