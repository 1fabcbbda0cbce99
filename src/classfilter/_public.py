"""The public path of a class, wherever its code lives."""

from __future__ import annotations


def public(*objects: type, module: str = "classfilter") -> None:
    """Let classes name a path that stays: pickles and messages use it."""
    for each in objects:
        each.__module__ = module
