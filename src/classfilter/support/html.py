"""Results as HTML for notebooks: tables. All text is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

from .types import Floats


class Markup(str):
    """Text that is HTML already."""


def markup(value: Any) -> Markup:
    """Escape a value for HTML, unless it is Markup already."""
    return value if isinstance(value, Markup) else Markup(escape(str(value)))


def block(*parts: Any) -> str:
    """Return parts below each other; of a text, each line is a line."""
    lines = [part if isinstance(part, Markup) else lines_of(part) for part in parts]
    return f"<div>{''.join(f'<div>{line}</div>' for line in lines if line)}</div>"


def lines_of(text: str) -> Markup:
    """Return the lines of a text."""
    return Markup("<br/>".join(markup(line) for line in text.split("\n")))


def bold(value: Any) -> Markup:
    """Return a value in bold type."""
    return Markup(f"<b>{markup(value)}</b>")


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Markup:
    """Return a table; the first column is aligned to the left, the others to the right."""

    def line(cells: Sequence[Any], tag: str) -> str:
        style = ["left", *["right"] * (len(cells) - 1)]
        return "".join(
            f'<{tag} style="text-align:{side}">{markup(cell)}</{tag}>'
            for side, cell in zip(style, cells, strict=True)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return Markup(
        f"<table><thead><tr>{line(header, 'th')}</tr></thead><tbody>{body}</tbody></table>"
    )


def class_counts(
    time: Floats,
    counts: Sequence[tuple[str, Sequence[int]]],
    classes: Sequence[str],
    as_text: Callable[[float], str] = "{:.10g}".format,
) -> str:
    """Return how often each class occurs, in truth and as each source predicts it, as a table."""
    rows = [[name, *(by_class[k] for _, by_class in counts)] for k, name in enumerate(classes)]
    span = f", times {as_text(time.min())} to {as_text(time.max())}" if time.size else ""
    return block(f"{time.size} rows{span}", table(["class", *(name for name, _ in counts)], rows))
