"""Errors with fields: which argument is wrong, where, what it must be, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import wraps
from inspect import signature
from types import MappingProxyType
from typing import Any, Self, TypeVar, cast

Named = TypeVar("Named", bound=Callable[..., Any])


def _in_words(template: str, typed: bool) -> str:
    """Return a remedy with what stands in ``<...>`` as arguments of Python, or as options."""

    def option(match: re.Match[str]) -> str:
        code, bar, on_command_line = match[1].partition("|")
        if bar:
            return on_command_line if typed else code
        name, _, value = code.partition("=")
        if name.startswith("column "):
            column = name.removeprefix("column ")
            cell = f'"{value}"' if value else "..."
            option = f"--columns {column}={value or 'COLUMN'}"
            return option if typed else f'columns={{"{column}": {cell}}}'
        return f"--{name} {value}" if typed else f'{name}="{value}"'

    return re.sub("<(.*?)>", option, template)


class Remedy(StrEnum):
    """What to do, in the words of Python; `typed` has the words of the command line.

    What differs stands in ``<...>``: an argument, ``<scores=logits>``; the name of a column,
    ``<column time>``; or both texts. A member is the same object after pickling.
    """

    typed: str

    def __new__(cls, template: str) -> Self:
        """Return the member of a template."""
        text = _in_words(template, typed=False)
        member = str.__new__(cls, text)
        member._value_, member.typed = text, _in_words(template, typed=True)
        return member

    BOOLEAN = "write 1.0 for True and 0.0 for False"
    SOFTMAX = "logits need <classfilter.softmax|--scores logits>"
    NORMALISE = (
        "if one class is true at a time, normalise it (logits need "
        "<classfilter.softmax|--scores logits>, percentages <a division by 100|--scores percent>); "
        "if several may be true at once, or none, <the scores are independent: give a "
        'MultiLabelFilter, and scores="independent" where it is an argument'
        "|give --scores independent>"
    )
    ONE_SCORE = "if it is one score by itself, give <scores=independent>"
    SORT = "put the rows in order of time, or give <sort=True|--sort>"
    OR_SORT = "if they are of one stream, put the rows in order of time, or give <sort=True|--sort>"
    IF_STREAMS = "if the rows are of several streams, name the column: <column stream>"
    WHICH_STREAMS = "is there a column that tells the streams apart? Name it: <column stream>"
    TIME_FORMAT = 'say how they are written: <time_format=|--time-format >"%d.%m.%Y %H:%M:%S"'
    OR_SOURCES = "if it has the classifiers of one stream: <column source>"
    IF_LOGITS = "<logits need classfilter.softmax; |>if these are logits, give <scores=logits>"
    CONVERT_SCORES = "<scores=independent-percent> and <scores=independent-logits> do it"
    IF_PERCENT = "for percentages, give <scores=percent>"
    PERCENT_SIGN = "leave out the sign %, and give <scores=percent>"
    LOOK_LIKE_PERCENT = "these look like percentages: give <scores=percent>"
    IF_NOT_CLASSES = "if not all are, give <classes=[...]|--classes NAMES>"
    GIVE_CLASSES = "give the classes: <classes=[...]|--classes NAMES>"
    CLASSES_IN_ORDER = "give the names in the order of the numbers: <classes=[...]|--classes NAMES>"
    COLUMN_FOR_NAME = "give the name in the table for a name here: <column time=ts>"
    NAME_TIME = "name it, <column time>"
    NAME_STREAM = "name it, <column stream>; or rename it"
    NAME_SOURCE = "name it, <column source>; or rename it"
    NAME_LABEL = "name it, <column label>; or rename it"
    NAME_PREDICTION = "name it, <column prediction>; or rename it"
    NAME_CONFIDENCE = "name it, <column confidence>; or rename it"
    UNIT_MS = "give <unit=ms>, or <unit=s> if the numbers are right as they are"
    UNIT_US = "give <unit=us>, or <unit=s> if the numbers are right as they are"
    UNIT_NS = "give <unit=ns>, or <unit=s> if the numbers are right as they are"
    HALF_LIFE = "give a half-life in seconds, as the times are"
    HALF_LIFE_OR_UNIT = "give a half-life in the unit of the times, or their unit: <unit=ms>"
    NAME_PROBS = "name them, <column p_walk> or <column prediction>"
    NAME_PROBS_OR_CLASSES = (
        "name them, <column p_walk> or <column prediction>; or, where the columns are named as the "
        'classes, give <classes=["walk", ...]|--classes walk,...>'
    )
    EVENT_FORMAT = (
        'give one of these suffixes, or <the format: format="csv"|.selections.txt for raven>'
    )
    SECOND_0 = (
        "give the date of second 0, such as <start=events[0].start"
        "|--start 2024-05-01T22:00:00+02:00>, or write CSV or JSON"
    )
    WHICH_PREDICTION = "say which: <column prediction=prediction> or <column p_walk>"
    ONLY_PREDICTION = "to read the classes alone, give <column prediction=prediction>"


class ArgumentError(ValueError):
    """An argument that cannot be used.

    Attributes
    ----------
    argument : str
        Its name, as it is given: ``"gamma"``, ``"probs"``, ``"column p_walk"``.
    value : object
        What is wrong: an entry, a cell, the sum of a row, a number of entries.
    problem : str
        What is wrong in words, with ``{}`` for the value: ``"is {}"``, ``"sums to {}"``.
    rule : str
        What the value must be; empty where the problem or the remedy says it.
    remedy : str
        What to do; empty where the rule says it.
    row : int or None
        The index of the row; None for a single update, and where there are no rows.
    entry : int, str or None
        Where in the row, or in a mapping: the index of a class, or a name.
    hints : tuple of str
        What else may be behind it, and what to do then.
    line : int or None
        The line of the row in a text file, from 1.
    file : str or None
        The file that it is about.

    Examples
    --------
    >>> import classfilter as cf
    >>> try:
    ...     cf.DirichletFilter(2, gamma=1.5)
    ... except cf.ArgumentError as error:
    ...     print(error.argument, error.value, error.rule, sep=" | ")
    ...     print(error)
    gamma | 1.5 | it must lie in [0, 1]
    gamma is 1.5; it must lie in [0, 1]
    """

    def __init__(
        self,
        argument: str,
        value: Any,
        problem: str = "is {}",
        rule: str = "",
        remedy: str = "",
        row: int | None = None,
        entry: int | str | None = None,
        hints: tuple[str, ...] = (),
        line: int | None = None,
        file: str | None = None,
    ) -> None:
        # All of them as `args`, so that the error can be pickled.
        super().__init__(argument, value, problem, rule, remedy, row, entry, hints, line, file)
        self.argument, self.value, self.problem = argument, value, problem
        self.rule, self.remedy, self.hints = rule, remedy, hints
        self.row, self.entry, self.line, self.file = row, entry, line, file

    @classmethod
    def _of_core(
        cls,
        argument: str,
        value: Any,
        problem: str,
        rule: str,
        remedy: str,
        row: int,
        entry: int,
    ) -> Self:
        """Return an error of the C core: it names a `Remedy`, and -1 is no row and no entry."""
        remedy = Remedy.__members__.get(remedy, remedy)
        at, k = (None if place < 0 else place for place in (row, entry))
        return cls(argument, value, problem, rule, remedy, row=at, entry=k)

    def replaced(self, **changes: Any) -> Self:
        """Return the error with other fields."""
        return type(self)(**dict(zip(_FIELDS, self.args, strict=True)) | changes)

    def text(
        self, where: str | None = None, words: Mapping[Remedy, str] = MappingProxyType({})
    ) -> str:
        """Return the message.

        Parameters
        ----------
        where : str, optional
            The row in other words: ``" in the row of ann"``.
        words : mapping of Remedy to str
            The remedies in other words.
        """
        remedy, *hints = (
            words.get(text, str(text)) if isinstance(text, Remedy) else text
            for text in (self.remedy, *self.hints)
        )
        what = f"{self._subject(where)} {self.problem.replace('{}', repr(self.value), 1)}"
        advice = ": ".join(filter(None, (self.rule, remedy)))
        said = "; ".join(filter(None, (what, advice, *hints)))
        return said if self.file is None else f"{self.file}: {said}"

    def _subject(self, where: str | None) -> str:
        """Return the argument and the place."""
        if where is None and self.entry is not None:
            if self.row is None:
                return f"{self.argument}[{self.entry!r}]"
            if isinstance(self.entry, int):
                return f"{self.argument}[{self.row}, {self.entry}]"
        if where is None:
            where = "" if self.row is None else f" in row {self.row}"
            where += "" if self.line is None else f" (line {self.line})"
        entry = "" if self.entry is None else f", class {self.entry!r},"
        return f"{self.argument}{where}{entry}"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text()!r})"


_FIELDS = (
    "argument",
    "value",
    "problem",
    "rule",
    "remedy",
    "row",
    "entry",
    "hints",
    "line",
    "file",
)


class RowError(ArgumentError):
    """A row that cannot be used; `row` is its index, and None for a single update.

    It has the fields of `ArgumentError`.

    Examples
    --------
    >>> import classfilter as cf
    >>> try:
    ...     cf.RawFilter(2).run([[0.5, 0.5], [0.8, 0.7]])
    ... except cf.RowError as error:
    ...     print(error.argument, error.row, error.value, error.rule, sep=" | ")
    probs | 1 | 1.5 | it must be within 0.05 of 1
    """


ArgumentError.__module__ = RowError.__module__ = "classfilter"  # as pickles and messages show


_OTHER_NAMES = {
    "cost": "change_cost",
    "penalty": "change_cost",
    "threshold": "enter",
    "weight": "beta",
    "weights": "beta",
    "decay": "gamma",
}
"""What others call an argument, where its spelling does not lead to ours."""
_READING = {"columns", "scores", "unit", "sort", "classes", "time_format"}
"""The options of `rows`, which reads what functions of rows take."""


def names_keywords(function: Named) -> Named:
    """Let a function, or a class as it is made, name the right keyword in place of an unknown."""
    made: Any = function.__init__ if isinstance(function, type) else function  # type: ignore[misc]
    parameters = signature(made).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return function  # what it passes on to knows them
    known = list(parameters)

    @wraps(made)
    def checked(*args: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in known:
                title = type(args[0]).__name__ if made is not function else made.__name__
                raise TypeError(f"{title} has no argument {name}; {_right_name(name, known)}")
        return made(*args, **keywords)

    if made is function:
        return cast(Named, checked)
    function.__init__ = checked  # type: ignore[method-assign]
    return function


def _right_name(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    names = [one for one in known if one != "self"]
    if name in _READING and names[0] == "rows":
        return f"it is an option of reading: give rows(..., {name}=...) in place of the table"
    other = _OTHER_NAMES.get(name)
    near = [other] if other in names else get_close_matches(name, names, 2, 0.6)
    return f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(names)}"
