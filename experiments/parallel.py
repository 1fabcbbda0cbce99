"""A map over processes, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")


def map_in_processes(
    function: Callable[[Item], Value], items: Iterable[Item], jobs: int
) -> Iterator[Value]:
    """Yield the function of each item, computed in so many processes; in this one if it is 1."""
    if jobs == 1:
        yield from map(function, items)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(function, items)
