"""The values of one line of NDJSON, checked; an error says what is wrong with them."""

from __future__ import annotations

import json
import math
import sys
from reprlib import repr as short
from typing import Any, NoReturn

import numpy as np

from .. import _core
from ..errors import RowError
from ..inputs import (
    DEFAULT_RELIABILITY,
    Heads,
    as_probabilities,
    check_heads,
    label_row,
    parse_timestamp,
    table_label_indices,
)

NUMBERS = frozenset((int, float))


class LineError(Exception):
    """A line is invalid."""


def parse(body: bytes, time_key: str = "time") -> dict[str, Any]:
    """Return the object of a line; none of its keys is there twice."""
    try:
        text = body.decode()
        try:
            row, end = _scan(text, 0)
        except StopIteration:
            end = -1
        if end != len(text):
            row = _DECODER.decode(text)  # it says what is wrong
        # Each key has a colon: where there are no more of them, no key is there twice.
        more = text.count(":") - len(row) if type(row) is dict else 0
        if more and ("\\u" in text or more != str(row.get(time_key)).count(":")):
            _STRICT.decode(text)
    except (ValueError, RecursionError) as error:
        why = f"is not JSON: {error}; write one object per line, in UTF-8"
        raise LineError(f"{short(body)} {why}") from None
    if type(row) is not dict:
        raise LineError(f"is {short(row)}; it must be an object, {{...}}")
    return row


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number, write null")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for key, value in pairs:
        if key in row:
            raise ValueError(f"the key {short(key)} is there twice")
        row[key] = value
    return row


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_STRICT = json.JSONDecoder(object_pairs_hook=_no_duplicates)
_scan = _DECODER.scan_once  # type: ignore[attr-defined]


def seconds(key: str, value: Any, factor: float = 1.0) -> float:
    """Return the time of a line as a number; numbers are divided by a factor."""
    try:
        at = parse_timestamp(value, factor)
    except OverflowError:
        at = None
    if at is None or not math.isfinite(at):
        hint = "give a finite number, or ISO 8601 text such as 2024-05-01T08:00:00Z"
        raise LineError(f"{key} is {short(value)}; {hint}")
    return at


def line_number(key: str, row: dict[str, Any]) -> int:
    """Return the number of a line."""
    number = row.get(key)
    if type(number) is not int or not 0 <= number < 1 << 62:
        what = f"is {short(number)}" if key in row else "is missing"
        raise LineError(f"{key} {what}; it must be the number of the line, a whole number")
    return number


def check_name(key: str, row: dict[str, Any]) -> str | None:
    """Return the name of the stream as text, as in a table; None where lines have none."""
    if key not in row:
        return None
    name = row[key]
    if type(name) is float and math.isfinite(name):
        name = int(name) if name.is_integer() else str(name)  # 1 and 1.0 are one number in JSON
    if type(name) not in (str, int):
        raise LineError(f"{key} is {short(name)}; it must be text or a number")
    return str(name)


def label_probs(
    row: dict[str, Any],
    keys: tuple[str, str],
    classes: tuple[str, ...],
    scores: str,
    certain: bool = False,
) -> list[float]:
    """Return the probabilities of a line's label and its confidence; NaN where it is missing.

    `keys` are those of the label and of the confidence; `scores` and `certain` are as elsewhere.
    """
    label, known, K = row[keys[0]], table_label_indices(classes), len(classes)
    if label is None or label == "" or known.get(label if type(label) is int else None) == -1:
        return [math.nan] * K
    if type(label) not in (str, int) or label not in known:
        hint = f"the classes are {list(classes)}: give a name, or null where there is none"
        raise LineError(f"{keys[0]} is {short(label)}; {hint}")
    if scores == "logits" and keys[1] in row:
        hint = "it must be a probability or a percentage, but --scores is logits"
        raise LineError(f"{keys[1]} is {short(row[keys[1]])}; {hint}")
    largest = 100 if scores == "percent" else 1
    confidence = row.get(keys[1])
    if confidence is None:
        return label_row(known[label], 1.0 if certain else DEFAULT_RELIABILITY, K)
    if type(confidence) not in NUMBERS or not 0 <= confidence <= largest:
        raise LineError(f"{keys[1]} is {short(confidence)}; it must lie in [0, {largest}]")
    return label_row(known[label], confidence / largest, K)


def check_scores(keys: list[str], scores: tuple[Any, ...]) -> bool:
    """Raise unless all are numbers; return False if all are null."""
    if all(p is None or p != p for p in scores):
        return False
    for key, p in zip(map(short, keys), scores, strict=True):
        if p is None:
            raise LineError(
                f"{key} is null, but others are not; a missing observation has only null"
            )
        if type(p) not in NUMBERS:
            raise LineError(f"{key} is {short(p)}; it must be a number")
        if not abs(p) <= sys.float_info.max:  # the core takes no integer beyond it
            raise LineError(f"{key} is {short(p)}; a probability must be finite and not negative")
    return True


def check_probs(keys: list[str], probs: tuple[Any, ...]) -> None:
    """Raise unless a filter would take the probabilities; the message names the key."""
    if not check_scores(keys, probs):
        return
    try:
        _core.check_row(len(probs), list(probs), 1.0, 0.0)
    except RowError as error:
        if error.entry is None:
            about = error.replaced(argument="the p_<class>", problem="sum to {}")
        else:
            about = error.replaced(argument=short(keys[int(error.entry)]), entry=None)
        raise LineError(about.text(typed=True)) from None


def head_scores(keys: list[str], given: tuple[Any, ...], kind: str, heads: Heads) -> list[float]:
    """Return the scores of several heads, in their order, checked; NaN where a label is null."""
    for key, p in zip(map(short, keys), given, strict=True):
        if p is not None and type(p) not in NUMBERS:
            raise LineError(f"{key} is {short(p)}; it must be a number, or null")
    try:
        numbers = np.array([[math.nan if p is None else p for p in given]], np.float64)
        probs = as_probabilities(numbers, kind, heads)
        check_heads(probs, heads)
    except RowError as error:
        of = "the p_<class>" if error.entry is None else keys[heads.shown.index(error.entry)]
        raise LineError(error.replaced(argument=short(of), row=None, entry=None).text()) from None
    except OverflowError:
        raise LineError(f"the p_<label> are {short(given)}; they must be finite") from None
    scores: list[float] = probs[0].tolist()
    return scores
