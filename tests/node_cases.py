"""Runs cases in Node, by tests/js/run_cases.mjs: numbers go there and come back as their bits."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

ROOT = Path(__file__).parents[1]


def run(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the result of each case of run_cases.mjs."""
    text = json.dumps(cases, allow_nan=False)
    process = subprocess.run(
        ["node", "tests/js/run_cases.mjs"], input=text, capture_output=True, text=True, cwd=ROOT
    )
    assert process.returncode == 0, process.stderr
    results: list[dict[str, Any]] = json.loads(process.stdout)
    return results


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
