"""Invalid input: an error names the argument, value, place and remedy; nothing changes."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf
from invalid_input import NAN, VALID_ROW


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f: f.update(0.5), ValueError, "probs has 0 dimensions; it must have 1"),
        (lambda f: f.update(["a", "b", "c"]), TypeError, "probs must hold numbers"),
        (lambda f: f.update(), TypeError, r"update\(\) needs the argument probs"),
        (lambda f: f.update(VALID_ROW, 1, 1, 1), TypeError, "got 4 positional arguments"),
        (lambda f: f.update(VALID_ROW, weight=1), TypeError, "no argument 'weight'"),
        (lambda f: f.update(VALID_ROW, 0.5, beta=0.5), TypeError, "two values for beta"),
        (lambda f: f.update([10**400, 0, 0]), TypeError, r"probs must hold numbers, got \[1000"),
        (lambda f: f.run([VALID_ROW], dt=[[1.0]]), ValueError, "dt has 2 dimensions"),
        (lambda f: setattr(f, "state", (1, [1, 1])), ValueError, "alpha has 2 entries"),
        (lambda f: setattr(f, "state", (-1, [1] * 3)), ValueError, "eta must lie in"),
        (lambda f: setattr(f, "state", (1, [1, 1, 0])), ValueError, "alpha must be at least"),
        (lambda f: setattr(f, "state", (1, [1, NAN, 1])), ValueError, "alpha must be at least"),
        (lambda f: setattr(f, "state", (1, [1e7, 1, 1])), ValueError, "max_concentration"),
    ],
)
def test_invalid_calls(call: Any, error: type[Exception], message: str) -> None:
    f = cf.DirichletFilter(["a", "b", "c"])
    f.run([VALID_ROW, [0.8, 0.1, 0.1]], beta=0.5)
    before = f.eta, f.alpha.tobytes()
    with pytest.raises(error, match=message):
        call(f)
    assert (f.eta, f.alpha.tobytes()) == before


BACK = [[0.9, 0.1, 0], [0.1, 0.9, 0], [0.1, 0, 0.9]]
ROUND = [[0.1, 0.9, 0], [0, 0.1, 0.9], [0.9, 0, 0.1]]
NEGATIVE = [[1.1, -0.1, 0], [0, 1, 0], [0, 0, 1]]
SETTINGS: dict[Any, list[tuple[dict[str, Any], str]]] = {
    cf.DirichletFilter: [
        ({"gamma": 1.1}, r"gamma is 1.1; it must lie in \[0, 1\]"),
        ({"gamma": NAN}, "gamma is nan; it must lie in"),
        ({"gamma": 0.9, "half_life": 6.0}, "both given"),
        ({"half_life": 0.0}, "half_life is 0.0; it must be positive"),
        ({"estimate": "median"}, 'estimate is \'median\'; it must be "mode" or "mean"'),
        ({"floor": 0.0}, "floor is 0.0; it must lie in"),
        ({"anchor": -1.0}, "anchor is -1.0; it must lie in"),
        ({"prior": [1.0, 1.0]}, "one entry per class"),
        ({"prior": [1.0, 1.0, 0.0]}, "each entry must be at least 1e-6"),
        ({"prior_weight": 0.0}, "prior_weight is 0.0; it must be positive"),
        ({"max_concentration": 2.0}, "max_concentration is 2.0; it must"),
        ({"tolerance": 0.2}, r"tolerance is 0.2; it must lie in \[0, 0.1\]"),
        ({"tolerance": -1e-9}, r"tolerance is -1e-09; it must lie in \[0, 0.1\]"),
        ({"dtype": np.int32}, "dtype is int32; it must be float64 or float32"),
        ({"dtype": "float,,32"}, "dtype is 'float,,32'; it must be float64 or"),
        ({"dtype": "double-ish"}, "dtype is 'double-ish'; it must be float64 or"),
        ({"bounded": "yes"}, "bounded is 'yes'; it must be True or False"),
        ({"bounded": 1}, "bounded is 1; it must be True or False"),
        ({"bounded": None}, "bounded is None; it must be True or False"),
    ],
    cf.StickyFilter: [
        ({"stay": 1.1}, r"stay is 1.1; it must lie in \[0, 1\]"),
        ({"stay": NAN}, "stay is nan; it must lie in"),
        ({"stay": 0.9, "half_life": 6.0}, "stay and half_life are both given"),
        ({"stay": 0.9, "transitions": np.eye(3)}, "transitions and stay are both given"),
        ({"half_life": 2.0, "transitions": np.eye(3)}, "transitions and half_life are both"),
        ({"floor": 0.0}, "it must lie in"),
        ({"prior": [0.5, 0.5]}, r"prior has shape \(2,\); it must have one entry per class"),
        ({"prior": [0.5, 0.5, 0.0]}, r"prior is \[0.5, 0.5, 0.0\]; each entry must be"),
        ({"prior": [0.5, 0.5, 0.5]}, "their sum within 0.05 of 1"),
        ({"dtype": np.int32}, "dtype is int32; it must be float64 or float32"),
        ({"transitions": np.eye(2)}, r"transitions has shape \(2, 2\); .* shape \(3, 3\)"),
        ({"transitions": np.eye(3) * 0.9}, r"transitions\[0\] sums to 0.9; each row must sum to"),
        ({"transitions": NEGATIVE}, r"transitions\[0, 1\] is -0.1; a probability must be finite"),
        ({"transitions": np.eye(3)}, "more than one stationary distribution; give the one to use"),
        ({"transitions": BACK}, "transitions leaves 2 for good, or nearly so; give the frequency"),
        ({"transitions": np.full((3, 3), 1 / 3)}, "has the eigenvalue .* of a shorter time"),
        ({"transitions": ROUND}, r"transitions\[\d, \d\] is .*, but the nearest process in"),
    ],
    cf.MeanFilter: [
        ({"window": 0}, "window is 0; it must be a whole number of rows, from 1 to"),
        ({"window": "x"}, "window is 'x'"),
        ({"window": 2.5}, "window is 2.5"),
    ],
    cf.VoteFilter: [({"window": 10**30}, "window is 1000"), ({"window": True}, "window is True")],
    cf.EmaFilter: [
        ({"gamma": 1.5}, r"gamma is 1.5; it must lie in \[0, 1\]"),
        ({"gamma": NAN}, "gamma is nan"),
        ({"gamma": 0.5, "half_life": 3.0}, "gamma and half_life are both given"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [(kind, *invalid) for kind, several in SETTINGS.items() for invalid in several],
)
def test_invalid_settings(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(3, **options)


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
