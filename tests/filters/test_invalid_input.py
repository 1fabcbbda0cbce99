"""Invalid input: an error names the argument, value, place and remedy; nothing changes."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf
from invalid_input import INVALID_NUMBERS, INVALID_ROWS, NAN, VALID_ROW


def started(dtype: Any) -> cf.DirichletFilter:
    f = cf.DirichletFilter(["a", "b", "c"], dtype=dtype)
    f.run([VALID_ROW, [0.8, 0.1, 0.1]], beta=0.5)
    return f


def state_bytes(f: cf.DirichletFilter) -> bytes:
    return np.float64(f.eta).tobytes() + f.alpha.tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("row", "message", "in_run"), INVALID_ROWS)
def test_invalid_rows(row: list[float], message: str, in_run: str | None, dtype: Any) -> None:
    f = started(dtype)
    before = state_bytes(f)
    for form in (row, tuple(row), np.array(row), np.array(row, np.float32)):
        # 0.2 in single precision prints with other digits: only the exact forms are matched
        exact = dtype == np.float64 and not (isinstance(form, np.ndarray) and form.dtype != dtype)
        with pytest.raises(ValueError, match=message if exact else "probs"):
            f.update(form)
        assert state_bytes(f) == before
    if in_run is not None:
        with pytest.raises(ValueError, match=in_run if dtype == np.float64 else r"probs.*2"):
            f.run([VALID_ROW, VALID_ROW, row, VALID_ROW])
        assert state_bytes(f) == before


@pytest.mark.parametrize(("invalid", "message"), INVALID_NUMBERS)
def test_invalid_weights_and_times(invalid: dict[str, float], message: str) -> None:
    f = started(np.float64)
    before = state_bytes(f)
    with pytest.raises(ValueError, match=message):
        f.update(VALID_ROW, **invalid)
    (name, value) = next(iter(invalid.items()))
    with pytest.raises(ValueError, match=message):
        f.run([VALID_ROW] * 4, **{name: [1.0, 1.0, value, 1.0]})
    assert state_bytes(f) == before


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f: f.update("abc"), ValueError, "probs is 'abc'; the classes are "),
        (lambda f: f.update(0.5), ValueError, "probs has 0 dimensions; it must have 1"),
        (lambda f: f.update(["a", "b", "c"]), TypeError, "probs must hold numbers"),
        (
            lambda f: f.update([VALID_ROW, VALID_ROW, VALID_ROW]),
            ValueError,
            "probs has 2 dimensions; it must have 1",
        ),
        (lambda f: f.update(VALID_ROW, beta="x"), TypeError, "beta must be a number, got 'x'"),
        (lambda f: f.update(VALID_ROW, dt=[1.0]), TypeError, "dt must be a number, got"),
        (lambda f: f.update(), TypeError, r"update\(\) needs the argument probs"),
        (lambda f: f.update(VALID_ROW, 1, 1, 1), TypeError, "got 4 positional arguments"),
        (lambda f: f.update(VALID_ROW, weight=1), TypeError, "no argument 'weight'"),
        (lambda f: f.update(VALID_ROW, 0.5, beta=0.5), TypeError, "two values for beta"),
        (lambda f: f.update([10**400, 0, 0]), TypeError, r"probs must hold numbers, got \[1000"),
        (lambda f: f.run(VALID_ROW), ValueError, "probs has 1 dimensions; it must have 2"),
        (lambda f: f.run([[0.5, 0.5]]), ValueError, "probs has 2 entries, but the filter has 3"),
        (
            lambda f: f.run([VALID_ROW], beta=[1, 1]),
            ValueError,
            "beta has 2 entries, but probs has 1 rows",
        ),
        (lambda f: f.run([VALID_ROW], dt=[[1.0]]), ValueError, "dt has 2 dimensions"),
        (lambda f: f.run([VALID_ROW], dt="x"), TypeError, "dt must hold numbers, got 'x'"),
        (lambda f: setattr(f, "state", (1.0, [1.0, 1.0])), ValueError, "alpha has 2 entries"),
        (lambda f: setattr(f, "state", (-1.0, [1.0] * 3)), ValueError, "eta must lie in"),
        (
            lambda f: setattr(f, "state", (1.0, [1.0, 1.0, 0.0])),
            ValueError,
            "alpha must be at least",
        ),
        (
            lambda f: setattr(f, "state", (1.0, [1.0, NAN, 1.0])),
            ValueError,
            "alpha must be at least",
        ),
        (lambda f: setattr(f, "state", (1.0, [1e7, 1.0, 1.0])), ValueError, "max_concentration"),
    ],
)
def test_invalid_calls(call: Any, error: type[Exception], message: str) -> None:
    f = started(np.float64)
    before = state_bytes(f)
    with pytest.raises(error, match=message):
        call(f)
    assert state_bytes(f) == before


@pytest.mark.parametrize(
    ("classes", "options", "error", "message"),
    [
        ("abc", {}, TypeError, "classes is the text 'abc'"),
        (1, {}, ValueError, "at least two"),
        (["a", "a"], {}, ValueError, "'a' more than once"),
        (3, {"gamma": 1.1}, ValueError, r"gamma is 1.1; it must lie in \[0, 1\]"),
        (3, {"gamma": NAN}, ValueError, "gamma is nan; it must lie in"),
        (3, {"gamma": 0.9, "half_life": 6.0}, ValueError, "both given"),
        (3, {"half_life": 0.0}, ValueError, "half_life is 0.0; it must be positive"),
        (
            3,
            {"estimate": "median"},
            ValueError,
            'estimate is \'median\'; it must be "mode" or "mean"',
        ),
        (3, {"floor": 0.0}, ValueError, "floor is 0.0; it must lie in"),
        (3, {"anchor": -1.0}, ValueError, "anchor is -1.0; it must lie in"),
        (3, {"prior": [1.0, 1.0]}, ValueError, "one entry per class"),
        (3, {"prior": [1.0, 1.0, 0.0]}, ValueError, "each entry must be at least 1e-6"),
        (3, {"prior_weight": 0.0}, ValueError, "prior_weight is 0.0; it must be positive"),
        (3, {"max_concentration": 2.0}, ValueError, "max_concentration is 2.0; it must"),
        (3, {"tolerance": 0.2}, ValueError, r"tolerance is 0.2; it must lie in \[0, 0.1\]"),
        (3, {"tolerance": -1e-9}, ValueError, r"tolerance is -1e-09; it must lie in \[0, 0.1\]"),
        (3, {"dtype": np.int32}, ValueError, "dtype is int32; it must be float64 or float32"),
        (3, {"dtype": "float,,32"}, ValueError, "dtype is 'float,,32'; it must be float64 or"),
        (3, {"dtype": "double-ish"}, ValueError, "dtype is 'double-ish'; it must be float64 or"),
    ],
)
def test_invalid_settings(
    classes: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        cf.DirichletFilter(classes, **options)


@pytest.mark.parametrize("make", [cf.DirichletFilter, cf.StickyFilter])
def test_numbers_that_use_the_filter(make: Any) -> None:
    """What a number does while it is read comes before the update; it cannot take the memory."""

    class Number(float):
        def __init__(self, value: float) -> None:
            self.value = value

    class Odd:
        def __init__(self, use: Any, value: float) -> None:
            self.use, self.value = use, value

        def __float__(self) -> float:
            self.use()
            return self.value

    f, g = make(2), make(2)
    P = f.update([0.9, 0.1], beta=Odd(lambda: f.update([0.1, 0.9]), 1.0))
    g.update([0.1, 0.9])
    np.testing.assert_array_equal(P, g.update([Number(0.9), 0.1]))
    P = f.update([Odd(lambda: f.update([0.1, 0.9]), 0.9), 0.1])
    g.update([0.1, 0.9])
    np.testing.assert_array_equal(P, g.update([0.9, 0.1]))
    with pytest.raises(RuntimeError, match="initialised before: make a new one"):
        f.update([Odd(lambda: f.__init__(5000), 0.9), 0.1])


FILTERS: dict[str, Callable[[], Any]] = {
    "dirichlet": lambda: cf.DirichletFilter(3, 1.0),
    "dirichlet, float32": lambda: cf.DirichletFilter(3, 1.0, dtype=np.float32),
    "sticky": lambda: cf.StickyFilter(3, 1.0),
    "transitions": lambda: cf.StickyFilter(3, transitions=np.eye(3) * 0.97 + 0.01),
}
every_filter = pytest.mark.parametrize("make", FILTERS.values(), ids=list(FILTERS))


def bits(f: Any) -> list[bytes]:
    return [np.asarray(part).tobytes() for part in f.state]


@every_filter
def test_a_second_initialisation_is_refused(make: Any) -> None:
    f = make()
    f.update([0.7, 0.2, 0.1])
    before, options, text = bits(f), dict(f._options), repr(f)
    for classes in (2, 3, 5000):
        with pytest.raises(RuntimeError, match="initialised before: make a new one"):
            f.__init__(classes)
    assert (bits(f), f._options, repr(f), f.classes) == (before, options, text, (0, 1, 2))


class Array:
    """An argument that does something while it is read."""

    def __init__(self, use: Callable[[], object], value: float) -> None:
        self.use, self.value = use, value

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        self.use()
        return np.array(self.value, dtype)


@every_filter
@pytest.mark.parametrize("name", ["beta", "dt"])
@pytest.mark.parametrize("shape", [(0, 3), (12,), (2, 2, 3), (4, 3, 1)])
def test_an_argument_that_reshapes_another(make: Any, name: str, shape: tuple[int, ...]) -> None:
    f = make()
    before = bits(f)
    probs = np.full((4, 3), 1 / 3, f.dtype)
    refused = pytest.raises(ValueError, match="changed its shape")
    with refused if len(shape) != 2 else nullcontext():
        f.run(probs, **{name: Array(lambda: probs.resize(shape, refcheck=False), 1.0)})
    assert bits(f) == before or len(shape) == 2
