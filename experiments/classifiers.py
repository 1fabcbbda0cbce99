"""Simple classifiers of people: ``python -m experiments.classifiers DATA --out FOLDER``.

It reads ``wisdm_watch.npz`` and ``extrasensory30.npz`` and writes ``wisdm.npz`` and
``extrasensory.npz`` for `experiments.benchmark`. The people are split in halves; each is predicted
by classifiers of the other half. docs/results.md says where the data come from.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import wisdm
from .signals import PER_G, RATE, STEP
from .streams import Floats, Ints, Stream, write


class Person(NamedTuple):
    """The features of a person at each step, for the weak and for the strong classifier."""

    time: Floats
    label: Ints
    weak: Floats
    strong: Floats


def predicted(people: dict[str, Person], classes: tuple[str, ...], seed: int) -> Iterator[Stream]:
    """Predict each half of the people by logistic regression and boosted trees of the other."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    mixed = np.random.default_rng(seed).permutation(sorted(people)).tolist()
    halves = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]
    for fold, (train, test) in enumerate((halves, halves[::-1])):
        y = np.concatenate([people[name].label for name in train])
        weak, strong = (np.concatenate([people[n][i] for n in train])[y >= 0] for i in (2, 3))
        known = np.array([np.unique(x[np.isfinite(x)]).size > 1 for x in strong.T])
        logistic = make_pipeline(
            SimpleImputer(keep_empty_features=True),
            StandardScaler(),
            LogisticRegression(max_iter=1000),
        ).fit(weak, y[y >= 0])
        trees = HistGradientBoostingClassifier(
            max_iter=60, learning_rate=0.15, max_leaf_nodes=15, random_state=fold
        ).fit(strong[:, known], y[y >= 0])
        for name in test:
            one, K = people[name], len(classes)
            both = of_all(logistic, one.weak, K), of_all(trees, one.strong[:, known], K)
            yield Stream(name, one.time, one.label, *both, classes, fold)


def of_all(model: Any, X: Floats, K: int) -> Floats:
    """Return probabilities of all classes, 0 for those that a model never saw."""
    P = np.zeros((len(X), K))
    P[:, model.classes_] = model.predict_proba(X)
    return P


def extrasensory(data: Path) -> tuple[dict[str, Person], tuple[str, ...]]:
    """Return one row a minute: the accelerometer for the weak classifier, all for the strong."""
    people = {}
    with np.load(data / "extrasensory30.npz", allow_pickle=False) as file:
        accelerometer = np.char.startswith(file["cols"].astype(str), "raw_acc:")
        for name in (key[:-2] for key in file.files if key.endswith("_y")):
            t, X, y = (file[f"{name}_{column}"] for column in "tXy")
            people[name] = Person(t.astype(float), y.astype(np.intp), X[:, accelerometer], X)
        return people, tuple(str(c) for c in file["classes"])


def wisdm_watch(data: Path) -> tuple[dict[str, Person], tuple[str, ...]]:
    """Return a row every 5 s: the last 5 s for the weak classifier, the last 30 s for the other."""
    signals = wisdm.load(data)
    people = {}
    for name in signals.names:
        X, y = signals.part(name)
        ends = np.arange(STEP, len(X) + 1, STEP)
        g = X / PER_G
        short = np.array([moments(g[end - STEP : end]) for end in ends])
        long = np.array([features(g[max(0, end - 6 * STEP) : end]) for end in ends])
        people[name] = Person(ends / RATE, y[ends - 1].astype(np.intp), short, long)
    return people, signals.classes


def moments(x: Floats) -> Floats:
    """Return mean and spread of each axis."""
    return np.concatenate([x.mean(axis=0), x.std(axis=0)])


def features(x: Floats) -> Floats:
    """Return mean, spread, quantiles, jerk, spectrum and covariance of a window."""
    size = np.sqrt((x**2).sum(axis=1))
    power = np.abs(np.fft.rfft(size - size.mean(), n=200)) ** 2
    bands = np.log(np.add.reduceat(power, [0, 5, 10, 15, 20, 30, 50, 75]) + 1e-6)
    quantiles: NDArray[Any] = np.percentile(x, [10, 25, 75, 90], axis=0).ravel()
    jerk = np.abs(np.diff(x, axis=0)).mean(axis=0)
    alike = np.asarray(np.cov(x.T))[np.triu_indices(3, 1)]
    ends = np.array([size.mean(), size.std()])
    return np.concatenate([moments(x), quantiles, jerk, bands, alike, ends])


def main(arguments: list[str] | None = None) -> None:
    """Write a file of streams for each set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("out/streams"))
    args = parser.parse_args(arguments)
    for name, load in (("wisdm", wisdm_watch), ("extrasensory", extrasensory)):
        streams = list(predicted(*load(args.data), seed=0))
        write(args.out / f"{name}.npz", streams)
        print(f"{args.out / name}.npz: {len(streams)} people, {streams[0].classes}", flush=True)


if __name__ == "__main__":
    main()
