"""Temperatures of a chain: of its filter, and of what smooths."""

from __future__ import annotations

from typing import Any, TypeVar

from ..filters import MultiLabelFilter, with_options
from .pipeline import Chain

ChainType = TypeVar("ChainType", bound=Chain)


def has_temperature(filter_: Any) -> bool:
    """Return whether a filter has a temperature; of several labels at once, each one's filter."""
    if isinstance(filter_, MultiLabelFilter):
        return all(map(has_temperature, filter_._filters))
    return hasattr(filter_, "temperature")


def at_temperature(filter_: Any, temperature: float) -> Any:
    """Return a fresh filter with the same settings and another temperature."""
    if isinstance(filter_, MultiLabelFilter):
        new = {id(f): at_temperature(f, temperature) for f in filter_._filters}
        names = zip(filter_.classes, filter_._filters, strict=True)
        return MultiLabelFilter(filter_.classes, {name: new[id(f)] for name, f in names})
    return with_options(filter_, temperature=temperature)


def tempered(chain: ChainType, filtered: float | None, smoothed: float | None) -> ChainType:
    """Return a chain whose filtered and smoothed rows have these temperatures.

    None leaves what there is. The classes of all rows stay the same, and so do the states.
    """
    smoother = chain.smoother
    if smoothed is not None:
        parts = smoother._parts | {"smoother": None}
        smoother = Chain(at_temperature(smoother._fresh, smoothed), **parts)
    fields = {} if filtered is None else {"_fresh": at_temperature(chain._fresh, filtered)}
    return chain._replaced(smoother, **fields)
