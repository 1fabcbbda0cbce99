"""The models of the experiments and their training, on the CPU, with tiny models."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from experiments.fit import Device, Plan
from experiments.models import SHAPES, TINY, Shape, Transformer
from experiments.signals import Signals, folds
from experiments.streams import read
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import synthetic_datasets
from experiments import fit, models, train, wisdm

ROOT = Path(__file__).parents[2]
torch.set_num_threads(1)  # several tests at a time would get into each other's way


@pytest.fixture(scope="module")
def signals(tmp_path_factory: pytest.TempPathFactory) -> Signals:
    return wisdm.load(synthetic_datasets.wisdm(tmp_path_factory.mktemp("wisdm"), people=4))


@pytest.mark.parametrize(("source", "about"), [("weak", 45_000), ("strong", 180_000)])
def test_models_have_as_many_weights_as_the_papers(source: str, about: int) -> None:
    assert models.weights(SHAPES[source], 6) == pytest.approx(about, rel=0.03)
    assert SHAPES[source].seconds == {"weak": 5, "strong": 30}[source]


@pytest.mark.parametrize("shape", [*SHAPES.values(), *TINY.values()])
def test_multiply_adds_are_those_that_pytorch_counts(shape: Shape) -> None:
    model, x = Transformer(shape, 6).eval(), torch.zeros(1, shape.samples, 3)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(x)
    assert 2 * models.multiply_adds(shape, 6) == counter.get_total_flops()


def test_windows_are_the_samples_before_padded_with_the_first_one() -> None:
    X = np.arange(60, dtype=np.int16).reshape(20, 3)
    both = {"a": (X[:5], np.zeros(5, np.int8)), "b": (X[5:], np.zeros(15, np.int8))}
    on = Device(Signals.joined(both, ("rest",)), "cpu")
    windows = on.windows(torch.tensor([9, 20]), torch.tensor([5, 5]), 6).numpy()
    rows = [[5, 5, 5, 6, 7, 8], [14, 15, 16, 17, 18, 19]]
    assert np.array_equal(windows, X[rows].astype(np.float32) / 1000)


def test_rotation_keeps_the_length_but_for_the_scale() -> None:
    torch.manual_seed(0)
    x = torch.randn(50, 7, 3)
    rotated = fit.augment(x, Plan(turn=40.0, scale=0.0))
    torch.testing.assert_close(rotated.norm(dim=2), x.norm(dim=2))
    angle = torch.rad2deg(torch.arccos(torch.cosine_similarity(rotated[:, 0], x[:, 0]).clip(-1, 1)))
    assert 5 < float(angle.mean()) < 50
    factor = (fit.augment(x, Plan(turn=0.0, scale=0.1)) / x)[:, 0, 0]
    assert float(factor.std()) == pytest.approx(0.1, rel=0.3)


def test_class_weights_are_one_over_the_root_of_the_share() -> None:
    label = np.repeat(np.array([0, 1, 2, -1], np.int8), [900, 100, 0, 50])
    w = fit.class_weights(label, 4)
    assert w[1] / w[0] == pytest.approx(3.0)
    assert w[2] == w[3] == 1
    assert 900 * w[0] + 100 * w[1] == pytest.approx(1000)


def fitted(signals: Signals, plan: Plan) -> tuple[Transformer, list[tuple[float, float]]]:
    some, held_out, _ = folds(signals.names, 2)[0]
    steps = signals.steps(some), signals.steps(held_out)
    return fit.fit(TINY["weak"], 6, Device(signals, "cpu"), *steps, plan, seed=5)


def test_training_learns_and_keeps_the_best_epoch(signals: Signals) -> None:
    plan = Plan(epochs=25, batches=10, batch=64, rate=1e-2, turn=5.0)
    model, log = fitted(signals, plan)
    losses = [loss for loss, _ in log]
    assert min(losses) < 0.5 * losses[0]
    _, held_out, _ = folds(signals.names, 2)[0]
    steps = signals.steps(held_out)
    P = fit.predict(model, Device(signals, "cpu"), steps)
    loss = -np.log(P[np.arange(len(P)), steps.label]).mean()
    assert loss == pytest.approx(min(losses), rel=1e-5)


def test_training_stops_without_progress(signals: Signals) -> None:
    _, log = fitted(signals, Plan(epochs=50, batches=1, batch=4, rate=0.0, patience=2))
    assert len(log) == 3  # the first is the best; two are not better


def test_training_needs_labels(signals: Signals) -> None:
    bare = Signals(signals.X, signals.y * 0 - 1, signals.starts, signals.names, signals.classes)
    on, some, none = Device(signals, "cpu"), signals.steps(signals.names), bare.steps(bare.names)
    for steps, message in (((none, some), "to learn from"), ((some, none), "held-out steps")):
        with pytest.raises(ValueError, match=f"{message} has a label"):
            fit.fit(TINY["weak"], 6, on, *steps, Plan(epochs=1), 0)


def test_the_command_writes_every_persons_streams(tmp_path: Path, signals: Signals) -> None:
    data = synthetic_datasets.wisdm(tmp_path, people=4)
    size = ["--tiny", "--seeds=2", "--epochs=2", "--batches=2", "--batch=16", "--hours=0.1"]
    command = ["wisdm", "--data", str(data), "--out", str(tmp_path / "out"), "--folds=2", *size]
    train.main(command)
    names = sorted(path.name for path in (tmp_path / "out").glob("*.npz"))
    assert names == ["chained-0.npz", "chained-1.npz", "recorded-0.npz", "recorded-1.npz"]
    people = read(tmp_path / "out/recorded-1.npz")
    assert sorted(person.name for person in people) == sorted(signals.names)
    parts = folds(signals.names, 2)
    for person in people:
        assert person.name in parts[person.fold][2]
        steps = signals.steps((person.name,))
        assert np.array_equal(person.label, steps.label)
        assert person.time.tolist() == [5.0 * (i + 1) for i in range(len(steps.end))]
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/work").glob("*.npz")}
    assert len(files) == 8
    expected = next(path for path in files if path.name.startswith("wisdm-strong-1-0-"))
    with np.load(expected) as file:
        mine = [p.strong for p in read(tmp_path / "out/chained-0.npz") if p.fold == 1]
        assert np.abs(np.concatenate(mine) - file["chained"]).max() < 2e-5  # of 16 bits
    (tmp_path / "moved").mkdir()
    (data / "wisdm_watch.npz").rename(tmp_path / "moved/wisdm_watch.npz")
    command[2] = str(tmp_path / "moved")
    train.main(command)  # nothing is left to do
    assert {path: path.stat().st_mtime_ns for path in files} == files


def test_training_needs_pytorch_and_numpy_alone() -> None:
    code = (
        "import sys; absent = ['classfilter', 'polars', 'sklearn']"
        "; sys.modules.update(dict.fromkeys(absent)); import experiments.train; print('done')"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout == "done\n", run.stderr
