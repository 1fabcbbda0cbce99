"""Lines of NDJSON that Polars would read as something else, without a word."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, BinaryIO

from .csv import open_lines

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_BLOCK = 1 << 20


def check_lines(path: Path, name: str) -> None:
    """Raise where a key of the first line is there twice, or text has half of a character.

    Polars takes the first of two values, where others take the last, and half of a character as
    NUL, so that two streams become one.
    """
    with open_lines(path) as lines:
        first = lines.readline(_BLOCK)
        for line in _objects(first):
            twice = [key for key in dict(line) if sum(key == other for other, _ in line) > 1]
            if twice:
                raise ValueError(
                    f"{name}, line 1: the key {twice[0]!r} is there twice; name it once"
                )
        if not _has_surrogate(first, lines):
            return
        lines.seek(0)
        for number, text in enumerate(lines, 1):
            if _SURROGATE.search(text) and any(map(_is_half, _objects(text))):
                raise ValueError(
                    f"{name}, line {number}: text has half of a character, a surrogate without its "
                    "other half; write it in UTF-8"
                )


def _objects(text: bytes) -> list[list[tuple[str, Any]]]:
    """Return the object of a line as its pairs; Polars says what is wrong with another one."""
    try:
        pairs = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return []
    return [pairs] if type(pairs) is list and all(type(pair) is tuple for pair in pairs) else []


def _has_surrogate(before: bytes, file: BinaryIO) -> bool:
    while before:
        block = file.read(_BLOCK)
        if _SURROGATE.search(before + block[:8]):  # it may begin in one and end in the other
            return True
        before = block
    return False


def _is_half(pairs: list[tuple[str, Any]]) -> bool:
    try:
        json.dumps(pairs, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
