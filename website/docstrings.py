"""What griffe does to the docstrings: the formulas of numpydoc as those of Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":math:`(.*?)`", re.DOTALL)
DIRECTIVE = re.compile(r"^\.\. math::(.*?)(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)


class Formulas(griffe.Extension):  # type: ignore[misc, unused-ignore]
    """Rewrite ``:math:`` in every docstring."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = in_markdown(obj.docstring.value)


def in_markdown(text: str) -> str:
    """Return a docstring with its formulas between dollars, each on one line."""
    text = DIRECTIVE.sub(lambda formula: f"$$\n{_one_line(formula[1])}\n$$", text)
    return ROLE.sub(lambda formula: f"${_one_line(formula[1])}$", text)


def _one_line(formula: str) -> str:
    return " ".join(formula.split())
