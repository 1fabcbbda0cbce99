"""The home page: the README, with its fields as cards right after the quick start."""

from __future__ import annotations

import re

FIELDS = "Find your field"
AFTER = "Quick start"
HEAD = "---\nhide: [navigation, toc]\n---\n\n"


def as_home(readme: str) -> str:
    """Lay the README out as the home page of the site."""
    start, *rest = re.split(r"^(?=## )", readme, flags=re.MULTILINE)
    sections = {part.partition("\n")[0].removeprefix("## "): part for part in rest}
    fields = re.sub(r"(?:^- .*\n)+", _as_cards, sections.pop(FIELDS), flags=re.MULTILINE)
    sections[AFTER] += fields
    return HEAD + start + "".join(sections.values())


def _as_cards(entries: re.Match[str]) -> str:
    return f'<div class="grid cards" markdown>\n\n{entries[0]}\n</div>\n'
