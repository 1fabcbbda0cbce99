"""The gallery: run the blocks of its page, and put the picture of each below it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def draw(page: Path, folder: Path) -> None:
    """Run the Python blocks of a page in turn, in `folder`; each figure becomes a picture."""
    names: dict[str, Any] = {}
    before = Path.cwd()
    os.chdir(folder)
    try:
        text = BLOCK.sub(lambda block: _illustrated(block, names, page), page.read_text("utf-8"))
    finally:
        os.chdir(before)
    page.write_text(text, "utf-8")


def _illustrated(block: re.Match[str], names: dict[str, Any], page: Path) -> str:
    names.pop("figure", None)
    exec(block[1], names)
    if "figure" not in names:
        return block[0]
    headings = re.findall(r"^## (.*)$", block.string[: block.start()], re.MULTILINE)
    picture = page.with_name(f"{re.sub('[^a-z]+', '-', headings[-1].lower())}.png")
    names["figure"].savefig(picture, dpi=150)
    return f"{block[0]}\n![{headings[-1]}]({picture.name})\n"
