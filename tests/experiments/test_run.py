"""The paper's experiment from data to tables, with tiny models and synthetic people."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from experiments.models import TINY, multiply_adds
from experiments.streams import Stream, read
from numpy.typing import NDArray

import classfilter as cf
import synthetic_datasets
from classfilter import DirichletFilter
from experiments import capture24, figure, methods, run
from printed_tables import rows_of

torch.set_num_threads(1)
CLASSES = ("rest", "walk", "run")
SIZE = ["--tiny", "--epochs=3", "--batches=8", "--batch=64", "--hours=0.3", "--seeds=1"]


def predicted(seed: int = 0, count: int = 6, steps: int = 240) -> list[Stream]:
    """Return people whose weak classifier has an accuracy of 60 %, the strong one 85 %."""
    rng = np.random.default_rng(seed)
    people = []
    for i in range(count):
        y = np.repeat(rng.integers(3, size=steps // 24), 24)
        both = []
        for share in (0.4, 0.8):
            said = np.where(rng.random(steps) < share, y, rng.integers(3, size=steps))
            both.append(0.7 * np.eye(3)[said] + 0.1)
        y[rng.random(steps) < 0.02] = -1
        time: NDArray[np.float64] = np.arange(5.0, 5.0 * steps + 1, 5.0)
        people.append(Stream(f"p{i}", time, y, both[0], both[1], CLASSES, i % 2))
    return people


@pytest.fixture(scope="module")
def seeds() -> run.Seeds:
    return [(people, methods.run_all(people)) for people in (predicted(0), predicted(1))]


def test_a_person_does_not_set_that_persons_methods() -> None:
    """Other labels of one person change no method's result for that person, but for others."""
    people = predicted()
    other = replace(people[0], label=(people[0].label + 1) % 3)
    before, after = methods.run_all(people), methods.run_all([other, *people[1:]])
    for name in before:
        assert np.array_equal(before[name][0].probs, after[name][0].probs), name
    assert any(
        not np.array_equal(before[name][1].probs, after[name][1].probs)
        for name in ("Single", "Multiple")
    )


def test_the_papers_methods(seeds: run.Seeds) -> None:
    """Against loops written by hand."""
    people, runs = seeds[0]
    person = people[3]
    strong = np.arange(len(person.time)) % 12 == 0
    raw = np.where(strong[:, None], person.strong, person.weak)
    assert np.allclose(runs["Raw"][3].probs, raw, rtol=0, atol=1e-12)
    simple = [raw[max(0, t - 4) : t + 1].mean(axis=0) for t in range(len(raw))]
    assert np.allclose(runs["Simple"][3].probs, simple, atol=1e-12)
    hold = person.strong[(np.arange(len(raw)) // 12) * 12]
    assert np.allclose(runs["Hold"][3].probs, hold, rtol=0, atol=1e-12)
    assert np.array_equal(runs[methods.CEILING][3].probs, person.strong)
    # p3 is odd in the order of names: the even ones choose.
    train = [p.rows(12) for p in people[::2]]
    y = np.concatenate([p.label for p in people[::2]])
    right = {}
    for n in methods.HALF_LIVES:
        f = DirichletFilter(CLASSES, half_life=5.0 * n)
        P = np.concatenate([cf.Pipeline(f, beta=methods.MULTIPLE).run(rec) for rec in train])
        right[n] = (P.argmax(axis=1) == y)[y >= 0].mean()
    best = DirichletFilter(CLASSES, half_life=5.0 * max(right, key=lambda n: right[n]))
    chosen = cf.Pipeline(best, beta=methods.MULTIPLE).run(person.rows(12))
    assert np.array_equal(runs["Multiple"][3].probs, chosen)


def test_measures_are_those_of_plain_counting(seeds: run.Seeds) -> None:
    table = rows_of(run.method_table(seeds, {"weak": 2_000_000, "strong": 30_000_000}), "Table I")
    for name in ("Raw", "Tuned"):
        accuracies, folds = [], []
        for people, runs in seeds:
            hits: dict[int, list[bool]] = {0: [], 1: []}
            for person, one in zip(people, runs[name], strict=True):
                for label, p in zip(person.label, one.probs, strict=True):
                    if label >= 0:
                        hits[person.fold].append(int(np.argmax(p)) == label)
            accuracies.append(np.mean(hits[0] + hits[1]))
            folds += [np.mean(hits[0]), np.mean(hits[1])]
        row = table[name]
        assert float(row["accuracy, %"]) == pytest.approx(100 * np.mean(accuracies), abs=0.051)
        spread = 100 * np.std(folds, ddof=1)
        assert float(row["± over folds"]) == pytest.approx(spread, abs=0.051)
        assert row["strong calls per hour"] == "60.0"
        assert row["million multiply-adds per minute"] == "52.0"  # 1 of 30, 11 of 2
    assert table["Multiple"]["paper, Capture-24"] == "85.24"
    sensitivity, precision = (rows_of(text, "Table")["walk"] for text in run.class_tables(seeds))
    y = np.concatenate([person.label for people, _ in seeds for person in people])
    k = np.concatenate([r.probs.argmax(1) for _, runs in seeds for r in runs["Raw"]])
    # The seeds have nearly as many rows: the mean is near the whole.
    assert float(sensitivity["Raw"]) == pytest.approx((k[y == 1] == 1).mean(), abs=0.015)
    assert float(precision["Raw"]) == pytest.approx((y[(k == 1) & (y >= 0)] == 1).mean(), abs=0.015)
    order, holds = run.order_table(seeds)
    gains = {
        name: cells["points"].split(" ± ")[0] for name, cells in rows_of(order, "Does").items()
    }
    gain = float(table["Simple"]["accuracy, %"]) - float(table["Raw"]["accuracy, %"])
    assert float(gains["Simple above Raw"]) == pytest.approx(gain, abs=0.11)
    assert holds == all(float(x) > 0 for x in list(gains.values())[:3])
    swapped = [(p, of | {"Raw": of["Multiple"], "Multiple": of["Raw"]}) for p, of in seeds]
    assert not run.order_table(swapped)[1]


def test_the_figure_shows_a_labelled_stretch_with_a_change(
    seeds: run.Seeds, tmp_path: Path
) -> None:
    people, runs = seeds[0]
    people = [replace(p, label=np.full_like(p.label, -1)) for p in people]
    often = runs["Raw"][0].probs.argmax(axis=1)
    people[0] = replace(people[0], label=np.full_like(often, np.bincount(often).argmax()))
    changing = np.repeat([0, 1], 120)
    changing[:60] = changing[180:] = -1  # one stretch is left
    people[4] = replace(people[4], label=changing)
    gaps = seeds[0][0][5].label.copy()
    gaps[::30] = -1  # more typical, but never without a gap
    people[5] = replace(people[5], label=gaps)
    assert figure.typical(people, runs) == (4, 60)
    assert figure.draw(people, runs, tmp_path / "figure.png") == "p4"
    assert (tmp_path / "figure.png").stat().st_size > 10_000


@pytest.mark.filterwarnings("ignore")  # of `tune`, on models that know nothing
def test_wisdm_from_raw_signals_to_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = synthetic_datasets.wisdm(tmp_path, people=8, seconds=120)
    where = ["--out", str(tmp_path / "out"), "--results", str(tmp_path / "results")]
    run.main(["wisdm", "--data", str(data), *where, "--folds", "2", *SIZE])
    printed = capsys.readouterr().out
    for kind in ("recorded", "chained"):
        page = (tmp_path / f"results/wisdm-{kind}.md").read_text()
        assert page in printed
        table = rows_of(page, "Table I")
        hits = [
            np.where(np.arange(len(p.time)) % 12 == 0, p.strong.argmax(1), p.weak.argmax(1))
            == p.label
            for p in read(tmp_path / f"out/wisdm/{kind}-0.npz")
        ]
        right = 100 * np.mean(np.concatenate(hits))
        assert float(table["Raw"]["accuracy, %"]) == pytest.approx(right, abs=0.051)
        minute = float(table[methods.CEILING]["million multiply-adds per minute"])
        assert minute == pytest.approx(12e-6 * multiply_adds(TINY["strong"], 6), abs=0.051)
        assert (tmp_path / f"results/wisdm-{kind}.png").exists()


def test_capture24_from_its_files_to_streams(tmp_path: Path) -> None:
    data = synthetic_datasets.capture24(tmp_path, people=4, seconds=30)
    args = Namespace(set="capture24", data=data, out=tmp_path / "out")
    (file,), _ = run.predicted(args, ["--folds", "2", *SIZE])
    people = read(file)
    assert sorted(person.name for person in people) == ["P001", "P002", "P003", "P004"]
    for person in people:
        assert person.classes == capture24.CLASSES
        assert (person.label >= 0).sum() == (120 - 10) // 5
        assert len(person.time) == 120 // 5


def test_the_papers_numbers_are_the_papers(seeds: run.Seeds) -> None:
    """Its tables agree with one another: sensitivity and precision give the accuracy and 1."""
    assert list(run.PAPER_ACCURACY) == list(methods.ORDER)
    ours = np.column_stack([run.PAPER_SENSITIVITY[c] for c in run.PAPER_SENSITIVITY])
    ratio = ours / np.column_stack([run.PAPER_PRECISION[c] for c in run.PAPER_SENSITIVITY])
    right = [*(a / 100 for a in run.PAPER_ACCURACY.values()), 1, 1, 1, 1, 1]
    shares = np.linalg.lstsq(np.vstack([ours, ratio, np.ones((1, 6))]), right, rcond=None)[0]
    assert shares.sum() == pytest.approx(1, abs=0.02)
    renamed = [replace(p, classes=("sleep", "vehicle", "walking")) for p in seeds[0][0]]
    tables = run.class_tables([(renamed, seeds[0][1])])
    shown = rows_of(tables[3], "Table III: precision, TP / (TP + FP): the paper's")["walking"]
    assert list(shown.values())[1:] == ["0.60", "0.71", "0.75", "0.73"]
