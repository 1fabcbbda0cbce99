"""Errors that last: what `tune` sees of them without labels, and what labels say.

The true correlation is that of what is left of the strong classifier's predictions without the mean
of their class, over pairs of successive calls within one true event. Simulated: errors that last as
long as `error_time` says, of classifiers that are as sure as they are right, too sure, or not sure
enough.

    python -m experiments.lasting_errors geolife ltafdb wisdm extrasensory --data DATA
"""

from __future__ import annotations

import numpy as np

import classfilter as cf
from classfilter._support.types import Floats
from classfilter.simulation._presets import Classifier
from classfilter.tuning._expected_events import estimate_calls
from classfilter.tuning._rows import concatenate, floored
from experiments.rates import RATES
from experiments.streams import Person, arguments, splits

SHARPNESS = {"as sure as right": 1.0, "too sure": 2.0, "not sure enough": 0.7}


def true_correlation(people: list[Person], every: int) -> float:
    """Return the correlation of the strong classifier's errors from one call to the next."""
    probs, labels, events = [], [], []
    for n, person in enumerate(people):
        changes = np.cumsum(np.diff(person.label, prepend=person.label[0]) != 0)
        probs.append(floored(person.strong[::every]))
        labels.append(person.label[::every])
        events.append((changes + n * person.label.size)[::every])
    P, y, event = np.concatenate(probs), np.concatenate(labels), np.concatenate(events)
    rest: Floats = np.zeros_like(P)
    for k in np.unique(y[y >= 0]):
        rest[y == k] = P[y == k] - P[y == k].mean(axis=0)
    same = (event[1:] == event[:-1]) & (np.diff(streams_of(probs)) == 0) & (y[1:] >= 0)
    if not same.any():  # no event has two calls
        return float("nan")
    before, after = rest[:-1][same], rest[1:][same]
    return float((before * after).sum() / np.sqrt((before**2).sum() * (after**2).sum()))


def streams_of(parts: list[Floats]) -> Floats:
    """Return the number of the stream of each row."""
    return np.repeat(np.arange(len(parts), dtype=np.float64), [len(part) for part in parts])


def seen_correlation(people: list[Person], every: int) -> float:
    """Return the correlation that the predictions show without labels."""
    recs = [person.recording(every) for person in people]
    return estimate_calls(concatenate(recs, "strong")).error_correlation


def simulated(error_time: float, sharpness: float) -> list[Person]:
    """Return simulated streams whose errors last so many seconds, events 400 s on average."""
    people = []
    for seed in range(10):
        strong = Classifier(0.85, sharpness=sharpness)
        day = cf.simulate(hours=4.0, seed=seed, dwell=400.0, error_time=error_time, strong=strong)
        both = day.probs["weak"], day.probs["strong"]
        people.append(Person(str(seed), day.time, day.truth, *both, day.classes))
    return people


def main() -> None:
    """Print the table."""
    parser = arguments(__doc__, 1)
    parser.set_defaults(sets=["geolife", "ltafdb", "wisdm", "extrasensory", "capture24", "plain"])
    given = parser.parse_args()
    print("| | calls | by labels | seen |\n|---|---|---|---|")
    cases = [(name, splits(name, given.data, given.splits)[0]) for name in given.sets]
    for error_time in (0.0, 60.0, 300.0, 900.0):
        for how, sharpness in SHARPNESS.items():
            cases.append((f"errors of {error_time:g} s, {how}", simulated(error_time, sharpness)))
    for name, people in cases:
        for every in RATES:
            true, seen = true_correlation(people, every), seen_correlation(people, every)
            print(f"| {name} | 1 in {every} | {true:.2f} | {seen:.2f} |", flush=True)


if __name__ == "__main__":
    main()
