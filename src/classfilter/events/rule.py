"""The rule that turns probabilities into events: expected time right, less a cost per change."""
# ruff: noqa: RUF009 (a field with its row of the table of options)

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .. import _core
from ..errors import ArgumentError, names_keywords
from ..inputs import Heads, duration
from ..support.types import Floats, is_number

Start = tuple[int, float]
"""The class of an event, and when it starts."""
EventColumns = tuple[Any, ...]
"""Label, start, end, probability, and whether it was forced, of each event, (N,)."""


class HeadRules(_core.HeadRules):
    """The rules of several heads, with the methods of `_core.EventRule`.

    The rows are the columns that heads show, (C,); an event has the index of its column. Those of
    one call are in order of their end, then of their column. A state is a tuple of states, one of
    each head whose events are reported.

    Parameters
    ----------
    heads : Heads
        What the columns are.
    rules : sequence of _core.EventRule or None
        Of each head, for its classes; None where no event of the head is reported.
    """

    def __init__(self, heads: Heads, rules: Sequence[_core.EventRule | None]) -> None:
        super().__init__(tuple(rules), tuple(len(shown) for shown in heads.columns))
        self._heads = heads
        self._rules = [(h, rule) for h, rule in enumerate(rules) if rule is not None]
        self._first = {h: heads.spans[h].stop - heads.sizes[h] for h, _ in self._rules}

    def run(
        self,
        state: tuple[bytes, ...],
        times: Floats,
        probs: ArrayLike,
        starts: list[Start] | None = None,
    ) -> tuple[Any, ...]:
        """Take many rows, (T, C): the new state, and the events as columns."""
        # The sum of a label's row may round to a little more than 1; what is not near it, the core
        # refuses.
        stack, after, events = np.maximum(self._heads.stacked(np.asarray(probs)), 0), [], []
        told: list[Start] = []
        for (h, rule), before in zip(self._rules, state, strict=True):
            rows = np.ascontiguousarray(stack[:, h, : self._heads.sizes[h]])
            of_rule = None if starts is None else list[Start]()
            part, *columns = rule.run(before, times, rows, of_rule)
            after.append(part)
            events.append((columns[0] + self._first[h], *columns[1:]))
            told += [(k + self._first[h], start) for k, start in of_rule or ()]
        if starts is not None:
            starts += sorted(told, key=_by_start)
        return tuple(after), *_in_order(events)

    def finish(self, state: tuple[bytes, ...], starts: list[Start] | None = None) -> EventColumns:
        """End the stream: its last events as columns."""
        events, told = [], list[Start]()
        for (h, rule), part in zip(self._rules, state, strict=True):
            of_rule = None if starts is None else list[Start]()
            label, *columns = rule.finish(part, of_rule)
            events.append((label + self._first[h], *columns))
            told += [(k + self._first[h], start) for k, start in of_rule or ()]
        if starts is not None:
            starts += sorted(told, key=_by_start)
        return _in_order(events)

    def current(self, state: tuple[bytes, ...]) -> list[tuple[int, float, float, bool]]:
        """Return the events that go on if the stream ended now, in the order of the heads."""
        current = [rule.current(part) for (_, rule), part in zip(self._rules, state, strict=True)]
        return [
            (event[0] + self._first[h], *event[1:])
            for (h, _), event in zip(self._rules, current, strict=True)
            if event is not None
        ]

    def check(self, state: tuple[bytes, ...]) -> None:
        """Refuse bytes that are no states of these rules."""
        if len(state) != len(self._rules):
            raise ValueError(f"state has {len(state)} parts; the rules have {len(self._rules)}")
        for (_, rule), part in zip(self._rules, state, strict=True):
            rule.check(part)


def _in_order(parts: list[EventColumns]) -> EventColumns:
    """Return the events of all heads by their end, then by their column."""
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.lexsort((columns[0], columns[2]))
    return tuple(column[order] for column in columns)


def _by_start(start: Start) -> tuple[float, int]:
    k, time = start
    return time, k


EVIDENCE = ("time", "log")
LEAST = 1e-3
"""The smallest probability that `evidence="log"` takes the logarithm of."""


class Option(NamedTuple):
    """An option of the rule, as each of its fields has it.

    The command line, the page of options, JavaScript and the firmware have what these say.
    """

    kind: str
    """What it is: "cost", "duration", "pair" of durations, "number", "evidence" or "classes"."""
    says: str
    """What it does, in a sentence."""
    acts: str
    """Where: on the "path" of classes, or on what is "reported" of it."""
    by_class: bool = False
    """Whether each class may have its own, and 0 where it is not named."""
    core: float | None = None
    """What None is in the core; None if it is no number of the whole rule there."""
    least: float = -math.inf
    """Of a number: the least, and the most."""
    most: float = math.inf


def _option(default: Any, kind: str, says: str, acts: str, **more: Any) -> Any:
    return field(default=default, metadata={"option": Option(kind, says, acts, **more)})


@names_keywords
@dataclass(frozen=True)
class EventRule:
    r"""How events are decided: the path of classes with the most expected time right.

    The path :math:`y` of a stream maximises

    .. math:: \sum_t w_t \, p_t(y_t) - \sum_{j \to k} (\text{leave}_j + \text{enter}_k),

    the second sum over its changes of class, where row :math:`t` stands for the time :math:`w_t`
    to the next row (the last row for the step before it). So a cost is a time: with
    ``change_cost=30`` a change is reported if the new class is worth 30 seconds of being right.
    Costs, durations and times share one unit: seconds, where times are dates. See docs/events.md.

    Of several labels at once, each is decided by itself, on or off, and events overlap. There the
    settings are those of on, and `change_cost` is the cost of each change, on or off.

    Parameters
    ----------
    change_cost : duration, or mapping of every class to one
        The cost of entering a class, as a time: a change must make the result right for this much
        longer. 0 follows the most probable class of each row.
    leave_cost : duration, or mapping of classes to them
        The cost of leaving a class, in addition; 0 for a class that is not named.
    min_duration : duration, or mapping of classes to them
        No event of a class is shorter; 0 for a class that is not named. Unlike a cost, it is a hard
        limit: a shorter event is dropped or made longer, whichever costs less. If the longest
        minimum spans more than 64 rows, the path is slightly worse than the best one.
    merge_gap : duration, optional; for multi-label filters also a mapping of labels to them
        Two events of a class become one if the gap between them is no longer than this and nothing
        is reported in it: the class between them is ignored, or the time is uncertain.
    bias : float, or mapping of classes to them, optional
        Subtracted from the probability of a class, -1 to 1. A class with a bias above 0 needs more
        evidence than the others.
    evidence : {"time", "log"}
        What a row is worth: its probability, or the logarithm of it. With the logarithm, the path
        is that of the Viterbi algorithm, confident rows count more, and a cost is a time multiplied
        by a difference of logarithms.
    min_probability : float, optional
        Where no class is this probable, the time is uncertain, and no event is reported.
    pad : pair of durations
        How far each event is extended before its start and after its end, into time without an
        event.
    shift : duration
        Every change is reported earlier by this much, to make up for the delay of the filter.
    ignore : class or iterable of them
        Classes whose events are not reported, such as the background.
    max_gap : duration, optional
        A row stands for no more time than this; after it, the class is unknown and events end.
    max_duration : duration, optional
        A longer event is split into pieces of this length. An event that would have more than
        100,000 pieces, as after a clock that was set, has pieces of 2, 4, 8... times the length.
    max_delay : duration, optional
        The longest time that an event may stay provisional: what lies further back is decided by
        the best path so far, which may not be the best path of the whole stream.

    Examples
    --------
    >>> import classfilter as cf
    >>> rule = cf.EventRule("30s", min_duration={"walk": 10.0}, ignore="other")
    >>> rule.change_cost, rule.min_duration, rule.ignore
    (30.0, {'walk': 10.0}, ('other',))
    """

    change_cost: Any = _option(
        0.0, "cost", "How much longer a change must make the result right: 30s.", "path",
        by_class=True,
    )  # fmt: skip
    leave_cost: Any = _option(0.0, "cost", "The cost of leaving a class.", "path", by_class=True)
    min_duration: Any = _option(
        0.0, "duration", "No event is shorter: walk=10s.", "path", by_class=True
    )
    merge_gap: Any = _option(
        None, "duration", "Join two events of a class if the gap between them is no longer.",
        "reported", by_class=True, core=-1.0,
    )  # fmt: skip
    bias: Any = _option(
        0.0, "number", "Subtracted from the probability of a class.", "path", by_class=True,
        least=-1.0, most=1.0,
    )  # fmt: skip
    evidence: str = _option(
        "time", "evidence", "What a row is worth: its probability (time), or the logarithm.", "path"
    )
    min_probability: float | None = _option(
        None, "number", "Report no event where no class is this probable.", "path", core=0.0,
        least=1e-30, most=1.0,
    )  # fmt: skip
    pad: Any = _option(
        (0.0, 0.0), "pair", "Extend each event, before its start and after its end.", "reported"
    )
    shift: Any = _option(
        0.0, "duration", "Report every change earlier by this time.", "reported", core=0.0
    )
    ignore: Any = _option((), "classes", "Report no events of these: other,rest.", "reported")
    max_gap: Any = _option(
        None, "duration", "The longest time that a row stands for; events end after it.", "path",
        core=math.inf,
    )  # fmt: skip
    max_duration: Any = _option(
        None, "duration", "Divide longer events.", "reported", core=math.inf
    )
    max_delay: Any = _option(
        None, "duration", "The longest time that an event stays provisional.", "path",
        core=math.inf,
    )  # fmt: skip

    def __post_init__(self) -> None:
        for one in fields(self):
            name, option = one.name, OPTIONS[one.name]
            value = getattr(self, name)
            value = one.default if value is None else value
            if value is None:
                continue
            check = _CHECKS[option.kind]
            if option.by_class and isinstance(value, Mapping):
                value = {
                    str(label): check(name, option, x, str(label)) for label, x in value.items()
                }
            else:
                value = check(name, option, value)
            if option.core == math.inf and value == 0:
                fix = f"give a positive {option.kind}, or None"
                raise ArgumentError(name, 0, must="it must not be 0", fix=fix)
            object.__setattr__(self, name, value)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that differ from the defaults, as a file has them; and the cost."""
        defaults = EventRule()
        return {
            field.name: list(value) if isinstance(value, tuple) else value
            for field in fields(self)
            for value in [getattr(self, field.name)]
            if field.name == "change_cost" or value != getattr(defaults, field.name)
        }

    def check(self, heads: Heads) -> None:
        """Raise for a class that is named here and is not one of these."""
        names = tuple(map(str, heads.shown))
        if isinstance(self.merge_gap, dict) and heads.is_exclusive:
            raise ArgumentError(
                "merge_gap", self.merge_gap, problem="is {}, but the classes exclude each other",
                must="only multi-label rules have a gap for each label",
                fix="give one duration, or min_duration of the classes in between",
            )  # fmt: skip
        for argument in BY_CLASS:
            value = getattr(self, argument)
            if isinstance(value, dict):
                _require_named(argument, value, names)
        _require_named("ignore", self.ignore, names)
        missing = [name for name in names if name not in self._costs(names)]
        if missing:
            raise ArgumentError(
                "change_cost",
                missing[0],
                problem="has no cost of entering {}",
                fix="name every class, or give one number for all",
            )
        longest = float(max(_number_of_each(self.min_duration, names)))
        if self.max_delay is not None and self.max_delay < longest:
            must = f"it must not be below the longest minimum duration, {longest!r}"
            raise ArgumentError("max_delay", self.max_delay, must=must)
        if set(names) <= set(self.ignore):
            raise ArgumentError(
                "ignore", self.ignore, problem="has all classes", fix="leave one of them out"
            )

    def _costs(self, names: tuple[str, ...]) -> dict[str, float]:
        cost = self.change_cost
        return cost if isinstance(cost, dict) else dict.fromkeys(names, cost)

    def head(self, heads: Heads, h: int) -> EventRule:
        """Return the rule of one head; that of a label has the classes not robin and robin."""
        shown = heads.columns[h]
        by_class = {name: getattr(self, name) for name in BY_CLASS}
        options: dict[str, Any] = {
            name: {one: value[one] for one in shown if one in value}
            if isinstance(value, dict)
            else value
            for name, value in by_class.items()
        }
        if isinstance(options["merge_gap"], dict):
            options["merge_gap"] = options["merge_gap"].get(shown[0])
        if h not in heads.labels:
            return replace(
                self, **options, ignore=tuple(one for one in shown if one in self.ignore)
            )
        (label,) = shown
        for name in ("leave_cost", "min_duration", "bias"):
            value = options[name].get(label) if isinstance(options[name], dict) else options[name]
            options[name] = {label: value or 0.0}
        if isinstance(options["change_cost"], dict):
            options["change_cost"] = options["change_cost"].get(label)
        return replace(self, **options, ignore=heads.classes_of(h)[:1])

    def compiled(self, heads: Heads, dtype: DTypeLike) -> Any:
        """Return the rule of the core for the columns of a filter: one for each head."""
        self.check(heads)
        if heads.is_exclusive:
            names = tuple(map(str, heads.shown))
            return _core.EventRule(len(names), np.dtype(dtype) == np.float32, **self.numbers(names))
        of_heads = [
            None
            if set(shown) <= set(self.ignore)
            else self.head(heads, h).compiled(Heads.exclusive(heads.classes_of(h)), dtype)
            for h, shown in enumerate(heads.columns)
        ]
        return HeadRules(heads, of_heads)

    def numbers(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the settings as the core has them, of classes that exclude each other."""
        enter = [self._costs(names)[name] for name in names]
        leave = _number_of_each(self.leave_cost, names)
        if self.min_probability is not None:  # it costs as the dearest class to enter
            enter, leave = [*enter, max(enter)], np.append(leave, 0.0)
        return {
            "enter": enter,
            "leave": leave,
            "min_duration": _number_of_each(self.min_duration, names),
            "bias": _number_of_each(self.bias, names),
            "ignore": [name in self.ignore for name in names],
            "log": self.evidence == "log",
            "floor": LEAST,
            "pad_before": self.pad[0],
            "pad_after": self.pad[1],
            **{
                name: option.core if getattr(self, name) is None else getattr(self, name)
                for name, option in OPTIONS.items()
                if option.core is not None
            },
        }

    def __repr__(self) -> str:
        shown = {name: value for name, value in self.settings.items() if name != "change_cost"}
        options = "".join(f", {name}={getattr(self, name)!r}" for name in shown)
        return f"EventRule({self.change_cost!r}{options})"


OPTIONS: dict[str, Option] = {one.name: one.metadata["option"] for one in fields(EventRule)}
"""The table of options, in their order."""
BY_CLASS = tuple(name for name, option in OPTIONS.items() if option.by_class)


def _span(argument: str, _: Option, value: Any, entry: str | None = None) -> float:
    """Return a duration that is neither negative nor infinite."""
    span = duration(argument, value, entry)
    if not 0 <= span < math.inf:
        must = "it must be finite and not negative"
        raise ArgumentError(argument, value, must=must, entry=entry)
    return span


def _number(argument: str, option: Option, value: Any, entry: str | None = None) -> float:
    if not is_number(value) or not option.least <= value <= option.most:
        must = f"it must be a number from {option.least:g} to {option.most:g}"
        raise ArgumentError(argument, value, must=must, entry=entry)
    return float(value)


def _pair(argument: str, option: Option, value: Any) -> tuple[float, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable) or len(tuple(value)) != 2:
        must = "it must be a pair: the time before and the time after"
        raise ArgumentError(argument, value, must=must)
    return tuple(_span(argument, option, side) for side in value)


def _evidence(argument: str, _: Option, value: Any) -> str:
    if value not in EVIDENCE:
        raise ArgumentError(argument, value, must=f"it must be one of {', '.join(EVIDENCE)}")
    return str(value)


def _classes(_argument: str, _: Option, value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, (str, int)) else list(value)
    return tuple(dict.fromkeys(map(str, names)))


_CHECKS: dict[str, Any] = {
    "cost": _span,
    "duration": _span,
    "number": _number,
    "pair": _pair,
    "evidence": _evidence,
    "classes": _classes,
}


def _require_named(argument: str, named: Iterable[str], classes: tuple[str, ...]) -> None:
    for name in named:
        if name not in classes:
            raise ArgumentError(
                argument, name, problem="names {}", must=f"the classes are {list(classes)}"
            )


def _number_of_each(value: Any, names: tuple[str, ...]) -> Floats:
    """Return the number of each class; 0 where a mapping does not name it."""
    numbers = value if isinstance(value, dict) else dict.fromkeys(names, value)
    return np.array([numbers.get(name, 0.0) for name in names])
