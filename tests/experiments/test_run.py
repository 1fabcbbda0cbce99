"""The experiments from data to tables, with tiny models and synthetic people."""

from __future__ import annotations

import csv
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from experiments.fit import fitted_model
from experiments.models import SHAPES, TINY, Transformer, multiply_adds
from experiments.people import Predictions
from experiments.streams import Person
from numpy.typing import NDArray

import synthetic_datasets
from classfilter import DirichletFilter, metrics
from experiments import (
    analysis,
    capture24,
    figure,
    measure,
    methods,
    onnx_export,
    people,
    report,
    run,
    train,
)

torch.set_num_threads(1)
CLASSES = ("rest", "walk", "run")
SIZE = ["--tiny", "--epochs=3", "--batches=8", "--batch=64", "--hours=0.3", "--seeds=1"]


def predicted(seed: int = 0, count: int = 6, steps: int = 240) -> Predictions:
    """Return people whose weak classifier has an accuracy of 60 %, the strong one 85 %."""
    rng = np.random.default_rng(seed)
    several = []
    for i in range(count):
        label = np.repeat(rng.integers(3, size=steps // 24), 24)
        label[rng.random(steps) < 0.02] = -1

        def probs(share: float, label: NDArray[np.intp] = label) -> NDArray[np.float64]:
            classes = np.where(
                rng.random(steps) < share, np.maximum(label, 0), rng.integers(3, size=steps)
            )
            P = 0.7 * np.eye(3)[classes] + 0.1
            return np.asarray(P)

        time: NDArray[np.float64] = np.arange(5.0, 5.0 * steps + 1, 5.0)
        several.append(Person(f"p{i}", time, label, probs(0.4), probs(0.8), CLASSES))
    return Predictions("recorded", seed, several, [i % 2 for i in range(count)])


@pytest.fixture(scope="module")
def results() -> list[measure.SeedResult]:
    seeds = [predicted(0), predicted(1)]
    return [measure.SeedResult(seed, *methods.run_all(seed.people)) for seed in seeds]


def test_parquet_keeps_everything(tmp_path: Path) -> None:
    before = predicted()
    after = people.read(people.write(before, tmp_path))
    assert (after.kind, after.seed, after.fold) == ("recorded", 0, before.fold)
    for a, b in zip(before.people, after.people, strict=True):
        assert (a.name, a.classes) == (b.name, b.classes)
        for column in ("time", "label", "weak", "strong"):
            assert np.array_equal(getattr(a, column), getattr(b, column))


def test_settings_come_from_other_people() -> None:
    several = predicted().people
    parts = methods.cross_fitting_folds(several)
    assert sorted(np.concatenate([test for _, test in parts]).tolist()) == list(range(6))
    for train_on, test_on in parts:
        assert not set(train_on.tolist()) & set(test_on.tolist())


def test_results_for_a_person_do_not_depend_on_that_persons_labels() -> None:
    """Other labels of one person change no method's result for that person."""
    several = predicted().people
    first = several[0]
    other = Person(first.name, first.time, (first.label + 1) % 3, first.weak, first.strong, CLASSES)
    _, before = methods.run_all(several)
    _, after = methods.run_all([other, *several[1:]])
    for name in before:
        assert np.array_equal(before[name][0].probs, after[name][0].probs), name


def test_the_papers_methods(results: list[measure.SeedResult]) -> None:
    """Against loops written by hand."""
    predictions, _, runs = results[0]
    person = predictions.people[3]
    strong = np.arange(len(person.time)) % 12 == 0
    raw = np.where(strong[:, None], person.strong, person.weak)
    assert np.allclose(runs["Raw"][3].probs, raw, rtol=0, atol=1e-12)
    simple = [raw[max(0, t - 4) : t + 1].mean(axis=0) for t in range(len(raw))]
    assert np.allclose(runs["Simple"][3].probs, simple, atol=1e-12)
    hold = person.strong[(np.arange(len(raw)) // 12) * 12]
    assert np.allclose(runs["Hold"][3].probs, hold, rtol=0, atol=1e-12)
    assert np.array_equal(runs[methods.CEILING][3].probs, person.strong)
    matches = []
    for n in (1, 2, 4, 8, 16, 32, 64, 128):  # the half-lives that `tune` tries
        f = DirichletFilter(CLASSES, half_life=5.0 * n)
        matches.append(
            np.array_equal(person.recording().run(f, beta=methods.PAPER), runs["Multiple"][3].probs)
        )
    assert sum(matches) == 1


def test_best_settings_are_the_best_of_the_grid() -> None:
    several = [person.recording() for person in predicted(count=3).people]
    half_life, weight = methods.best_by_labels(several, 5.0, methods.WEIGHTS)
    truth = np.concatenate([rec.label for rec in several if rec.label is not None])

    def accuracy(n: float, beta: float) -> float:
        f = DirichletFilter(CLASSES, half_life=n)
        probs = [
            f.copy().run(r.probs, beta=np.where(r.source == "strong", 1, beta), dt=r.dt)
            for r in several
        ]
        return metrics.accuracy(truth, np.concatenate(probs))

    every = {
        (5.0 * n, b): accuracy(5.0 * n, b) for n in methods.HALF_LIVES for b in methods.WEIGHTS
    }
    assert every[half_life, weight] == max(every.values())


def test_measures_are_those_of_plain_counting(results: list[measure.SeedResult]) -> None:
    rows = {
        row["method"]: row for row in measure.method_rows(results, {"weak": 2.0, "strong": 30.0})
    }
    accuracies, folds = [], []
    for predictions, _, runs in results:
        correct = labelled = 0
        by_fold = {0: [0, 0], 1: [0, 0]}
        for person, fold, run_ in zip(
            predictions.people, predictions.fold, runs["Tuned"], strict=True
        ):
            for label, p in zip(person.label, run_.probs, strict=True):
                if label >= 0:
                    hit = int(np.argmax(p) == label)
                    correct, labelled = correct + hit, labelled + 1
                    by_fold[fold][0] += hit
                    by_fold[fold][1] += 1
        accuracies.append(correct / labelled)
        folds += [a / b for a, b in by_fold.values()]
    assert rows["Tuned"]["accuracy"] == pytest.approx(100 * np.mean(accuracies), abs=1e-9)
    assert rows["Tuned"]["accuracy_sd"] == pytest.approx(100 * np.std(folds, ddof=1), abs=1e-9)
    assert rows["Tuned"]["strong_calls_per_hour"] == pytest.approx(60)
    assert rows["Tuned"]["multiply_adds_per_minute"] == pytest.approx(1 * 30 + 11 * 2)
    assert rows[methods.CEILING]["multiply_adds_per_minute"] == pytest.approx(12 * 30)
    assert rows["Multiple"]["paper_accuracy"] == 85.24
    assert rows["Tuned"]["accuracy"] > rows["Raw"]["accuracy"] + 10
    both = [row for row in measure.class_rows(results) if row["method"] == "Raw"]
    y, P = (np.concatenate(c) for c in zip(*((p.label, t.probs.argmax(1)) for a, _, k in results
            for p, t in zip(a.people, k["Raw"], strict=True)), strict=True))  # fmt: skip
    for k, row in enumerate(
        both
    ):  # the seeds have as many rows, nearly: the mean is near the whole
        assert row["sensitivity"] == pytest.approx((P[y == k] == k).mean(), abs=0.01)
        assert row["precision"] == pytest.approx((y[(k == P) & (y >= 0)] == k).mean(), abs=0.01)
        assert row["specificity"] == pytest.approx((P[(y != k) & (y >= 0)] != k).mean(), abs=0.01)


def test_order_compares_the_same_people(results: list[measure.SeedResult]) -> None:
    rows = measure.order_rows(results)
    table = {row["method"]: row for row in measure.method_rows(results, {})}
    for row in rows:
        gain = table[row["better"]]["accuracy"] - table[row["worse"]]["accuracy"]
        assert row["gain"] == pytest.approx(gain, abs=1e-9)
        assert row["folds"] == 4
    assert rows[0]["paper_gain"] == pytest.approx(3.70)


def test_sweep_and_errors() -> None:
    seeds = [predicted(0), predicted(1)]
    swept = analysis.sweep_rows(seeds)
    only_strong = {round(row["weight_0"], 9) for row in swept if row["half_life_in_steps"] < 1}
    several = [p.recording() for seed in seeds for p in seed.people]
    hold = [p.strong[(np.arange(len(p.time)) // 12) * 12] for seed in seeds for p in seed.people]
    truth = np.concatenate([rec.label for rec in several if rec.label is not None])
    wanted = np.mean([  # a weight of 0 and a short memory hold the last strong prediction
        metrics.accuracy(t, np.concatenate(h))
        for t, h in zip(np.split(truth, 2), (hold[:6], hold[6:]), strict=True)
    ])  # fmt: skip
    assert only_strong == {round(100 * float(wanted), 9)}
    errors = {row["measure"]: row["value"] for row in analysis.error_rows(seeds)}
    assert errors["weak_wrong"] == pytest.approx(0.4, abs=0.03)
    assert errors["both_wrong"] == pytest.approx(errors["both_wrong_if_independent"], abs=0.02)
    assert abs(errors["weak_error_correlation_lag_1"]) < 0.05
    shares = []
    for seed in seeds:
        rows = [(p.weak[t].argmax() != y, p.strong[t].argmax() != y)
                for p in seed.people for t, y in enumerate(p.label) if y >= 0]  # fmt: skip
        shares.append(np.mean([weak for weak, strong in rows if strong]))
    assert errors["weak_wrong_where_strong_is"] == pytest.approx(np.mean(shares), abs=1e-12)


def test_autocorrelation_skips_what_is_not_known() -> None:
    rng = np.random.default_rng(0)
    wrong = [rng.random(n) < 0.4 for n in (50, 30)]
    known = [rng.random(n) < 0.8 for n in (50, 30)]
    pairs = [
        (w[t], w[t + 3])
        for w, k in zip(wrong, known, strict=True)
        for t in range(len(w) - 3)
        if k[t] and k[t + 3]
    ]
    wanted = np.corrcoef(np.array(pairs, float).T)[0, 1]
    assert analysis.autocorrelation(wrong, known, 3) == pytest.approx(wanted, abs=1e-12)
    assert np.isnan(analysis.autocorrelation([wrong[0][:2]], [known[0][:2]], 1))


def test_energy_counts_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "BUDGETS", (3, 12, 60))
    rows = analysis.energy_rows([predicted(0)], {"weak": 1.0, "strong": 10.0})
    cells = {(row["policy"], row["every"]): row for row in rows}
    for every in (3, 12, 60):
        row = cells["periodic", every]
        assert row["strong_calls_per_hour"] == pytest.approx(720 / every)
        assert row["multiply_adds_per_minute"] == pytest.approx(12 / every * 10 + 12 - 12 / every)
    assert cells["always strong", 1]["accuracy"] > cells["always weak", 1]["accuracy"]


def test_the_figure_shows_a_labelled_stretch_with_a_change(
    results: list[measure.SeedResult], tmp_path: Path
) -> None:
    predictions, infos, runs = results[0]
    several = [replace(p, label=np.full_like(p.label, -1)) for p in predictions.people]
    often = runs["Raw"][0].probs.argmax(axis=1)
    several[0] = replace(several[0], label=np.full_like(often, np.bincount(often).argmax()))
    changing = np.repeat([0, 1], 120)
    changing[:60] = changing[180:] = -1  # one stretch is left
    several[4] = replace(several[4], label=changing)
    gaps = predictions.people[5].label.copy()
    gaps[::30] = -1  # more typical, but never without a gap
    several[5] = replace(several[5], label=gaps)
    result = measure.SeedResult(replace(predictions, people=several), infos, runs)
    stretch = figure.draw(result, tmp_path / "figure.png")
    assert stretch == (4, 60)
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_onnx_equals_pytorch(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = Transformer(SHAPES["strong"], 6).eval()
    onnx_export.export(model, tmp_path / "model.onnx")
    rng = np.random.default_rng(0)
    for rows in (1, 5):  # any number of windows
        windows = rng.normal(size=(rows, model.shape.samples, 3)).astype(np.float32)
        assert onnx_export.difference(model, tmp_path / "model.onnx", windows) < 1e-5


def read(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        assert file.readline().startswith("# python -m experiments.run")
        return list(csv.DictReader(file))


def raw_accuracy(path: Path, kind: str) -> float:
    """Count by hand, from the models' predictions: strong at each 12th step, else weak."""
    hits = []
    with np.load(path) as file:
        for fold in range(2):
            step = np.concatenate([np.arange(n) for n in file[f"counts/{kind}/{fold}"]])
            weak, strong = (
                file[f"predictions/{kind}/{s}/{fold}/0"].argmax(1) for s in people.SOURCES
            )
            classes = np.where(step % 12 == 0, strong, weak)
            hits.append(classes == file[f"labels/{kind}/{fold}"])
    return 100 * float(np.mean(np.concatenate(hits)))


@pytest.mark.filterwarnings("ignore:what follows each class")  # of models that know nothing
def test_wisdm_from_raw_signals_to_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "BUDGETS", (6,))
    data = synthetic_datasets.wisdm(tmp_path, people=8, seconds=120)
    out, results = tmp_path / "out", tmp_path / "results"
    where = ["--out", str(out), "--results", str(results)]
    run.main(["wisdm", "--data", str(data), *where, "--folds", "2", *SIZE])
    printed = capsys.readouterr().out
    assert "the paper's order Raw < Simple < Single < Multiple " in printed
    assert "weak.onnx: at most" in printed
    for kind in ("recorded", "chained"):
        rows = {row["method"]: row for row in read(results / f"wisdm-{kind}-methods.csv")}
        raw = raw_accuracy(out / "wisdm/predictions.npz", kind)
        assert float(rows["Raw"]["accuracy"]) == pytest.approx(raw, abs=1e-3)
        minute = float(rows[methods.CEILING]["multiply_adds_per_minute"])
        assert minute == pytest.approx(12 * multiply_adds(TINY["strong"], 6), rel=1e-5)
        assert (results / f"wisdm-{kind}.png").exists()
        assert len(read(results / f"wisdm-{kind}-classes.csv")) == 6 * len(rows)
    with np.load(out / "wisdm/weights.npz") as file:
        model = fitted_model(TINY["weak"], 6, file["weak/0/0"])
    windows = np.random.default_rng(0).normal(size=(7, 100, 3)).astype(np.float32)
    assert onnx_export.difference(model, out / "wisdm/weak.onnx", windows) < 1e-5
    assert people.complete(out / "wisdm")
    (out / "wisdm/work").rename(tmp_path / "gone")  # the predictions are enough
    before = (out / "wisdm/predictions.npz").stat().st_mtime_ns
    monkeypatch.setattr(run, "_exported", lambda out: [])
    args = Namespace(set="wisdm", data=data, out=out)
    _, cost, origin = run.streams(args, [])
    assert (out / "wisdm/predictions.npz").stat().st_mtime_ns == before
    assert cost == {s: multiply_adds(TINY[s], 6) for s in TINY}
    assert "4 models" in origin


def test_capture24_from_its_files_to_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_exported", lambda out: [])
    data = synthetic_datasets.capture24(tmp_path, people=4, seconds=30)
    args = Namespace(set="capture24", data=data, out=tmp_path / "out")
    folder, _, _ = run.streams(args, ["--folds", "2", *SIZE])
    predictions = people.read(folder / "recorded-0.parquet")
    assert sorted(person.name for person in predictions.people) == ["P001", "P002", "P003", "P004"]
    for person in predictions.people:
        assert person.classes == capture24.CLASSES
        assert (person.label >= 0).sum() == (120 - 10) // 5
        assert len(person.time) == 120 // 5


def test_the_papers_tables_are_shown_beside_ours(tmp_path: Path) -> None:
    original = predicted()
    classes = tuple(measure.PAPER_SENSITIVITY)[3:]  # sleep, vehicle, walking
    renamed = [replace(p, classes=classes) for p in original.people]
    predictions = replace(original, people=renamed)
    runs = [methods.MethodRun(p.weak, 0, len(p.time)) for p in renamed]
    names = ("Raw", "Simple", "Single", "Multiple", "Hold", "Tuned")
    result = measure.SeedResult(
        predictions, dict.fromkeys(names, methods.MethodInfo("none")), dict.fromkeys(names, runs)
    )
    report.write_rows(tmp_path / "a-classes.csv", measure.class_rows([result]), "note")
    _, rows = report.read_rows(tmp_path / "a-classes.csv")
    text = report.classes(rows, "precision")
    line = next(line for line in text.splitlines() if line.startswith("| walking"))
    assert [cell.split("(")[-1].strip(") ") for cell in line.split("|")[2:6]] == [
        "0.60", "0.71", "0.75", "0.73",
    ]  # fmt: skip


def test_extrasensory_tests_everybody_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = synthetic_datasets.extrasensory(tmp_path, people=10, rows=240)
    args = Namespace(set="extrasensory", data=data, out=tmp_path / "out")
    monkeypatch.setattr(train, "commit", lambda: "first")
    folder, cost, origin = run.streams(args, [])
    monkeypatch.setattr(train, "commit", lambda: "second")
    assert (
        run.streams(args, [])[2] == origin
    )  # not predicted again: the commit is that of the first
    assert origin.endswith("commit first")
    predictions = people.read(folder / "recorded-0.parquet")
    assert len({person.name for person in predictions.people}) == len(predictions.people) == 10
    assert sorted(predictions.fold) == sorted([*range(5)] * 2)
    assert cost == {}
    accuracy = {
        source: np.mean([
            (getattr(p, source).argmax(axis=1) == p.label)[p.label >= 0].mean()
            for p in predictions.people
        ])
        for source in people.SOURCES
    }  # fmt: skip
    assert accuracy["strong"] > accuracy["weak"] + 0.2  # it sees more sensors


def test_the_papers_numbers_are_the_papers() -> None:
    """Its tables agree with one another: sensitivity and precision give the accuracy and 1."""
    assert list(measure.PAPER_ACCURACY) == list(methods.ORDER)
    shares = np.linalg.lstsq(
        np.vstack([
            np.column_stack([measure.PAPER_SENSITIVITY[c] for c in measure.PAPER_SENSITIVITY]),
            np.column_stack([
                np.divide(measure.PAPER_SENSITIVITY[c], measure.PAPER_PRECISION[c])
                for c in measure.PAPER_SENSITIVITY
            ]),
            np.ones((1, 6)),
        ]),
        [*(a / 100 for a in measure.PAPER_ACCURACY.values()), 1, 1, 1, 1, 1],
        rcond=None,
    )[0]  # fmt: skip
    assert shares.sum() == pytest.approx(1, abs=0.02)


def test_the_pages_of_the_results_are_those_of_their_csv_files() -> None:
    names = [path.stem.removesuffix("-methods") for path in report.RESULTS.glob("*-methods.csv")]
    assert len(names) >= 3
    for name in names:
        assert (report.RESULTS / f"{name}.md").read_text() == report.page(name)


def test_every_set_has_its_folds() -> None:
    assert train.FOLDS.keys() <= set(run.SETS)
