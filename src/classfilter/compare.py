"""Who wins on my data: every filter on the same recordings, in one table.

What is tuned is tuned on one half of the streams and runs on the other, without labels. Labels, if
there are any, only measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import metrics
from .baselines import EmaFilter, HoldFilter, MeanFilter, RawFilter, VoteFilter
from .filters import Array, DirichletFilter
from .judge import Half, Progress, best_memory
from .recording import Recording
from .setting import learn
from .tune import (
    Tuned,
    answered,
    as_list,
    both_halves,
    choose,
    prepare,
    reference_of,
    tune,
    usual_step,
)

Floats = NDArray[np.float64]
Track = Callable[[Recording], Array]
WINDOW = 5
RESAMPLES = 1000
PERCENT = (2.5, 97.5)
FEWEST = 5
"""Streams, below which their scatter tells nothing."""
LOW_IS_GOOD = ("log_loss", "brier")
HIGH_IS_GOOD = ("accuracy", "macro_f1", "agreement")
TITLES = {
    "accuracy": "accuracy, %",
    "macro_f1": "macro-F1, %",
    "agreement": "hindsight gives it, %",
    "log_loss": "log-loss",
    "brier": "Brier",
    "switches": "switches an hour",
    "delay": "delay, s",
}
"""What each measure is called. Switches have no best, and a track that flickers is quick."""


class Measure(NamedTuple):
    """A value, and between what it lies in 95 of 100 resamplings of whole streams.

    With fewer than five streams nobody can know, and both are NaN.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """How one method does.

    Attributes
    ----------
    name : str
        The method.
    looks_ahead : bool
        Whether it uses later answers too: a smoother. It competes with smoothers only.
    measures : dict of str to Measure
        By the keys of `TITLES`.
    """

    name: str
    looks_ahead: bool
    measures: dict[str, Measure]


@dataclass(frozen=True)
class Comparison:
    """All methods on the same recordings; print it for a table.

    Attributes
    ----------
    rows : list of Row
        The methods, from simple to tuned, smoothers last.
    streams, steps : int
        How many recordings have answers of the reference, and how many rows: all that is measured.
    reference : str
        The source that was held to be the best.
    true_switches : float
        Changes an hour of the labels; NaN without labels.
    """

    rows: list[Row]
    streams: int
    steps: int
    reference: str
    true_switches: float

    def best(self, measure: str, looks_ahead: bool = False) -> str | None:
        """Return the method that is best by a measure, among its kind; None if there is none."""
        known = self.rows[0].measures
        if measure not in known:
            raise ValueError(f"measure is {measure!r}; it must be one of {', '.join(known)}")
        rows = [row for row in self.rows if row.looks_ahead == looks_ahead]
        rows = [row for row in rows if not np.isnan(row.measures[measure].value)]
        if measure not in (*LOW_IS_GOOD, *HIGH_IS_GOOD) or not rows:
            return None
        sign = -1 if measure in LOW_IS_GOOD else 1
        return max(rows, key=lambda row: sign * row.measures[measure].value).name

    def cells(self, measure: str) -> list[tuple[str, bool]]:
        """Return, for each row, the measure as text and whether it is the best of its kind."""
        names = {self.best(measure, ahead) for ahead in (False, True)}
        found = [(row.looks_ahead, row.measures[measure].value) for row in self.rows]
        best = {one for one, row in zip(found, self.rows, strict=True) if row.name in names}
        texts = [_text(measure, row.measures[measure]) for row in self.rows]
        return [(text, one in best) for text, one in zip(texts, found, strict=True)]

    def to_table(self, kind: str = "polars") -> Any:
        """Return it as a dataframe of ``"polars"``, ``"pandas"`` or ``"pyarrow"``."""
        from .tables import new_table

        columns: dict[str, list[Any]] = {
            "method": [row.name for row in self.rows],
            "looks_ahead": [float(row.looks_ahead) for row in self.rows],
        }
        for key in self.rows[0].measures:
            for part in Measure._fields:
                name = key if part == "value" else f"{key}_{part}"
                columns[name] = [getattr(row.measures[key], part) for row in self.rows]
        return new_table(columns, kind, text=("method",))

    def __str__(self) -> str:
        return self.text(lambda cell: f"[{cell[1:-1]}]")

    def text(self, best: Callable[[str], str]) -> str:
        """Return it as text, with `best` applied to the best cells, which have a blank around."""
        columns = [["", *(row.name + " *" * row.looks_ahead for row in self.rows)]]
        marked = [[False] * len(columns[0])]
        for key in self.rows[0].measures:
            cells = self.cells(key)
            columns.append([f" {TITLES[key]} ", *(f" {text} " for text, _ in cells)])
            marked.append([False, *(first for _, first in cells)])
        widths = [max(map(len, column)) for column in columns]
        lines = []
        for i in range(len(columns[0])):
            line = columns[0][i].ljust(widths[0])
            for column, marks, width in zip(columns[1:], marked[1:], widths[1:], strict=True):
                cell = best(column[i]) if marks[i] else column[i]
                line += " " * (1 + width - len(column[i])) + cell
            lines.append(line.rstrip())
        streams = f"{self.streams} stream" + "s" * (self.streams != 1)
        lines += ["", f"{streams}, {self.steps} steps; reference: {self.reference}."]
        if any(not np.isnan(m.low) for row in self.rows for m in row.measures.values()):
            lines[-1] += " ± is half of a 95 % interval."
        if any(row.looks_ahead for row in self.rows):
            lines[-1] += " * looks ahead."
        if not np.isnan(self.true_switches):
            lines.append(f"The true class switches {self.true_switches:.1f} times an hour.")
        elif "agreement" in self.rows[0].measures:
            lines.append("Hindsight is itself a sticky filter, and leans to its like.")
        return "\n".join(lines)


def compare(
    recordings: Recording | Iterable[Recording] | Mapping[Any, Recording],
    reference: str | None = None,
    *,
    extra: Mapping[str, Sequence[Array]] | None = None,
    progress: Progress | None = None,
    seed: int = 0,
) -> Comparison:
    """Run every filter over the recordings and measure it.

    Parameters
    ----------
    recordings : Recording or several
        One a stream, all of the same classes, times in seconds. With labels, the measures are those
        of `metrics`; without, how far a filter agrees with hindsight, see `tune`.
    reference : str, optional
        The best source. Unless given, the one that answers least often.
    extra : mapping of str to sequence of ndarray (T, K), optional
        Other methods: their class probabilities for each recording. A name that ends in ", looking
        back" is that of a smoother.
    progress : callable, optional
        Is told the share of the work that is done.
    seed : int, default 0
        Of the resampling.

    Returns
    -------
    Comparison
        A row a method. *Single* and *Multiple* are the paper's: weights of 1, and of 1 and 0.5; it
        gives no memory, so theirs is tuned.

    Examples
    --------
    >>> from classfilter import simulate
    >>> days = [simulate("capture24", hours=4.0, seed=i).recording() for i in range(4)]
    >>> found = compare(days, "strong")
    >>> [row.name for row in found.rows][:5]
    ['Raw', 'Mean of 5', 'Vote of 5', 'Ema', 'Hold']
    >>> found.best("accuracy") not in ("Raw", "Hold", "Single", "Multiple")
    True
    """
    several = as_list(recordings)
    best = reference_of(several, reference)
    halves = both_halves(several, best)
    if halves is None:
        raise ValueError(
            f"there are too few answers of {best!r}, or a source is in one stream only: nothing "
            "can be tuned on one half and measured on the other; record for longer"
        )
    tracks: dict[str, list[Array]] = {}
    streams: list[Recording] = []
    truths: list[Floats] = []
    for number, (mine, rest) in enumerate(halves):
        half = Half(mine, learn(rest, best), "hindsight", usual_step(several))
        streams += mine
        truths += half.hindsight
        methods = _methods(rest, best)
        for done, (name, make) in enumerate(methods.items()):
            track = make()
            tracks.setdefault(name, []).extend(track(rec) for rec in mine)
            if progress is not None:
                progress((number + (done + 1) / len(methods)) / len(halves))
    for name, given in (extra or {}).items():
        if name in tracks:
            raise ValueError(f"extra has {name!r}, a method that is there; give it another name")
        tracks[name] = _in_order(name, given, several, streams, best)
    labelled = any(rec.label is not None and (rec.label >= 0).any() for rec in streams)
    sets = np.random.default_rng(seed).integers(len(streams), size=(RESAMPLES, len(streams)))
    rows = []
    for name, found in tracks.items():
        parts = [
            _Counts.of(rec, P, truth, labelled)
            for rec, P, truth in zip(streams, found, truths, strict=True)
        ]
        rows.append(Row(name, name.endswith(_SMOOTHED), _measures(parts, sets)))
    rows.sort(key=lambda row: row.looks_ahead)
    steps = sum(map(len, streams))
    measured = sum(bool(answered(rec, best).any()) for rec in several)
    return Comparison(rows, measured, steps, best, _true_switches(streams, labelled))


_SMOOTHED = ", looking back"


def _methods(train: Sequence[Recording], reference: str) -> dict[str, Callable[[], Track]]:
    """Return what makes the track of each method, tuned on some streams."""
    classes = train[0].classes
    sources = dict.fromkeys(name for rec in train for name in rec.sources)
    step = usual_step(train)
    paper = {name: 1.0 if name == reference else 0.5 for name in sources}
    trial = prepare(train, reference)

    def plain(name: str, filter: Any, beta: Any = 1.0) -> tuple[str, Callable[[], Track]]:  # noqa: A002
        return name, lambda: lambda rec: rec.run(filter, beta)

    def memory(beta: Mapping[str, float]) -> Track:
        given = tuple(beta.items())
        half_life = best_memory(trial.jury, given, step).half_life if trial else 8 * step
        f = DirichletFilter(classes, half_life=half_life, estimate="mean")
        return lambda rec: rec.run(f, beta)

    def tuned(kind: Any, channel: bool | None) -> Tuned:
        return choose(trial, kind, channel) if trial else tune(train, kind, reference)

    found = dict(
        [
            plain("Raw", RawFilter(classes)),
            plain(f"Mean of {WINDOW}", MeanFilter(classes, WINDOW)),
            plain(f"Vote of {WINDOW}", VoteFilter(classes, WINDOW)),
            plain("Ema", EmaFilter(classes, 0.9 ** (1 / step))),
            plain("Hold", HoldFilter(classes), paper),
        ]
    )
    found["Single"] = lambda: memory(dict.fromkeys(sources, 1.0))
    found["Multiple"] = lambda: memory(paper)
    for kind in ("dirichlet", "sticky"):
        name = f"{kind.capitalize()}, tuned"
        found[name] = lambda kind=kind: tuned(kind, False).run  # type: ignore[misc]
        if len(sources) > 1:
            found[f"{name}, channel"] = lambda kind=kind: tuned(kind, True).run  # type: ignore[misc]
    found["Tuned"] = lambda: tuned("auto", None).run
    for kind in ("dirichlet", "sticky"):
        name = f"{kind.capitalize()}, tuned{_SMOOTHED}"
        found[name] = lambda kind=kind: tuned(kind, None).smooth  # type: ignore[misc]
    found[f"Tuned{_SMOOTHED}"] = lambda: tuned("auto", None).smooth
    return found


class _Counts(NamedTuple):
    """What the measures of one stream are made of; those of several streams add up."""

    confusion: Floats
    log_loss: float
    brier: float
    rows: float
    agreement: float
    steps: float
    switches: float
    hours: float
    delay: float
    changes: float

    @classmethod
    def of(cls, rec: Recording, P: Array, truth: Floats, labelled: bool) -> _Counts:
        K = len(rec.classes)
        agreement = float(truth[np.arange(len(P)), P.argmax(axis=1)].sum())
        last = np.append(np.diff(rec.time) > 0, True)  # of several rows at one time
        time, P = rec.time[last], np.asarray(P, np.float64)[last]
        y = np.full(len(rec), -1)[last] if rec.label is None else rec.label[last]
        seen = int((y >= 0).sum())
        switches, hours = metrics.count_switches(P, time, y if labelled else None)
        counts = (np.zeros((K, K)), 0.0, 0.0, 0.0)
        delay = metrics.Delay(0.0, 0.0, 0.0, 0)
        if seen:
            counts = (
                metrics.confusion(y, P, K).astype(float),
                metrics.log_loss(y, P) * seen,
                metrics.brier(y, P) * seen,
                float(seen),
            )
            delay = metrics.detection_delay(y, P, time)
        late = delay.mean * delay.changes if delay.changes else 0.0
        return cls(*counts, agreement, float(len(rec)), switches, hours, late, delay.changes)


def _measures(parts: Sequence[_Counts], sets: NDArray[np.intp]) -> dict[str, Measure]:
    """Return the measures of all streams, and their scatter over sets of streams."""
    columns = {key: np.array([getattr(p, key) for p in parts]) for key in _Counts._fields}
    every = np.arange(len(parts))[None]
    whole, resampled = _values(columns, every), _values(columns, sets)
    measured = int((columns["rows"] > 0).sum()) if columns["rows"].any() else len(parts)
    found = {}
    for key, values in whole.items():
        known = resampled[key][~np.isnan(resampled[key])]
        enough = measured >= FEWEST and known.size
        low, high = np.percentile(known, PERCENT) if enough else (np.nan, np.nan)
        found[key] = Measure(float(values[0]), float(low), float(high))
    return found


def _values(columns: Mapping[str, Floats], sets: NDArray[np.intp]) -> dict[str, Floats]:
    """Return each measure of each set of streams, (sets,)."""
    total = {key: column[sets].sum(axis=1) for key, column in columns.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        switches = total["switches"] / total["hours"]
        if not columns["rows"].any():
            return {"agreement": total["agreement"] / total["steps"], "switches": switches}
        c = total["confusion"]
        right = np.diagonal(c, axis1=1, axis2=2)
        met = c.sum(axis=1) + c.sum(axis=2)
        return {
            "accuracy": right.sum(axis=1) / total["rows"],
            "macro_f1": np.nansum(2 * right / met, axis=1) / (met > 0).sum(axis=1),
            "log_loss": total["log_loss"] / total["rows"],
            "brier": total["brier"] / total["rows"],
            "switches": switches,
            "delay": total["delay"] / total["changes"],
        }


def _true_switches(streams: Sequence[Recording], labelled: bool) -> float:
    if not labelled:
        return float("nan")
    switches = hours = 0.0
    for rec in streams:
        if rec.label is not None:
            last = np.append(np.diff(rec.time) > 0, True)
            more, longer = metrics.count_switches(rec.label[last], rec.time[last])
            switches, hours = switches + more, hours + longer
    return switches / hours if hours else float("nan")


def _in_order(
    name: str,
    given: Sequence[Array],
    recordings: Sequence[Recording],
    streams: Sequence[Recording],
    reference: str,
) -> list[Array]:
    """Return a method's tracks in the order of the streams, or say what does not fit."""
    if len(given) != len(recordings):
        raise ValueError(
            f"extra[{name!r}] has {len(given)} tracks; give one for each of "
            f"{len(recordings)} recordings"
        )
    own: dict[int, list[Array]] = {}
    for i, (track, rec) in enumerate(zip(given, recordings, strict=True)):
        P = np.asarray(track, np.float64)
        if P.shape != (len(rec), len(rec.classes)):
            raise ValueError(
                f"extra[{name!r}][{i}] has shape {P.shape}; its recording has "
                f"{len(rec)} rows and {len(rec.classes)} classes"
            )
        bad = ~np.isfinite(P).all(axis=1)
        if bad.any():
            raise ValueError(
                f"extra[{name!r}][{i}], row {int(bad.argmax())}: not finite; give probabilities"
            )
        own.setdefault(id(rec), []).append(P)  # one may be given twice
    if all(id(rec) in own for rec in streams):
        return [own[id(rec)].pop(0) for rec in streams]
    # The only recording with answers of the reference was cut in two, early and late.
    (whole,) = (own[id(rec)][0] for rec in recordings if answered(rec, reference).any())
    early, late = sorted(streams, key=lambda rec: float(rec.time[0]))
    halves = {id(early): whole[: len(early)], id(late): whole[len(early) :]}
    return [halves[id(rec)] for rec in streams]


def _text(measure: str, found: Measure) -> str:
    """Return a value and half its interval, as text."""
    scale, digits = {
        "log_loss": (1, 2), "brier": (1, 2), "switches": (1, 1), "delay": (1, 0)
    }.get(measure, (100, 1))  # fmt: skip
    value = f"{scale * found.value:.{digits}f}"
    if np.isnan(found.low):
        return value
    return f"{value} ± {scale * (found.high - found.low) / 2:.{digits}f}"
