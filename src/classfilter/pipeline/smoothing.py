"""Smoothing with the weight and the channel of a source; temperatures of a pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..events import EventRule
from ..filters import Filter, check_smoother, smooth_one, with_options
from ..inputs import for_filter, in_order, predictions, results_like
from ..support.validation import Factorized
from .pipeline import Pipeline
from .settings import settings_of_rows


def smooth(
    filter: Filter | Pipeline,  # noqa: A002
    probs: Any,
    beta: ArrayLike | None = None,
    dt: ArrayLike = 1.0,
    *,
    lag: int | None = None,
) -> Any:
    r"""Return the smoothed class probabilities: each row from the rows before and after it.

    For a `StickyFilter` it is the posterior of the hidden Markov model,
    :math:`p(c_t | s_1, \dots, s_T)`. For a `DirichletFilter`, a second filter runs from the end to
    the beginning. The states of the two on either side of row t are added, :math:`\eta + \eta'` and
    :math:`\nu + \nu'`, with the prior counted once; then row t is observed. At beta = 1 the result
    is a two-sided kernel, :math:`\nu_t = \sum_r \gamma^{|t - r|} (-\log s_r)`, plus the initial
    state.

    Parameters
    ----------
    filter : DirichletFilter, StickyFilter or Pipeline
        Its settings, and its state before the first row; it does not change. Of a `Pipeline` with
        one source, the weight and the channel are used too; with several, call its own `smooth`:
        the rows have the source of each.
    probs : array_like, shape (T, K), dataframe, list of mappings, or classes, shape (T,)
        One observation per row, as in `run`; a row of NaN only lets time pass.
    beta, dt : float or array_like, shape (T,)
        As in `run`: ``dt[t]`` is the time from row t - 1 to row t. By default `beta` is 1, or the
        weight of the `Pipeline`.
    lag : int, optional
        Fixed-lag smoothing: row t depends on the rows up to ``t + lag``, as in live use with that
        delay. 0 is exactly `run`. By default all rows. The cost grows with the lag.

    Returns
    -------
    ndarray, shape (T, K), or dataframe
        Computed in double precision, returned in the filter's dtype; of a dataframe, one of the
        same kind, as in `run`. An invalid row raises the ValueError of `run`.

    Examples
    --------
    >>> from classfilter import StickyFilter
    >>> f = StickyFilter(["walk", "sit"], stay=0.9)
    >>> s = [[0.7, 0.3], [0.1, 0.9], [0.8, 0.2], [0.8, 0.2]]
    >>> f.copy().run(s).argmax(axis=1)
    array([0, 1, 0, 0])
    >>> smooth(f, s).argmax(axis=1)  # the rows after it show that the second was an error
    array([0, 0, 0, 0])
    >>> smooth(f, s, lag=1).argmax(axis=1)  # one row after it is not enough
    array([1, 1, 0, 0])
    """
    pipe = Pipeline.of(filter, smoothing=True)
    weight: ArrayLike = 1.0
    f = check_smoother(pipe.filter)
    if isinstance(filter, Pipeline):
        rows, weight = _observed_rows(pipe, probs)
    else:
        f.state = filter.state
        read = for_filter if pipe.heads.is_exclusive else in_order
        rows = read(probs, f.classes)
    smoothed = smooth_one(f, rows, weight if beta is None else beta, dt, lag)
    return results_like(probs, f.classes, smoothed)


def _observed_rows(pipe: Pipeline, probs: Any) -> tuple[ArrayLike, ArrayLike]:
    """Return the probabilities, corrected, and the weight of the only source."""
    if len(pipe.sources) > 1:
        raise ValueError(
            f"filter has the sources {pipe.sources}, and probs does not say which row is of "
            "which; make rows with the source of each, and call the smooth of the pipeline"
        )
    source = pipe.sources[0] if pipe.sources else None
    name, weight = pipe.weight(source)
    if pipe.channel.get(name) is None and pipe.heads.is_exclusive:
        return for_filter(probs, pipe.classes), weight
    read = predictions(probs, pipe.heads)
    names = Factorized(np.zeros(len(read.one_hot), np.intp), [name])
    rows, weights = pipe.observe_rows(names, read.probs, read.one_hot)
    return pipe.heads.for_filter(rows), weights


def has_temperature(filter_: Any) -> bool:
    """Return whether a filter has a temperature; of several heads, each one's filter."""
    return all(hasattr(one, "temperature") for one in getattr(filter_, "filters", (filter_,)))


def tempered(pipe: Pipeline, filtered: float | None, smoothed: float | None) -> Pipeline:
    """Return a pipeline whose filtered and smoothed rows have these temperatures.

    None leaves what there is. The classes of all rows stay the same, and so do the states.
    """
    smoother = pipe.smoother or pipe
    if smoothed is not None:
        slow = with_options(smoother.filter, temperature=smoothed)
        smoother = Pipeline(slow, beta=smoother.beta, channel=smoother.channel, rule=smoother.rule)
    if filtered is not None:
        pipe = replace(pipe, filter=with_options(pipe.filter, temperature=filtered))
    return smoothed_by(pipe, smoother)


def smoothed_by(pipe: Pipeline, smoother: Pipeline) -> Pipeline:
    """Return a pipeline with a smoother, or without where it does the same as the pipeline."""
    alone, rule = replace(pipe, smoother=None), smoother.rule or pipe.rule
    same = settings_of_rows(smoother) == settings_of_rows(alone) and rule == pipe.rule
    return alone if same else replace(pipe, smoother=smoother)


def under_rule(pipe: Pipeline, rule: EventRule | None) -> Pipeline:
    """Return a pipeline with one rule, or none, for filtered and smoothed rows."""
    return smoothed_by(replace(pipe, rule=rule), replace(pipe.smoothing, rule=None))
