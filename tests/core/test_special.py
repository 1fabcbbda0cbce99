"""The core's special functions against 50 digits, over the whole range in which they are used."""

import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
from numpy.typing import DTypeLike

from classfilter import _core

ROOT = Path(__file__).parents[2]

RANGES = {  # function: lowest and highest argument, both of the range used and a margin
    "log": (1e-30, 1e12),
    "exp": (1e-4, 80.0),  # of minus the argument
    "digamma": (1e-6, 1e12),
    "trigamma": (1e-6, 1e12),
}
HIGHEST_SINGLE = 1e7  # max_concentration is at most 1e6 in single precision
EXACT = {
    "log": mpmath.log,
    "exp": lambda x: mpmath.exp(-x),
    "digamma": lambda x: mpmath.psi(0, x),
    "trigamma": lambda x: mpmath.psi(1, x),
}
LIMIT = {"log": 3.0, "exp": 1.0, "digamma": 8.0}  # ulp
OF_TRIGAMMA: dict[type, float] = {
    np.float64: 4e-10,
    np.float32: 1e-6,
}  # relative: it only sets the length of steps


def worst_error(name: str, dtype: DTypeLike, size: int) -> float:
    """Largest error in ulp; digamma has a root, so its ulp is that of max(|value|, 1)."""
    low, high = RANGES[name]
    if np.dtype(dtype) == np.float32:
        high = min(high, HIGHEST_SINGLE)
    x = np.exp(np.random.default_rng(0).uniform(np.log(low), np.log(high), size)).astype(dtype)
    near = np.linspace(0.5, 3, 200, dtype=dtype)  # around the roots of log and digamma
    x = np.concatenate([x, near])
    got = getattr(_core, name)(-x if name == "exp" else x)
    assert got.dtype == x.dtype
    worst = 0.0
    with mpmath.workdps(50):
        for argument, value in zip(x.tolist(), got.tolist(), strict=True):
            exact = EXACT[name](mpmath.mpf(argument))
            scale = abs(float(exact)) if name != "digamma" else max(abs(float(exact)), 1.0)
            unit = float(np.spacing(np.array(scale, dtype)))
            worst = max(worst, abs(float(value - exact)) / unit)
    return worst


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", list(RANGES))
@pytest.mark.parametrize("size", [500, pytest.param(4000, marks=pytest.mark.slow)])
def test_accuracy(name: str, dtype: type, size: int) -> None:
    worst = worst_error(name, dtype, size)
    print(f"{name} {np.dtype(dtype)}: {worst:.2f} ulp")
    unit = float(np.finfo(dtype).eps)
    assert worst <= LIMIT.get(name, OF_TRIGAMMA[dtype] / unit)


@pytest.mark.slow
def test_coefficients_are_those_of_the_script() -> None:
    script = ROOT / "tests/core/c/fit_coefficients.py"
    output = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert output.stdout == (ROOT / "src/classfilter/csrc/coefficients.h").read_text()


def test_exp_of_large_negative_arguments_is_zero() -> None:
    assert _core.exp(np.array([-0.0, -1e3, -1e300])).tolist() == [1.0, 0.0, 0.0]
