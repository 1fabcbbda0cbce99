"""Streams of a weak and a strong classifier on real data, split by person.

Both classifiers predict for people they were not trained on, at every step; the experiments then
choose, by a policy, which prediction is used. The data are not part of the project: see
``docs/results.md`` for where they come from.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classfilter import Recording, simulate
from classfilter.simulation._simulate import Simulation

Floats = NDArray[np.float64]
Divide = Callable[[list[str], int], tuple[list[str], list[str]]]
CACHE = Path(".cache")


@dataclass(frozen=True, eq=False)
class Person:
    """What both classifiers predict for one person at every step.

    Attributes
    ----------
    name : str
        Of the person.
    time : ndarray (T,)
        Seconds.
    label : ndarray of int (T,)
        The true class, -1 where unknown.
    weak, strong : ndarray (T, K)
        The predicted probabilities.
    classes : tuple of str
        The K classes.
    """

    name: str
    time: Floats
    label: NDArray[np.intp]
    weak: Floats
    strong: Floats
    classes: tuple[str, ...]

    def recording(self, every: int | None = 12) -> Recording:
        """Apply the paper's policy: strong at each `every`-th step, weak at the others.

        With None, both predict at every step.
        """
        both = {"weak": self.weak, "strong": self.strong}
        return Simulation(self.time, self.label, self.classes, both).recording(every)


def splits(name: str, data: Path | None, count: int) -> list[list[Person]]:
    """Return the people, or the simulated days, of each split.

    Parameters
    ----------
    name : {"extrasensory", "wisdm", "geolife", "ltafdb", "capture24", "plain"}
        The set of streams; the last two are simulated.
    data : Path, optional
        The folder of the data files, for all others.
    count : int
        How many splits.
    """
    if name not in MAKERS:
        return [simulated(name, split) for split in range(count)]
    if data is None:
        raise SystemExit(f"{name} needs --data, the folder with its file")
    count = 1 if name in READY else count
    return [load_people(name, data, split) for split in range(count)]


def arguments(doc: str | None, count: int) -> argparse.ArgumentParser:
    """Return the arguments of every experiment: the sets, the folder, the number of splits."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("sets", nargs="*", default=["extrasensory", "wisdm", "capture24", "plain"])
    parser.add_argument("--data", type=Path, help="folder with the data files")
    parser.add_argument("--splits", type=int, default=count)
    return parser


def simulated(preset: str, split: int) -> list[Person]:
    """Return simulated days instead of people; in plain ones, errors last and are shared."""
    people = []
    for seed in range(10 * split, 10 * split + 10):
        day = (
            simulate("capture24", hours=12.0, seed=seed)
            if preset == "capture24"
            else simulate(hours=4.0, seed=seed, weak=0.6, strong=0.85, shared=0.5, error_time=120.0)
        )
        both = day.probs["weak"], day.probs["strong"]
        people.append(Person(str(seed), day.time, day.truth, *both, day.classes))
    return people


def load_people(name: str, data: Path, split: int) -> list[Person]:
    """Return the people that the classifiers of a split have not seen; from the cache, if there.

    Parameters
    ----------
    name : {"extrasensory", "wisdm", "geolife", "ltafdb"}
        The data set.
    data : Path
        The folder of the data files.
    split : int
        Which half of the people the classifiers are trained on; the others are returned.
    """
    code = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    path = CACHE / f"{name}-{split}-{code}.npz"
    if not path.exists():
        people = list(MAKERS[name](data, split))
        path.parent.mkdir(exist_ok=True)
        columns = ("time", "label", "weak", "strong")
        arrays = {f"{p.name}/{c}": getattr(p, c) for p in people for c in columns}
        np.savez_compressed(path, classes=np.array(people[0].classes), **arrays)
    with np.load(path) as file:
        classes = tuple(str(c) for c in file["classes"])
        names = dict.fromkeys(key.partition("/")[0] for key in file.files if "/" in key)
        return [
            Person(
                person,
                file[f"{person}/time"],
                file[f"{person}/label"],
                file[f"{person}/weak"],
                file[f"{person}/strong"],
                classes,
            )
            for person in names
        ]


def split_in_half(names: list[str], split: int) -> tuple[list[str], list[str]]:
    """Return the people to train on and those to predict for."""
    mixed = np.random.default_rng(split // 2).permutation(sorted(names)).tolist()
    half = len(mixed) // 2
    first, second = mixed[:half], mixed[half:]
    return (first, second) if split % 2 == 0 else (second, first)


def extrasensory(data: Path, split: int, divide: Divide = split_in_half) -> Iterator[Person]:
    """Predict by logistic regression on the accelerometer; by boosted trees on all sensors."""
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    with np.load(data / "extrasensory30.npz", allow_pickle=False) as file:
        classes = tuple(str(c) for c in file["classes"])
        accelerometer = np.array([str(c).startswith("raw_acc:") for c in file["cols"]])
        names = [key[:-2] for key in file.files if key.endswith("_y")]
        parts = {n: tuple(file[f"{n}_{c}"] for c in "tXy") for n in names}
    train, test = divide(names, split)
    X = np.concatenate([parts[n][1] for n in train])
    y = np.concatenate([parts[n][2] for n in train])
    X, y = X[y >= 0], y[y >= 0]
    weak = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000))
    weak.fit(X[:, accelerometer], y)
    known = np.array([np.unique(column[np.isfinite(column)]).size > 1 for column in X.T])
    strong = _boosted(split).fit(X[:, known], y)
    for n in test:
        t, X, y = parts[n]
        yield Person(
            n,
            t.astype(float),
            y.astype(np.intp),
            _all_classes(weak, X[:, accelerometer], len(classes)),
            _all_classes(strong, X[:, known], len(classes)),
            classes,
        )


def wisdm(data: Path, split: int) -> Iterator[Person]:
    """Predict by logistic regression on 5 s of the wrist; by boosted trees on 30 s."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    names_of = ("walking", "jogging", "stairs", "sitting", "standing", "kicking")
    letters = dict(zip("ABCDEM", names_of, strict=True))
    with np.load(data / "wisdm_watch.npz", allow_pickle=False) as file:
        names = [key[:-2] for key in file.files if key.endswith("_y")]
        parts = {n: (file[f"{n}_X"] / 1000, file[f"{n}_y"].astype(str)) for n in names}
    train, test = split_in_half(names, split)
    windows = {n: _windows(*parts[n], list(letters)) for n in names}
    y = np.concatenate([windows[n][3] for n in train])
    weak = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    weak.fit(np.concatenate([windows[n][1] for n in train]), y)
    strong = _boosted(split)
    strong.fit(np.concatenate([windows[n][2] for n in train]), y)
    for n in test:
        t, short, long, y = windows[n]
        classes = tuple(letters.values())
        K = len(classes)
        yield Person(n, t, y, _all_classes(weak, short, K), _all_classes(strong, long, K), classes)


def _boosted(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=60, learning_rate=0.15, max_leaf_nodes=15, random_state=seed
    )


def _windows(
    X: Floats, y: NDArray[np.str_], letters: list[str]
) -> tuple[Floats, Floats, Floats, NDArray[np.intp]]:
    """Return times, features of the last 5 s and of the last 30 s, and labels, every 5 s."""
    ends = np.arange(100, len(X) + 1, 100)
    short = np.array([_features(X[e - 100 : e], simple=True) for e in ends])
    long = np.array([_features(X[max(0, e - 600) : e], simple=False) for e in ends])
    label = np.array([letters.index(y[e - 1]) for e in ends], dtype=np.intp)
    return ends / 20, short, long, label


def _features(x: Floats, simple: bool) -> Floats:
    """Mean and spread of each axis; unless simple, also its quartiles, jerk and spectrum."""
    parts = [x.mean(axis=0), x.std(axis=0)]
    if not simple:
        size = np.sqrt((x**2).sum(axis=1))
        power = np.abs(np.fft.rfft(size - size.mean(), n=200)) ** 2
        bands = np.add.reduceat(power, [0, 5, 10, 15, 20, 30, 50, 75])
        parts += [
            *np.percentile(x, [10, 25, 75, 90], axis=0),
            np.abs(np.diff(x, axis=0)).mean(axis=0),
        ]
        alike = np.asarray(np.cov(x.T))[np.triu_indices(3, 1)]
        parts += [np.log(bands + 1e-6), alike, np.array([size.mean(), size.std()])]
    features: Floats = np.concatenate(parts)
    return features


def _all_classes(model: object, X: Floats, K: int) -> Floats:
    """Return probabilities of all classes, 0 for those that a model never saw."""
    P = np.zeros((len(X), K))
    P[:, model.classes_] = model.predict_proba(X)  # type: ignore[attr-defined]
    return P


def ready(name: str, data: Path, classes: tuple[str, ...], step: float) -> Iterator[Person]:
    """Return streams whose predictions are in the file already, of people not trained on."""
    with np.load(data / f"{name}_streams.npz", allow_pickle=False) as file:
        ends = np.cumsum(file["lengths"])[:-1]
        columns = [np.split(file[c], ends) for c in ("y", "weak", "strong")]
    for i, (y, *both) in enumerate(zip(*columns, strict=True)):
        weak, strong = (p / p.sum(axis=1, keepdims=True, dtype=float) for p in both)
        time = np.arange(len(y), dtype=np.float64) * step
        yield Person(f"{i:03}", time, y.astype(np.intp), weak, strong, classes)


def geolife(data: Path, split: int) -> Iterator[Person]:
    """Return the transport mode by GPS: the last step, and boosted trees on two minutes."""
    return ready("geolife", data, ("walk", "bike", "bus", "car", "rail"), 5.0)


def ltafdb(data: Path, split: int) -> Iterator[Person]:
    """Return the heart rhythm by two classifiers."""
    return ready("ltafdb", data, ("normal", "fibrillation", "other"), 1.0)


MAKERS = {"extrasensory": extrasensory, "wisdm": wisdm, "geolife": geolife, "ltafdb": ltafdb}
READY = ("geolife", "ltafdb")
"""Sets with one split: their predictions are in the file."""
