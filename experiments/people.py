"""What both classifiers say of each person at every step: from models, and in Parquet files.

A file holds one kind of streams and one seed of models. Its columns are those of the library's
tables, with both sources at every step, so that any policy and filter can be tried without the
models; and ``fold``, the models that answered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from classfilter import read_table, recordings, write_table

from .data._streams import Divide, Person, extrasensory
from .signals import RATE, STEP, folds

SOURCES = ("weak", "strong")


@dataclass(frozen=True, eq=False)
class Answers:
    """Streams of one kind, answered by the models of one seed.

    Attributes
    ----------
    kind : str
        ``"recorded"`` or ``"chained"``.
    seed : int
        Of the models.
    people : list of Person
        Each answered by models that had not seen that person.
    fold : list of int
        Which models, for each person.
    """

    kind: str
    seed: int
    people: list[Person]
    fold: list[int]


def about(folder: Path) -> dict[str, Any]:
    """Return what `experiments.train` says of its files."""
    with np.load(folder / "answers.npz") as file:
        found: dict[str, Any] = json.loads(str(file["about"]))
    return found


def complete(folder: Path) -> bool:
    """Say whether all models of a folder have answered."""
    if not (folder / "answers.npz").exists():
        return False
    told = about(folder)
    with np.load(folder / "answers.npz") as file:
        done = sum(key.startswith("answers/recorded/") for key in file.files)
    return bool(done == told["models"])


def from_models(folder: Path) -> Iterator[Answers]:
    """Read the ``answers.npz`` of `experiments.train`, a kind and a seed at a time."""
    told = about(folder)
    classes = tuple(told["classes"])
    with np.load(folder / "answers.npz") as file:
        keys = [key.split("/") for key in file.files if key.startswith("answers/")]
        for kind in dict.fromkeys(key[1] for key in keys):
            for seed in sorted({int(key[4]) for key in keys}):
                people, fold = [], []
                for part in sorted({int(key[3]) for key in keys}):
                    names = [f"answers/{kind}/{source}/{part}/{seed}" for source in SOURCES]
                    if not all(name in file.files for name in names):
                        continue
                    counts = file[f"counts/{kind}/{part}"]
                    cuts = np.cumsum(counts)[:-1]
                    label = np.split(file[f"labels/{kind}/{part}"].astype(np.intp), cuts)
                    both = [np.split(_probabilities(file[name]), cuts) for name in names]
                    for i, name in enumerate(file[f"people/{part}"].tolist()):
                        time = STEP / RATE * np.arange(1, counts[i] + 1)
                        weak, strong = (one[i] for one in both)
                        people.append(Person(name, time, label[i], weak, strong, classes))
                        fold.append(part)
                yield Answers(kind, seed, people, fold)


def by_features(data: Path, count: int = 5) -> Answers:
    """Return ExtraSensory's people, answered by simple classifiers of features, in folds."""

    def divide(names: list[str], split: int) -> tuple[list[str], list[str]]:
        train, held_out, tested = folds(tuple(names), count)[split]
        return [*train, *held_out], list(tested)

    return _folded(extrasensory, data, count, divide)


def _folded(maker: Any, data: Path, count: int, divide: Divide) -> Answers:
    parts = [list(maker(data, fold, divide)) for fold in range(count)]
    people = [person for part in parts for person in part]
    return Answers("recorded", 0, people, [i for i, part in enumerate(parts) for _ in part])


def write(found: Answers, folder: Path) -> Path:
    """Write streams as Parquet, and return the file."""
    import polars as pl

    tables = []
    for person, fold in zip(found.people, found.fold, strict=True):
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
    path = folder / f"{found.kind}-{found.seed}.parquet"
    folder.mkdir(parents=True, exist_ok=True)
    write_table(pl.concat(tables).sort("stream", "time", "source", maintain_order=True), path)
    return path


def read(path: Path) -> Answers:
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
    return Answers(kind, int(seed), people, [fold[person.name] for person in people])


def _probabilities(stored: Any) -> Any:
    """Undo the rounding of half precision: rows sum to 1 again."""
    P = stored.astype(np.float64)
    return P / P.sum(axis=1, keepdims=True)
