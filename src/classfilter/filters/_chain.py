"""A filter alone, or with the weights and channels of its sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeGuard, cast

from .._typing import Weights
from ._base import Filter


class FilterChain(Protocol):
    """A filter with the weights and the channels of its sources: a `Tuned`."""

    @property
    def beta(self) -> Mapping[str, float]:
        """The weight of each source; empty where all have weight 1."""

    @property
    def channel(self) -> Mapping[str, Any]:
        """The channel of each source, or None."""

    @property
    def policy(self) -> Any:
        """The policy that belongs to it, or None."""

    @property
    def smoother(self) -> FilterChain:
        """What smooths; mostly itself."""

    def filter(self) -> Any:
        """Return a fresh filter."""


def is_chain(filter: Filter | FilterChain) -> TypeGuard[FilterChain]:  # noqa: A002
    """Return whether a filter comes with weights and channels."""
    return all(
        hasattr(filter, name) for name in ("filter", "beta", "channel", "policy", "smoother")
    )


def unpack(
    filter: Filter | FilterChain,  # noqa: A002
    beta: Weights | None,
    channel: Mapping[str, Any] | None,
    smoothing: bool = False,
) -> tuple[Filter, Weights, Mapping[str, Any]]:
    """Return the filter, the weights and the channels; an argument takes precedence."""
    if is_chain(filter):
        chain = filter.smoother if smoothing else filter
        beta = (chain.beta or 1.0) if beta is None else beta
        return chain.filter(), beta, chain.channel if channel is None else channel
    return cast(Filter, filter), 1.0 if beta is None else beta, channel or {}
