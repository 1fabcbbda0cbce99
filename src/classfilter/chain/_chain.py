"""A filter alone, or with the weights and channels of its sources."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, Protocol, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike

from .._support.types import Array, Floats, Weights
from .._validation import factorize, probabilities, row_weights, source_names
from ..filters._base import Filter


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
    if isinstance(filter, (str, PathLike)):
        raise TypeError(f"filter is {str(filter)!r}; read the file first: classfilter.load(...)")
    return cast(Filter, filter), 1.0 if beta is None else beta, channel or {}


def chain_rows(
    chain: FilterChain,
    source: ArrayLike | None,
    probs: ArrayLike,
    beta: ArrayLike | None,
    like: Array,
) -> tuple[Floats, ArrayLike]:
    """Return rows, corrected by the channels of their sources, and their weights.

    `source` is the name of each row's source, or that of all; `like` an estimate of the filter.
    """
    if source is None:
        known = list({**chain.beta, **chain.channel})
        if len(known) != 1:
            raise ValueError(
                f"source is not given, and the filter has weights for {known}; name the source of "
                "each row, or one for all"
            )
        source = known[0]
    rows = probabilities(probs, tuple(map(str, range(like.size))))
    sources = factorize(source_names(source, len(rows)).tolist())
    if len(sources.codes) != len(rows):
        raise ValueError(f"source has {len(sources.codes)} entries, but probs has {len(rows)} rows")
    weights = row_weights(sources, chain.beta or 1.0) if beta is None else beta
    for i, name in enumerate(sources.categories):
        channel = chain.channel.get(name)
        if channel is not None:
            at = np.flatnonzero(sources.codes == i)
            rows[at] = channel.apply(rows[at].astype(like.dtype))
    return rows, weights
