"""Scores of several labels at once on real data: ExtraSensory, whose people report many labels.

A weak and a strong classifier of each label predict for people they were not trained on, once a
minute: logistic regression on the phone's accelerometer, boosted trees on all sensors. Both are
trained with balanced weights, so that 0.5 is where on and off are equally likely. The data are not
part of the project: the folder holds ``<uuid>.features_labels.csv.gz`` as published at
http://extrasensory.ucsd.edu ("per-user features and labels").
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import classfilter as cf
from classfilter._support.types import Floats, Ints
from experiments.streams import CACHE, _boosted, split_in_half

LABELS = {
    "lying": "LYING_DOWN",
    "sitting": "SITTING",
    "standing": "OR_standing",
    "walking": "FIX_walking",
    "sleeping": "SLEEPING",
    "home": "LOC_home",
    "indoors": "OR_indoors",
    "school": "AT_SCHOOL",
    "talking": "TALKING",
    "eating": "EATING",
    "computer": "COMPUTER_WORK",
    "tv": "WATCHING_TV",
    "phone on table": "PHONE_ON_TABLE",
}
"""Those that at least 18 of the 30 people of `docs/results.md` report for half an hour or more."""
THINNED = 10
"""The classifiers are trained on every so many minutes, since neighbours are alike."""
SUFFIX = ".features_labels.csv.gz"


@dataclass(frozen=True, eq=False)
class LabelledPerson:
    """The scores of both classifiers for one person, (T, L), and what is true: 1, 0, -1 unknown."""

    name: str
    time: Floats
    truth: Ints
    weak: Floats
    strong: Floats
    labels: tuple[str, ...]
    split: int

    def recording(self, every: int = 12) -> cf.Recording:
        """Return strong scores at each `every`-th row, weak ones at the others."""
        strong = np.arange(len(self.time)) % every == 0
        scores = np.where(strong[:, None], self.strong, self.weak)
        source = np.where(strong, "strong", "weak")
        return cf.Recording(
            self.time, source, scores, self.labels, label=self.truth, scores="independent"
        )


def load_people(data: Path, split: int) -> list[LabelledPerson]:
    """Return the people that the classifiers of a split have not seen; from the cache, if there."""
    paths = sorted(data.glob("*" + SUFFIX))
    if not paths:
        raise SystemExit(f"{data} has no file *{SUFFIX}")
    known = repr([(p.name, p.stat().st_size) for p in paths]).encode() + Path(__file__).read_bytes()
    cached = CACHE / f"labels-{split}-{hashlib.sha256(known).hexdigest()[:12]}.npz"
    if not cached.exists():
        people = predicted({p.name.removesuffix(SUFFIX): read_person(p) for p in paths}, split)
        cached.parent.mkdir(exist_ok=True)
        columns = ("time", "truth", "weak", "strong")
        arrays = {f"{p.name}/{c}": getattr(p, c) for p in people for c in columns}
        np.savez_compressed(cached, labels=np.array(people[0].labels), **arrays)
    with np.load(cached) as file:
        labels = tuple(file["labels"].tolist())
        names = dict.fromkeys(key.partition("/")[0] for key in file.files if "/" in key)
        columns = ("time", "truth", "weak", "strong")
        parts = {name: {c: file[f"{name}/{c}"] for c in columns} for name in names}
    of_all: Any = {"labels": labels, "split": split}
    return [LabelledPerson(name, **of, **of_all) for name, of in parts.items()]


Read = tuple[Floats, Floats, Ints, Sequence[str]]


def read_person(path: Path) -> Read:
    """Return times, features (T, F), truth (T, L) and the names of the features, by time."""
    import polars as pl

    table = pl.read_csv(path, infer_schema=False).cast(pl.Float64)
    table = table.unique("timestamp", keep="first").sort("timestamp")
    features = [name for name in table.columns if not name.startswith(("timestamp", "label"))]
    truth = table.select(f"label:{name}" for name in LABELS.values()).fill_null(-1).to_numpy()
    X = table.select(features).fill_null(np.nan).to_numpy()
    known = np.where(np.isnan(truth), -1, truth).astype(np.intp)
    return table["timestamp"].to_numpy(), X, known, features


def predicted(people: dict[str, Read], split: int) -> list[LabelledPerson]:
    """Train on one half of the people, label by label; return the scores for the other half."""
    train, test = split_in_half(list(people), split)
    columns = people[train[0]][3]
    accelerometer = np.array([name.startswith("raw_acc:") for name in columns])
    X = np.concatenate([people[n][1][::THINNED] for n in train])
    y = np.concatenate([people[n][2][::THINNED] for n in train])
    varied = np.array([np.unique(column[np.isfinite(column)]).size > 1 for column in X.T])
    rows = np.concatenate([people[n][1] for n in test])
    weak, strong = (np.empty((len(rows), len(LABELS))) for _ in range(2))
    for i in range(len(LABELS)):
        at, known = y[:, i] >= 0, y[y[:, i] >= 0, i]
        a, s = accelerometer & varied, varied
        weak[:, i] = _logistic().fit(X[at][:, a], known).predict_proba(rows[:, a])[:, 1]
        trees = _boosted(split).set_params(class_weight="balanced")
        strong[:, i] = trees.fit(X[at][:, s], known).predict_proba(rows[:, s])[:, 1]
    cuts = np.cumsum([len(people[n][0]) for n in test])[:-1]
    parts = zip(test, np.split(weak, cuts), np.split(strong, cuts), strict=True)
    return [
        LabelledPerson(n, people[n][0], people[n][2], w, s, tuple(LABELS), split)
        for n, w, s in parts
    ]


def _logistic() -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    logistic = LogisticRegression(max_iter=1000, class_weight="balanced")
    return make_pipeline(SimpleImputer(), StandardScaler(), logistic)
