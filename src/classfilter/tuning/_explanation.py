"""What was chosen, how certain that is, and what would help, in plain words."""

from __future__ import annotations

import math
from typing import NamedTuple

from ._candidates import Candidate
from ._criterion import LABELS
from ._rows import JoinedRows

HIGH_CORRELATION = 0.6
"""Of the reference's errors from one call to the next: from here on there is a warning."""
FEW_STREAMS = 5
LOW_AGREEMENT = 0.35
_NAMES = {
    "transitions": "A sticky filter with estimated transitions",
    "stay": "A sticky filter",
    "dirichlet": "A Dirichlet filter",
    "raw": "No filter: the last prediction",
    "mean": "The mean of the last five predictions",
    "vote": "The majority of the last five predictions",
    "ema": "An exponential moving average",
    "hold": "A simple rule: hold the last prediction of {reference!r}",
}


class Rival(NamedTuple):
    """What the choice was compared with.

    Attributes
    ----------
    name : str
        The rival.
    gain : float
        By how much the choice scores higher; see `Tuned.criterion`.
    error : float
        Standard error of the gain.
    """

    name: str
    gain: float
    error: float


class Assumptions(NamedTuple):
    """What the settings rest on, beside the model.

    Attributes
    ----------
    every : float
        Mean steps from one call of the reference to the next.
    thinned : bool
        Whether predictions of the reference were left out for that.
    agreement : float
        How often successive predictions of the reference agree, beyond chance (Cohen's kappa).
    error_correlation : float
        Correlation of the reference's errors from one call to the next, as far as it is seen in
        the predictions; 0 where none is seen. Errors that last as long as a class are not seen.
    """

    every: float
    thinned: bool
    agreement: float
    error_correlation: float


def describe(candidate: Candidate, reference: str) -> str:
    """Return the settings as a sentence or two."""
    half_life = f", half-life {_digits(candidate.half_life)}" if candidate.half_life else ""
    name = _NAMES[candidate.family].format(reference=reference)
    if candidate.family in ("raw", "mean", "vote", "ema", "hold"):
        return f"{name}{half_life}."
    through = dict(candidate.channel)
    parts = [
        f"{source} {weight:.2g}" + (" through its channel" if source in through else "")
        for source, weight in candidate.beta
    ]
    return f"{name}{half_life}. Weights: {', '.join(parts)}."


def explain(
    rows: JoinedRows,
    candidate: Candidate,
    criterion: str,
    score: tuple[float, float],
    rivals: list[Rival],
    assumptions: Assumptions,
    assumed: bool,
    judged_by_all: bool,
) -> str:
    """Return the explanation of a choice.

    Parameters
    ----------
    rows : JoinedRows
        What it was chosen on.
    candidate : Candidate
        The choice.
    criterion : str
        See `Tuned.criterion`.
    score : tuple of float
        Of the choice, with its standard error.
    rivals : list of Rival
        What it was compared with.
    assumptions : Assumptions
        What it rests on.
    assumed : bool
        Whether the rate of calls was assumed.
    judged_by_all : bool
        Whether all sources were judged as one.
    """
    labels, reference = criterion == LABELS, rows.reference
    lines = [describe(candidate, reference)]
    mean, error = score
    if labels:
        lines.append(f"It predicts the labelled class in {mean:.1%} ± {error:.1%} of the rows.")
    else:
        whose = "its source predicts" if len(rows.sources) == 1 else f"{reference!r} predicts"
        if judged_by_all and len(rows.sources) > 1:
            whose = "the sources predict"
        lines.append(
            f"What {whose} later is {_times(mean)} times as likely in its class as on average."
        )
    for name, gain, its_error in rivals:
        other = f"{mean - gain:.1%}" if labels else f"{_times(mean - gain)} times"
        clearly = "clearly less" if gain > 0 else "clearly more"
        verdict = clearly if abs(gain) > 2 * its_error else "no clear difference"
        lines.append(f"With {name}: {other}; {verdict}.")
    lines += _advice(rows, assumptions, assumed, labels)
    streams = f"{rows.streams} stream" + "s" * (rows.streams > 1)
    count = int(rows.of_reference.sum())
    how = "by the labels" if labels else "without labels"
    lines.append(f"Chosen on {streams} with {count} predictions of {reference!r}, {how}.")
    return "\n".join(lines)


def _advice(rows: JoinedRows, assumptions: Assumptions, assumed: bool, labels: bool) -> list[str]:
    reference, lines = rows.reference, []
    every, thinned, agreement, correlation = assumptions
    if thinned:
        lines.append(
            f"For {reference!r} at one step in {every:.3g}, "
            + (
                "which was assumed: the recordings have it at most steps; give every."
                if assumed
                else "to which the recordings were thinned."
            )
        )
    if len(rows.sources) > 1 and agreement < LOW_AGREEMENT:
        lines.append(f"The class often changes between its predictions: call {reference!r} more.")
    if len(rows.sources) > 1 and correlation >= HIGH_CORRELATION:
        lines.append(
            f"Errors of {reference!r} last: their correlation is about {correlation:.1f} from one "
            "prediction to the next, and the judge shares them."
        )
    if rows.streams < FEW_STREAMS and not labels:
        lines.append("More streams would make the choice more certain.")
    return lines


def _digits(value: float) -> str:
    """Return three digits, and no exponent where the number is large."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _times(score: float) -> str:
    return f"{math.exp(score):.2f}"
