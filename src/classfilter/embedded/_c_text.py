"""Settings as text of C."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np


def table(name: str, numbers: Any) -> str:
    """Write numbers as a constant array."""
    listed = ", ".join(number(x) for x in np.asarray(numbers).ravel().tolist())
    return f"static const float cf_config_{name}[] = {{{listed}}};"


def number(x: float) -> str:
    """Write a number so that a C compiler reads the same float, to the bit."""
    digits = f"{np.float32(x):.9g}"
    return f"{digits if re.search('[.e]', digits) else digits + '.0'}f"


def quoted(value: str) -> str:
    r"""Write text as a C string: bytes beyond ASCII by number, quotes and backslashes escaped."""
    plain = range(32, 127)
    return (
        '"'
        + "".join(
            chr(b) if b in plain and chr(b) not in '"\\?' else f"\\{b:03o}" for b in value.encode()
        )
        + '"'
    )


def constants(prefix: str, names: Sequence[Any]) -> list[str]:
    """Return the names of an enumeration, no two alike; some get a number."""
    words = [f"{prefix}_{re.sub('[^A-Za-z0-9]', '_', str(name)).upper()}" for name in names]
    unique = ["CF_CLASS_NAMES", "CF_LABEL_NAMES"]  # macros of the same header
    for i, word in enumerate(words):
        new, number = word, i
        while new in unique or (new != word and new in words):
            new, number = f"{word}_{number}", number + 1
        unique.append(new)
    return unique[2:]


def comment(text: str) -> str:
    """Write text so that it may stand in a comment."""
    return re.sub(r"[^\x20-\x7e]|\*/|/\*", "?", text)
