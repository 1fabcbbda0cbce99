"""How a table is written: its classes, and whether it holds probabilities or labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .._typing import Classes
from .._validation import is_missing, text_names
from ..filters._base import Filter
from ..filters._chain import FilterChain, unpack


@dataclass(frozen=True)
class TableFormat:
    """What is known about a table before it is read.

    Attributes
    ----------
    classes : tuple of str, optional
        The classes; by default those that the columns or the labels name.
    """

    classes: tuple[str, ...] | None = None

    @classmethod
    def of(cls, classes: Classes | None) -> TableFormat:
        """Return a format, its arguments checked."""
        return cls(None if classes is None else text_names(classes))

    @classmethod
    def for_filter(cls, filter: Filter | FilterChain) -> TableFormat:  # noqa: A002
        """Return the format of a table for a filter, which gives the classes."""
        f, _, _ = unpack(filter, None, None)
        return cls.of(f.classes)

    def layout(self, columns: list[str]) -> Layout:
        """Return where things are in a table with these columns."""
        probs = [name[2:] for name in columns if name.startswith("p_")]
        known = self.classes
        if len(probs) < 2:
            if "prediction" in columns:
                return Layout(known, labels=True)
            raise ValueError(
                "the table needs two or more columns p_<class>, one per class, or a column "
                f"prediction with names of classes; it has {columns}"
            )
        return Layout(text_names(probs), labels=False)


@dataclass(frozen=True)
class Layout:
    """Where things are in a table.

    Attributes
    ----------
    classes : tuple of str or None
        The classes, in the order of their columns; None where only the labels tell.
    labels : bool
        Whether predictions are labels in a column ``prediction``.
    """

    classes: tuple[str, ...] | None
    labels: bool


def label_classes(cells: Iterable[Any]) -> tuple[str, ...]:
    """Return the classes that labels name: sorted, whole numbers by value."""
    names = {_name(cell) for cell in cells if not is_missing(cell)}
    whole = all(name.lstrip("-").isdigit() for name in names)
    if len(names) < 2:
        some = f"only the class {min(names)!r}" if names else "no class"
        raise ValueError(f"column prediction names {some}; give the classes: classes=[...]")
    in_order: list[str] = sorted(names, key=lambda name: (int(name) if whole else 0, name))
    return text_names(in_order)


def _name(cell: Any) -> str:
    """Return the name that a label means: 2.0, of a column with missing labels, is 2."""
    whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell)) if whole else str(cell)
