"""Runs cases in Node, by tests/js/run_cases.mjs: numbers go there and come back as their bits.

One Node serves all tests of a process, since starting it takes longer than most cases.
"""

from __future__ import annotations

import atexit
import base64
import json
import math
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

ROOT = Path(__file__).parents[1]


def run(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the result of each case of run_cases.mjs."""
    process = _node()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(cases, allow_nan=False) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    assert line, f"Node ended with {process.wait()}"
    answer = json.loads(line)
    assert "error" not in answer, answer["error"]
    results: list[dict[str, Any]] = answer["results"]
    return results


@cache
def _node() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        ["node", "tests/js/run_cases.mjs"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        cwd=ROOT,
    )
    atexit.register(process.communicate)  # the end of its input ends it
    return process


def encode(numbers: ArrayLike) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, np.float64).tobytes()).decode()


def decode(text: str, dtype: Any) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(text), dtype)


def same_bits(text: str, expected: NDArray[Any]) -> bool:
    """Tell whether numbers from Node have the bits of an array; any NaN is as good as another."""
    got = decode(text, expected.dtype)
    missing = np.isnan(expected.ravel())
    as_bits = np.uint64 if expected.dtype == np.float64 else np.uint32
    if got.size != expected.size or not np.array_equal(missing, np.isnan(got)):
        return False
    equal = got.view(as_bits) == np.ascontiguousarray(expected).ravel().view(as_bits)
    return bool((equal | missing).all())


def sent(value: Any) -> Any:
    """Return a value with the numbers that JSON lacks as text."""
    if isinstance(value, (list, tuple)):
        return [sent(item) for item in value]
    if isinstance(value, dict):
        return {key: sent(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity"
    return value


def camel(options: dict[str, Any]) -> dict[str, Any]:
    """Return options by the names of JavaScript."""
    return {re.sub(r"_(\w)", lambda m: m[1].upper(), key): sent(v) for key, v in options.items()}
