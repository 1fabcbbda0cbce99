"""The tables of several labels at once, on a few made-up people in files as published."""

from __future__ import annotations

import csv
import gzip
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from experiments import label_streams, labels

PEOPLE, ROWS = 8, 240


def write_people(folder: Path) -> None:
    """Write files of people whose features tell the labels, with noise; some cells are empty."""
    rng = np.random.default_rng(5)
    names = list(label_streams.LABELS.values())
    features = ["raw_acc:a", "raw_acc:b", *(f"audio:{name}" for name in names)]
    for person in range(PEOPLE):
        on = rng.integers(0, 2, (ROWS // 20, len(names))).repeat(20, axis=0)
        noise = rng.normal(0, 1.0, (ROWS, len(features)))
        X = noise + 2 * np.column_stack([on[:, 0], on[:, 1], on])
        head = ["timestamp", *features, *(f"label:{name}" for name in names), "label_source"]
        path = folder / f"{person:08d}{label_streams.SUFFIX}"
        with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(head)
            for i in rng.permutation(ROWS).tolist():  # by time is the reader's work
                cells = [f"{x:.4f}" for x in X[i]]
                cells[3] = "" if i % 7 == 0 else cells[3]
                truth = ["" if i < 5 else str(y) for y in on[i].tolist()]
                table.writerow([1_440_000_000 + 60 * i, *cells, *truth, 2])


def test_the_tables_of_a_few_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {name: label_streams.LABELS[name] for name in ("sitting", "home", "tv")}
    monkeypatch.setattr(label_streams, "LABELS", few)
    write_people(tmp_path)
    monkeypatch.chdir(tmp_path)  # the cache is there
    people = [p for split in (0, 1) for p in label_streams.load_people(tmp_path, split)]
    assert sorted(p.name for p in people) == [f"{i:08d}" for i in range(PEOPLE)]  # each once
    for p in people:
        assert (np.diff(p.time) == 60).all()
        assert (p.truth[:5] == -1).all()
        assert set(np.unique(p.truth[5:])) == {0, 1}
    monkeypatch.setattr(sys, "argv", ["labels", "--data", str(tmp_path), "--every", "4"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows
        labels.main()
    head, means, *_ = capsys.readouterr().out.split("\n\n")
    assert head == "8 people, 3 labels, 32 h; the strong classifier at one row in 4"
    table = {row[:28].strip(): row[28:].split() for row in means.splitlines()}
    assert tuple(table.pop("mean over labels")) == labels.TITLES
    assert list(table)[:1] == ["raw"]
    assert list(table)[-1] == "tuned, smoothed"
    f1 = []
    for i in range(len(people[0].labels)):  # written out: 2 tp / (2 tp + fp + fn)
        rows = np.arange(ROWS) % 4 == 0
        on = np.concatenate([np.where(rows, p.strong[:, i], p.weak[:, i]) > 0.5 for p in people])
        y = np.concatenate([p.truth[:, i] for p in people])
        hits = (on & (y == 1)).sum()
        f1.append(100 * 2 * hits / (2 * hits + (on & (y == 0)).sum() + (~on & (y == 1)).sum()))
    assert table["raw"][0] == f"{np.mean(f1):.1f}"
    assert float(table["tuned"][0]) > float(table["raw"][0])
    assert float(table["tuned"][4]) < float(table["raw"][4])


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has no file"):
        label_streams.load_people(tmp_path, 0)
