"""What both classifiers predict for each person at every step: from models, in Parquet files.

A file holds one kind of streams and one seed of models. Its columns are those of the library's
tables, with both sources at every step, so that any policy and filter can be tried without the
models; and ``fold``, the models that predicted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from classfilter import read_table, recordings, write_table

from .signals import RATE, STEP, folds
from .streams import Divide, Person, extrasensory

SOURCES = ("weak", "strong")


@dataclass(frozen=True, eq=False)
class Predictions:
    """Streams of one kind, predicted by the models of one seed.

    Attributes
    ----------
    kind : str
        ``"recorded"`` or ``"chained"``.
    seed : int
        Of the models.
    people : list of Person
        Each predicted by models that had not seen that person.
    fold : list of int
        Which models, for each person.
    """

    kind: str
    seed: int
    people: list[Person]
    fold: list[int]


def about(folder: Path) -> dict[str, Any]:
    """Return how `experiments.train` made its files."""
    with np.load(folder / "predictions.npz") as file:
        metadata: dict[str, Any] = json.loads(str(file["about"]))
    return metadata


def complete(folder: Path) -> bool:
    """Return whether all models of a folder have predicted."""
    if not (folder / "predictions.npz").exists():
        return False
    metadata = about(folder)
    with np.load(folder / "predictions.npz") as file:
        done = sum(key.startswith("predictions/recorded/") for key in file.files)
    return bool(done == metadata["models"])


def from_models(folder: Path) -> Iterator[Predictions]:
    """Read the ``predictions.npz`` of `experiments.train`, a kind and a seed at a time."""
    classes = tuple(about(folder)["classes"])
    with np.load(folder / "predictions.npz") as file:
        keys = [key.split("/") for key in file.files if key.startswith("predictions/")]
        for kind in dict.fromkeys(key[1] for key in keys):
            for seed in sorted({int(key[4]) for key in keys}):
                people, fold = [], []
                for part in sorted({int(key[3]) for key in keys}):
                    names = [f"predictions/{kind}/{source}/{part}/{seed}" for source in SOURCES]
                    if not all(name in file.files for name in names):
                        continue
                    counts = file[f"counts/{kind}/{part}"]
                    cuts = np.cumsum(counts)[:-1]
                    label = np.split(file[f"labels/{kind}/{part}"].astype(np.intp), cuts)
                    both = [np.split(_probabilities(file[name]), cuts) for name in names]
                    for i, name in enumerate(file[f"people/{part}"].tolist()):
                        time = STEP / RATE * np.arange(1, counts[i] + 1)
                        weak, strong = (probs[i] for probs in both)
                        people.append(Person(name, time, label[i], weak, strong, classes))
                        fold.append(part)
                yield Predictions(kind, seed, people, fold)


def by_features(data: Path, count: int = 5) -> Predictions:
    """Return ExtraSensory's people, predicted by simple classifiers of features, in folds."""

    def divide(names: list[str], split: int) -> tuple[list[str], list[str]]:
        train, held_out, tested = folds(tuple(names), count)[split]
        return [*train, *held_out], list(tested)

    return _folded(extrasensory, data, count, divide)


def _folded(maker: Any, data: Path, count: int, divide: Divide) -> Predictions:
    parts = [list(maker(data, fold, divide)) for fold in range(count)]
    people = [person for part in parts for person in part]
    return Predictions("recorded", 0, people, [i for i, part in enumerate(parts) for _ in part])


def write(predictions: Predictions, folder: Path) -> Path:
    """Write streams as Parquet, and return the file."""
    import polars as pl

    tables = []
    for person, fold in zip(predictions.people, predictions.fold, strict=True):
        names = np.array([*person.classes, None], np.object_)[person.label]
        for source in SOURCES:
            P = getattr(person, source)
            columns: dict[str, Any] = {
                "time": person.time,
                "stream": [person.name] * len(P),
                "source": [source] * len(P),
                "label": pl.Series(names.tolist(), dtype=pl.String),
                "fold": [fold] * len(P),
            }
            columns.update({f"p_{c}": P[:, i] for i, c in enumerate(person.classes)})
            tables.append(pl.DataFrame(columns))
    path = folder / f"{predictions.kind}-{predictions.seed}.parquet"
    folder.mkdir(parents=True, exist_ok=True)
    write_table(pl.concat(tables).sort("stream", "time", "source", maintain_order=True), path)
    return path


def read(path: Path) -> Predictions:
    """Read what `write` wrote."""
    table = read_table(path)
    kind, seed = path.stem.split("-")
    fold = dict(table.select("stream", "fold").unique().rows())
    people = []
    for name, rec in recordings(table).items():
        weak, strong = (rec.source == source for source in SOURCES)
        assert rec.label is not None
        both = rec.probs[weak], rec.probs[strong]
        people.append(Person(name, rec.time[weak], rec.label[weak], *both, rec.classes))
    return Predictions(kind, int(seed), people, [fold[person.name] for person in people])


def _probabilities(stored: Any) -> Any:
    """Undo the rounding of half precision: rows sum to 1 again."""
    P = stored.astype(np.float64)
    return P / P.sum(axis=1, keepdims=True)
