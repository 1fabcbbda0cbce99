"""Tables that the experiments print in Markdown."""

from __future__ import annotations


def rows_of(text: str, title: str) -> dict[str, dict[str, str]]:
    """Return the cells of a table, by the first cell of the row and the head of the column."""
    lines = text[text.index(title) :].split("\n\n")[1].splitlines()
    heads, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)
    return {row[0]: dict(zip(heads, row, strict=True)) for row in rows}
