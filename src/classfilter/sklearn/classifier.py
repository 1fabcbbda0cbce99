"""A scikit-learn classifier whose predictions are filtered along their streams."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils import _safe_indexing, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from ..engine import RULES, Rule, decided_as_they_are
from ..errors import ArgumentError, RowError
from ..events import Events
from ..filters import DirichletFilter, Filter, MultiLabelFilter
from ..inputs import (
    Heads,
    Rows,
    TimeKind,
    grouped,
    heads_of,
    named_classes,
    predictions,
    read_times,
)
from ..pipeline import Pipeline
from ..support.imports import public
from ..support.types import Array, Duration, Floats, Ints
from ..support.validation import Factorized, class_names, factorize
from ..tuning import tune

SOURCE = "estimator"
"""The name of the only source."""


def rows_of(
    probs: ArrayLike, heads: Heads, groups: ArrayLike | None, times: ArrayLike | None
) -> Rows:
    """Return predictions, in any order of time, as rows."""
    n = len(probs)  # type: ignore[arg-type]
    streams = Factorized(np.zeros(n, np.intp), [None])
    if groups is not None:
        cells = _one_per_row("groups", groups, n).tolist()
        for row, cell in enumerate(cells):
            if cell is None or cell != cell:
                raise RowError("groups", cell, fix="name the stream of each row", row=row)
        streams = factorize(cells)
    time: Floats = np.arange(n, dtype=np.float64)
    kind = TimeKind()
    try:
        if times is not None:
            time, kind = read_times(_one_per_row("times", times, n))
        order, _, first = grouped(time, streams.codes, sort=True)
        if times is None:  # the rows of each stream are one time unit apart
            parts = np.split(order, first[1:])
            time[order] = np.concatenate([np.arange(len(part)) for part in parts])
        outputs = predictions(probs, heads)
    except RowError as error:
        names = {"time": "times", "probs": "predict_proba of estimator"}
        raise error.replaced(argument=names.get(error.argument, error.argument)) from None
    source = Factorized(np.zeros(n, np.intp), [SOURCE])
    return Rows.of(streams, source, outputs, time=time, heads=heads, time_kind=kind, sort=True)


def _one_per_row(name: str, column: ArrayLike, n: int) -> Array:
    array = np.asarray(column)
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}; it must be ({n},), one per row of X")
    return array


def run_filter(chosen: Filter | Pipeline, rows: Rows, lag: int | None) -> Array:
    """Filter each stream of some rows, or smooth it."""
    pipe = Pipeline.of(chosen)
    if isinstance(chosen, Pipeline):
        rows = replace(rows, sources=(chosen.reference,))
    return pipe.run(rows) if lag == 0 else pipe.smooth(rows, lag=lag)


def rule_of(
    rule: Rule | None, chosen: Filter | Pipeline, empty: Rows, lag: int | None
) -> Rule | None:
    """Return the rule for events that is given, or that of the pipeline, if it fits the classes."""
    if rule is None:
        rule = Pipeline.of(chosen, smoothing=lag != 0).rule
    elif not isinstance(rule, RULES):
        problem = "it must be an EventRule or a ThresholdRule"
        raise ArgumentError("event_rule", rule, must=problem)
    if rule is not None:
        rule.compiled(empty.heads, np.float64)  # names wrong classes
    return rule


def indicator(y: Any) -> tuple[list[Any], Ints] | None:
    """Return the names of several labels, and their matrix (T, L); None of classes (T,)."""
    matrix = np.asarray(y.toarray() if hasattr(y, "toarray") else y)  # it may be sparse
    if matrix.ndim != 2 or matrix.shape[1] == 1:
        return None
    if type_of_target(matrix) != "multilabel-indicator" or not np.isin(matrix, (0, 1)).all():
        must = "multi-label targets are an indicator matrix"
        fix = "give one column per label, 1 where it is true and 0 where not"
        raise ArgumentError("y", matrix.shape, must, fix, problem="has shape {}")
    return list(class_names(named_classes(y) or matrix.shape[1])), matrix.astype(np.intp)


def probabilities(model: Any, outputs: Any, heads: Heads, classes: Array) -> Floats:
    """Return the probability of each column, (T, C), from what a model's `predict_proba` gave.

    Of labels, that is (T, L), or a list of arrays (T, classes that the model knows).
    """
    if heads.is_exclusive:
        probs = np.zeros((len(outputs), len(classes)))
        probs[:, positions(np.asarray(model.classes_), classes)] = outputs
        return probs
    if isinstance(outputs, list):
        is_on = [np.asarray(classes_of_label) == 1 for classes_of_label in model.classes_]
        return np.stack(
            [np.sum(p[:, on], axis=1) for p, on in zip(outputs, is_on, strict=True)], axis=1
        )
    scores = np.asarray(outputs, np.float64)
    if scores.ndim != 2 or scores.shape[1] != len(classes):
        must = f"it must be (T, {len(classes)}), or a list of {len(classes)} arrays"
        raise ArgumentError(
            "predict_proba of estimator", scores.shape, must,
            "wrap it in sklearn.multioutput.MultiOutputClassifier", problem="has shape {}",
        )  # fmt: skip
    return scores


def out_of_fold(
    estimator: Any, cv: Any, classes: Array, X: Any, y: Array, rows: Rows, params: dict[str, Any]
) -> Floats:
    """Return predictions for rows that their model was not fitted on (T, C); NaN where none."""
    (X,) = indexable(X)
    probs: Floats = np.full((len(y), len(classes)), np.nan)
    for train, test in _folds(cv, y, rows):
        constant = (y[train] == y[train[:1]]).all(axis=0)
        if np.all(constant):
            continue
        per_row = {
            name: _safe_indexing(value, train) if _is_column(value, len(y)) else value
            for name, value in params.items()
        }
        try:
            model = clone(estimator).fit(_safe_indexing(X, train), y[train], **per_row)
        except ValueError:
            # Many estimators refuse a label that is the same in all rows.
            if np.any(constant):
                continue
            raise
        outputs = model.predict_proba(_safe_indexing(X, test))
        probs[test] = probabilities(model, outputs, rows.heads, classes)
    return probs


def _folds(cv: Any, y: Array, rows: Rows) -> Iterator[tuple[Ints, Ints]]:
    """Yield the rows to fit on and to predict, streams and times in order."""
    order, _, _ = rows.grouped()
    is_grouped = len(rows.streams) > 1
    if isinstance(cv, Integral):
        if cv < 2:
            raise ValueError(f"cv is {cv}; it must be 2 or more folds, or a splitter")
        alike = len(y) if y.ndim == 2 else int(np.unique(y, return_counts=True)[1].max())
        most = min(int(cv), alike)
        if most < 2:
            return
        few = min(most, len(rows.streams))
        kinds = (GroupKFold, KFold) if y.ndim == 2 else (StratifiedGroupKFold, StratifiedKFold)
        cv = kinds[0](few) if is_grouped else kinds[1](most)
    with warnings.catch_warnings():
        # A class with fewer rows than folds is no harm here.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        groups = rows.stream[order] if is_grouped else None
        splits = list(check_cv(cv, classifier=True).split(order, y[order], groups))
    for train, test in splits:
        yield order[train], order[test]


def make_filter(
    make: Callable[..., Filter], classes: Array, heads: Heads, **options: Any
) -> Filter:
    """Return a filter of the classes, or of several labels, all with the same options."""
    if heads.is_exclusive:
        return make(classes.tolist(), **options)
    return MultiLabelFilter(classes.tolist(), make(2, **options))


def positions(values: Array, classes: Array) -> Ints:
    """Return the index of each value in the classes."""
    positions: Ints = np.asarray(values[:, None] == classes).argmax(axis=1)
    return positions


def _is_column(value: Any, n: int) -> bool:
    """Return whether a parameter has one entry per row."""
    return hasattr(value, "__len__") and not isinstance(value, str) and len(value) == n


class FilteredClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose predicted probabilities are filtered along the rows of each stream.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba`; a clone of it is fitted.
    filter : filter, Pipeline, callable or str, optional
        A filter or a pipeline of the same classes; or what makes a filter of the classes, such as
        the class `DirichletFilter`. By default, `tune` chooses one, on predictions for rows that
        their model was not fitted on; "sticky" or "dirichlet" is the family to choose from. Of
        several labels at once, it is a `MultiLabelFilter`, or what makes the filter of a label.
    half_life : float, str or timedelta, optional
        Of the filter that is made: passed on to `filter`, or to a `DirichletFilter`. Nothing is
        tuned then.
    lag : int or None, default 0
        How many later rows of its stream each row uses, see `smooth`; None is all of them, and 0 is
        the filter as it runs live.
    labels : bool, default False
        Tune by `y`, not by later predictions.
    cv : int or splitter, default 5
        The folds to tune on. Of a number, each stream is in one fold; a single stream is cut.
    event_rule : EventRule or ThresholdRule, optional
        How `predict_events` decides. By default, the rule of a pipeline that is given, or the one
        that is tuned.
    event_duration : duration, or mapping of every class to one, optional
        How long an event usually lasts, where the filter is tuned: it sets the rule, see `tune`.

    Attributes
    ----------
    estimator_ : classifier
        As fitted.
    filter_ : filter or Pipeline
        What the predictions are filtered with.
    event_rule_ : EventRule, ThresholdRule or None
        What decides events.
    classes_ : ndarray (K,)
        The classes, in the order of the probabilities. Of several labels at once, the names of the
        columns of `y`, or numbers.
    n_features_in_ : int
        The number of features, where `estimator_` has it.
    feature_names_in_ : ndarray of str
        The names of the features, where `estimator_` has them.

    Notes
    -----
    `groups` (T,) names the stream of each row; by default, all rows are one. `times` (T,) are
    numbers or datetimes, in any order; by default, the rows of a stream are in order, one time unit
    apart. The streams need not be those of `fit`; each starts in the initial state. Within other
    estimators, `groups` and `times` come by metadata routing: see `set_fit_request`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> import classfilter as cf
    >>> from classfilter.sklearn import FilteredClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["rest", "move", "rest", "move"], 50)
    >>> X = (y == "move")[:, None] + rng.normal(size=(200, 1))
    >>> alone = LogisticRegression().fit(X, y)
    >>> model = FilteredClassifier(LogisticRegression(), half_life=4.0).fit(X, y)
    >>> alone.score(X, y), model.score(X, y)
    (0.68, 0.895)
    >>> model.set_params(event_rule=cf.EventRule(change_cost=3.0)).fit(X, y).predict_events(X)
    4 events, 2 classes, 1 stream
    stream  class  start  end  duration  probability
            rest   0      47   47        0.635
            move   47     103  56        0.648
            rest   103    164  61        0.609
            move   164    200  36        0.624
    """

    filter_: Any
    event_rule_: Rule | None

    def __init__(
        self,
        estimator: Any,
        filter: Filter | Pipeline | Callable[..., Filter] | str | None = None,  # noqa: A002
        *,
        half_life: Duration | None = None,
        lag: int | None = 0,
        labels: bool = False,
        cv: Any = 5,
        event_rule: Rule | None = None,
        event_duration: Duration | Mapping[str, Duration] | None = None,
    ) -> None:
        self.estimator = estimator
        self.filter = filter
        self.half_life = half_life
        self.lag = lag
        self.labels = labels
        self.cv = cv
        self.event_rule = event_rule
        self.event_duration = event_duration

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        **params: Any,
    ) -> FilteredClassifier:
        """Fit the estimator, and tune the filter where none is given.

        Parameters
        ----------
        X : array_like (T, features)
            One row per observation.
        y : array_like (T,) or (T, L)
            The classes. Or several labels at once, as an indicator matrix of 1 and 0.
        groups, times : array_like (T,), optional
            The stream and the time of each row; see the notes of the class.
        **params
            Passed on to the estimator.
        """
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"estimator is {self.estimator!r}, which has no predict_proba; wrap it in "
                "sklearn.calibration.CalibratedClassifierCV"
            )
        params = self._routed("fit", groups, times, params)
        labels = indicator(y)
        fitted = clone(self.estimator).fit(X, y, **params)
        if labels is None:
            classes, truth = fitted.classes_, column_or_1d(y)
            if len(classes) < 2:
                raise ValueError(f"y has one class, {classes[0]!r}; at least two are needed")
        else:
            names, truth = labels
            classes = np.array(names, np.object_ if isinstance(names[0], str) else np.intp)
        heads = heads_of(classes.tolist(), "probabilities" if labels is None else "independent")
        rows = rows_of(np.full((len(truth), len(classes)), np.nan), heads, groups, times)
        chosen = self._filter(classes, X, truth, rows, params)
        empty = rows.take(slice(0))
        if Pipeline.of(chosen).heads.noun != heads.noun:
            problem = f"y has {heads.noun} that {heads.relation}"
            fix = "multi-label targets need MultiLabelFilter(labels, filter)"
            raise ArgumentError("filter", chosen, must=problem, fix=fix)
        run_filter(chosen, empty, self.lag)  # so that a filter that does not fit is an error here
        rule = rule_of(self.event_rule, chosen, empty, self.lag)
        self.estimator_, self.filter_, self.event_rule_ = fitted, chosen, rule
        self.classes_, self._several = classes, labels is not None
        self._needed = {"groups": len(rows.streams) > 1, "times": times is not None}
        return self

    def predict_proba(
        self,
        X: Any,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        **params: Any,
    ) -> Floats:
        """Return the filtered class probabilities (T, K), in the order of the rows of X.

        Of several labels at once, they are the probabilities of each label, (T, L).

        Parameters
        ----------
        X : array_like (T, features)
            One row per observation.
        groups, times : array_like (T,), optional
            The stream and the time of each row; see the notes of the class.
        **params
            Passed on to the estimator.
        """
        check_is_fitted(self)
        return self._filtered(X, groups, times, params).probs

    def predict_events(
        self,
        X: Any,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        **params: Any,
    ) -> Events:
        """Return the events of each stream, start, end and class, by `event_rule_`.

        Parameters
        ----------
        X, groups, times, **params
            As in `predict_proba`.

        Returns
        -------
        Events
            A list of `Event`, those of `classfilter.events` for the same rows; streams in order of
            appearance, in each the events by their start. Their times are dates where `times` are.
        """
        check_is_fitted(self)
        rule = self.event_rule_
        if rule is None:
            fix = 'give a rule, EventRule(change_cost="30s"), and fit again'
            raise ArgumentError(
                "event_rule", None, problem="is {}, and the filter has none", fix=fix
            )
        return decided_as_they_are(rule, self._filtered(X, groups, times, params))

    def _filtered(self, X: Any, groups: Any, times: Any, params: dict[str, Any]) -> Rows:
        """Return the filtered rows."""
        params = self._routed("predict_proba", groups, times, params)
        outputs = self.estimator_.predict_proba(X, **params)
        kind = "independent" if self._several else "probabilities"
        heads = heads_of(self.classes_.tolist(), kind)
        probs = probabilities(self.estimator_, outputs, heads, self.classes_)
        if len(probs) > 1:
            self._warn_without(groups=groups, times=times)
        rows = rows_of(probs, heads, groups, times)
        return replace(rows, probs=run_filter(self.filter_, rows, self.lag))

    def predict(
        self,
        X: Any,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        **params: Any,
    ) -> Array:
        """Return the most probable class of each row (T,); see `predict_proba`.

        Of several labels at once, return an indicator matrix (T, L): 1 where a label is more
        probable than not.
        """
        check_is_fitted(self)
        probs = self._filtered(X, groups, times, params).probs
        if self._several:
            return (probs > 0.5).astype(np.intp)
        chosen: Array = self.classes_[probs.argmax(axis=1)]
        return chosen

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        **params: Any,
    ) -> float:
        """Return the accuracy of `predict`; of several labels, all must be right."""
        predicted = self.predict(X, groups=groups, times=times, **params)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return int(self.estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """The names of the features."""
        return self.estimator_.feature_names_in_

    def get_metadata_routing(self) -> Any:
        """Return what this classifier and its estimator request."""
        methods = MethodMapping().add(caller="fit", callee="fit")
        for caller in ("predict_proba", "predict", "score"):
            methods.add(caller=caller, callee="predict_proba")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=methods)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags

    def _routed(self, method: str, groups: Any, times: Any, params: dict[str, Any]) -> Any:
        """Return the parameters of the estimator's method."""
        if not get_config()["enable_metadata_routing"]:
            return params
        arguments = {"groups": groups, "times": times}
        wanted = get_routing_for_object(self.estimator).consumes(method, list(arguments))
        params = params | {name: arguments[name] for name in wanted if arguments[name] is not None}
        return process_routing(self, method, **params)["estimator"][method]

    def _warn_without(self, **arguments: ArrayLike | None) -> None:
        """Warn if `fit` had groups or times, and a prediction has none."""
        missing = [
            name for name, value in arguments.items() if value is None and self._needed[name]
        ]
        if missing:
            effects = {"groups": "all rows are taken as one stream", "times": "one unit apart"}
            warnings.warn(
                f"fit had {' and '.join(missing)}, but this prediction has none: "
                f"{', '.join(effects[name] for name in missing)}. Give them here too; within "
                "scikit-learn by metadata routing, set_score_request, and without scoring=, whose "
                "scorers pass none to predict.",
                stacklevel=4,
            )

    def _filter(
        self, classes: Array, X: Any, y: Array, rows: Rows, params: dict[str, Any]
    ) -> Filter | Pipeline:
        """Return the filter that is given, or made, or tuned."""
        tuned = self.half_life is None and (self.filter is None or isinstance(self.filter, str))
        if self.event_duration is not None and (self.event_rule is not None or not tuned):
            other = "filter is not tuned" if not tuned else "event_rule is given"
            problem, fix = f"is {{}}, but {other}", "give event_rule, or tune the filter"
            raise ArgumentError("event_duration", self.event_duration, problem=problem, fix=fix)
        if callable(self.filter) or (self.filter is None and self.half_life is not None):
            options = {} if self.half_life is None else {"half_life": self.half_life}
            make: Any = DirichletFilter if self.filter is None else self.filter
            return make_filter(make, classes, rows.heads, **options)
        if self.half_life is not None:
            raise ValueError(
                f"half_life is {self.half_life!r}, but filter is {self.filter!r}; give what makes "
                "a filter instead, such as DirichletFilter"
            )
        if self.filter is not None and not isinstance(self.filter, str):
            return self.filter
        probs = out_of_fold(self.estimator, self.cv, classes, X, y, rows, params)
        label = positions(y, classes) if rows.heads.is_exclusive else y
        rows = replace(rows, probs=probs, label=label)
        if not rows.observed().any():
            warnings.warn(
                "there are too few rows for folds, and nothing is tuned; the filter has its "
                "default settings. Fit on more rows, or give half_life.",
                stacklevel=3,
            )
            return make_filter(DirichletFilter, classes, rows.heads)
        wanted: Any = {"labels": self.labels, "event_duration": self.event_duration}
        return tune(rows, self.filter or "auto", **wanted)  # type: ignore[arg-type]


public(FilteredClassifier, module="classfilter.sklearn")
