"""The public path of a class, wherever its code lives."""

from __future__ import annotations


def public(*classes: type, module: str = "classfilter") -> None:
    """Set the module of classes to their public path, which pickles and messages show."""
    for cls in classes:
        cls.__module__ = module
