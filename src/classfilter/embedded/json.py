"""Settings as JSON, for the package for JavaScript."""

from __future__ import annotations

import json
from typing import Any

from ..filters import DirichletFilter, Filter, StickyFilter
from ..pipeline import Pipeline
from .header import filters_of


def to_json(filter: Filter | Pipeline) -> str:  # noqa: A002
    """Return a filter, the weights and channels of its sources and a policy as JSON.

    The keys are those of a TOML file. With transitions there is also ``prepared``, what is computed
    of them in Python only: the rates and, in double precision, their modes.

    Examples
    --------
    >>> f = StickyFilter(["walk", "sit"], stay=0.9)
    >>> print(to_json(Pipeline(f, beta={"weak": 0.1})))  # doctest: +ELLIPSIS
    {
     "classes": ["walk", "sit"],
     "filter": "sticky",
     "options": {"stay": 0.9, "prior": [0.5, 0.5], "floor": 0.001, ...},
     "beta": {"weak": 0.1}
    }
    """
    config = Pipeline.of(filter)
    sections: dict[str, Any] = dict(config.settings)
    sections.pop("smoother", None)  # JavaScript does not smooth
    computed = dict(zip(config.heads.names, map(prepared, filters_of(config)), strict=True))
    if "labels" in sections:
        of_labels = sections["labels"].items()
        sections["labels"] = {name: {**of, **computed[name]} for name, of in of_labels}
    else:
        sections |= computed[config.heads.names[0]]
    lines = [f" {json.dumps(key)}: {_dump(value)}" for key, value in sections.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def prepared(filter_: Filter) -> dict[str, Any]:
    """Return what JavaScript needs beside the options of a filter."""
    if type(filter_) not in (DirichletFilter, StickyFilter):
        raise ValueError(
            f"filter is {type(filter_).__name__}; only a DirichletFilter and a StickyFilter run in "
            "JavaScript"
        )
    if not isinstance(filter_, StickyFilter) or filter_.stay is not None:
        return {}
    *_, rates = filter_._prepared
    assert rates is not None
    computed: dict[str, Any] = {"rates": rates.tolist()}
    if filter_._modes is not None:
        computed["modes"] = [row for part in filter_._modes for row in _rows(part.tolist())]
        computed["pairs"] = filter_._modes.pairs
    return {"prepared": computed}


def _rows(part: list[Any]) -> list[Any]:
    """Return a vector as one row, a matrix as its rows."""
    return part if isinstance(part[0], list) else [part]


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
