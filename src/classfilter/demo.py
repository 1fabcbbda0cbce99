"""A demonstration on simulated days: ``python -m classfilter.demo [picture.png [report.html]]``.

A weak classifier is called every 5 s and a strong one once a minute. The methods of the paper and a
filter tuned without labels smooth their predictions, and a rule turns the tuned rows into events.
The simulation was set to resemble the paper's Table I, so closeness to it proves nothing: compare
the rows with each other. The paper does not state the accuracy of its strong classifier; the row
of Hold in particular depends on an assumption.
"""

from __future__ import annotations

import sys
import textwrap
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import metrics, plot
from .engine import events, label_events
from .events import EventRule, Events
from .filters import DirichletFilter, HoldFilter, MeanFilter
from .inputs import rows as read
from .pipeline import Pipeline
from .simulate import Simulation, simulate
from .support.types import Array
from .tuning import Progress, tune

if TYPE_CHECKING:
    from matplotlib.figure import Figure


GAMMA = 0.9
"""Decay of the paper's filters: the library's default, not fitted to these days."""
PAPER = {"Raw": 77.15, "Simple": 80.85, "Single": 82.61, "Multiple": 85.24}
"""Table I of the paper, in percent: 25 people of Capture-24."""
DURATION = "12min"
"""How long an event usually lasts, which is all that `tune` is told of the days."""
TUNED, EVENTS, TRUTH = "Tuned, no labels", "Events of tuned", "(the truth)"
MINUTES = 60
"""What the picture shows."""
REPORTED = 3
"""How many days are in the report."""
TUNING_SHARE = 0.5
"""Of the progress bar."""


class DayScores(NamedTuple):
    """Accuracy in percent, switches per hour, and F1@50 of the events in percent."""

    accuracy: float
    switches: float
    event_f1: float


def tune_on_other_days(progress: Progress | None = None) -> Pipeline:
    """Return a filter tuned without labels on three other days."""
    days = [simulate("capture24", seed=seed) for seed in (1001, 1002, 1003)]
    streams = [day.rows(every=12) for day in days]
    return tune(streams, reference="strong", event_duration=DURATION, progress=progress)


def estimates(day: Simulation, tuned: Pipeline) -> dict[str, Array]:
    """Return the class probabilities (T, K) of each method over one day, by the paper's policy."""
    source, raw = day.mixed(every=12)
    weight = np.where(source == "strong", 1.0, 0.5)
    return {
        "Raw": raw,
        "Simple": MeanFilter(day.classes, window=5).run(raw),
        "Single": DirichletFilter(day.classes, gamma=GAMMA).run(raw),
        "Multiple": DirichletFilter(day.classes, gamma=GAMMA).run(raw, beta=weight),
        "Hold last strong": HoldFilter(day.classes).run(raw, beta=weight),
        TUNED: tuned.run(day.rows(every=12)),
    }


def scores(day: Simulation, methods: dict[str, Array], decided: Events) -> dict[str, DayScores]:
    """Return the scores of each method over one day, of the events decided, and of the truth.

    The events of a method are the runs of its most probable class.
    """
    true = label_events(day.rows())
    runs = {
        name: events(read(time=day.time, probs=p, classes=day.classes), EventRule(0.0))
        for name, p in methods.items()
    }
    rows = {**methods, EVENTS: _classes_of(decided, day), TRUTH: day.truth}
    return {
        name: DayScores(
            100 * metrics.accuracy(day.truth, p),
            metrics.switches_per_hour(p, day.time),
            100 * metrics.event_scores(true, {**runs, EVENTS: decided, TRUTH: true}[name]).f1,
        )
        for name, p in rows.items()
    }


def _classes_of(decided: Events, day: Simulation) -> Array:
    """Return the class of each row according to events that cover the day."""
    starts = np.searchsorted(day.time, [event.start for event in decided])
    rows = np.diff(starts, append=day.time.size)
    return np.repeat([day.classes.index(event.label) for event in decided], rows)


def table_of_scores(days: list[dict[str, DayScores]]) -> str:
    """Return the mean scores of all days beside the paper's accuracies, as lines of text."""
    lines = [
        f"{'':18}{'accuracy,':>10}{'in the':>8}{'switches':>10}{'events,':>10}",
        f"{'':18}{'%':>10}{'paper':>8}{'per hour':>10}{'F1@50, %':>10}",
    ]
    for name in days[0]:
        mean = DayScores(*np.mean([day[name] for day in days], axis=0))
        paper = f"{PAPER[name]:.2f}" if name in PAPER else "-"
        lines.append(
            f"{name:18}{mean.accuracy:10.2f}{paper:>8}{mean.switches:10.1f}{mean.event_f1:10.1f}"
        )
    return "\n".join(lines)


def flickering(raw: Array, truth: Array, rows: int) -> slice:
    """Return `rows` successive rows, at random among those where the predicted class flickers.

    That is where it changes at least as often as in half of the other places; and the true class
    changes at least twice there, where it does so anywhere.

    Examples
    --------
    >>> raw = np.eye(2)[[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0]]
    >>> flickering(raw, np.zeros(12, int), rows=4)
    slice(8, 12, None)
    """
    starts = np.arange(0, len(raw) - rows + 1, rows)
    changes = np.diff(raw.argmax(axis=1), prepend=0) != 0
    true_changes = np.diff(truth, prepend=truth[0]) != 0
    flicker = np.array([changes[s + 1 : s + rows].sum() for s in starts])
    eventful = np.array([true_changes[s + 1 : s + rows].sum() for s in starts]) >= 2
    candidates = starts[(flicker >= np.median(flicker)) & (eventful | ~eventful.any())]
    start = int(np.random.default_rng(0).choice(candidates))
    return slice(start, start + rows)


def picture(day: Simulation, methods: dict[str, Array], decided: Events) -> Figure:
    """Draw minutes in which Raw flickers: the truth, raw and filtered classes, and the events."""
    part = flickering(methods["Raw"], day.truth, MINUTES * 12)
    lanes: dict[str, Array | Events] = {
        "Raw": methods["Raw"][part],
        "Filtered": methods[TUNED][part],
        "Events": decided,
    }
    figure = plot.timeline(day.time[part], day.truth[part], lanes, day.classes)
    figure.set_size_inches(9.0, 2.8)
    return figure


def show_progress(share: float, width: int = 40) -> None:
    """Draw a progress bar on a terminal; it disappears at the end."""
    if sys.stderr.isatty():
        bar = f"[{'#' * int(share * width):{width}}] {share:4.0%}"
        sys.stderr.write(f"\r{bar}" if share < 1 else f"\r{' ' * len(bar)}\r")
        sys.stderr.flush()


def demonstrate(out: str = "demo.png", days: int = 25, report: str | None = None) -> None:
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
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        tuned = tune_on_other_days(lambda share: show_progress(TUNING_SHARE * share))
    rows = []
    for seed in range(days):
        day = simulate("capture24", seed=seed)
        methods, decided = estimates(day, tuned), events(day.rows(every=12), tuned)
        rows.append(scores(day, methods, decided))
        if seed == 0:
            first = day, methods, decided
        show_progress(TUNING_SHARE + (1 - TUNING_SHARE) * (seed + 1) / days)
    print(f"{days} simulated days; a weak classifier every 5 s, a strong one once a minute.\n")
    print(table_of_scores(rows))
    print(
        "\nRaw is what the classifiers say. Simple, Single and Multiple are the paper's methods:"
        "\nthe mean of five, and its filter with equal weights and with half the weight for the"
        "\nweak classifier. Hold last strong is the simple rule to beat. Tuned was chosen on other"
        f"\ndays without labels, told only that an event usually lasts {DURATION}. Its events are"
        "\ndecided by a rule; in the other rows, each run of a class is an event. F1@50 counts an"
        "\nevent as found if it overlaps a true one of its class by half of their union or more."
        "\nThe days are set to resemble the paper's data: compare the rows, not the columns.\n"
    )
    for warning in warned:
        print(textwrap.fill(f"tune warns: {warning.message}", 88) + "\n")
    try:
        picture(*first).savefig(out, dpi=150)
    except ImportError:
        print("The picture needs matplotlib: pip install 'classfilter[plot]'")
    else:
        print(f"Look at {out}: an hour at random among those in which Raw flickers.")
    if report is not None:
        from .report import report as write_report

        seeds = range(min(days, REPORTED))
        recs = {f"day {seed + 1}": simulate("capture24", seed=seed).rows() for seed in seeds}
        write_report(recs, report, tuned, progress=show_progress)
        print(f"{report}: days with the tuned filter: {len(recs)}; open it in a browser.")
    print(
        "Next, on your own table (columns time, p_<class>, ...; see README.md, Quick start):\n"
        "  classfilter events TABLE.csv -o events.csv --event-duration 5min\n"
        "  classfilter report TABLE.csv -o page.html --event-duration 5min"
    )


if __name__ == "__main__":
    picture_path, *report_path = sys.argv[1:] or ["demo.png"]
    demonstrate(picture_path, report=report_path[0] if report_path else None)
