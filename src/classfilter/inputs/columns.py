"""How a table is written: its classes, the names of its columns, and what its numbers are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ArgumentError, Fix
from ..support.types import Classes
from ..support.validation import is_missing, text_names
from .heads import EXCLUSIVE, Heads, heads_of
from .outputs import check_scores
from .times import per_second

COLUMNS = ("time", "stream", "source", "label", "prediction", "confidence", "probs")
"""The columns besides ``p_<class>``; ``probs`` has a list of all probabilities in each cell."""


@dataclass(frozen=True)
class Layout:
    """Where things are in a table.

    Attributes
    ----------
    columns : dict of str to str
        The name that each column has in the table, by its name here.
    heads : Heads
        With the classes in the order of their columns; without, where only the labels tell.
    labels : bool
        Whether predictions are labels in a column ``prediction``.
    guessed : bool
        Whether all columns ``p_<class>`` were taken as classes, for want of other knowledge.
    """

    columns: dict[str, str]
    heads: Heads
    labels: bool
    guessed: bool = False

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes, in the order of their columns; none where only the labels tell."""
        return self.heads.shown

    @property
    def label_columns(self) -> list[str]:
        """The columns of the table that name classes."""
        return [self.columns[name] for name in ("prediction", "label") if name in self.columns]

    @property
    def number_columns(self) -> list[str]:
        """The columns of the table that a filter needs as numbers."""
        return [name for role, name in self.columns.items() if is_number_here(role)]


@dataclass(frozen=True)
class TableFormat:
    """What is known about a table before it is read.

    Attributes
    ----------
    heads : Heads
        Without classes, they are those that the columns or the labels name.
    columns : mapping of str to str
        The name of a column in the table, by its name here, where they differ.
    scores : str
        What the numbers are, one of `SCORES`.
    unit : str, optional
        What the numbers of time count: "s", "ms", "us" or "ns"; by default they stay as they are.
    """

    heads: Heads = EXCLUSIVE
    columns: Mapping[str, str] = field(default_factory=dict)
    scores: str = "probabilities"
    unit: str | None = None
    sort: bool = False
    """Whether the rows of a stream may come in any order of time."""
    time_format: str | None = None
    """How text of dates is written, as for `datetime.strptime`; by default ISO 8601."""

    @classmethod
    def of(
        cls,
        heads: Heads | Classes | Mapping[Any, Classes] | None,
        columns: Mapping[str, str] | None = None,
        scores: str = "probabilities",
        unit: str | None = None,
        sort: bool = False,
        time_format: str | None = None,
    ) -> TableFormat:
        """Return a format, its arguments checked; `heads` are Heads, or classes."""
        per_second(unit)
        scores = check_scores(scores)
        if not isinstance(heads, Heads):
            heads = heads_of(heads, scores)
        return cls(heads, columns_by_name_here(columns), scores, unit, sort, time_format)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that are known; none where the table tells them."""
        return self.heads.shown

    def layout(self, names: list[str]) -> Layout:
        """Return where things are in a table with columns of these names."""
        if not all(isinstance(name, str) for name in names):
            fix = "name them, such as df.rename(columns=str)"
            raise ArgumentError(
                "the table", names, problem="has columns {}", must="names are text", fix=fix
            )
        columns = self._by_name_here(names)
        if "time" not in columns:
            problem = f"has no `time` column (found: {', '.join(names)})"
            like_time = next(filter(_LIKE_TIME.search, names), ...)
            meant = Fix("columns", {"time": in_any_letters("time", names) or like_time})
            fix = "tell classfilter which one it is: "
            raise ArgumentError("the table", names, problem=problem, fix=(fix, meant))
        unprefixed = {name: role for role, name in self.unprefixed(columns).items()}
        columns = {unprefixed.get(role, role): name for role, name in columns.items()}
        probs = [name[2:] for name in columns if name.startswith("p_")]
        classes = self.heads.shown
        if not set(classes) & set(probs) and classes == _numbered(len(classes)):
            classes = ()  # a number of classes: by position
        wanted = set(classes)
        matched = bool(classes) and wanted <= set(probs)
        labels = "prediction" in columns and not matched and (bool(classes) or len(probs) < 2)
        labels = (labels or "prediction" in self.columns) and self.heads.is_exclusive
        check_named(columns, "stream", "source", *(["confidence"] if labels else []))
        if labels:
            self.check_scores_beside_labels([name for name in probs if name in wanted])
            return Layout(columns, self.heads, labels=True)
        if len(probs) < self.heads.fewest:
            raise self._without_predictions(names)
        probs = [name for name in probs if name in wanted] if matched else probs
        return Layout(columns, self.heads.like(probs), labels=False, guessed=not matched)

    def check_scores_beside_labels(self, scored: list[str]) -> None:
        """Refuse columns ``p_<class>`` of some classes, which would not be read."""
        if not scored or "prediction" in self.columns:
            return
        missing = [f"p_{name}" for name in self.classes if name not in scored]
        columns = [f"p_{name}" for name in scored]
        problem = f"has a column prediction, and {{}}, but not {missing}"
        fix = f"give {', '.join(missing)} too"
        if len(missing) == len(columns) == 1:
            fix += f", 1 - {columns[0]}"
        hints = (
            ("to read the classes alone, give ", Fix("columns", {"prediction": "prediction"})),
        )
        raise ArgumentError("the table", columns, problem=problem, fix=fix, hints=hints)

    def _by_name_here(self, names: list[str]) -> dict[str, str]:
        """Return the name in the table of each column, by its name here, in the table's order."""
        for role, name in self.columns.items():
            if name not in names:
                problem = f"has {{}} for {role}, which the table does not have"
                fix = _COLUMN_FOR_NAME if is_name_here(name) and role in names else ""
                raise ArgumentError(
                    "columns", name, problem=problem, must=f"it has {names}", fix=fix
                )
        renamed = set(self.columns.values())
        free = {name: name for name in names if name not in renamed}
        by_name = free | dict(self.columns)
        places = {name: place for place, name in enumerate(names)}
        return dict(sorted(by_name.items(), key=lambda item: places[item[1]]))

    def unprefixed(self, names: Collection[str]) -> dict[str, str]:
        """Return the columns that are named as the classes, by ``p_<class>``.

        `names` are those here. There are some only where the classes are known, and no
        ``p_<class>`` for any of them is there.
        """
        classes = self.classes
        by_position = classes == _numbered(len(classes)) and any(n.startswith("p_") for n in names)
        if "prediction" in self.columns or by_position:
            return {}
        named = [c for c in classes if c in names and c not in COLUMNS and c not in self.columns]
        prefixed = [name for name in classes if f"p_{name}" in names]
        if not named or len(prefixed) == len(classes):
            return {}
        missing = [name for name in classes if name not in {*named, *prefixed}]
        if prefixed and not missing:
            pairs = f"columns {[f'p_{name}' for name in prefixed]}, but {{}} without p_"
            fix = "name all of them in one way"
            raise ArgumentError("the table", named, problem=f"has {pairs}", fix=fix)
        if "prediction" in names and not missing:
            problem = "has a column prediction, and columns {} that are named as classes"
            raise ArgumentError("the table", named, problem=problem, fix=_WHICH_PREDICTION)
        has_others = sum(name.startswith("p_") for name in names) > 1 or "prediction" in names
        if missing and not prefixed and not has_others:
            problem = f"has columns for the classes {named}, but none for {{}}"
            raise ArgumentError("the table", missing, problem=problem, must=f"it has {[*names]}")
        return {} if missing else {f"p_{name}": name for name in named}

    def _without_predictions(self, names: list[str]) -> ArgumentError:
        """Return the error of a table that has no predictions."""
        classes = self.classes
        wanted = [*classes, *(f"p_{name}" for name in classes)]
        prefixed = ["p_" + name.strip()[2:] for name in names if name.strip()[:2].lower() == "p_"]
        meant = _meant([*wanted, "prediction", *prefixed], names)
        problem = "needs two or more columns p_<class>, one per class, or a column prediction with"
        problem += " names of classes"
        if not self.heads.is_exclusive:
            problem = "needs a column p_<label> for each label"
        must = f"it has {names}{meant}"
        if classes:
            must = f"the classes are {[*classes]}, and {must}"
        fix = _NAME_PROBS if classes else (*_NAME_PROBS, *_OR_CLASSES)
        alone = self.heads.is_exclusive and len(prefixed) == 1
        hints = (_ONE_SCORE,) if alone else ()
        return ArgumentError("the table", names, problem=problem, must=must, fix=fix, hints=hints)


_COLUMN_FOR_NAME = ("say which column of the table is which: ", Fix("columns", {"time": "ts"}))
_NAME_PROBS = (
    "name them, ",
    Fix("columns", {"p_walk": ...}),
    " or ",
    Fix("columns", {"prediction": ...}),
)
_OR_CLASSES = (
    "; or, if the columns have the names of the classes, give ",
    Fix("classes", ["walk", ...]),
)
_ONE_SCORE = ("if it is one score by itself, give ", Fix("scores", "independent"))
_WHICH_PREDICTION = (
    "say which ones to read: ",
    Fix("columns", {"prediction": "prediction"}),
    " or ",
    Fix("columns", {"p_walk": ...}),
)
_LIKE_TIME = re.compile(r"(?i)time|date|(^|_)ts?$")
"""Names of columns that may well have the time."""


def is_name_here(name: str) -> bool:
    """Return whether a name is one of the columns here."""
    return name in COLUMNS or name.startswith("p_")


def is_number_here(name: str) -> bool:
    """Return whether the column of a name here has numbers."""
    return name in ("time", "confidence") or name.startswith("p_")


def columns_by_name_here(columns: Mapping[str, str] | None) -> dict[str, str]:
    """Return the names of columns in a table by their names here.

    One that is given the other way, as pandas and Polars rename, is turned round: its key is no
    name here, and its value is.
    """
    by_name: dict[str, str] = {}
    for name, column in (columns or {}).items():
        turned = not is_name_here(name)
        role, column_name = (column, name) if turned else (name, column)
        if not is_name_here(role):
            must = f"it must be one of {', '.join(COLUMNS)} or p_<class>"
            raise ArgumentError(
                "columns", name, problem="names {}", must=must, fix=_COLUMN_FOR_NAME
            )
        if role in by_name:
            problem = f"has both {by_name[role]!r} and {{}} for {role}"
            raise ArgumentError("columns", column_name, problem=problem, fix="give one")
        by_name[role] = column_name
    return by_name


def check_named(columns: Collection[str], *names: str) -> None:
    """Refuse a table, or a line, that has one of these only in other letters: it is not read."""
    for name in names:
        column = None if name in columns else in_any_letters(name, columns)
        if column is not None:
            problem = f"has a column {{}}, but none with the name {name}"
            fix = ("name it, ", Fix("columns", {name: column}), "; or rename it")
            raise ArgumentError("the table", column, problem=problem, fix=fix)


def _meant(wanted: Iterable[str], names: list[str]) -> str:
    """Return which columns were probably meant, as a part of a message; capitals, spaces differ."""
    columns = {name: in_any_letters(name, names) for name in wanted if name not in names}
    pairs = ", ".join(f"{column!r} for {name}" for name, column in columns.items() if column)
    return f", probably {pairs}" if pairs else ""


def in_any_letters(name: str, names: Iterable[str]) -> str | None:
    """Return the last name that is this one but for capitals and spaces, if there is one."""
    return {other.strip().casefold(): other for other in names}.get(name.casefold())


def _numbered(K: int) -> tuple[str, ...]:
    return tuple(map(str, range(K)))


def matches(wanted: tuple[str, ...], classes: tuple[str, ...]) -> bool:
    """Return whether a table has the classes that it should have, or their number."""
    return set(wanted) == set(classes) or wanted == _numbered(len(classes))


def label_classes(columns: Mapping[str, Iterable[Any]]) -> tuple[str, ...]:
    """Return the classes that columns of labels name: sorted, whole numbers by value."""
    named = {
        column: {_label_name(cell) for cell in cells if not is_missing(cell)}
        for column, cells in columns.items()
    }
    numbers = [column for column, names in named.items() if names and all(map(_is_whole, names))]
    texts = [column for column, names in named.items() if names and not any(map(_is_whole, names))]
    if numbers and texts:
        whole, text = (sorted(named[column])[:5] for column in (numbers[0], texts[0]))
        raise ArgumentError(
            f"column {numbers[0]}",
            whole,
            problem=f"has the numbers {{}}, but column {texts[0]} the names {text}: they share "
            "no class",
            fix=("give the names in the order of the numbers: ", Fix("classes", [...])),
        )
    names = set[str]().union(*named.values())
    all_whole = all(map(_is_whole, names))
    if len(names) < 2:
        problem = "names only the class {}" if names else "names no class"
        only = min(names, default=None)
        raise ArgumentError(
            "column prediction",
            only,
            problem=problem,
            fix=("give the classes: ", Fix("classes", [...])),
        )
    in_order: list[str] = sorted(names, key=lambda name: (int(name) if all_whole else 0, name))
    return text_names(in_order)


def _is_whole(name: str) -> bool:
    return name.lstrip("-").isdigit()


def _label_name(cell: Any) -> str:
    """Return the name that a label means: 2.0, of a column with missing labels, is 2."""
    whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell)) if whole else str(cell)


def filtered_format(
    names: list[str],
    columns: Mapping[str, str] | None = None,
    scores: str = "probabilities",
    unit: str | None = None,
) -> TableFormat:
    """Return the format of a table whose rows are taken as they are: filtered, or predictions.

    `names` are those of its columns.
    """
    heads = filtered_heads(names, scores)
    if not heads.shown:
        return TableFormat.of(None, columns, scores, unit)
    named = columns_by_name_here(columns) | {f"p_{name}": f"f_{name}" for name in heads.shown}
    return TableFormat.of(heads, named, unit=unit)


def filtered_heads(columns: list[str], scores: str = "probabilities") -> Heads:
    """Return the heads that a table was filtered for; without classes, where it was not.

    Results for exclusive classes have a column ``class``; for labels, ``labels``; and for other
    heads, one with the name of each.
    """
    names = [name[2:] for name in columns if name.startswith("f_")]
    heads: dict[str, list[str] | None] = {}
    for name in names:
        head, colon, one = name.partition(":")
        if colon and head in columns:
            heads[head] = [*(heads.get(head) or []), one]
        else:
            heads[name] = None
    if any(heads.values()) and "class" not in columns:
        return Heads.of_classes(heads)
    labels = "labels" in columns and "class" not in columns
    kind = heads_of(None, "independent" if labels else scores)
    return kind.like(names) if len(names) >= kind.fewest else kind
