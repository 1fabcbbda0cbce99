"""What Python says of an error, as JavaScript should say it."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest


def python_message(make: Any) -> str:
    """Return the words of the error in Python, with the names of JavaScript."""
    with pytest.raises((ValueError, TypeError)) as error:
        make()
    text = str(error.value).replace("True or False", "true or false")
    text = text.replace("classfilter.softmax", "softmax")
    text = text.replace(', and scores="independent" where it is an argument', "")
    names = "half|prior|max|min|expire|change|leave|merge"
    return re.sub(rf"({names})_(\w)", lambda m: m[1] + m[2].upper(), text)


def sent(value: Any) -> Any:
    """Return a value with the numbers that JSON lacks as text."""
    if isinstance(value, list):
        return [sent(item) for item in value]
    if isinstance(value, dict):
        return {key: sent(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity"
    return value


def camel(options: dict[str, Any]) -> dict[str, Any]:
    """Return options by the names of JavaScript."""
    return {re.sub(r"_(\w)", lambda m: m[1].upper(), key): sent(v) for key, v in options.items()}
