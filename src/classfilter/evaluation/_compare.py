"""Who wins on my data: every filter on the same recordings, in one table.

What is tuned is tuned on one half of the streams and runs on the other, without labels. Labels, if
there are any, only measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import metrics
from .._typing import Array, Floats
from ..data._recording import Recording
from ..filters._baselines import EmaFilter, HoldFilter, MeanFilter, RawFilter, VoteFilter
from ..filters._dirichlet import DirichletFilter
from ..tuning._estimate import estimate_model
from ..tuning._folds import as_list, find_reference, median_step, two_folds
from ..tuning._objective import Fold, Progress
from ..tuning._result import Tuned
from ..tuning._search import best_half_life
from ..tuning._tune import Prepared, choose, prepare, tune
from ._comparison import Comparison, Measure, Row

Track = Callable[[Recording], Array]
WINDOW = 5
RESAMPLES = 1000
PERCENT = (2.5, 97.5)
FEWEST = 5
"""Streams, below which their scatter tells nothing."""


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
    best = find_reference(several, reference)
    halves = two_folds(several, best)
    if halves is None:
        raise ValueError(
            f"there are too few answers of {best!r}, or a source is in one stream only: nothing "
            "can be tuned on one half and measured on the other; record for longer"
        )
    streams = [rec for mine, _ in halves for rec in mine]
    labelled = any(rec.label is not None and (rec.label >= 0).any() for rec in streams)
    tracks: dict[str, list[Array]] = {}
    truths: list[Floats | None] = []
    for number, (mine, rest) in enumerate(halves):
        trial = prepare(rest, best)
        if labelled:
            truths += [None] * len(mine)
        else:
            model = trial.model if trial else estimate_model(rest, best)
            truths += Fold(mine, model, "hindsight", median_step(several)).pseudo_labels
        methods = _methods(rest, best, trial)
        for done, (name, make) in enumerate(methods.items()):
            track = make()
            tracks.setdefault(name, []).extend(track(rec) for rec in mine)
            if progress is not None:
                progress((number + (done + 1) / len(methods)) / len(halves))
    for name, given in (extra or {}).items():
        if name in tracks:
            raise ValueError(f"extra has {name!r}, a method that is there; give it another name")
        tracks[name] = _in_order(name, given, several, streams, best)
    sets = np.random.default_rng(seed).integers(len(streams), size=(RESAMPLES, len(streams)))
    rows = []
    for name, found in tracks.items():
        parts = [
            _Counts.of(rec, P, truth) for rec, P, truth in zip(streams, found, truths, strict=True)
        ]
        rows.append(Row(name, name.endswith(_SMOOTHED), _measures(parts, sets)))
    rows.sort(key=lambda row: row.smoothed)
    steps = sum(map(len, streams))
    measured = sum(bool(rec.observed(best).any()) for rec in several)
    return Comparison(rows, measured, steps, best, _true_switches(streams))


_SMOOTHED = ", looking back"


def _methods(
    train: Sequence[Recording], reference: str, trial: Prepared | None
) -> dict[str, Callable[[], Track]]:
    """Return what makes the track of each method, tuned on some streams."""
    classes = train[0].classes
    sources = dict.fromkeys(name for rec in train for name in rec.sources)
    step = median_step(train)
    paper = {name: 1.0 if name == reference else 0.5 for name in sources}

    def to_builtin(name: str, filter: Any, beta: Any = 1.0) -> tuple[str, Callable[[], Track]]:  # noqa: A002
        return name, lambda: lambda rec: rec.run(filter, beta)

    def decay(beta: Mapping[str, float]) -> Track:
        given = tuple(beta.items())
        half_life = best_half_life(trial.objective, given, step).half_life if trial else 8 * step
        f = DirichletFilter(classes, half_life=half_life, estimate="mean")
        return lambda rec: rec.run(f, beta)

    @cache
    def tuned(kind: Any, channel: bool | None) -> Tuned:
        return choose(trial, kind, channel) if trial else tune(train, kind, reference)

    found = dict(
        [
            to_builtin("Raw", RawFilter(classes)),
            to_builtin(f"Mean of {WINDOW}", MeanFilter(classes, WINDOW)),
            to_builtin(f"Vote of {WINDOW}", VoteFilter(classes, WINDOW)),
            to_builtin("Ema", EmaFilter(classes, 0.9 ** (1 / step))),
            to_builtin("Hold", HoldFilter(classes), paper),
        ]
    )
    found["Single"] = lambda: decay(dict.fromkeys(sources, 1.0))
    found["Multiple"] = lambda: decay(paper)
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
    def of(cls, rec: Recording, P: Array, truth: Floats | None) -> _Counts:
        """Count by the labels, or where there are none in any stream, by what stands for them."""
        K, agreement = len(rec.classes), 0.0
        if truth is not None:
            agreement = float(truth[np.arange(len(P)), P.argmax(axis=1)].sum())
        last = _last(rec)
        time, P = rec.time[last], np.asarray(P, np.float64)[last]
        y = np.full(len(rec), -1)[last] if rec.label is None else rec.label[last]
        seen = int((y >= 0).sum())
        switches, hours = metrics.count_switches(P, time, y if truth is None else None)
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


def _last(rec: Recording) -> NDArray[np.bool_]:
    """Say for each row whether it is the last of its time."""
    last: NDArray[np.bool_] = np.append(np.diff(rec.time) > 0, True)
    return last


def _true_switches(streams: Sequence[Recording]) -> float:
    counts = [
        metrics.count_switches(rec.label[last], rec.time[last])
        for rec in streams
        if rec.label is not None
        for last in [_last(rec)]
    ]
    switches, hours = np.sum(counts, axis=0) if counts else (0.0, 0.0)
    return float(switches / hours) if hours else float("nan")


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
    (whole,) = (own[id(rec)][0] for rec in recordings if rec.observed(reference).any())
    early, late = sorted(streams, key=lambda rec: float(rec.time[0]))
    halves = {id(early): whole[: len(early)], id(late): whole[len(early) :]}
    return [halves[id(rec)] for rec in streams]
