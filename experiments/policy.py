"""Strong calls saved by the adaptive policy: ``python -m experiments.policy wisdm --data DIR``.

Each half of a split's streams runs with the filter tuned on the other half, without labels. With
``--events``, the tables have the events found and the delay after a true change instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from classfilter import EventRule, PolicyCurve, plot, policy_curve
from classfilter.evaluation._policy_curve import Point

from .streams import arguments, splits


def mean_curve(curves: Sequence[PolicyCurve]) -> PolicyCurve:
    """Return the mean over several splits."""
    mean = {}
    for name in ("periodic", "adaptive"):
        rows = zip(*(getattr(curve, name) for curve in curves), strict=True)
        mean[name] = [Point(row[0].gap, *np.mean([p[1:] for p in row], axis=0)) for row in rows]
    return replace(
        curves[0],
        periodic=mean["periodic"],
        adaptive=mean["adaptive"],
        strong_accuracy=float(np.mean([curve.strong_accuracy for curve in curves])),
    )


def markdown(curve: PolicyCurve, curves: Sequence[PolicyCurve]) -> str:
    """Return a table: each policy, how far `Adaptive` is ahead at equal calls, what it saves."""
    both = [f"{name}, calls/h | accuracy, %" for name in ("Periodic", "Adaptive")]
    lines = [f"| gap | {' | '.join(both)} | ahead | saves |", "|---" * 7 + "|"]
    for i, (periodic, adaptive) in enumerate(zip(curve.periodic, curve.adaptive, strict=True)):
        ahead = 100 * np.array([c.ahead(c.adaptive[i]) for c in curves])
        error = ahead.std(ddof=1) / np.sqrt(len(curves)) if len(curves) > 1 else np.nan
        cells = [f"{periodic.gap}"]
        for point in (periodic, adaptive):
            cells += [f"{point.calls:.1f}", f"{100 * point.accuracy:.1f}"]
        cells += [f"{ahead.mean():+.1f} ± {error:.1f}", curve.saving(periodic)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def events(curve: PolicyCurve) -> str:
    """Return a table: events found, delay and changes missed, and accuracy, with each policy."""
    heads = ["gap"]
    for name in ("Periodic", "Adaptive"):
        heads += [f"{name}, accuracy, %", "F1@50, %", "delay, s", "missed, %"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for pair in zip(curve.periodic, curve.adaptive, strict=True):
        cells = [f"{pair[0].gap}"]
        for point in pair:
            cells += [f"{100 * x:.1f}" for x in (point.accuracy, point.event_f1)]
            cells += [f"{point.delay:.0f}", f"{100 * point.missed:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print a table for each set of streams, and draw all curves."""
    parser = arguments(__doc__, count=4)
    parser.add_argument("--events", action="store_true", help="print events and delay")
    parser.add_argument("--out", type=Path, help="where to draw the curves: PNG")
    args = parser.parse_args()
    means: dict[str, PolicyCurve] = {}
    for name in args.sets:
        curves = [
            policy_curve([person.recording(every=None) for person in people], rule=EventRule())
            for people in splits(name, args.data, args.splits)
        ]
        means[name] = mean_curve(curves)
        print(f"\n{name}: {len(curves)} splits, {curves[0].streams} streams in each\n")
        print(events(means[name]) if args.events else markdown(means[name], curves))
        print(f"\nStrong alone, every step: {100 * means[name].strong_accuracy:.1f} %", flush=True)
    if args.out is not None:
        draw(means, args.out)


def draw(curves: dict[str, PolicyCurve], out: Path) -> None:
    """Draw one panel per set of streams, side by side."""
    from matplotlib.figure import Figure

    rows = (len(curves) + 1) // 2
    figure = Figure(figsize=(9.0, 3.2 * rows), dpi=150, layout="constrained")
    panels = figure.subplots(rows, min(2, len(curves)), squeeze=False).ravel()
    for axes, (name, curve) in zip(panels, curves.items(), strict=False):
        plot.policy_curve(curve, ax=axes)
        axes.set_title(name, loc="left", fontsize=10, pad=24)  # above the legend
    for axes in panels[len(curves) :]:
        axes.set_visible(False)
    figure.savefig(out)


if __name__ == "__main__":
    main()
