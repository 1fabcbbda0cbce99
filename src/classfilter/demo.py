"""A demonstration on simulated days: ``python -m classfilter.demo [picture.png [report.html]]``.

A weak classifier is called every 5 s and a strong one once a minute. The methods of the paper, a
tuned filter and the adaptive policy filter their predictions, and a rule turns each result into
events. The table compares accuracies and events; the picture shows the hardest minutes.
The simulation was set to resemble the paper's Table I, so closeness to it proves nothing: compare
the rows with each other. The paper does not state the accuracy of its strong classifier; the row
of Hold in particular depends on an assumption.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import metrics, plot
from ._events import Events, events, label_events
from ._support.types import Array
from .chain import EventRule
from .data._recording import Recording
from .evaluation._replay import replay
from .filters._baselines import HoldFilter, MeanFilter
from .filters._dirichlet import DirichletFilter
from .policy import Adaptive
from .simulation._simulate import Simulation, simulate
from .tuning._objective import Progress
from .tuning._result import Tuned
from .tuning._tune import tune

if TYPE_CHECKING:
    from matplotlib.figure import Figure


GAMMA = 0.9
"""Decay of the paper's filters: the library's default, not fitted to these days."""
PAPER = {"Raw": 77.15, "Simple": 80.85, "Single": 82.61, "Multiple": 85.24}
"""Table I of the paper, in percent: 25 people of Capture-24."""
RULE = EventRule(change_cost=20.0)
"""Of the events of all methods."""
TUNED = "Tuned, no labels"
MINUTES = 15
REPORTED = 3
"""How many days are in the report."""
TUNING_SHARE = 0.5
"""Of the progress bar."""


def tune_on_other_days(progress: Progress | None = None) -> Tuned:
    """Return a filter tuned without labels on three other days."""
    days = [simulate("capture24", seed=seed) for seed in (1001, 1002, 1003)]
    recordings = [day.recording(every=12) for day in days]
    return tune(recordings, reference="strong", progress=progress)


def estimates(day: Simulation, tuned: Tuned) -> dict[str, Array]:
    """Return the class probabilities (T, K) of each method over one day, with the paper's policy.

    The last method chooses when to call the strong classifier, as often on average.
    """
    source, raw = day.mixed(every=12)
    weight = np.where(source == "strong", 1.0, 0.5)
    return {
        "Raw": raw,
        "Simple": MeanFilter(day.classes, window=5).run(raw),
        "Single": DirichletFilter(day.classes, gamma=GAMMA).run(raw),
        "Multiple": DirichletFilter(day.classes, gamma=GAMMA).run(raw, beta=weight),
        "Hold last strong": HoldFilter(day.classes).run(raw, beta=weight),
        TUNED: tuned.run(day.recording(every=12)),
        "Adaptive policy": replay(day.recording(every=None), tuned, policy=Adaptive(1 / 12)).probs,
    }


def busiest(raw: Array, truth: Array, rows: int) -> slice:
    """Return the `rows` successive rows in which the predicted class changes most often.

    Only those in which the true class changes twice count, where there are any.

    Examples
    --------
    >>> raw = np.eye(2)[[0, 0, 0, 1, 0, 1, 1, 1]]
    >>> busiest(raw, np.zeros(8, int), rows=4)
    slice(2, 6, None)
    >>> busiest(raw, np.array([0, 0, 0, 0, 0, 1, 1, 0]), rows=4)
    slice(4, 8, None)
    """
    window = np.ones(rows - 1)
    changes = np.convolve(np.diff(raw.argmax(axis=1)) != 0, window, mode="valid")
    true_changes = np.convolve(np.diff(truth) != 0, window, mode="valid")
    start = int(np.where(true_changes > 1, len(raw) + changes, changes).argmax())
    return slice(start, start + rows)


def decided_events(day: Simulation, probs: Array) -> Events:
    """Return the events of a method's class probabilities (T, K) over one day."""
    found: Events = events(Recording(day.time, "filtered", probs, day.classes), RULE)
    return found


class Scores(NamedTuple):
    """Accuracy in percent, switches per hour, events per hour, and their F1@50 in percent."""

    accuracy: float
    switches: float
    events: float
    event_f1: float


def scores(day: Simulation, methods: dict[str, Array]) -> dict[str, Scores]:
    """Return the scores of each method over one day; those of the truth last."""
    true = label_events(day.recording())
    hours = len(day.time) * (day.time[1] - day.time[0]) / 3600
    found = {name: decided_events(day, p) for name, p in methods.items()}
    rows = {**methods, "(the truth)": day.truth}
    return {
        name: Scores(
            100 * metrics.accuracy(day.truth, p),
            metrics.switches_per_hour(p, day.time),
            len(found.get(name, true)) / hours,
            100 * metrics.event_scores(true, found.get(name, true)).f1,
        )
        for name, p in rows.items()
    }


def table(days: list[dict[str, Scores]]) -> str:
    """Return the mean scores of all days beside the paper's accuracies, as lines of text."""
    lines = [
        f"{'':18}{'accuracy,':>10}{'in the':>8}{'switches':>10}{'events':>10}{'events,':>9}",
        f"{'':18}{'%':>10}{'paper':>8}{'per hour':>10}{'per hour':>10}{'F1, %':>9}",
    ]
    for name in days[0]:
        mean = Scores(*np.mean([day[name] for day in days], axis=0))
        paper = f"{PAPER[name]:.2f}" if name in PAPER else "-"
        lines.append(
            f"{name:18}{mean.accuracy:10.2f}{paper:>8}{mean.switches:10.1f}"
            f"{mean.events:10.1f}{mean.event_f1:9.1f}"
        )
    return "\n".join(lines)


def picture(day: Simulation, methods: dict[str, Array]) -> Figure:
    """Draw the minutes in which Raw flickers most: probabilities, then classes and events."""
    from matplotlib.figure import Figure

    part = busiest(methods["Raw"], day.truth, MINUTES * 12)
    shown = {name: p[part] for name, p in methods.items()}
    lines = {name: shown[name] for name in ("Simple", "Single", "Multiple")}
    strong = day.mixed(every=12)[0][part] == "strong"
    time, truth = day.time[part], day.truth[part]
    figure = Figure(figsize=(9.0, 7.0), dpi=200, layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=(3, 2.9), sharex=True)
    plot.probabilities(time, truth, shown["Raw"], lines, strong=strong, ax=top)
    decided = decided_events(day, methods[TUNED])
    lanes: dict[str, Any] = {**shown, f"Events of tuned, {RULE.change_cost:g} s": decided}
    plot.timeline(time, truth, lanes, day.classes, ax=bottom)
    top.set_xlabel("")
    return figure


def show_progress(share: float, width: int = 40) -> None:
    """Draw a progress bar on a terminal; it disappears at the end."""
    if sys.stderr.isatty():
        bar = f"[{'#' * int(share * width):{width}}] {share:4.0%}"
        sys.stderr.write(f"\r{bar}" if share < 1 else f"\r{' ' * len(bar)}\r")
        sys.stderr.flush()


def main(out: str = "demo.png", days: int = 25, report: str | None = None) -> None:
    """Print the table and write the picture to the file `out`, and a report where one is wanted.

    Parameters
    ----------
    out : str
        Where to write the picture, as PNG, PDF or SVG.
    days : int
        How many days to simulate, with the seeds 0, 1, ...; 25 like the paper's people.
    report : str, optional
        Where to write a report on the first days, with the tuned filter.
    """
    show_progress(0.0)
    tuned = tune_on_other_days(lambda share: show_progress(TUNING_SHARE * share))
    rows = []
    for seed in range(days):
        day = simulate("capture24", seed=seed)
        methods = estimates(day, tuned)
        rows.append(scores(day, methods))
        if seed == 0:
            first = day, methods
        show_progress(TUNING_SHARE + (1 - TUNING_SHARE) * (seed + 1) / days)
    print(f"Simulated days: {days}, set to resemble the paper's data; compare the rows, not the")
    print("columns. A weak classifier is called every 5 s, a strong one once a minute.\n")
    print(table(rows))
    cost = RULE.change_cost
    print(
        "\nThe classifiers' own predictions (Raw) flicker; the mean of the last five (Simple), the"
        "\nfilter with equal weights (Single) and the filter with half the weight for the weak one"
        "\n(Multiple) steady them; holding the last strong prediction is the simple rule to beat."
        "\nBelow it, a filter tuned without labels on other days; and the same filter with strong"
        "\ncalls where it is uncertain, as many on average."
        "\nEvents: a rule decides them from the rows of each method. It reports a change if that"
        f"\nmakes the result right for {cost:g} s more. F1: a true event is found if a reported one"
        "\nof its class overlaps it by half of their union.\n"
    )
    try:
        picture(*first).savefig(out)
    except ImportError:
        print("The picture needs matplotlib: pip install 'classfilter[plot]'")
    else:
        print(
            f"{out}: {MINUTES} minutes of the first day with two true changes, those in which Raw"
        )
        print("flickers most.")
    if report is not None:
        seeds = range(min(days, REPORTED))
        recs = {f"day {seed + 1}": simulate("capture24", seed=seed).recording() for seed in seeds}
        tuned.report(recs, report, progress=show_progress)
        print(f"{report}: days with the tuned filter: {len(recs)}; open it in a browser.")


if __name__ == "__main__":
    picture_path, *report_path = sys.argv[1:] or ["demo.png"]
    main(picture_path, report=report_path[0] if report_path else None)
