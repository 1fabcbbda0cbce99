"""The channel of a classifier: what it confuses, and how to correct its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import ArgumentError, RowError
from ..inputs import Heads, as_labels, named_classes, predictions
from ..support.types import Array, Classes, Floats
from ..support.validation import text_names

Channels = Mapping[str, Any]
"""By source: a Channel or None; of several labels at once, also a mapping of label to them."""

MIN_ENTRY = 1e-9
"""Smallest entry of a channel: no single output excludes a class."""


class Channel:
    r"""What a classifier tends to output in each class; it corrects the outputs.

    With :math:`M_{kj}` the mean probability that the classifier gives to class j where the class is
    k, an output w becomes

    .. math:: p_k \propto \pi_k \exp \sum_j w_j \log M_{kj},

    which is Bayes' rule where w is one-hot. Between two classes that the classifier cannot
    distinguish, the corrected output is that of the prior. The prior :math:`\pi` is that of the
    filter: uniform for a `DirichletFilter`, and the one that a `StickyFilter` divides by.

    Parameters
    ----------
    matrix : array_like (K, K)
        One row per class: counts or mean outputs of the classifier there. Rows are normalised.
    prior : array_like (K,), optional
        Frequency of each class in the model of the filter; by default uniform.

    Examples
    --------
    A classifier that predicts *sit* whenever somebody sits or stands.

    >>> channel = Channel([[90, 5, 5], [5, 85, 10], [5, 85, 10]])
    >>> channel.apply([[0.1, 0.8, 0.1]]).round(2)
    array([[0.06, 0.47, 0.47]])
    """

    def __init__(self, matrix: ArrayLike, prior: ArrayLike | None = None) -> None:
        counts = _check_counts(matrix)
        if counts.shape[0] < 2:
            raise ValueError(f"matrix has {counts.shape[0]} row; at least two classes are needed")
        empty = counts.sum(axis=1) <= 0
        if empty.any():
            raise ValueError(
                f"matrix, row {int(empty.argmax())}: it is all 0; give counts of the outputs there"
            )
        shares = np.ones(len(counts)) if prior is None else np.array(prior, np.float64)
        if shares.shape != (len(counts),) or not np.all(np.isfinite(shares)):
            raise ValueError(f"prior is {prior!r}; it must be {len(counts)} numbers, one per class")
        if shares.min() <= 0:
            k = int(shares.argmin())
            raise ValueError(f"prior, entry {k}: it is {shares[k]}; a share must be positive")
        means = _normalised(counts)
        # Entries that were raised once stay, so that a saved channel is restored to the bit.
        if means.min() < MIN_ENTRY / 2:
            means = _normalised(np.maximum(means, MIN_ENTRY))
        self._matrix: Floats = means
        self._prior: Floats = _normalised(shares)

    @property
    def matrix(self) -> Floats:
        """Mean output in each class, (K, K); each row sums to 1."""
        return np.array(self._matrix)

    @property
    def prior(self) -> Floats:
        """Frequency of each class, (K,)."""
        return np.array(self._prior)

    @classmethod
    def fit(
        cls,
        weak: Any,
        strong: Any,
        *,
        time: ArrayLike | None = None,
        strong_time: ArrayLike | None = None,
        prior: ArrayLike | None = None,
        smoothing: float = 1.0,
        classes: Classes | None = None,
    ) -> Channel:
        """Estimate a channel from the outputs of a better classifier, or from labels.

        Each output of `weak` counts for class k with the probability of k in the output of `strong`
        at the nearest time.

        Parameters
        ----------
        weak : array_like (T, K) or (T,), or dataframe
            The outputs to be corrected, or predicted classes. Rows of NaN are skipped. The columns
            of a dataframe are matched by name.
        strong : array_like (T, K) or (T,), or with times (S, K) or (S,); or dataframe
            The better outputs, or labels. Labels on both sides are names of `classes` or class
            indices; -1 or None where unknown.
        time, strong_time : array_like (T,) and (S,), optional
            The times, where the rows of the two do not correspond. Each output of `weak` is paired
            with the nearest of `strong`, the earlier of two equally near.
        prior : array_like (K,), optional
            As in `Channel`.
        smoothing : float, default 1
            Additive smoothing: each row of the matrix starts from that many outputs equal to the
            average output of the classifier.
        classes : iterable of K names, or int, optional
            The classes, in the filter's order, or their number; needed for labels that are names,
            and where both sides have labels. By default the names of a dataframe, of `weak` first.

        Examples
        --------
        >>> Channel.fit(["sit", "sit", "walk"], ["sit", "sit", "walk"], classes=["walk", "sit"])
        Channel(2 classes, mean recall 72%)
        >>> Channel.fit([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7]], [0, 0, 1]).matrix.round(2)
        array([[0.66, 0.34],
               [0.43, 0.57]])
        """
        sides, outputs = {"weak": weak, "strong": strong}, {}
        names = named_classes(weak) or named_classes(strong)
        names = names if classes is None else text_names(classes)
        # First the one with a column per class, which says how many there are.
        for side in sorted(sides, key=lambda side: as_labels(sides[side]) is not None):
            outputs[side] = _outputs(side, sides[side], names)
            names = names or text_names(outputs[side].shape[1])
        weak_probs, strong_probs = outputs["weak"], outputs["strong"]
        if (time is None) != (strong_time is None):
            raise ValueError("time and strong_time belong together; give both, or neither")
        if time is None:
            if len(strong_probs) != len(weak_probs):
                raise ValueError(
                    f"weak has {len(weak_probs)} rows, strong {len(strong_probs)}; give time and "
                    "strong_time"
                )
            paired = strong_probs
        else:
            t, strong_t = np.asarray(time, float), np.asarray(strong_time, float)
            if t.shape != (len(weak_probs),) or strong_t.shape != (len(strong_probs),):
                raise ValueError(
                    f"time has shape {t.shape} and strong_time {strong_t.shape}; they must be "
                    f"({len(weak_probs)},) and ({len(strong_probs)},), like weak and strong"
                )
            for name, times in (("time", t), ("strong_time", strong_t)):
                if not np.isfinite(times).all():
                    row = int((~np.isfinite(times)).argmax())
                    raise ValueError(f"{name} in row {row} is {times[row]}; it must be finite")
            observed = np.flatnonzero(~np.isnan(strong_probs).any(axis=1))
            observed = observed[np.argsort(strong_t[observed], kind="stable")]
            paired = np.full(weak_probs.shape, np.nan)
            if observed.size:
                paired = strong_probs[observed[nearest(t, strong_t[observed])]]
        if not (smoothing > 0 and np.isfinite(smoothing)):
            raise ValueError(f"smoothing is {smoothing!r}; it must be positive and finite")
        complete = ~(np.isnan(weak_probs).any(axis=1) | np.isnan(paired).any(axis=1))
        counts = paired[complete].T @ weak_probs[complete]
        if not counts.sum() > 0:
            raise ValueError(
                "weak and strong have no row in common; a channel needs outputs of both"
            )
        average = counts.sum(axis=0) / counts.sum()
        # A little of every class, so that one that is never predicted has no zero.
        average = (average + 1e-3 / len(average)) / (1 + 1e-3)
        return cls(counts + smoothing * average, prior)

    def apply(self, probs: ArrayLike) -> Floats:
        """Correct outputs of the classifier.

        Parameters
        ----------
        probs : array_like (T, K) or (K,)
            The outputs. Rows of NaN stay NaN. An array of float32 is corrected in float32, to the
            bit as on a microcontroller.

        Returns
        -------
        ndarray (T, K) or (K,)
            The corrected class probabilities.
        """
        K = len(self._prior)
        _core.check_no_booleans(probs)
        try:
            rows = np.asarray(probs)
            rows = rows if rows.dtype == np.float32 else np.asarray(probs, np.float64)
        except (TypeError, ValueError):
            rows = predictions(probs, Heads.exclusive(text_names(K))).probs  # it names the row
        if rows.ndim not in (1, 2) or rows.shape[-1] != K:
            raise ValueError(
                f"probs has shape {rows.shape}; it must be (T, {K}) or ({K},): the channel has {K} "
                "classes"
            )
        log_matrix, log_prior = self.logarithms_in(rows.dtype)
        applied: Array = _core.apply_channel(log_matrix, log_prior, np.atleast_2d(rows))
        return applied.reshape(rows.shape)

    @cached_property
    def logarithms(self) -> tuple[Floats, Floats]:
        """The arguments of the C core: log M transposed, (K, K), and log of the prior, (K,)."""
        return _core.log(self._matrix.T), _core.log(np.maximum(self._prior, 1e-300))

    def logarithms_in(self, dtype: Any) -> tuple[Array, Array]:
        """Return `logarithms` in the precision of a filter."""
        log_matrix, log_prior = self.logarithms
        return log_matrix.astype(dtype, copy=False), log_prior.astype(dtype, copy=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Channel):
            return NotImplemented
        return np.array_equal(self._matrix, other._matrix) and np.array_equal(
            self._prior, other._prior
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        recall = self._matrix.trace() / len(self._prior)
        return f"Channel({len(self._prior)} classes, mean recall {recall:.0%})"


def corrected(logarithms: tuple[Array, Array], probs: ArrayLike) -> Array:
    """Return one output (K,), corrected; `logarithms` are those of a channel, in any precision."""
    log_matrix, log_prior = logarithms
    _core.check_no_booleans(probs)
    try:
        row = np.asarray(probs, log_prior.dtype)
    except (TypeError, ValueError):
        row = np.empty(0)
    if row.shape != log_prior.shape:
        row = _core.check_row(log_prior.size, probs, 1.0, 0.0)[0]  # it has the words for it
    try:
        applied: Array = _core.apply_channel(log_matrix, log_prior, row[None])[0]
        return applied
    except RowError as error:
        raise error.replaced(row=None) from None


def beta_from_confusion(matrix: ArrayLike, *, repeats: float = 8.0) -> float:
    r"""Return a classifier's weight in a `DirichletFilter` from its confusion matrix.

    The share u of the information about the class that one prediction brings is the mutual
    information of class and prediction over the entropy of the class. Neighbouring predictions
    share their errors, so that `repeats` of them are worth about one:

    .. math:: \frac{\beta}{1 - \beta} = \frac{1}{\text{repeats}} \frac{u}{1 - u}.

    A classifier without error gets 1, one that guesses gets 0. The default suits predictions every
    few seconds; with a recording, `tune` finds better weights.

    Parameters
    ----------
    matrix : array_like (K, K)
        Counts: a row for each true class, a column for each predicted class.
    repeats : float, default 8
        How many successive predictions share an error; 1 where errors are independent.

    Examples
    --------
    >>> round(beta_from_confusion([[80, 10, 10], [10, 80, 10], [10, 10, 80]]), 3)
    0.082
    >>> beta_from_confusion([[50, 0], [0, 50]]), beta_from_confusion([[25, 25], [25, 25]])
    (1.0, 0.0)
    """
    counts = _check_counts(matrix)
    if not counts.sum() > 0:
        raise ValueError("matrix is all 0; give counts of predictions")
    if not 1 <= repeats < np.inf:
        raise ValueError(f"repeats is {repeats!r}; it must be 1 or more, and finite")
    joint = counts / counts.sum()
    truth, predicted = joint.sum(axis=1), joint.sum(axis=0)
    entropy = -float(np.sum(truth[truth > 0] * np.log(truth[truth > 0])))
    if not entropy > 0:
        raise ValueError("matrix has one row of counts only; it must have two true classes or more")
    positive = joint > 0
    independent = np.outer(truth, predicted)[positive]
    information = float(np.sum(joint[positive] * np.log(joint[positive] / independent)))
    share = min(max(information / entropy, 0.0), 1.0)
    return share / (share + repeats * (1 - share)) if share > 1e-12 else 0.0


def nearest(time: Floats, grid: Floats) -> NDArray[np.intp]:
    """Return, for each time, the index of the nearest of a grid (sorted), the first of several.

    Examples
    --------
    >>> nearest(np.array([0.0, 4.0, 5.0, 9.0]), np.array([0.0, 8.0])).tolist()
    [0, 0, 1, 1]
    """
    after = np.minimum(np.searchsorted(grid, time), len(grid) - 1)
    before = np.maximum(after - 1, 0)
    closer = np.abs(grid[after] - time) < np.abs(grid[before] - time)
    # Of several at one time, `before` is the last: search again for the first.
    first: NDArray[np.intp] = np.searchsorted(grid, grid[np.where(closer, after, before)])
    return first


def _normalised(a: Floats) -> Floats:
    """Return rows that sum to 1; those that already do, up to rounding, stay as they are."""
    total = a.sum(axis=-1, keepdims=True)
    scaled: Floats = np.where(np.abs(total - 1) < 1e-13 * a.shape[-1], a, a / total)
    return scaled


def _check_counts(matrix: ArrayLike) -> Floats:
    """Return a square matrix of counts."""
    counts = np.array(matrix, np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise ValueError(f"matrix has shape {counts.shape}; it must be square, one row per class")
    invalid = ~(np.isfinite(counts) & (counts >= 0))
    if invalid.any():
        i, j = np.argwhere(invalid)[0]
        raise ValueError(
            f"matrix, row {i}, column {j}: it is {counts[i, j]}; give counts, 0 or more"
        )
    return counts


def _outputs(name: str, outputs: ArrayLike, classes: tuple[str, ...] | None) -> Floats:
    """Return outputs (T, K), checked; of labels, one-hot rows, and NaN where unknown."""
    try:
        a = np.asarray(outputs)
    except ValueError:
        raise ValueError(f"{name} has rows of unequal length; give one entry per class") from None
    if as_labels(outputs) is None and named_classes(outputs) is None:
        K = None if classes is None else len(classes)
        if a.ndim != 2 or a.shape[1] < 2 or a.shape[1] != (K or a.shape[1]):
            raise ValueError(
                f"{name} has shape {a.shape}; it must be (T, {K or 'K'}), one column per class"
            )
        classes = classes or text_names(a.shape[1])
    elif classes is None:
        raise ValueError(
            f"{name} holds labels, such as {short(a.tolist()[0])}; give classes, the names in order"
        )
    try:
        return predictions(outputs, Heads.exclusive(classes)).probs
    except ArgumentError as error:
        raise error.replaced(argument=name) from None
