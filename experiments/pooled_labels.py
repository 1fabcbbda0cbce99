"""How much data a label needs for settings of its own: ``python -m experiments.pooled_labels``.

Labels of six kinds are simulated: how long they last, how often they are on, and how clear their
scores are. Each is tuned by itself and together with the others, on three streams of several
lengths, without truth, and measured on six other streams.
"""

from __future__ import annotations

import warnings
from collections import defaultdict

import numpy as np

import classfilter as cf
from classfilter.tuning._label_tuning import off_and_on

LABELS, EVERY, STEP = 6, 12, 5.0
ROWS = (1000, 3000, 10_000)
SEEDS = range(4)


def stream(rng: np.random.Generator, rows: int) -> cf.Recording:
    """Return a stream of weak scores, and of strong ones at some rows."""
    kinds = np.random.default_rng(7)
    length, share = kinds.uniform(10, 200, LABELS), kinds.choice([0.02, 0.1, 0.3], LABELS)
    clear = {"weak": kinds.uniform(0.5, 2, LABELS), "strong": kinds.uniform(1.5, 4, LABELS)}
    leave = 1 / length
    enter = leave * share / (1 - share)
    truth = np.zeros((rows, LABELS), int)
    on = rng.random(LABELS) < share
    for t in range(rows):
        on ^= rng.random(LABELS) < np.where(on, leave, enter)
        truth[t] = on
    calls = np.arange(0, rows, EVERY)
    parts = {"weak": (np.arange(rows), 1.5), "strong": (calls, 1.2)}
    scores = [
        1
        / (
            1
            + np.exp(clear[name] * (1 - 2 * truth[at]) + rng.normal(0, scatter, (len(at), LABELS)))
        )
        for name, (at, scatter) in parts.items()
    ]
    at = np.concatenate([rows_of for rows_of, _ in parts.values()])
    return cf.Recording(
        STEP * at,
        np.repeat(list(parts), [len(rows_of) for rows_of, _ in parts.values()]),
        np.concatenate(scores),
        [f"label {k}" for k in range(LABELS)],
        truth[at],
        scores="independent",
        sort=True,
    )


def streams(seed: int, count: int, rows: int) -> list[cf.Recording]:
    """Return several streams."""
    rng = np.random.default_rng(seed)
    return [stream(rng, rows) for _ in range(count)]


def stretches(lanes: list[cf.Recording]) -> int:
    """Return in how many stretches of strong predictions a label is on."""
    count = 0
    for lane in lanes:
        on = lane.probs[lane.observed("strong"), 1] > 0.5
        count += int((np.diff(on.astype(int), prepend=0) == 1).sum())
    return count


def error(tuned: cf.Chain, lanes: list[cf.Recording]) -> float:
    """Return the share of rows whose state is wrong."""
    wrong = [tuned.run(off_and_on(lane)).argmax(axis=1) != lane.label for lane in lanes]
    return float(np.concatenate(wrong).mean())


def main() -> None:
    """Print the errors by the number of stretches."""
    warnings.simplefilter("ignore")
    test = streams(999, 6, 4000)
    errors: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for rows in ROWS:
        for seed in SEEDS:
            train = streams(seed, 3, rows)
            every = [off_and_on(rec.lane(name)) for name in train[0].classes for rec in train]
            pooled = cf.tune(every, reference="strong")
            for name in train[0].classes:
                lanes = [rec.lane(name) for rec in train]
                own = cf.tune([off_and_on(lane) for lane in lanes], reference="strong")
                measured = [rec.lane(name) for rec in test]
                pair = error(own, measured), error(pooled, measured)
                errors[int(np.log2(stretches(lanes) + 1))].append(pair)
    print("| stretches | labels | error, own settings | pooled | own is better |")
    print("|---|---|---|---|---|")
    for power, pairs in sorted(errors.items()):
        own, together = np.mean(pairs, axis=0)
        better = np.mean([a < b for a, b in pairs])
        span = f"{2**power - 1} to {2 ** (power + 1) - 2}"
        print(f"| {span} | {len(pairs)} | {own:.2%} | {together:.2%} | {better:.0%} |")


if __name__ == "__main__":
    main()
