"""The main job on simulated days: ``python -m classfilter.demo [picture.png]``.

A weak classifier answers every 5 s and a strong one once a minute. The methods of the paper, a
tuned filter and the adaptive policy turn their answers into a track; the table compares accuracies,
the picture shows the hardest minutes.
The simulation was set to resemble the paper's Table I, so nearness to it proves nothing: compare
the rows with each other. The paper does not tell how good its strong classifier is; the row of
Hold in particular rests on an assumption.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from classfilter import metrics, plot
from classfilter.evaluation._replay import replay
from classfilter.filters._baselines import HoldFilter, MeanFilter
from classfilter.filters._dirichlet import DirichletFilter
from classfilter.policy import Adaptive
from classfilter.simulation._simulate import Simulation, simulate
from classfilter.tuning._result import Tuned
from classfilter.tuning._tune import tune

from ._typing import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Memory of the filter: the library's default, not fitted to these days.
GAMMA = 0.9
#: Table I of the paper, in percent: 25 people of Capture-24.
PAPER = {"Raw": 77.15, "Simple": 80.85, "Single": 82.61, "Multiple": 85.24}
MINUTES = 15


def settings() -> Tuned:
    """Return what is found without labels on three other days."""
    days = [simulate("capture24", seed=seed) for seed in (1001, 1002, 1003)]
    return tune([day.recording(every=12) for day in days], reference="strong")


def estimates(day: Simulation, tuned: Tuned) -> dict[str, Floats]:
    """Return the track (T, K) of each method over one day, answers chosen as in the paper.

    The last one chooses by itself when to ask the strong classifier, as often on average.
    """
    source, raw = day.mixed(every=12)
    strong = source == "strong"
    weight = np.where(strong, 1.0, 0.5)
    return {
        "Raw": raw,
        "Simple": MeanFilter(day.classes, window=5).run(raw),
        "Single": DirichletFilter(day.classes, gamma=GAMMA).run(raw),
        "Multiple": DirichletFilter(day.classes, gamma=GAMMA).run(raw, beta=weight),
        "Hold last strong": HoldFilter(day.classes).run(raw, beta=weight),
        "Tuned, no labels": tuned.run(day.recording(every=12)),
        "Adaptive policy": replay(
            day.recording(every=None), Adaptive(1 / 12), tuned.filter(), tuned.beta, tuned.channel
        ).probs,
    }


def busiest(raw: Floats, rows: int) -> slice:
    """Return the `rows` successive rows in which the called class changes most often.

    Examples
    --------
    >>> busiest(np.eye(2)[[0, 0, 0, 1, 0, 1, 1, 1]], rows=4)
    slice(2, 6, None)
    """
    change = np.diff(raw.argmax(axis=1)) != 0
    count = np.convolve(change, np.ones(rows - 1), mode="valid")
    start = int(count.argmax())
    return slice(start, start + rows)


def scores(day: Simulation, tracks: dict[str, Floats]) -> dict[str, tuple[float, float]]:
    """Return each method's accuracy in percent and switches an hour; the truth's come last."""
    rows = {**tracks, "(the truth)": day.truth}
    return {
        name: (100 * metrics.accuracy(day.truth, p), metrics.switches_per_hour(p, day.time))
        for name, p in rows.items()
    }


def table(days: list[dict[str, tuple[float, float]]]) -> str:
    """Return the scores' means over the days beside the paper's accuracies, as lines of text."""
    lines = [f"{'':18}{'accuracy, %':>12}{'in the paper':>14}{'switches an hour':>18}"]
    for name in days[0]:
        accuracy, switches = np.mean([day[name] for day in days], axis=0)
        paper = f"{PAPER[name]:.2f}" if name in PAPER else "-"
        lines.append(f"{name:18}{accuracy:12.2f}{paper:>14}{switches:18.1f}")
    return "\n".join(lines)


def picture(day: Simulation, tracks: dict[str, Floats]) -> Figure:
    """Draw the minutes in which Raw flickers most: probabilities above, classes below."""
    from matplotlib.figure import Figure

    part = busiest(tracks["Raw"], MINUTES * 12)
    shown = {name: p[part] for name, p in tracks.items()}
    lines = {name: shown[name] for name in ("Simple", "Single", "Multiple")}
    strong = day.mixed(every=12)[0][part] == "strong"
    time, truth = day.time[part], day.truth[part]
    figure = Figure(figsize=(9.0, 6.8), dpi=200, layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=(3, 2.6), sharex=True)
    plot.probabilities(time, truth, shown["Raw"], lines, strong=strong, ax=top)
    plot.timeline(time, truth, shown, day.classes, ax=bottom)
    top.set_xlabel("")
    return figure


def main(out: str = "demo.png", days: int = 25) -> None:
    """Print the table and write the picture to the file `out`.

    Parameters
    ----------
    out : str
        Where to write the picture, as PNG, PDF or SVG.
    days : int
        How many days to simulate, with the seeds 0, 1, ...; 25 like the paper's people.
    """
    first, tuned = simulate("capture24", seed=0), settings()
    tracks = estimates(first, tuned)
    rows = [scores(first, tracks)]
    for seed in range(1, days):
        day = simulate("capture24", seed=seed)
        rows.append(scores(day, estimates(day, tuned)))
    print(f"Simulated days: {days}, set to resemble the paper's data; compare the rows, not the")
    print("columns. A weak classifier answers every 5 s, a strong one once a minute.\n")
    print(table(rows))
    print(
        "\nThe classifiers' own answers (Raw) flicker; the mean of the last five (Simple), the"
        "\nfilter with equal weights (Single) and the filter that trusts the weak one half as much"
        "\n(Multiple) steady them; the strong one's last answer, held, is the simple rule to beat."
        "\nBelow it, a filter with settings found without labels on other days; the same, asking"
        "\nthe strong classifier where it is in doubt, as often on average.\n"
    )
    try:
        picture(first, tracks).savefig(out)
    except ImportError:
        print("The picture needs matplotlib: pip install 'classfilter[plot]'")
    else:
        print(f"{out}: the {MINUTES} minutes of the first day in which Raw flickers most.")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "demo.png")
