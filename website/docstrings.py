"""The docstrings for MkDocs: numpydoc's reStructuredText as Markdown."""

from __future__ import annotations

import re

ROLE = re.compile(r":math:`(.*?)`", re.DOTALL)
DIRECTIVE = re.compile(r"^\.\. math::(.*?)(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)
LITERAL = re.compile(r"^::$", re.MULTILINE)
SHARED = re.compile(r"^((?:\w+, )+\w+) :(.*\n(?:(?: +.*)?\n)*)", re.MULTILINE)


def in_markdown(text: str) -> str:
    """Return a docstring with formulas between dollars, and with one entry for each parameter.

    griffe shows the default of the first of several parameters in one entry for all of them.
    """
    text = DIRECTIVE.sub(lambda formula: f"$$\n{_one_line(formula[1])}\n$$", text)
    text = ROLE.sub(lambda formula: f"${_one_line(formula[1])}$", text)
    text = SHARED.sub(lambda entry: _each(entry[1].split(", "), entry[2]), text + "\n")
    return LITERAL.sub("", text)


def _one_line(formula: str) -> str:
    return " ".join(formula.split())


def _each(names: list[str], rest: str) -> str:
    return "".join(f"{name} :{rest.rstrip()}\n" for name in names) + "\n" * rest.endswith("\n\n")
