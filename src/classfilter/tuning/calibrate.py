"""Temperatures by labels: of filtered rows and of smoothed ones, and how uncertain they are."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..inputs import Rows
from ..pipeline import Pipeline, has_temperature, tempered
from ..support.types import Floats
from .folds import as_list
from .rows import cut_streams
from .temperature import HIGHEST, LOWEST, Temperature, find_temperature
from .thinning import thin

MIN_ROWS = 40
"""Fewer labelled rows tell nothing."""
MIN_STREAMS = 5
"""With fewer, standard errors are over parts of streams."""
UNCERTAIN = 0.25
"""A standard error above this share of the temperature is warned of."""


class Calibration(NamedTuple):
    """The temperatures that labels gave.

    Attributes
    ----------
    filtered, smoothed : Temperature
        Of filtered and of smoothed rows.
    rows, streams : int
        How many labelled rows there were, and in how many recordings.
    """

    filtered: Temperature
    smoothed: Temperature
    rows: int
    streams: int


def calibrate(
    pipe: Pipeline, recordings: Any, every: int | None = None
) -> tuple[Pipeline, Calibration, str]:
    """Return a pipeline with the temperatures that labels give, these, and what they are in words.

    With `every`, recordings are thinned to that rate of the reference; see `tune`.
    """
    recs = _labelled(recordings)
    if every is not None:
        recs = thin(recs, pipe.reference, every).recordings
    for name, one in (("filter", pipe), ("smoother", pipe.smoothing)):
        if not has_temperature(one.filter):
            kind = type(one.filter).__name__
            must = "its probabilities have no temperature"
            fix = 'choose a filter that has one: tune(..., filter="sticky")'
            raise ArgumentError(name, kind, must=must, fix=fix)
    plain = tempered(pipe, 1.0, 1.0)
    known = [np.asarray(rec.label) >= 0 for rec in recs]
    rows = sum(int(one.sum()) for one in known)
    if rows < MIN_ROWS:
        problem = f"has {rows} labelled rows"
        must = f"a temperature needs {MIN_ROWS} or more, of several streams"
        raise ArgumentError("recordings", len(recs), problem=problem, must=must, fix="label more")
    stream = np.repeat(np.arange(len(recs)), [int(one.sum()) for one in known])
    parts = stream if len(recs) >= MIN_STREAMS else cut_streams(stream)
    found = []
    for run in (plain.run, plain.smooth):
        probs, target = _pairs(recs, [run(rec) for rec in recs])
        found.append(find_temperature(probs, target, parts))
    calibration = Calibration(found[0], found[1], rows, len(recs))
    for which, temperature in zip(("filtered", "smoothed"), found, strict=True):
        _warn(which, temperature)
    new = tempered(pipe, found[0].value, found[1].value)
    return new, calibration, _words(calibration, pipe, new, recs)


def _labelled(recordings: Any) -> list[Rows]:
    """Return the recordings that have labels."""
    several = as_list(recordings)
    labelled = [r for r in several if r.label is not None and (r.label >= 0).any()]
    if not labelled:
        fix = "label a few minutes of several streams: rows(..., label=...)"
        raise ArgumentError("rows", len(several), problem="have no labelled row", fix=fix)
    return labelled


def _pairs(recs: list[Rows], probs: list[Any]) -> tuple[Floats, Floats]:
    """Return probabilities (N, K) and one-hot labels of all labelled rows.

    Each known class of a head is a row: of several labels at once, a row has one for each label.
    """
    truth = np.concatenate([np.asarray(rec.label).reshape(len(rec), -1) for rec in recs])
    heads, known = recs[0].heads, truth >= 0
    P = heads.stacked(np.concatenate(probs).astype(np.float64))[known]
    return P, np.eye(heads.width)[truth[known]]


def _warn(name: str, found: Temperature) -> None:
    if not LOWEST * 1.01 < found.value < HIGHEST / 1.01:
        side = "certain enough" if found.value < 1 else "uncertain enough"
        warnings.warn(
            f"no temperature of {name} rows is {side}: {found.value:.2g} is the limit. Label "
            "streams in which the class is sometimes wrong, and check that labels and classes "
            "belong together.",
            stacklevel=5,
        )
    elif not found.error <= UNCERTAIN * found.value:
        warnings.warn(
            f"the temperature of {name} rows is uncertain: {found.value:.2f} ± {found.error:.2f}. "
            "Label more streams.",
            stacklevel=5,
        )


def _words(calibration: Calibration, before: Pipeline, after: Pipeline, recs: list[Rows]) -> str:
    """Say what the temperatures are, how uncertain, and what becomes of the rule for events."""
    n = calibration.streams
    over = f"over {n} streams"
    if n < MIN_STREAMS:
        over = f"over parts of {n} stream{'s' * (n > 1)}: others may differ by more"
    streams = f"{n} stream{'s' * (n > 1)} with {calibration.rows} labelled rows"
    lines = [f"Calibrated on {streams}; ± is a standard error, {over}."]
    for name, found in (("filtered", calibration.filtered), ("smoothed", calibration.smoothed)):
        lines.append(
            f"Temperature of {name} rows: {found.value:.2f} ± {found.error:.2f}; log-loss "
            f"{found.after:.3f}, at a temperature of 1 {found.before:.3f}."
        )
    if before.rule is not None and before.heads.is_exclusive:
        counts = [len(one.events(recs)) for one in (before, after)]
        smooth = [len(one.events(recs, smooth=True)) for one in (before, after)]
        lines.append(
            "The rule for events was chosen at the temperatures before. On these streams it gives "
            f"{counts[1]} events from filtered rows, where it gave {counts[0]}, and {smooth[1]} "
            f"from smoothed rows, where it gave {smooth[0]}."
        )
    return "\n".join(lines)
