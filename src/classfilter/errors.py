"""Errors with fields: which argument is wrong, where, what it must be, and what to do."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any, Self, TypeVar, cast

Named = TypeVar("Named", bound=Callable[..., Any])


class Fix:
    """What to give: an argument in Python, an option on the command line.

    Parameters
    ----------
    argument : str
        Its name in Python.
    value : object, default ...
        Its value; ``...`` where only the reader knows it.
    python : str, optional
        What to do in Python, where it is no argument there.

    Examples
    --------
    >>> fix = Fix("scores", "logits")
    >>> str(fix), fix.typed
    ('scores="logits"', '--scores logits')
    >>> Fix("columns", {"time": "ts"}).typed, Fix("sort", True).typed
    ('--columns time=ts', '--sort')
    """

    def __init__(self, argument: str, value: Any = ..., python: str = "") -> None:
        self.argument, self.value, self.python = argument, value, python

    def __str__(self) -> str:
        return self.python or f"{self.argument}={_in_python(self.value)}"

    @property
    def typed(self) -> str:
        """The option."""
        option = f"--{self.argument.replace('_', '-')}"
        return option if self.value is True else f"{option} {_typed(self.value)}"

    def __repr__(self) -> str:
        return f"Fix({self.argument!r}, {self.value!r}, {self.python!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fix) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


Advice = str | Fix | tuple[str | Fix, ...]
"""What to do: text, in which what to give is a `Fix`; the parts stand one after the other."""


def _in_python(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}": {_in_python(x)}' for key, x in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_in_python, value))}]"
    if isinstance(value, str):
        return f"'{value}'" if '"' in value else f'"{value}"'
    return "..." if value is ... else repr(value)


def _typed(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={'COLUMN' if x is ... else _typed(x)}" for key, x in value.items())
    if isinstance(value, list):
        return "NAMES" if value == [...] else ",".join(map(_typed, value))
    return "..." if value is ... else shlex.quote(str(value))


def advice_text(advice: Advice, typed: bool = False) -> str:
    """Return what to do, in the words of Python or of the command line."""
    parts = advice if isinstance(advice, tuple) else (advice,)
    return "".join(x.typed if typed and isinstance(x, Fix) else str(x) for x in parts)


BOOLEAN = "write 1.0 for True and 0.0 for False"
_LOGITS = ("logits need ", Fix("scores", "logits", "classfilter.softmax"))
_OF_CORE: dict[str, Advice] = {
    "BOOLEAN": BOOLEAN,
    "SOFTMAX": _LOGITS,
    "NORMALISE": (
        "if exactly one class is true at a time, normalise the row (",
        *_LOGITS,
        ", percentages ",
        Fix("scores", "percent", "a division by 100"),
        "); if several may be true at once, or none, the scores are independent: give ",
        Fix(
            "scores",
            "independent",
            'a MultiLabelFilter, and scores="independent" where it is an argument',
        ),
    ),
}
"""What the C core says to do, by the names that it has for it."""


class ArgumentError(ValueError):
    """An argument that cannot be used.

    Attributes
    ----------
    argument : str
        Its name, as it is given: ``"gamma"``, ``"probs"``, ``"column p_walk"``.
    value : object
        What is wrong: an entry, a cell, the sum of a row, a number of entries.
    must : str
        What the value must be; empty where `problem` or `fix` says it.
    fix : str, Fix or tuple of them
        What to do; a `Fix` prints as an argument in Python, as an option on the command line.
    row : int or None
        The index of the row; None for a single update, and where there are no rows.
    problem : str
        What is wrong in words, with ``{}`` for the value: ``"is {}"``, ``"sums to {}"``.
    entry : int, str or None
        Where in the row, or in a mapping: the index of a class, or a name.
    hints : tuple
        What else may be behind it, and what to do then: each as `fix`.
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
    ...     print(error.argument, error.value, error.must, sep=" | ")
    ...     print(error)
    gamma | 1.5 | it must lie in [0, 1]
    gamma is 1.5; it must lie in [0, 1]
    """

    def __init__(
        self,
        argument: str,
        value: Any,
        must: str = "",
        fix: Advice = "",
        row: int | None = None,
        *,
        problem: str = "is {}",
        entry: int | str | None = None,
        hints: tuple[Advice, ...] = (),
        line: int | None = None,
        file: str | None = None,
    ) -> None:
        self.argument, self.value, self.must, self.fix, self.row = argument, value, must, fix, row
        self.problem, self.entry, self.hints, self.line, self.file = (
            problem, entry, hints, line, file,
        )  # fmt: skip
        super().__init__(argument, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._fields()), ()

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def _of_core(
        cls,
        argument: str,
        value: Any,
        problem: str,
        must: str,
        fix: str,
        row: int,
        entry: int,
    ) -> Self:
        """Return an error of the C core: -1 is no row and no entry."""
        at, k = (None if place < 0 else place for place in (row, entry))
        return cls(argument, value, must, _OF_CORE.get(fix, fix), at, problem=problem, entry=k)

    def replaced(self, **changes: Any) -> Self:
        """Return the error with other fields."""
        return type(self)(**self._fields() | changes)

    def text(self, place: str | None = None, typed: bool = False) -> str:
        """Return the message.

        Parameters
        ----------
        place : str, optional
            The row in other words: ``" in the row of ann"``.
        typed : bool, default False
            Whether to say what to do in the words of the command line.
        """
        fix, *hints = (advice_text(advice, typed) for advice in (self.fix, *self.hints))
        problem = f"{self._subject(place)} {self.problem.replace('{}', repr(self.value), 1)}"
        advice = ": ".join(filter(None, (self.must, fix)))
        said = "; ".join(filter(None, (problem, advice, *hints)))
        return said if self.file is None else f"{self.file}: {said}"

    def _subject(self, place: str | None) -> str:
        """Return the argument and the place."""
        if place is None and self.entry is not None:
            if self.row is None:
                return f"{self.argument}[{self.entry!r}]"
            if isinstance(self.entry, int):
                return f"{self.argument}[{self.row}, {self.entry}]"
        if place is None:
            place = "" if self.row is None else f" in row {self.row}"
            place += "" if self.line is None else f" (line {self.line})"
        entry = "" if self.entry is None else f", class {self.entry!r},"
        return f"{self.argument}{place}{entry}"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text()!r})"


_FIELDS = tuple(signature(ArgumentError).parameters)


class RowError(ArgumentError):
    """A row that cannot be used; `row` is its index, and None for a single update.

    It has the fields of `ArgumentError`.

    Examples
    --------
    >>> import classfilter as cf
    >>> try:
    ...     cf.RawFilter(2).run([[0.5, 0.5], [0.8, 0.7]])
    ... except cf.RowError as error:
    ...     print(error.argument, error.row, error.value, error.must, sep=" | ")
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
    "half_life": "dwell",
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
    names = list(parameters)

    @wraps(made)
    def checked(*args: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in names:
                title = type(args[0]).__name__ if made is not function else made.__name__
                raise TypeError(f"{title} has no argument {name}; {_right_name(name, names)}")
        return made(*args, **keywords)

    if made is function:
        return cast(Named, checked)
    function.__init__ = checked  # type: ignore[method-assign]
    return function


def _right_name(name: str, parameters: list[str]) -> str:
    from difflib import get_close_matches

    names = [one for one in parameters if one != "self"]
    if name in _READING and names[0] == "rows":
        return f"it is an option of reading: give rows(..., {name}=...) in place of the table"
    other = _OTHER_NAMES.get(name)
    near = [other] if other in names else get_close_matches(name, names, 2, 0.6)
    return f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(names)}"
