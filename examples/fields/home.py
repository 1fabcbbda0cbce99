"""A room of a home, two classifiers of whether somebody is there, and Home Assistant's rules.

``python -m examples.fields.home docs/fields/home.png`` draws what docs/fields/home.md shows.
"""

from __future__ import annotations

import sys

import numpy as np

import classfilter as cf

CLASSES = ["empty", "occupied"]
RIGHT = {"weak": 0.75, "strong": 0.9}


def day(seed: int = 0) -> cf.Rows:
    """Return a day: a weak classifier every 5 s, and a strong one each minute in its place.

    Their errors last for about a minute.
    """
    weak, strong = RIGHT["weak"], RIGHT["strong"]
    given = cf.simulate(
        classes=CLASSES, hours=24.0, seed=seed, weak=weak, strong=strong, error_time=60.0
    )
    return given.rows()


def threshold(p: np.ndarray, lower: float = 0.4, upper: float = 0.6) -> np.ndarray:
    """Switch on above a threshold and off below another: the threshold helper's hysteresis."""
    state, states = False, []
    for x in p:
        state = True if x > upper else False if x < lower else state
        states.append(state)
    return np.array(states)


def delayed(time: np.ndarray, on: np.ndarray, delay_on: float, delay_off: float) -> np.ndarray:
    """Follow a change once it has lasted: a template sensor's ``delay_on`` and ``delay_off``."""
    state, since, last, states = False, time[0], on[0], []
    for t, now in zip(time, on, strict=True):
        if now != last:
            last, since = now, t
        if now != state and t - since >= (delay_on if now else delay_off):
            state = now
        states.append(state)
    return np.array(states)


def bayesian(rec: cf.Rows, prior: float = 0.5) -> np.ndarray:
    """Weigh the last prediction of each source by how often it is right: the bayesian sensor."""
    last: dict[str, bool] = {}
    states = []
    for name, p in zip(rec.source_names, rec.probs[:, 1], strict=True):
        last[name] = p > 0.5
        odds = prior / (1.0 - prior)
        for source, on in last.items():
            right = RIGHT[source]
            odds *= right / (1.0 - right) if on else (1.0 - right) / right
        states.append(odds > 1.0)
    return np.array(states)


def occupied(time: np.ndarray, events: cf.Events) -> np.ndarray:
    """Return the rows that are in an event of the class."""
    spans = [(e.start, e.end) for e in events if e.label == "occupied"]
    return np.array([any(start <= t < end for start, end in spans) for t in time])


def going_on(rec: cf.Rows, pipe: cf.Pipeline, rule: cf.EventRule) -> np.ndarray:
    """Return the rows at which, live, the event that is going on is one of the class."""
    tracker, states = cf.Tracker(pipe, events=rule), []
    for t, source, p in zip(rec.time, rec.source_names, rec.probs, strict=True):
        tracker.update("room", t, source, p)
        event = tracker.current("room")
        states.append(isinstance(event, cf.Event) and event.label == "occupied")
    return np.array(states)


def draw(path: str, minutes: slice = slice(480, 570)) -> None:
    """Draw an hour and a half of the room."""
    rec, tuned = day(), cf.tune([day(1), day(2)], reference="strong")
    p, part = rec.probs[:, 1], slice(minutes.start * 12, minutes.stop * 12)
    events = cf.events({None: rec}, tuned, cf.EventRule("15s"))
    lanes = {
        "as it comes": p > 0.5,
        "threshold 0.2, 0.8": threshold(p, 0.2, 0.8),
        "delay 30 s": delayed(rec.time, p > 0.5, 30.0, 30.0),
        "bayesian": bayesian(rec),
        "events": occupied(rec.time, events),
    }
    shown = {name: lane[part].astype(int) for name, lane in lanes.items()}
    assert rec.label is not None
    figure = cf.plot.timeline(rec.time[part], rec.label[part], shown, CLASSES)
    figure.set_size_inches(9.0, 3.2)
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    draw(sys.argv[1])
