"""Several labels at once as the policy `Adaptive` sees them: the label that is least certain."""

from __future__ import annotations

import numpy as np

from ..inputs import pairs
from ..pipeline import Chain
from ..policy import Adaptive, Policy
from ..support.types import Array, Floats


def sees_one_label(chain: Chain, policy: Policy | None) -> bool:
    """Return whether a policy has one uncertainty; others get the labels as they are."""
    return chain.independent and isinstance(policy, Adaptive)


def least_certain(probs: Array) -> Floats:
    """Return probabilities of labels, (L,), as those of two classes, of which the first leads.

    The uncertainty of the two is the largest of all labels.

    Examples
    --------
    >>> least_certain(np.array([0.875, 0.25, 0.0])).tolist()
    [0.75, 0.25]
    """
    return pairs(np.minimum(probs, 1 - probs).max())


def most_contradicted(observed: Array, probs: Array) -> Floats:
    """Return observed scores, (L,) or pairs (L, 2), as those of the two classes of `least_certain`.

    The disagreement of the two is the largest of all labels that were observed.

    Examples
    --------
    >>> most_contradicted(np.array([0.75, 0.5, np.nan]), np.array([0.9, 0.1, 0.5])).tolist()
    [0.5, 0.5]
    """
    both = observed if observed.ndim == 2 else pairs(observed)
    against = np.where(probs > 0.5, both[:, 0], both[:, 1])
    seen = against[~np.isnan(against)]
    return pairs(seen.max()) if seen.size else np.full(2, np.nan)
