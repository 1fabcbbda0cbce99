"""Settings of filters in any combination."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import classfilter as cf

NAMES = st.text(st.characters(exclude_categories=["Cs"])) | st.integers(-(2**63), 2**63 - 1)


WEIGHTS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.floats(0, 1))


PRECISIONS = (np.float64, np.float32)


VALID: dict[str, Any] = {"classes": ["walk", "sit"], "filter": "dirichlet"}


@st.composite
def filters(draw: st.DrawFn) -> cf.DirichletFilter:
    """A filter with any of the options set, to any value."""
    classes = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    K = len(classes)
    dtype = draw(st.sampled_from(PRECISIONS))
    prior = st.lists(st.floats(2**-9, 50, width=32), min_size=K, max_size=K)
    settings: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {"dtype": st.just(dtype)},
            optional={
                "gamma": st.floats(0, 1),
                "estimate": st.sampled_from(["mode", "mean"]),
                "floor": st.floats(1e-9, 0.5),
                "anchor": st.floats(0, 10),
                "prior": prior | prior.map(np.array),
                "prior_weight": st.floats(1e-3, 100),
                "max_concentration": st.floats(251, 1e5),
                "tolerance": st.floats(0, 0.0625),
                "bounded": st.booleans(),
            },
        )
    )
    return cf.DirichletFilter(classes, **settings)
