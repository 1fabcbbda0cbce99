"""The README as package indexes show it: with links to the site, since they have no other files."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SITE = "https://classfilter.readthedocs.io/en/latest/"


def for_index() -> str:
    """Return the README with whole addresses in place of relative ones."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.sub(r"\]\((?!#|[a-z]+:)([^)\s]+)\)", _address, text)


def _address(link: re.Match[str]) -> str:
    return f"]({SITE}{re.sub(r'[.]md(?=#|$)', '.html', link[1])})"
