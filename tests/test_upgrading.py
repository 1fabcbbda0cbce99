"""docs/upgrading.md: what it calls new is there, and what it calls old is gone."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import classfilter as cf

PAGE = (Path(__file__).parents[1] / "docs/upgrading.md").read_text()


def rows() -> list[tuple[str, str, str]]:
    """Return the owner, the old name and the new name of each row of the table."""
    found, owners = [], ""
    for first, old, new in re.findall(r"^\| (.*?) ?\| `(.*)` \| `(.*)` \|$", PAGE, re.M):
        owners = first or owners
        found += [(owner, old, new) for owner in re.findall("`(.*?)`", owners)]
    return found


def has(owner: str, name: str) -> bool:
    """Return whether a class or module has a member, or a function an argument."""
    thing: Any = cf
    for part in owner.split("."):
        thing = getattr(thing, part)
    if name.endswith("="):
        return name[:-1] in inspect.signature(thing).parameters
    return hasattr(thing, name) or name in getattr(thing, "__annotations__", {})


def test_the_table_names_what_changed() -> None:
    table = rows()
    assert len(table) >= 24
    assert [(owner, new) for owner, _, new in table if not has(owner, new)] == []
    assert [(owner, old) for owner, old, _ in table if has(owner, old)] == []
