"""What people use instead, on the README's two examples: ``python -m examples.rivals``.

Each rival gets the setting that is best by the labels of the table that it is scored on.
classfilter gets no labels, and is told only that an event usually lasts five minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from examples.first import DURATION, ONE, TABLE
from numpy.typing import NDArray

import classfilter as cf

Array = NDArray[Any]
RUNS = cf.EventRule(0.0)
"""Each run of a class is an event."""
WINDOWS = range(3, 63, 2)
HALF_LIVES = np.geomspace(2, 200, 20)
COSTS = np.geomspace(2, 200, 20)
PENALTIES = np.geomspace(1, 100, 20)
FLOOR = 1e-3
"""Probabilities below it count as this one in a logarithm."""


class Rival(NamedTuple):
    """A way from predictions (T, K) to events, by a setting: what it is, and what it looks at."""

    name: str
    later_rows: bool
    settings: Iterable[Any]
    estimate: Callable[[Array, Any], Any]
    rule: Callable[[Any], cf.EventRule] = lambda _: RUNS


def raw(probs: Array, _: object) -> Any:
    """Return the predictions as they are."""
    return probs


def vote(probs: Array, window: int) -> Any:
    """Return the class that most of the last rows predict."""
    return cf.VoteFilter(probs.shape[1], window=window).run(probs)


def exponential_average(probs: Array, half_life: float) -> Any:
    """Return the average of the rows so far, which count half after `half_life` seconds."""
    return cf.EmaFilter(probs.shape[1], half_life=half_life).run(probs, dt=5.0)


def centred_mode(probs: Array, window: int) -> Any:
    """Return the class that most of the rows around each row predict."""
    votes = np.eye(probs.shape[1])[probs.argmax(axis=1)]
    share = [np.convolve(column, np.ones(window) / window, "same") for column in votes.T]
    best = np.argmax(np.column_stack(share) + 1e-9 * probs, axis=1)
    return np.eye(probs.shape[1])[best]


def viterbi(probs: Array, penalty: float) -> Any:
    """Return the path of classes with the largest log-probability less a penalty for each change.

    Examples
    --------
    >>> viterbi(np.array([[0.9, 0.1], [0.4, 0.6], [0.9, 0.1]]), penalty=1.0).argmax(axis=1)
    array([0, 0, 0])
    """
    log_probs = np.log(np.maximum(probs, FLOOR))
    score, came_from = log_probs[0], []
    for row in log_probs[1:]:
        best = score.argmax()
        stays = score >= score[best] - penalty
        came_from.append(np.where(stays, np.arange(score.size), best))
        score = np.where(stays, score, score[best] - penalty) + row
    path = [int(score.argmax())]
    for origin in reversed(came_from):
        path.append(int(origin[path[-1]]))
    return np.eye(probs.shape[1])[path[::-1]]


RIVALS = [
    Rival("raw predictions", False, [None], raw),
    Rival("majority vote, best of 30 windows", False, WINDOWS, vote),
    Rival("exponential average, best of 20 half-lives", False, HALF_LIVES, exponential_average),
    Rival("our event rule on raw predictions, best of 20 costs", False, COSTS, raw, cf.EventRule),
    Rival("centred mode filter, best of 30 windows", True, WINDOWS, centred_mode),
    Rival("Viterbi, best of 20 change penalties", True, PENALTIES, viterbi),
]


class Result(NamedTuple):
    """How many events there are, and their F1@50."""

    events: int
    f1: float


def score(true: cf.Events, events: Any) -> Result:
    """Compare events, a list or a table, with the true ones."""
    listed = events if isinstance(events, cf.Events) else cf.Events.from_table(events)
    return Result(len(listed), cf.metrics.event_scores(true, listed).f1)


def results(table: Any, **tuning: Any) -> dict[str, Result]:
    """Return the result of every rival at its best setting, and of classfilter."""
    streams = cf.rows(table).by_stream()
    true = cf.label_events(streams)

    def rival_result(rival: Rival, setting: Any) -> Result:
        rows = {
            name: cf.rows(
                time=s.time,
                source="rival",
                probs=rival.estimate(s.probs, setting),
                classes=s.classes,
            )
            for name, s in streams.items()
        }
        return score(true, cf.events(rows, rival.rule(setting)))

    best = {
        rival.name: max(map(partial(rival_result, rival), rival.settings), key=lambda r: r.f1)
        for rival in RIVALS
    }
    tuned = cf.tune(table, event_duration=DURATION, **tuning)
    best["classfilter, live"] = score(true, cf.events(table, tuned))
    best["classfilter, offline"] = score(true, cf.events(table, tuned, smooth=True))
    return best


def told(table: Any, minutes: int) -> str:
    """Return what `tune` finds live if it is told another duration, in words."""
    true = cf.label_events(cf.rows(table).by_stream())
    result = score(true, cf.events(table, cf.tune(table, event_duration=f"{minutes}min")))
    return f"{result.events} live events with an F1@50 of {result.f1:.2f}"


def main() -> None:
    """Print the README's table, and what the duration matters."""
    table = cf.read_table(ONE)
    one = results(table)
    two = results(cf.read_table(TABLE), reference="strong")
    later = {rival.name: rival.later_rows for rival in RIVALS} | {"classfilter, offline": True}
    print("| | later rows | labels | events | F1@50 | F1@50, two classifiers |")
    print("|---|---|---|---|---|---|")
    for name in sorted(one, key=lambda name: later.get(name, False)):
        ours = name.startswith("classfilter")
        labels = "no" if ours or name.startswith("raw") else "yes"
        bold = "**" if ours else ""
        print(
            f"| {bold}{name}{bold} | {'yes' if later.get(name) else 'no'} | {labels} "
            f"| {one[name].events} | {bold}{one[name].f1:.2f}{bold} "
            f"| {bold}{two[name].f1:.2f}{bold} |"
        )
    true = cf.label_events(cf.rows(table).by_stream())
    mean = true.to_table("polars")["duration"].mean() / 60
    print(f"\nThe duration matters: the true mean is {mean:.1f} min.")
    for minutes in (3, 8):
        print(f"Told {minutes} min, classfilter finds {told(table, minutes)}.")


if __name__ == "__main__":
    main()
