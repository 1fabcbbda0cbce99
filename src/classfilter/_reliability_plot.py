"""The reliability diagram: how many rows are right, of those whose class had 80 %."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ._errors import ArgumentError
from ._reliability import Reliability
from ._support.plot_style import LINES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def reliability(
    curves: Mapping[str, Reliability], *, min_rows: int = 20, ax: Axes | None = None
) -> Figure:
    """Draw a reliability diagram: the share of rows that is right, by their probability.

    On the dotted diagonal, 80 % of the rows whose class had 80 % are right. Below it the
    probabilities are too high, above it too low. A bar below has how many rows there are.

    Parameters
    ----------
    curves : mapping of str to Reliability
        By name, what `metrics.reliability` returns. The legend has their calibration errors.
    min_rows : int
        Bins with fewer rows are left out: their share is chance.
    ax : matplotlib Axes, optional
        Where to draw, without the bars; by default, on a new figure.

    Returns
    -------
    matplotlib Figure
        To be saved by the caller.

    Examples
    --------
    >>> import numpy as np
    >>> from classfilter import metrics
    >>> truth, probs = np.repeat([0, 1], [80, 20]), np.tile([0.7, 0.3], (100, 1))
    >>> figure = reliability({"filtered": metrics.reliability(truth, probs)})
    >>> figure.axes[0].get_legend().get_texts()[0].get_text()
    'filtered: calibration error 10.0 %'
    """
    from matplotlib.figure import Figure

    if not curves:
        raise ArgumentError("curves", curves, rule="there is nothing to draw", remedy="give one")
    below = None
    if ax is None:
        figure = Figure(figsize=(5.0, 6.4), dpi=200, layout="constrained")
        ax, below = figure.subplots(2, 1, height_ratios=(4, 1), sharex=True)
    ax.plot([0, 100], [0, 100], color="0.5", linewidth=0.9, linestyle=":")
    for i, (name, curve) in enumerate(curves.items()):
        style = LINES[(i + 2) % len(LINES)]  # the first line is solid
        drawn = curve.rows >= max(1, min_rows)
        title = f"{name}: calibration error {100 * curve.error:.1f} %"
        x, y = 100 * curve.confidence[drawn], 100 * curve.accuracy[drawn]
        ax.plot(x, y, marker="o", markersize=4, label=title, **style)
        if below is not None:
            width = 100 / len(curve.rows)
            left = [width * (b + i / len(curves)) for b in range(len(curve.rows))]
            share = 100 * curve.rows / curve.rows.sum()
            colour = style["color"]
            below.bar(left, share, width / len(curves), align="edge", color=colour)
    ax.set_xlim(0, 100)
    ax.set_ylim(0, 100)
    ax.set_ylabel("Rows that are right, %")
    last = ax if below is None else below
    last.set_xlabel("Probability of the predicted class, %")
    for axes in (ax, last):
        axes.spines[["top", "right"]].set_visible(False)
    if below is not None:
        below.set_ylabel("Rows, %")
        below.set_yscale("log")
        below.set_ylim(0.1, 100)
        below.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    handles, names = ax.get_legend_handles_labels()
    ax.legend(handles, names, loc="lower left", bbox_to_anchor=(0.0, 1.01), frameon=False,
              borderaxespad=0.0, handlelength=2.4)  # fmt: skip
    found = ax.figure
    assert isinstance(found, Figure)
    return found


reliability.__module__ = "classfilter.plot"
