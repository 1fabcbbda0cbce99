"""Tables as text."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Sequence

WIDTH = 80


def aligned(rows: Iterable[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Return rows of cells as lines, the columns in `left` to the left, the others to the right.

    Examples
    --------
    >>> print(aligned([["class", "rows"], ["walk", "12"]]))
    class  rows
    walk     12
    """
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            f"{cell:<{n}}" if k in left else f"{cell:>{n}}"
            for k, (cell, n) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def titled(rows: Sequence[tuple[str, str]]) -> str:
    """Return texts beside their titles, wrapped to 80 columns.

    Examples
    --------
    >>> print(titled([("Filter", "sticky (HMM), dwell 62 min"), ("Weights", "weak 0.1, strong 1")]))
    Filter   sticky (HMM), dwell 62 min
    Weights  weak 0.1, strong 1
    """
    column = max(len(title) for title, _ in rows) + 2
    lines = []
    for title, text in rows:
        first, *rest = textwrap.wrap(text, WIDTH - column, break_long_words=False)
        lines += [f"{title:<{column}}{first}", *(" " * column + line for line in rest)]
    return "\n".join(lines)
