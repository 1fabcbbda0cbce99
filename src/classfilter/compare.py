"""Methods side by side on the same streams: rows and events, with paired differences."""

from __future__ import annotations

import math
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from . import filters, metrics, tuning
from .engine import Tracker
from .errors import ArgumentError, RowError, names_keywords
from .events import EventRule
from .inputs import Heads, Rows, new_table, positive_duration
from .metrics import Difference, Spans, Sums, by_iou, paired
from .pipeline import Pipeline
from .policy import Adaptive, Periodic, Policy
from .support.arrays import median_step
from .support.html import block, bold, table
from .support.imports import public
from .support.text import aligned
from .support.types import Array, Duration, Floats, Ints, is_number
from .tuning import tune

__all__ = ["MEASURES", "TERMINAL", "Comparison", "Difference", "Row", "compare"]

Method = Callable[[Rows], Array]
"""Returns the probabilities of classes or labels of a stream, (T, C)."""
SMOOTHED, RULE = ", smoothed", ", rule"
"""How the names end of a smoother, and of a method with a rule for events."""
RULED = ("Raw", "Hold", "Tuned", "Tuned, smoothed")
"""The methods that have a second row, with a rule."""
OVERLAP = 0.5
LEAST_PROBABILITY = 1e-3
"""Of a probability, in the log-loss: that of the filters."""
LATER = 12
"""Without labels, rows are judged by what the reference predicts about so many steps later."""
MOST_STEPS = 0.5
"""Policies need several sources at this share of the times."""
FEWEST, BLOCKS = 5, 16
"""Fewer streams are cut into so many blocks."""
MEASURES = {
    "calls": "calls per hour",
    "cost": "cost per hour",
    "accuracy": "accuracy (%)",
    "macro_f1": "macro-F1 (%)",
    "agreement": "agreement (%)",
    "log_loss": "log-loss",
    "calibration_error": "calibration error (%)",
    "switches": "switches per hour",
    "delay": "delay (s)",
    "events": "events per hour",
    "event_f1": "F1@50 (%)",
    "event_precision": "precision (%)",
    "event_recall": "recall (%)",
}
"""The measures and their titles, in the order of the table."""
PLAIN = {"log_loss": 2, "delay": 0, "switches": 1, "events": 1, "calls": 1, "cost": 1}
"""Measures that are no shares, and their digits."""
DETAILS = ("log_loss", "calibration_error", "event_precision", "event_recall")
"""Measures that are not printed."""
LEFT_OUT_FIRST = ("delay", "switches", "events")
"""What a narrow table leaves out, in turn."""
TERMINAL = 100
NAN = float("nan")


@dataclass(frozen=True, kw_only=True)
class Row:
    """What was measured of one method; NaN where there is nothing to measure.

    Attributes
    ----------
    name : str
        The method.
    smoothed : bool
        Whether it uses later rows, too.
    calls, cost : float
        With `policies`: calls of the reference per hour, and the cost of all calls per hour.
    accuracy, macro_f1, log_loss, calibration_error : float
        By the labels. Multi-label, macro-F1 is the mean over labels, the others are of all labels.
    agreement : float
        Without labels: how often the class is what the reference predicts later.
    switches, events : float
        Per hour.
    delay : float
        The mean time from a true change of class to its detection.
    event_f1, event_precision, event_recall : float
        Of events, which are found where the intersection over union is 0.5.
    differences : dict of str to Difference
        Of accuracy, macro-F1, log-loss, F1@50 and agreement: those to the best method that uses no
        later rows.
    """

    name: str
    smoothed: bool = False
    calls: float = NAN
    cost: float = NAN
    accuracy: float = NAN
    macro_f1: float = NAN
    agreement: float = NAN
    log_loss: float = NAN
    calibration_error: float = NAN
    switches: float = NAN
    delay: float = NAN
    events: float = NAN
    event_f1: float = NAN
    event_precision: float = NAN
    event_recall: float = NAN
    differences: Mapping[str, Difference] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Methods side by side; print it for a table.

    Attributes
    ----------
    rows : list of Row
        The methods, from simple to tuned, smoothers last. ``comparison["Tuned"]`` is one of them.
    reference : str
        The source taken as the best.
    labels : tuple of str
        Multi-label, the names of the heads.
    true_switches, true_events : float
        Switches and events per hour by the labels; NaN without labels. Multi-label: of one label.
    notes : tuple of str
        What stands below the table.
    """

    rows: list[Row] = field(repr=False)
    reference: str
    labels: tuple[str, ...] = ()
    true_switches: float = NAN
    true_events: float = NAN
    notes: tuple[str, ...] = field(default=(), repr=False)

    def __getitem__(self, name: str) -> Row:
        names = [row.name for row in self.rows]
        if name not in names:
            raise KeyError(f"{name!r}; the methods are {', '.join(names)}")
        return self.rows[names.index(name)]

    def best(self, measure: str) -> str | None:
        """Return the method that is best by a measure, of those that use no later rows."""
        known = {key for row in self.rows for key in row.differences}
        if measure not in known:
            raise ArgumentError("measure", measure, must=f"it must be one of {sorted(known)}")
        words = [(row.name, row.differences.get(measure)) for row in self.rows]
        return next((name for name, one in words if one and one.word == "best"), None)

    @cached_property
    def table(self) -> dict[str, list[Any]]:
        """The comparison as columns by their names, which pandas and Polars take."""
        columns: dict[str, list[Any]] = {"method": [row.name for row in self.rows]}
        columns["smoothed"] = [float(row.smoothed) for row in self.rows]
        for key in self._known():
            columns[key] = [getattr(row, key) for row in self.rows]
            if any(key in row.differences for row in self.rows):
                parts = [row.differences.get(key, (NAN, NAN, NAN, "")) for row in self.rows]
                endings = "difference", "low", "high", "word"
                for ending, column in zip(endings, zip(*parts, strict=True), strict=True):
                    columns[f"{key}_{ending}"] = list(column)
        return columns

    def to_table(self, kind: str = "polars") -> Any:
        """Return the comparison as a dataframe of ``"polars"``, ``"pandas"`` or ``"pyarrow"``."""
        words = [name for name in self.table if name.endswith("_word")]
        return new_table(self.table, kind, text=("method", *words))

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = TERMINAL) -> str:
        """Return an aligned table and its notes, without `LEFT_OUT_FIRST` where it is too wide."""
        for left_out in range(len(LEFT_OUT_FIRST) + 1):
            header, *rows = self._cells(LEFT_OUT_FIRST[:left_out])
            titles = [textwrap.wrap(title, 8, break_long_words=False) or [""] for title in header]
            height = max(map(len, titles))
            above = zip(*([""] * (height - len(t)) + t for t in titles), strict=True)
            lines = aligned([*above, *rows])
            if max(map(len, lines.split("\n"))) <= width:
                break
        return "\n".join([lines, "", *(textwrap.fill(note, width) for note in self.notes)])

    def _repr_html_(self) -> str:
        header, *rows = self._cells()
        # A difference stays on one line of a page.
        rows = [[name, *(c.strip().replace(" ", "\u00a0") for c in cells)] for name, *cells in rows]
        marked = [[bold(cell) if cell == "best" else cell for cell in cells] for cells in rows]
        return block(table(header, marked), "\n".join(self.notes))

    def _known(self) -> list[str]:
        """Return the measures that some method has."""
        return [key for key in MEASURES if any(not math.isnan(getattr(r, key)) for r in self.rows)]

    def _cells(self, left_out: Sequence[str] = ()) -> list[list[str]]:
        """Return the titles and the cells; a difference stands in a column of its own."""
        # What is off most of the time makes any accuracy high.
        hidden = (*DETAILS, "accuracy" if self.labels else "macro_f1", *left_out)
        header, cells = [""], [[row.name] for row in self.rows]
        for key in self._known():
            if key in hidden:
                continue
            compared = any(key in row.differences for row in self.rows)
            header += [MEASURES[key]] + ["to the best"] * compared
            for row, line in zip(self.rows, cells, strict=True):
                line += [_figure(key, getattr(row, key))]
                line += [_difference(key, row.differences.get(key))] * compared
        return [header, *cells]


def _figure(key: str, value: float, sign: str = "") -> str:
    scale = 1 if key in PLAIN else 100
    return "-" if math.isnan(value) else f"{scale * value:{sign}.{PLAIN.get(key, 1)}f}"


def _difference(key: str, of: Difference | None) -> str:
    """Return a difference, half of its interval, and the word, at equal places."""
    if of is None or of.word == "best":
        return "" if of is None else f"{of.word:<6}"
    half = "" if math.isnan(of.low) else f" ± {_figure(key, (of.high - of.low) / 2)}"
    return f"{_figure(key, of.value, '+')}{half} {of.word:<6}"


class Run(NamedTuple):
    """What a method made of a stream: the rows that it saw, its estimate, a rule for events."""

    rows: Rows
    probs: Array
    rule: EventRule | None


Segments = tuple[Ints, Floats, Floats]
"""The column of the class, the start and the end of each event."""


class Judge:
    """What judges the methods: the labels or, without them, later predictions of the reference.

    Differences are paired by *units*: streams, or blocks of them where there are few.
    """

    def __init__(
        self, streams: Sequence[Rows], reference: str, prices: Mapping[str, float]
    ) -> None:
        self.streams, self.reference, self.prices = streams, reference, prices
        self.heads = streams[0].heads
        self.labelled = any(rec.label is not None and (rec.label >= 0).any() for rec in streams)
        cuts = 1 if len(streams) >= FEWEST else math.ceil(BLOCKS / len(streams))
        self.edges = [rec.time[np.arange(1, cuts) * len(rec) // cuts] for rec in streams]
        self.units, self.cuts = len(streams) * cuts, cuts
        calls = sum(int(rec.observed(reference).sum()) for rec in streams)
        steps = sum(int(np.unique(rec.time).size) for rec in streams)
        self.calls_later = max(1, round(LATER * calls / steps))

    def unit(self, i: int, time: Floats) -> Ints:
        """Return the unit of each time of a stream."""
        place: Ints = i * self.cuts + np.searchsorted(self.edges[i], time, "right")
        return place

    def truth(self, i: int, rec: Rows) -> Ints:
        """Return the class of each row and head, (T, H): the label, or what is predicted later."""
        shape = len(rec), len(self.heads.names)
        if self.labelled:
            return np.full(shape, -1) if rec.label is None else rec.label.reshape(shape)
        of = self.streams[i].take(self.streams[i].observed(self.reference))
        place = np.searchsorted(of.time, rec.time, "right") + self.calls_later - 1
        later = self.heads.stacked(of.probs)[np.minimum(place, len(of) - 1)].argmax(axis=2)
        return np.where((place < len(of))[:, None], later, -1)

    def measure(self, name: str, run: Sequence[Run]) -> tuple[Row, dict[str, Sums]]:
        """Return the measures of a method, and the sums of those that are compared."""
        sums = {key: Sums.zeros(self.units, 1) for key in ("accuracy", "log_loss", "event_f1")}
        sums["macro_f1"] = Sums.zeros(self.units, len(self.heads.shown))
        total: dict[str, float] = defaultdict(float)
        pooled: list[tuple[Ints, Floats]] = []
        for i, (rec, P, rule) in enumerate(run):
            truth, events = self.truth(i, rec), decide(rule or EventRule(), rec, P)
            self._add_events(i, rec, truth, events, sums["event_f1"], total)
            P = P if rule is None else _certain(rec, events)
            last = np.append(np.diff(rec.time) > 0, True)
            self._add_rows(i, rec.take(last), P[last], truth[last], sums, total, pooled)
            for source, price in self.prices.items():
                calls = int(rec.observed(source).sum())
                total["calls"] += calls * (source == self.reference)
                total["cost"] += calls * price

        def per(what: str, of: str) -> float:
            return total[what] / total[of] if total[of] else NAN

        # The hours are counted once for each label.
        labels, ruled = len(self.heads.names), name.endswith(RULE)
        smoothed = name.removesuffix(RULE).endswith(SMOOTHED)
        known: dict[str, Any] = {key: per(key, "hours") for key in ("switches", "events")}
        known |= {key: labels * per(key, "hours") for key in ("calls", "cost") if self.prices}
        compared = {} if smoothed or ruled else {"agreement": sums["accuracy"]}
        if self.labelled:
            compared = {key: sums[key] for key in ("accuracy", "macro_f1", "event_f1")}
            known["delay"] = NAN if ruled else per("delay", "changes")  # it waits for later rows
            known["event_precision"] = per("found", "events")
            known["event_recall"] = per("found", "true")
            if not ruled:
                compared["log_loss"] = sums["log_loss"]
                y, p = (np.concatenate(parts) for parts in zip(*pooled, strict=True))
                known["calibration_error"] = metrics.calibration_error(y, p)
        known |= {key: one.value() for key, one in compared.items()}
        return Row(name=name, smoothed=smoothed, **known), compared

    def _add_rows(
        self,
        i: int,
        rec: Rows,
        P: Array,
        truth: Ints,
        sums: Mapping[str, Sums],
        total: dict[str, float],
        pooled: list[tuple[Ints, Floats]],
    ) -> None:
        """Add the rows of a stream, of which each is the last of its time."""
        stack, unit = self.heads.stacked(P), self.unit(i, rec.time)
        for h, (size, span) in enumerate(zip(self.heads.sizes, self.heads.spans, strict=True)):
            p, y = stack[:, h, :size], truth[:, h]
            k = np.where(p.max(axis=1) > 0, p.argmax(axis=1), -1)
            known = y >= 0
            sums["accuracy"].add(0, unit, known & (y == k), known)
            for column in range(span.start, span.stop):
                c = column - span.stop + size  # of a label, only on is shown
                true, predicted = known & (y == c), known & (k == c)
                sums["macro_f1"].add(column, unit, 2.0 * (true & predicted), 1.0 * true + predicted)
            raised = np.maximum(p, LEAST_PROBABILITY)
            loss = np.log(raised.sum(axis=1) / raised[np.arange(len(y)), y])
            sums["log_loss"].add(0, unit, np.where(known, loss, 0), known)
            judged, gap = y if self.labelled else None, tuning.GAP * rec.step
            total["switches"] += metrics.count_switches(k, rec.time, judged, gap)[0]
            total["hours"] += metrics.count_switches(0 * y, rec.time, judged, gap)[1]
            if self.labelled and known.any():
                delay = metrics.detection_delay(y, k, rec.time)
                total["delay"] += delay.mean * delay.changes if delay.changes else 0
                total["changes"] += delay.changes
                pooled.append((y[known], stack[known, h]))

    def _add_events(
        self, i: int, rec: Rows, truth: Ints, events: Segments, f1: Sums, total: dict[str, float]
    ) -> None:
        """Add the events of a stream; what is predicted where there is no label is left out."""
        of_class, start, end = events
        certain = self.heads.certain(truth)
        if not self.labelled:
            total["events"] += len(of_class)
            return
        of_truth, begins, ends = decide(EventRule(), rec, certain)
        for k, known in enumerate(np.isfinite(certain).T):
            count = np.concatenate([[0], np.cumsum(known)])
            first, last = (np.searchsorted(rec.time, edge) for edge in (start, end))
            kept, true = (of_class == k) & (count[last] > count[first]), of_truth == k
            spans, truly = Spans(start[kept], end[kept]), Spans(begins[true], ends[true])
            found = by_iou(truly, spans, OVERLAP).found
            f1.add(0, self.unit(i, truly.start), 2 * found, 0 * truly.start + 1)
            f1.add(0, self.unit(i, spans.start), 0 * spans.start, 0 * spans.start + 1)
            total["found"] += int(found.sum())
            total["true"] += len(found)
            total["events"] += len(spans.start)

    def rates_of_truth(self) -> Row:
        """Return switches and events per hour by the labels."""
        truth = [self.heads.certain(self.truth(i, rec)) for i, rec in enumerate(self.streams)]
        run = [Run(rec, P, None) for rec, P in zip(self.streams, truth, strict=True)]
        return self.measure("", run)[0] if self.labelled else Row(name="")


def decide(rule: EventRule, rec: Rows, P: Array) -> Segments:
    """Return the events of a stream."""
    core = rule.compiled(rec.heads, np.float64)
    state, *now = core.run(core.start(), rec.time, np.ascontiguousarray(P, np.float64))
    of_class, start, end = map(np.concatenate, zip(now[:3], core.finish(state)[:3], strict=True))
    order = np.argsort(start, kind="stable")
    return of_class[order], start[order], end[order]


def _certain(rec: Rows, events: Segments) -> Floats:
    """Return the rows with the classes of events, (T, C): 1 in an event of the class, else 0."""
    P = np.zeros(rec.probs.shape)
    for k, start, end in zip(*(part.tolist() for part in events), strict=True):
        P[slice(*np.searchsorted(rec.time, (start, end))), k] = 1
    return P


def matched_rule(streams: Sequence[Run], length: float) -> EventRule:
    """Return the rule with the least cost that has as many events as fit, each of such a length."""
    steps = [np.diff(rec.time) for rec, *_ in streams]
    span = [float(dt[dt <= tuning.GAP * median_step(dt)].sum()) for dt in steps]

    def too_many(cost: float) -> bool:
        counts = [len(decide(EventRule(cost), rec, P)[0]) for rec, P, _ in streams]
        return sum(counts) > sum(span) / length

    low, high = min([length, *span]) / 1024, max([length, *span])
    if not too_many(0.0):
        return EventRule()
    while high > 1.05 * low:  # costs are alike where their ratio is near 1
        middle = math.sqrt(low * high)
        low, high = (middle, high) if too_many(middle) else (low, middle)
    return EventRule(float(f"{high:.3g}"))


def mean_duration(streams: Sequence[Rows]) -> float:
    """Return how long an event lasts on average by the labels; NaN without labels."""
    known = [rec for rec in streams if rec.label is not None]
    events = [decide(EventRule(), rec, rec.heads.certain(np.asarray(rec.label))) for rec in known]
    lengths = np.concatenate([np.zeros(0), *(end - start for _, start, end in events)])
    return float(lengths.mean()) if lengths.size else NAN


class Arm(NamedTuple):
    """A method that is compared, and which rows of a stream it gets; some have a rule, too."""

    name: str
    run: Method
    see: Callable[[Rows], Rows] = lambda rec: rec
    ruled: bool = False


def arms(train: Sequence[Rows], reference: str) -> Iterator[Arm]:
    """Give the methods, tuned on some streams without their labels."""
    heads, step = train[0].heads, tuning.step_of(train)
    sources = dict.fromkeys(name for rec in train for name in rec.sources)

    def simple(name: str, make: Callable[[Any], Any], weak: float = 1.0) -> Arm:
        beta = {source: 1.0 if source == reference else weak for source in sources}
        return Arm(name, Pipeline(_for_heads(heads, make), beta=beta).run, ruled=name in RULED)

    window = tuning.WINDOW
    yield simple("Raw", filters.RawFilter)
    yield simple(f"Mean of {window}", lambda classes: filters.MeanFilter(classes, window))
    if heads.is_exclusive:
        yield simple(f"Vote of {window}", lambda classes: filters.VoteFilter(classes, window))
    yield simple("EMA", lambda classes: filters.EmaFilter(classes, 0.9 ** (1 / step)))
    if len(sources) > 1:  # or it is Raw
        yield simple("Hold", filters.HoldFilter, tuning.HELD_BELOW)
    known = {"raw", "mean", "vote", "ema", "hold"}
    for kind in filters.BASELINES:
        if kind not in known:
            make = filters.KINDS[kind]
            yield simple(make.__name__.removesuffix("Filter"), make)
    pipes = {
        "Dirichlet": tune(train, "dirichlet", reference, every=1),
        "Tuned": tune(train, "auto", reference, every=1),
    }
    if heads.is_exclusive:
        gamma = getattr(pipes["Dirichlet"].filter, "gamma", 0.5 ** (1 / (8 * step)))

        def paper(classes: Any) -> filters.Filter:
            return filters.DirichletFilter(classes, gamma=gamma, estimate="mean")

        yield simple("Single", paper)
        if len(sources) > 1:
            yield simple("Multiple", paper, 0.5)
    for name, pipe in pipes.items():
        yield Arm(name, pipe.run, ruled=name in RULED)
        yield Arm(name + SMOOTHED, pipe.smooth, ruled=name + SMOOTHED in RULED)


def arms_under(
    policies: Mapping[str, Policy],
    train: Sequence[Rows],
    reference: str,
    extra: Mapping[str, Method],
) -> Iterator[Arm]:
    """Give each source by itself at every time, and what each policy calls, filtered."""
    heads, sources = train[0].heads, dict.fromkeys(name for rec in train for name in rec.sources)
    raw, hold = (_for_heads(heads, make) for make in (filters.RawFilter, filters.HoldFilter))
    for name in sources:

        def own(rec: Rows, name: str = name) -> Rows:
            return rec.take(rec.observed(name))

        yield Arm(f"{name} always", Pipeline(raw).run, own, ruled=True)
    beta = {name: 1.0 if name == reference else tuning.HELD_BELOW for name in sources}
    for name, policy in policies.items():
        pipe = tune(train, "auto", reference, policy=policy)
        see = cache(partial(under_policy, pipe=pipe, policy=policy))
        yield Arm(f"{name}, Hold", Pipeline(hold, beta=beta).run, see)
        for title, method in extra.items():
            yield Arm(f"{name}, {title}", method, see)
        yield Arm(name, pipe.run, see, ruled=True)
        yield Arm(name + SMOOTHED, pipe.smooth, see)


def _for_heads(heads: Heads, make: Callable[[Any], Any]) -> Any:
    """Return a filter, of classes or of their number, or one for each head."""
    if heads.is_exclusive:
        return make(heads.shown)
    of_heads = {name: make(size) for name, size in zip(heads.names, heads.sizes, strict=True)}
    return filters.MultiLabelFilter(heads.layout, of_heads)


def under_policy(rec: Rows, pipe: Pipeline, policy: Policy) -> Rows:
    """Return the rows that a policy calls: at each time one, chosen by the pipeline's estimate.

    Where the source that it chooses has no prediction, another one is called.
    """
    tracker, chosen = Tracker(Pipeline.of(pipe, policy=policy)), []
    at: dict[float, dict[str, int]] = {}
    rows_of = zip(rec.time.tolist(), rec.source_names.tolist(), rec.observed(), strict=True)
    for row, (time, source, there) in enumerate(rows_of):
        if there:
            at.setdefault(time, {})[source] = row
    for time, rows in at.items():
        wanted = tracker.next_source(None, time)
        source = wanted if wanted in rows else next(iter(rows))
        P, row = rec.probs[rows[source]], rows[source]
        tracker.update(None, time, source, int(P.argmax()) if rec.one_hot[row] else P)
        chosen.append(row)
    return rec.take(np.array(chosen, np.intp))


def policy_name(policy: Any) -> str:
    """Return a short name of a policy.

    Examples
    --------
    >>> policy_name(Periodic(12)), policy_name(Periodic(seconds="1min"))
    ('Periodic(12)', 'Periodic(60 s)')
    >>> policy_name(Adaptive(1 / 12))
    'Adaptive(0.0833)'
    """
    if isinstance(policy, Periodic):
        return f"Periodic({policy.every or f'{policy.seconds:g} s'})"
    return f"Adaptive({policy.budget:.3g})" if isinstance(policy, Adaptive) else repr(policy)


@names_keywords
def compare(
    rows: Any,
    reference: str | None = None,
    *,
    extra: Mapping[str, Method] | None = None,
    policies: Sequence[Policy] | Mapping[str, Policy] | None = None,
    events: bool | EventRule | Duration = True,
    cost: Mapping[str, float] | None = None,
    progress: tuning.Progress | None = None,
) -> Comparison:
    """Run simple rules, the paper's settings and tuned filters over rows, and measure each.

    What is tuned is tuned without labels, on one half of the streams, and measured on the other.

    Parameters
    ----------
    rows : Rows, dataframe, str or Path
        Predictions, as for `tune`, with times in seconds, and with the reference as often as it
        will be called. Labels are used to measure only. Without them, the table has the agreement
        with later predictions of the reference, which is not accuracy.
    reference : str, optional
        The best source. By default, the one with by far the fewest predictions.
    extra : mapping of str to callable, optional
        Other methods: functions that return class probabilities, (T, K), for the `Rows` of one
        stream. A name that ends in ", smoothed" is that of a smoother.
    policies : sequence of Policy, or mapping of names to them, optional
        Compare what policies call instead. `rows` need predictions of all sources at each time. A
        policy runs with the filter that is tuned for it; the rows "always" call one source.
    events : bool, EventRule, or duration, default True
        Events of a method are runs of its most probable class. A few methods have a second row,
        where a rule decides them: this one, or that whose cost fits how long an event usually
        lasts, such as ``"5min"``. With True, that is the mean duration by the labels of the other
        half; without labels, and with False, there is no rule.
    cost : mapping of str to float, optional
        With `policies`: the cost of a call of each source, in any unit.
    progress : callable, optional
        Called with the share of the work that is done, 0 to 1.

    Returns
    -------
    Comparison
        A row for each method, with the difference to the best of those that use no later rows.
        Differences are paired: over streams or, where there are fewer than five, over blocks of
        them. *Single* and *Multiple* are the paper's: weights of 1, and of 1 and 0.5; it states no
        half-life, so theirs is the tuned one.

    Examples
    --------
    >>> from classfilter import simulate
    >>> days = [simulate("capture24", hours=4.0, seed=i).rows() for i in range(4)]
    >>> result = compare(days, "strong")
    >>> [row.name for row in result.rows][:5]
    ['Raw', 'Raw, rule', 'Mean of 5', 'Vote of 5', 'EMA']
    >>> result["Raw"].differences["accuracy"].word
    'worse'
    """
    ruled = isinstance(events, bool | EventRule)
    lasts, others = NAN if ruled else positive_duration("events", events), dict(extra or {})
    several = tuning.as_list(rows)
    best = tuning.find_reference(several, reference)
    named = _named_policies(policies, several)
    prices = _prices(cost, named, several)
    folds = tuning.two_folds(several, best)
    if folds is None:
        raise ValueError(
            f"there are too few predictions of {best!r}, or a source is in one stream only: "
            "nothing can be tuned on one half and measured on the other; record for longer"
        )
    judge = Judge([rec for fold, _ in folds for rec in fold], best, prices)
    runs: dict[str, list[Run]] = {}
    for number, (fold, train) in enumerate(folds):
        every = list(arms_under(named, train, best, others) if named else arms(train, best))
        for name in others if not named else ():
            if name in (arm.name for arm in every):
                raise ValueError(f"extra has {name!r}, a method of the table; give it another name")
            every.append(Arm(name, others[name]))
        usual = mean_duration(train) if events is True else lasts
        for done, arm in enumerate(every):
            rule = events if arm.ruled and isinstance(events, EventRule) else None
            if arm.ruled and usual > 0:
                seen = [arm.see(rec) for rec in train]
                rule = matched_rule([Run(rec, arm.run(rec), None) for rec in seen], usual)
            for rec in map(arm.see, fold):
                P = _checked_rows(arm.name, arm.run(rec), rec)
                runs.setdefault(arm.name, []).append(Run(rec, P, None))
                if rule is not None:
                    runs.setdefault(arm.name + RULE, []).append(Run(rec, P, rule))
            if progress is not None:
                progress((number + (done + 1) / len(every)) / 2)
    truth = judge.rates_of_truth()
    return Comparison(
        rows=_with_differences([judge.measure(name, run) for name, run in runs.items()]),
        reference=best,
        labels=() if judge.heads.is_exclusive else judge.heads.names,
        true_switches=truth.switches,
        true_events=truth.events,
        notes=tuple(_notes(judge, truth, events, lasts)),
    )


def _with_differences(measured: Sequence[tuple[Row, dict[str, Sums]]]) -> list[Row]:
    """Return the rows, those of smoothers last, with their differences to the best others."""
    best: dict[str, Sums] = {}
    low = {key: key == "log_loss" for _, sums in measured for key in sums}
    for row, sums in measured:
        for key, one in sums.items():
            # A rule decides a row when later ones are there, but its events are live.
            later = row.smoothed or (row.name.endswith(RULE) and key != "event_f1")
            value = one.value()
            if not later and (key not in best or (value < best[key].value()) == low[key]):
                best[key] = best.get(key, one) if math.isnan(value) else one
    return [
        replace(row, differences={k: paired(sums[k], best[k], low[k]) for k in sums if k in best})
        for row, sums in sorted(measured, key=lambda one: one[0].smoothed)
    ]


def _named_policies(policies: Any, streams: Sequence[Rows]) -> dict[str, Policy]:
    """Return policies by their names; there must be rows for them to choose from."""
    if policies is None:
        return {}
    named = policies
    if not isinstance(policies, Mapping):
        named = {policy_name(policy): policy for policy in policies}
    if not named or len(named) < len(policies):
        fix = 'such as {"eager": Adaptive(1 / 6)}'
        raise ArgumentError("policies", policies, "each needs a name of its own", fix)
    there = [np.unique(rec.time[rec.observed()], return_counts=True)[1] > 1 for rec in streams]
    share = float(np.concatenate(there).mean())
    if share < MOST_STEPS:
        must = f"only {share:.0%} of the times have rows of several sources to choose from"
        raise ArgumentError("policies", list(named), must, "record all of them at each time")
    return dict(named)


def _prices(cost: Any, policies: Mapping[str, Policy], streams: Sequence[Rows]) -> dict[str, float]:
    """Return what a call of each source costs; nothing where no policy calls it."""
    if cost is not None and not policies:
        raise ArgumentError("cost", cost, must="it needs policies", fix="give both")
    prices = {name: NAN if cost is None else 0.0 for rec in streams for name in rec.sources}
    for name, price in (cost or {}).items():
        if name not in prices:
            must = f"the sources are {list(prices)}"
            raise ArgumentError("cost", name, must=must, problem="names {}")
        if not is_number(price) or not 0 <= price < math.inf:
            raise ArgumentError(f"cost[{name!r}]", price, must="it must be 0 or more, and finite")
        prices[name] = float(price)
    return prices if policies else {}


def _checked_rows(name: str, probs: Any, rec: Rows) -> Array:
    """Return what a method gave for a stream, if it is probabilities."""
    P, name = np.asarray(probs, np.float64), f"extra[{name!r}]"
    if P.shape != rec.probs.shape:
        must = f"a stream has {len(rec)} rows and {len(rec.classes)} classes"
        raise ArgumentError(name, P.shape, must=must, problem="returned the shape {}")
    bad = ~np.isfinite(P).all(axis=1)
    if bad.any():
        raise RowError(name, P[bad][0].tolist(), "give probabilities", row=int(bad.argmax()))
    return P


def _notes(judge: Judge, truth: Row, events: Any, lasts: float) -> Iterator[str]:
    """Give what stands below the table."""
    n, rows, ref = len(judge.streams), sum(map(len, judge.streams)), judge.reference
    unit = "streams" if judge.cuts == 1 else f"{judge.units} blocks of the streams"
    yield (
        f"{n} streams, {rows:,} rows; reference: {ref}. To the best: the difference to the best "
        f"method that uses no later rows, paired over {unit}, ± half of its 95 % interval; level "
        "where that contains 0."
    )
    if not judge.heads.is_exclusive:
        yield f"{len(judge.heads.names)} labels: F1 is their mean, and rates are of one label."
    if judge.labelled:
        rates = f"{truth.switches:.1f} switches and {truth.events:.1f} events"
        yield f"By the labels, there are {rates} per hour."
    else:
        when = "call" if judge.calls_later == 1 else f"{judge.calls_later} calls"
        yield (
            f"There are no labels, so nothing here is accuracy. Agreement: how often the class is "
            f"what {ref} predicts {when} later, which smoothers and rules have seen."
        )
    named = f" of a change that fits events of {lasts:g} s"
    if isinstance(events, bool):
        named = " that fits their mean duration, chosen using the labels of the other half"
    if isinstance(events, EventRule) or lasts > 0 or (events and judge.labelled):
        named = "" if isinstance(events, EventRule) else f": a cost{named}"
        yield f"Events are runs of the most probable class, or by the rule{named}."
    elif events:
        yield 'For a rule for events, say how long one usually lasts: events="5min".'


public(Comparison)
