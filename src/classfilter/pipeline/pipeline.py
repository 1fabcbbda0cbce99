"""The pipeline of a row: channel, weight, filter; perhaps a policy, and a rule for events."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from os import PathLike, fspath
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, RowError, names_keywords
from ..events import EventRule
from ..filters import (
    Filter,
    StickyFilter,
    StreamRunner,
    check_smoother,
    heads_of_filter,
    smooth_one,
    with_classes,
)
from ..inputs import Heads, Rows, at_reliability, head_prediction
from ..policy import Adaptive, Periodic, Policy
from ..support.atomic import atomic_write
from ..support.html import block, table
from ..support.text import titled
from ..support.types import Array, Bools, Floats, Weights
from ..support.validation import Factorized
from .channel import Channels
from .expected import all_expected
from .heads import (
    channels_of_heads,
    corrected_row,
    corrected_rows,
    logarithms_of,
    parts_of_head,
    weight_array,
    weight_text,
    weights_of_heads,
)
from .settings import (
    check_classes,
    options,
    prepared,
    saved_kind,
    settings_of_rows,
    to_builtin,
    to_json,
)


def require_filter(filter: Any) -> Any:  # noqa: A002
    """Return a filter, or say what else was given."""
    if isinstance(filter, (str, PathLike)):
        raise TypeError(f"filter is {str(filter)!r}; read the file first: classfilter.load(...)")
    if hasattr(filter, "observe_rows"):
        raise TypeError("filter is a Pipeline; give its filter: pipeline.filter")
    if not hasattr(filter, "update"):
        raise TypeError(
            f"filter is {filter!r}; give a filter, or a pipeline such as load and tune return"
        )
    return filter


def checked_policy(policy: Policy | None, weights: Any) -> Policy | None:
    """Return a policy in its initial state, if its sources have weights."""
    if policy is None:
        return None
    policy = policy.copy()
    policy.reset()
    is_ours = isinstance(policy, (Adaptive, Periodic)) and "_kind" in vars(type(policy))
    for role in ("strong", "weak") if is_ours else ():  # a subclass may call others
        source = getattr(policy, role)
        if isinstance(weights, dict) and source not in weights:
            raise ValueError(
                f"policy calls {source!r}, but beta names {list(weights)}: add it there"
            )
    return policy


def check_rule(rule: Any, heads: Heads) -> None:
    """Raise unless a rule fits the classes of a filter."""
    if rule is None:
        return
    if not isinstance(rule, EventRule):
        raise TypeError(f"rule is {rule!r}; give an EventRule")
    rule.check(heads)


def most_trusted(channels: Mapping[str, Any], weights: Mapping[str, Any]) -> str:
    """Return the source without a channel and of the largest weight; "" if there are none."""
    # Of several, the first: a file names the reference first.
    return max(
        channels,
        key=lambda name: (channels[name] is None, float(np.mean(weights.get(name, 1.0)))),
        default="",
    )


def checked_sources(
    beta: Weights, channel: Channels | None, heads: Heads
) -> tuple[Any, dict[str, Any]]:
    """Return the weights, by source or one for all, and the channel of each source."""
    weights: Any
    if isinstance(beta, Mapping):
        each = {str(name): weight for name, weight in beta.items()}
        weights = {n: weights_of_heads(weight, heads, n) for n, weight in each.items()} or 1.0
    else:
        weights = weights_of_heads(beta, heads, None)
    channels: dict[str, Any] = dict.fromkeys(weights) if isinstance(weights, dict) else {}
    channels |= {str(name): one for name, one in (channel or {}).items()}
    return weights, {n: channels_of_heads(one, heads, n) for n, one in channels.items()}


def checked_smoother(smoother: Any, pipe: Pipeline) -> Pipeline:
    """Return what smooths in place of a pipeline, if it fits."""
    if not isinstance(smoother, Pipeline):
        fix = "give a Pipeline, with the weights of its sources"
        raise ArgumentError("smoother", smoother, must=fix)
    smoother = smoother.smoothing
    names = [list(map(str, one.classes)) for one in (smoother, pipe)]
    if names[0] != names[1]:
        problem, must = "has the classes {}", f"those of the pipeline are {names[1]}"
        raise ArgumentError(
            "smoother", names[0], problem=problem, must=must, fix="give the same, in this order"
        )
    if smoother.heads != pipe.heads:
        must = f"the {pipe.heads.noun} of the pipeline {pipe.heads.relation}: give one that does"
        raise ArgumentError("smoother", smoother, must=must)
    try:
        check_smoother(smoother.filter)
    except TypeError as error:
        raise TypeError(f"smoother: {error}") from None
    if isinstance(pipe.beta, dict) and isinstance(smoother.beta, dict):
        missing = [source for source in pipe.beta if source not in smoother.beta]
        if missing:
            problem = "has no weight of source {}"
            raise ArgumentError("smoother", missing[0], problem=problem, fix="add it to its beta")
    alone: Pipeline = replace(smoother, policy=None, expected=None, tuning=None)
    return alone


MAX_SOURCES = 1000
"""Of one weight for all: so many sources are remembered, whatever names come."""
DEFAULT_SOURCE = "default"


class Observation(NamedTuple):
    """A prediction as the filter gets it: the name of its source, its weight, and the row (K,)."""

    source: str
    beta: float
    probs: Any


def in_words(part: Any) -> str:
    """Return a filter, a policy or a rule, and how long a class lasts or is remembered by it."""
    text, filters = repr(part), getattr(part, "filters", (part,))
    dwells = [time for f in filters if isinstance(f, StickyFilter) for time in f._dwell]
    if dwells:
        low, high = (f"{time:.3g}" for time in (min(dwells), max(dwells)))
        return f"{text}, dwell {low if low == high else f'{low} to {high}'}"
    half_life = getattr(part, "_half_life", None)
    return text if half_life is None else f"{text}, half-life {half_life:.3g}"


class FreshFilter:
    """The filter of a pipeline: a new one each time, so that using it changes no pipeline."""

    def __get__(self, pipe: Pipeline | None, owner: type | None = None) -> Any:
        if pipe is None:  # so that the dataclass sees no default
            raise AttributeError("filter")
        return pipe._fresh.copy()

    def __set__(self, pipe: Pipeline, value: Filter) -> None:
        vars(pipe)["_fresh"] = value


@names_keywords
@dataclass(frozen=True, eq=False, repr=False)
class Pipeline:
    """A filter with the weights and the channels of its sources; perhaps a policy and a rule.

    It does not change: `dataclasses.replace` makes another one. Everything that takes a filter
    takes a pipeline, and then needs neither weights nor channels.

    Parameters
    ----------
    filter : Filter
        Its settings are used, not its state.
    beta : mapping of str to float, or float
        The weight of each source, 0 to 1, or one for all; 1 where none is named.
    channel : mapping of str to Channel or None, optional
        Corrects the predictions of a source, in the filter's order of classes.
    policy : Policy, optional
        Chooses which source to call next; its settings are used, not its state.
    rule : EventRule, optional
        Turns filtered rows into events.
    smoother : Pipeline, optional
        Smooths in place of the pipeline, with its own filter, weights, channels and rule for
        events; a pipeline of the same classes. Without a rule, it uses that of the pipeline.
    expected : mapping of str to Expected, optional
        What each source did when tuned; `Tracker.health` compares with it. It changes no result.
    tuning : TuningRecord, optional
        How `tune` found the settings. It is not saved.

    Attributes
    ----------
    filter : Filter
        In its initial state, a new one at each access.
    beta : dict of str to float, or float
        As given.
    channel : dict of str to Channel or None
        The channel of each source, None where its predictions are not corrected.
    policy : Policy or None
        In its initial state.
    rule : EventRule or None
        As given.
    smoother : Pipeline or None
        As given.
    expected : dict of str to Expected
        As given; empty where nothing was tuned.
    tuning : TuningRecord or None
        As given.
    heads : Heads
        What the columns of results are: classes that exclude each other, or several heads.

    Examples
    --------
    >>> import classfilter as cf
    >>> pipe = cf.Pipeline(cf.DirichletFilter(["walk", "sit"]), beta={"weak": 0.1, "strong": 1.0})
    >>> pipe.observe("weak", "sit")
    Observation(source='weak', beta=0.1, probs=array([0.3, 0.7]))
    >>> cf.Tracker(pipe).update("ann", 0.0, "strong", [0.9, 0.1]).round(2)
    array([1., 0.])
    """

    filter: FreshFilter = FreshFilter()
    _: KW_ONLY
    beta: Any = 1.0
    channel: Any = None
    policy: Policy | None = None
    rule: EventRule | None = None
    smoother: Pipeline | None = None
    expected: Any = None
    tuning: Any = None
    heads: Heads = field(init=False)
    _fresh: Any = field(init=False)
    _names: tuple[str, ...] = field(init=False)
    _dtype: np.dtype[Any] = field(init=False)
    _weights: dict[str, Any] = field(init=False)
    _logarithms: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        fresh = require_filter(self._fresh).copy()
        fresh.reset()
        heads = heads_of_filter(fresh)
        weights, channels = checked_sources(self.beta, self.channel, heads)
        policy = checked_policy(self.policy, weights)
        check_rule(self.rule, heads)
        expected = all_expected(self.expected or {}, len(heads.shown))
        dtype = fresh.probs.dtype
        by_source = weights.items() if isinstance(weights, dict) else ()
        vars(self).update(
            beta=weights,
            channel=channels,
            policy=policy,
            expected=expected,
            heads=heads,
            _fresh=fresh,
            _names=heads.shown,
            _dtype=dtype,
            _weights={name: weight_array(weight, heads) for name, weight in by_source},
            _logarithms={
                name: logarithms_of(channel, heads, dtype)
                for name, channel in channels.items()
                if channel is not None
            },
        )
        if self.smoother is not None:
            vars(self)["smoother"] = checked_smoother(self.smoother, self)

    @classmethod
    def of(cls, filter: Filter | Pipeline, *, smoothing: bool = False, **parts: Any) -> Pipeline:  # noqa: A002
        """Return a filter, or a pipeline, as a pipeline.

        Weights, channels and a policy are given as for `Pipeline`; None leaves what there is. A
        smoother of the pipeline's own gets them too. With `smoothing`, it is the one that smooths.
        """
        changes = {name: part for name, part in parts.items() if part is not None}
        if not isinstance(filter, Pipeline):
            return Pipeline(filter, **changes)
        pipe = filter.smoothing if smoothing else filter
        if not changes:
            return pipe
        if pipe.smoother is not None:
            of_rows = {name: part for name, part in changes.items() if name in ("beta", "channel")}
            changes = {"smoother": replace(pipe.smoother, **of_rows)} | changes
        return replace(pipe, **changes)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the probabilities."""
        classes: tuple[Any, ...] = self._fresh.classes
        return classes

    def head(self, name: Any) -> Pipeline:
        """Return the pipeline of one head; that of a label has the classes not robin and robin."""
        h = self.heads.place(name)
        smoother = None if self.smoother is None else self.smoother.head(name)
        f = with_classes(self._fresh.filters[h], self.heads.classes_of(h))
        return Pipeline(f, **parts_of_head(self, h), smoother=smoother)

    @property
    def sources(self) -> list[str]:
        """The sources that have a weight or a channel of their own."""
        return list(self.channel)

    @cached_property
    def reference(self) -> str:
        """The source to trust most; "" if none.

        It is the one that `tune` judged others by, or the one without a channel and of the largest
        weight.
        """
        if self.tuning is not None:
            reference: str = self.tuning.reference
            return reference
        return most_trusted(self.channel, self._weights if isinstance(self.beta, dict) else {})

    @cached_property
    def smoothing(self) -> Pipeline:
        """What smooths: the `smoother`, with the rule of the pipeline if it has none; or itself."""
        if self.smoother is None:
            return self
        return self.smoother if self.smoother.rule else replace(self.smoother, rule=self.rule)

    @cached_property
    def runner(self) -> StreamRunner:
        """What runs the filter over the rows of many streams."""
        return StreamRunner(self._fresh)

    def weight(self, source: Any) -> tuple[str, float]:
        """Return the name of a source as text, and its weight."""
        name = DEFAULT_SOURCE if source is None else str(source)
        weight = self._weights.get(name)
        if weight is not None:
            return name, weight
        if isinstance(self.beta, dict):
            problem, must = "is {}, which has no weight", f"beta names {list(self.beta)}"
            raise RowError("source", name, problem=problem, must=must, fix="add it there")
        if len(self._weights) < MAX_SOURCES:
            self._weights[name] = self.beta
        return name, self.beta

    def observe(self, source: Any, prediction: Any, confidence: Any = None) -> Observation:
        """Return a prediction as the filter gets it: (K,), corrected by the channel of its source.

        The prediction is K probabilities, in the order of the classes or by their names, or a
        class, by name or by index; all NaN, None or -1 if there was none. A class counts with its
        `confidence`, from 0 to 1. Without one, its source's channel says how often it is right;
        without a channel too, it counts with the default reliability of docs/inputs.md. Without a
        channel, values are left to the filter to check.
        """
        name, beta = self.weight(source)
        logarithms = self._logarithms.get(name)
        plain = confidence is None and type(prediction) in (list, np.ndarray)
        if not (plain and self.heads.is_exclusive):
            certain = logarithms is not None
            prediction = head_prediction(prediction, self.heads, confidence, certain=certain)
        if logarithms is not None:
            prediction = corrected_row(logarithms, prediction, self.heads)
        return Observation(name, beta, prediction)

    def channel_of(self, source: str) -> Any:
        """Return the channel of a source as the filter takes it, or None."""
        logarithms = self._logarithms.get(source)
        return logarithms[0] if logarithms is not None and self.heads.is_exclusive else logarithms

    def observe_rows(
        self,
        source: Factorized,
        probs: Floats,
        one_hot: Bools,
        classes: tuple[str, ...] | None = None,
    ) -> tuple[Floats, Floats]:
        """Return many predictions (T, C) as the filter gets them, (T, H, K), and their weights.

        They must be checked before. `one_hot` says which of them are classes without confidence, as
        one-hot rows; `classes` is the order of the columns, where it is not the filter's. The
        weights are (T,), or (T, H) where they differ by head.
        """
        probs = self.at_reliability(source, probs, one_hot)
        if classes is not None and classes != self._names:
            probs = probs[:, self.heads.order_in(classes)]
        if not self.heads.is_exclusive:
            probs = probs.astype(self._dtype, copy=False)  # off is what on lacks in its precision
        stack = self.heads.stacked(probs)
        corrects = [name in self._logarithms for name in source.categories]
        if any(corrects):
            stack = stack.copy()
        for i in np.flatnonzero(corrects).tolist():
            rows = np.flatnonzero(source.codes == i)
            logarithms = self._logarithms[source.categories[i]]
            stack[rows] = corrected_rows(logarithms, stack[rows], self.heads)
        return stack, self._row_weights(source)

    def _row_weights(self, source: Factorized) -> Floats:
        """Return the weight of each row, (T,), or of each row and head, (T, H)."""
        weights: list[Any] = self.weights_in(source) or [1.0]
        if any(np.ndim(weight) for weight in weights):
            weights = [np.broadcast_to(weight, len(self.heads.names)) for weight in weights]
        return np.array(weights, np.float64)[source.codes]

    def weights_in(self, source: Factorized) -> list[Any]:
        """Return the weight of each source of some rows, or raise for a row of one without."""
        weights = []
        for i, name in enumerate(source.categories):
            try:
                weights.append(self.weight(name)[1])
            except RowError as error:
                raise error.replaced(row=int((source.codes == i).argmax())) from None
        return weights

    def at_reliability(self, source: Factorized, probs: Floats, one_hot: Bools) -> Floats:
        """Return predictions whose classes without confidence count by the default reliability.

        A source with a channel needs none: the channel says how often it is right.
        """
        if not one_hot.any():
            return probs
        bare = np.array([name not in self._logarithms for name in source.categories], bool)
        return at_reliability(probs, one_hot & bare[source.codes])

    def in_order_of(self, classes: tuple[str, ...], results: Array) -> Array:
        """Return results (T, K) with their columns in another order of the classes."""
        columns = self.heads.order_in(classes)
        return results[:, np.argsort(columns)]

    @cached_property
    def settings(self) -> dict[str, Any]:
        """All settings as built-in values, laid out as in a file.

        Every option is there, so that a file keeps its meaning if defaults change.
        """
        settings = {"classes": to_builtin(self.classes), **settings_of_rows(self)}
        if self.policy is not None:
            chosen = {key: x for key, x in options(self.policy).items() if x is not None}
            settings["policy"] = {"kind": saved_kind(self.policy), **chosen}
        if self.rule is not None:
            settings["events"] = self.rule.settings
        if self.smoother is not None:
            settings["smoother"] = self.smoothing.settings
        return settings

    @property
    def content(self) -> dict[str, Any]:
        """What a file has: all settings, what JavaScript needs, and what each source did."""
        content = dict(self.settings)
        heads = self.heads.names
        filters = [self._fresh] if self.heads.is_exclusive else self._fresh.filters
        computed = dict(zip(heads, map(prepared, filters), strict=True))
        if "labels" in content:
            content["labels"] = {
                name: {**section, **computed[name]} for name, section in content["labels"].items()
            }
        else:
            content |= computed[heads[0]]
        if self.expected:
            content["expected"] = {name: one.as_section() for name, one in self.expected.items()}
        return content

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that tell settings apart: a file of states carries them."""
        text = json.dumps(self.settings, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def run(self, rows: Rows) -> Array:
        """Filter each stream of some rows from the initial state, with channels and weights.

        The result is (T, K), in the order of the rows and of their classes.
        """
        return self._each_stream(rows, self._run)

    def smooth(self, rows: Rows, lag: int | None = None) -> Array:
        """Smooth each stream of some rows by the `smoother`: each row from those before and after.

        `lag` is how many later rows each row uses; by default all.
        """
        smoother = self.smoothing
        f = check_smoother(smoother.filter)
        return smoother._each_stream(
            rows, lambda probs, beta, dt: smooth_one(f, probs, beta, dt, lag)
        )

    def _run(self, probs: Floats, beta: Floats, dt: Floats) -> Array:
        results: Array = self.filter.run(probs, beta=beta, dt=dt)
        return results

    def _each_stream(self, rows: Rows, work: Callable[..., Array]) -> Array:
        probs, weights = self.observe_rows(
            rows.factorized_sources, rows.probs, rows.one_hot, rows.classes
        )
        order, dt, _ = rows.grouped()
        probs = self.heads.for_filter(probs)
        results = np.empty((len(rows), len(self._names)), self._dtype)
        ends = np.cumsum(np.bincount(rows.stream, minlength=len(rows.streams)))
        for index, steps in zip(np.split(order, ends[:-1]), np.split(dt, ends[:-1]), strict=True):
            results[index] = work(probs[index], weights[index], steps)
        return self.in_order_of(rows.classes, results)

    def events(self, rows: Any, *, smooth: bool = False, lag: int | None = None) -> Any:
        """Return the events of rows by the pipeline's rule; see `classfilter.events`."""
        from ..engine import events

        return events(rows, self, smooth=smooth, lag=lag)

    def calibrated(self, rows: Any) -> Pipeline:
        """Return the same with calibrated probabilities: two temperatures, found by labels.

        One is that of filtered rows, one that of smoothed rows. Each has the least log-loss on the
        labelled rows: a few minutes of several streams suffice. The classes of all rows stay the
        same, and so do weights, channels and the rule for events. `tuning.calibration` has both
        temperatures, and how uncertain they are; `tuning.explain()` says so.

        Parameters
        ----------
        rows : Rows, or several, or a mapping to them, or a dataframe
            With labels, not those that the classifiers were trained on. The reference is thinned to
            the rate that was tuned for. Of several labels at once, all have the same temperatures.

        Returns
        -------
        Pipeline
            A warning says where a temperature is uncertain.

        Examples
        --------
        >>> import classfilter as cf
        >>> days = [cf.simulate("plain", hours=2.0, seed=i).rows() for i in range(4)]
        >>> pipe = cf.tune(days, "sticky", "strong").calibrated(days[:2])
        >>> 0.5 < pipe.filter.temperature < 1.5
        True
        """
        from ..tuning import calibrated

        return calibrated(self, rows)

    def save(self, path: str | PathLike[str]) -> None:
        """Write filter, weights, channels, policy, rule and smoother as JSON; see `load`.

        Numbers are restored to the bit. The file appears complete or not at all.
        """
        for configured in (self._fresh, self.smoothing._fresh, self.policy):
            if configured is not None and "_kind" not in vars(type(configured)):
                kind = type(configured).__name__
                raise TypeError(f"a {kind} cannot be saved; save a filter or policy of classfilter")
        check_classes(self.classes)
        text = to_json(self.content).encode()
        with atomic_write(fspath(path)) as file:
            file.write(text)

    def __repr__(self) -> str:
        corrected = [name for name, c in self.channel.items() if c is not None]
        channel = f", channel of {corrected}" if corrected else ""
        policy = "" if self.policy is None else f", policy={self.policy!r}"
        rule = "" if self.rule is None else f", rule={self.rule!r}"
        smoother = "" if self.smoother is None else f", smoother={self.smoother._fresh!r}"
        return f"Pipeline({self._fresh!r}, beta={self.beta}{channel}{policy}{rule}{smoother})"

    def __str__(self) -> str:
        if self.tuning is not None:
            summary: str = self.tuning.summary(self)
            return summary
        smoother = None if self.smoother is None else self.smoother._fresh
        parts = {"Policy": self.policy, "Events": self.rule, "Smoother": smoother}
        rows = [("Filter", in_words(self._fresh)), ("Weights", self._weights_in_words())]
        rows += [(title, in_words(part)) for title, part in parts.items() if part is not None]
        return titled(rows)

    def _weights_in_words(self) -> str:
        weights = self.beta if isinstance(self.beta, dict) else {"every source": self.beta}
        weights = weights | {name: self.beta for name in self.channel if name not in weights}
        return ", ".join(
            f"{name} {weight_text(weight)}"
            + " through its channel" * (self.channel.get(name) is not None)
            for name, weight in weights.items()
        )

    def _repr_html_(self) -> str:
        weights = self.beta if isinstance(self.beta, dict) else {"all": self.beta}
        rows = [
            [name, weight_text(weight), "yes" if self.channel.get(name) is not None else "no"]
            for name, weight in weights.items()
        ]
        text = str(self) if self.tuning is None else self.tuning.explain()
        return block(text, table(["source", "weight", "channel"], rows))
