"""Invalid input: an error names the argument, value, place and remedy; nothing changes."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf


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
    with pytest.raises(RuntimeError, match="the"):
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
