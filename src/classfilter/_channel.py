"""A classifier's confusions, and its answers put right by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._public import public
from ._typing import Bools, Floats
from ._validation import Factorized, one_hot

Channels = Mapping[str, "Channel | None"]

SMALLEST = 1e-9
"""No entry of a channel is less: no answer rules a class out for good."""


class Observations(Protocol):
    """What a channel is estimated from: a `Recording`."""

    @property
    def time(self) -> Floats:
        """When, (T,)."""

    @property
    def probs(self) -> Floats:
        """Class probabilities, (T, K)."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The classifiers."""

    def observed(self, source: str | None = None) -> Bools:
        """Say for each row (T,) whether it is an observation of a source."""


class Channel:
    r"""What a classifier tends to answer in each class; it puts the answers right.

    With :math:`M_{kj}` the mean of what the classifier gives to class j where the class is k, an
    answer w becomes

    .. math:: p_k \propto \pi_k \exp \sum_j w_j \log M_{kj},

    which is Bayes' rule where w is sure of one class. A classifier that cannot tell two classes
    apart is left with no say between them. The prior :math:`\pi` is that of the filter behind:
    equal shares for a `DirichletFilter`, and those of a `StickyFilter`, which divides by them.

    Parameters
    ----------
    matrix : array_like (K, K)
        One row a class: counts or means of what the classifier answers there. Rows are normalised.
    prior : array_like (K,), optional
        How often each class comes, in the eyes of the filter behind; all alike unless given.

    Examples
    --------
    A classifier that says *sit* whenever somebody sits or stands.

    >>> channel = Channel([[90, 5, 5], [5, 85, 10], [5, 85, 10]])
    >>> channel.apply([[0.1, 0.8, 0.1]]).round(2)
    array([[0.06, 0.47, 0.47]])
    """

    def __init__(self, matrix: ArrayLike, prior: ArrayLike | None = None) -> None:
        counts = _matrix("matrix", matrix)
        if counts.shape[0] < 2:
            raise ValueError(f"matrix has {counts.shape[0]} row; there are two classes or more")
        empty = counts.sum(axis=1) <= 0
        if empty.any():
            raise ValueError(
                f"matrix, row {int(empty.argmax())}: it is all 0; say what is answered there"
            )
        shares = np.ones(len(counts)) if prior is None else np.array(prior, np.float64)
        if shares.shape != (len(counts),) or not np.all(np.isfinite(shares)):
            raise ValueError(f"prior is {prior!r}; it must be {len(counts)} numbers, one a class")
        if shares.min() <= 0:
            k = int(shares.argmin())
            raise ValueError(f"prior, entry {k}: it is {shares[k]}; a share must be positive")
        means = _normalised(counts)
        # What was lifted once stays as it is, so that a saved channel comes back to the bit.
        if means.min() < SMALLEST / 2:
            means = _normalised(np.maximum(means, SMALLEST))
        self._matrix: Floats = means
        self._prior: Floats = _normalised(shares)

    @property
    def matrix(self) -> Floats:
        """What is answered in each class, (K, K); each row has the sum 1."""
        return np.array(self._matrix)

    @property
    def prior(self) -> Floats:
        """How often each class comes, (K,)."""
        return np.array(self._prior)

    @classmethod
    def fit(
        cls,
        weak: ArrayLike,
        strong: ArrayLike,
        *,
        time: ArrayLike | None = None,
        strong_time: ArrayLike | None = None,
        prior: ArrayLike | None = None,
        smoothing: float = 1.0,
    ) -> Channel:
        """Learn it from a better classifier's answers, or from labels.

        Each answer of `weak` counts for class k by what `strong` gives to k at the nearest time.

        Parameters
        ----------
        weak : array_like (T, K)
            The answers to be put right. Rows of NaN are left out.
        strong : array_like (T, K) or (T,), or with times (S, K) or (S,)
            The better answers; or labels, as class indices, -1 where unknown.
        time, strong_time : array_like (T,) and (S,), optional
            When, where the two do not come row by row together. Each answer of `weak` takes the
            nearest of `strong`, the earlier of two equally near.
        prior : array_like (K,), optional
            As in `Channel`.
        smoothing : float, default 1
            Each row of the matrix starts from so many answers of the classifier's average kind.

        Examples
        --------
        >>> Channel.fit([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7]], [0, 0, 1]).matrix.round(2)
        array([[0.66, 0.34],
               [0.43, 0.57]])
        """
        answers = _answers("weak", weak)
        better = _answers("strong", strong, answers.shape[1])
        if (time is None) != (strong_time is None):
            raise ValueError("time and strong_time belong together; give both, or neither")
        if time is None:
            if len(better) != len(answers):
                raise ValueError(
                    f"weak has {len(answers)} rows, strong {len(better)}; give time and strong_time"
                )
            pairs = [(answers, better)]
        else:
            at, strong_at = np.asarray(time, float), np.asarray(strong_time, float)
            if at.shape != (len(answers),) or strong_at.shape != (len(better),):
                raise ValueError(
                    f"time has shape {at.shape} and strong_time {strong_at.shape}; "
                    f"they must be ({len(answers)},) and ({len(better)},), like the answers"
                )
            for name, moments in (("time", at), ("strong_time", strong_at)):
                if not np.isfinite(moments).all():
                    row = int((~np.isfinite(moments)).argmax())
                    raise ValueError(f"{name} in row {row} is {moments[row]}; it must be finite")
            known = np.flatnonzero(~np.isnan(better).any(axis=1))
            known = known[np.argsort(strong_at[known], kind="stable")]
            pairs = [(answers, better[known[nearest(at, strong_at[known])]])] if known.size else []
        return cls._learnt(pairs, prior, smoothing)

    @classmethod
    def between(
        cls,
        recordings: Observations | Iterable[Observations],
        source: str,
        reference: str,
        *,
        prior: ArrayLike | None = None,
        smoothing: float = 1.0,
    ) -> Channel:
        """Learn a source's channel from the nearest answers of another source in recordings.

        Examples
        --------
        >>> from classfilter import Recording
        >>> rec = Recording([0, 1, 2], ["strong", "weak", "weak"],
        ...     [[0.9, 0.1], [0.7, 0.3], [0.8, 0.2]], ["rest", "move"])
        >>> Channel.between(rec, "weak", "strong").matrix[0].round(2)
        array([0.75, 0.25])
        """
        one = hasattr(recordings, "probs")
        several: list[Observations] = [recordings] if one else list(recordings)  # type: ignore[list-item, arg-type]
        pairs = []
        for rec in several:
            its = np.flatnonzero(rec.observed(source))
            others = np.flatnonzero(rec.observed(reference))
            if its.size and others.size:
                to = others[nearest(rec.time[its], rec.time[others])]
                pairs.append((rec.probs[its], rec.probs[to]))
        if not pairs:
            raise ValueError(
                f"no recording has answers of both {source!r} and {reference!r}; there are: "
                f"{', '.join(sorted({name for rec in several for name in rec.sources}))}"
            )
        return cls._learnt(pairs, prior, smoothing)

    @classmethod
    def _learnt(
        cls,
        pairs: Sequence[tuple[Floats, Floats]],
        prior: ArrayLike | None,
        smoothing: float,
    ) -> Channel:
        if not (smoothing > 0 and np.isfinite(smoothing)):
            raise ValueError(f"smoothing is {smoothing!r}; it must be positive and finite")
        counts: Floats = np.zeros(())
        for weak, strong in pairs:
            known = ~(np.isnan(weak).any(axis=1) | np.isnan(strong).any(axis=1))
            counts = counts + strong[known].T @ weak[known]
        if not counts.sum() > 0:
            raise ValueError(
                "weak and strong have no row in common; there is nothing to learn from"
            )
        average = counts.sum(axis=0) / counts.sum()
        # A little of every class, so that one never answered has no zero.
        average = (average + 1e-3 / len(average)) / (1 + 1e-3)
        return cls(counts + smoothing * average, prior)

    def apply(self, probs: ArrayLike) -> Floats:
        """Put answers right.

        Parameters
        ----------
        probs : array_like (T, K) or (K,)
            The classifier's answers. Rows of NaN stay so. An array of float32 is computed with in
            float32, to the bit as on a microcontroller.

        Returns
        -------
        ndarray (T, K) or (K,)
            Class probabilities.
        """
        rows = np.asarray(probs)
        if rows.dtype != np.float32:
            rows = np.asarray(probs, np.float64)
        if rows.ndim == 1:
            single: Floats = self.apply(rows[None])[0]
            return single
        return _core.apply_channel(*self.logarithms, rows)

    @property
    def logarithms(self) -> tuple[Floats, Floats]:
        """What the core computes with: log M transposed, (K, K), and the log of the prior, (K,)."""
        return _core.log(self._matrix.T), _core.log(np.maximum(self._prior, 1e-300))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Channel):
            return NotImplemented
        return np.array_equal(self._matrix, other._matrix) and np.array_equal(
            self._prior, other._prior
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        right = self._matrix.trace() / len(self._prior)
        return f"Channel({len(self._prior)} classes, {right:.0%} kept on average)"


public(Channel)


def beta_from_confusion(matrix: ArrayLike, *, repeats: float = 8.0) -> float:
    r"""Return a classifier's weight in a `DirichletFilter` from its confusion matrix.

    The matrix tells which share u of what there is to know of the class an answer brings: the
    mutual information of class and answer over the entropy of the class. Neighbouring answers
    share their errors, so that so many of them, `repeats`, tell about as much as one:

    .. math:: \frac{\beta}{1 - \beta} = \frac{1}{\text{repeats}} \frac{u}{1 - u}.

    A classifier without error gets 1, one that guesses gets 0. The default suits answers every
    few seconds; where a recording is at hand, `tune` finds better weights.

    Parameters
    ----------
    matrix : array_like (K, K)
        Counts: a row for each true class, a column for each answer.
    repeats : float, default 8
        How many successive answers share an error; 1 where errors are independent.

    Examples
    --------
    >>> round(beta_from_confusion([[80, 10, 10], [10, 80, 10], [10, 10, 80]]), 3)
    0.082
    >>> beta_from_confusion([[50, 0], [0, 50]]), beta_from_confusion([[25, 25], [25, 25]])
    (1.0, 0.0)
    """
    counts = _matrix("matrix", matrix)
    if not counts.sum() > 0:
        raise ValueError("matrix is all 0; give counts of answers")
    if not 1 <= repeats < np.inf:
        raise ValueError(f"repeats is {repeats!r}; it must be 1 or more, and finite")
    joint = counts / counts.sum()
    truth, answer = joint.sum(axis=1), joint.sum(axis=0)
    surprise = -float(np.sum(truth[truth > 0] * np.log(truth[truth > 0])))
    if not surprise > 0:
        raise ValueError("matrix has one row of counts only; it must have two true classes or more")
    seen = joint > 0
    told = float(np.sum(joint[seen] * np.log(joint[seen] / np.outer(truth, answer)[seen])))
    share = min(max(told / surprise, 0.0), 1.0)
    return share / (share + repeats * (1 - share)) if share > 1e-12 else 0.0


def nearest(time: Floats, others: Floats) -> NDArray[np.intp]:
    """Return, for each time, the index of the nearest of the others (sorted), the first of several.

    Examples
    --------
    >>> nearest(np.array([0.0, 4.0, 5.0, 9.0]), np.array([0.0, 8.0])).tolist()
    [0, 0, 1, 1]
    """
    after = np.minimum(np.searchsorted(others, time), len(others) - 1)
    before = np.maximum(after - 1, 0)
    closer = np.abs(others[after] - time) < np.abs(others[before] - time)
    # Of several at one time, the search may have met the last.
    found: NDArray[np.intp] = np.searchsorted(others, others[np.where(closer, after, before)])
    return found


def _normalised(a: Floats) -> Floats:
    """Return rows with the sum 1; as they are where they have it, up to rounding."""
    total = a.sum(axis=-1, keepdims=True)
    scaled: Floats = np.where(np.abs(total - 1) < 1e-13 * a.shape[-1], a, a / total)
    return scaled


def _matrix(name: str, matrix: ArrayLike) -> Floats:
    a = np.array(matrix, np.float64)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"{name} has shape {a.shape}; it must be square, one row a class")
    bad = ~(np.isfinite(a) & (a >= 0))
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise ValueError(f"{name}, row {i}, column {j}: it is {a[i, j]}; give counts, 0 or more")
    return a


def _answers(name: str, given: ArrayLike, K: int | None = None) -> Floats:
    """Return answers (T, K); of class indices, certain ones, and NaN where unknown."""
    try:
        a = np.asarray(given)
    except ValueError:
        raise ValueError(f"{name} has rows of unequal length; give one entry a class") from None
    if K is not None and a.ndim == 1 and a.dtype.kind in "iu":
        if a.size and a.max() >= K:
            raise ValueError(f"{name} has the class {a.max()}, but there are {K} classes")
        return one_hot(a, K)
    if a.ndim != 2 or (K is not None and a.shape[1] != K):
        raise ValueError(
            f"{name} has shape {a.shape}; it must be (T, {K or 'K'}), one column a class"
        )
    try:
        return _core.check_rows(a.shape[1], a, 1.0, 0.0)[0]
    except ValueError as error:
        raise ValueError(str(error).replace("probs", name, 1)) from None


def correct(probs: Floats, source: Factorized, channel: Channels | None, dtype: Any) -> Floats:
    """Return the probabilities (T, K), those of each source that has a channel corrected by it.

    The channels compute in the precision of the filter behind, `dtype`.
    """
    if not channel:
        return probs
    probs = probs.astype(dtype)
    corrected = probs.copy()
    for i, name in enumerate(source.categories):
        if channel.get(name) is not None:
            rows = source.codes == i
            corrected[rows] = correct_source(channel, name, probs[rows])
    return corrected


def correct_source(channel: Channels, name: str, probs: ArrayLike) -> Floats:
    """Return a source's predictions (T, K), valid ones, corrected; what is wrong is the channel."""
    one = channel[name]
    assert one is not None
    try:
        return one.apply(probs)
    except ValueError as error:
        raise ValueError(f"channel[{name!r}] does not fit the filter: {error}") from None
