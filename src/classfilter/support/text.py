"""Tables as text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


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
