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
from experiments.signals import STEP, Signals, folds
from numpy.typing import NDArray
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import made_people
from experiments import fit, models, train, wisdm

ROOT = Path(__file__).parents[2]
torch.set_num_threads(1)  # several tests at a time would get into each other's way
PLAN = Plan(epochs=4, batches=3, batch=32, rate=5e-3)


@pytest.fixture(scope="module")
def signals(tmp_path_factory: pytest.TempPathFactory) -> Signals:
    return wisdm.load(made_people.wisdm(tmp_path_factory.mktemp("wisdm"), people=4))


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


def test_weights_go_into_a_vector_and_back() -> None:
    model = Transformer(TINY["weak"], 6).eval()
    again = models.from_vector(TINY["weak"], 6, models.to_vector(model))
    x = torch.randn(3, TINY["weak"].samples, 3)
    assert torch.equal(model(x), again(x))
    with pytest.raises(ValueError, match="vector has 3 weights; this model has"):
        models.from_vector(TINY["weak"], 6, torch.zeros(3))


def test_windows_are_the_samples_before_and_the_first_stands_for_older_ones() -> None:
    X = np.arange(60, dtype=np.int16).reshape(20, 3)
    both = {"a": (X[:5], np.zeros(5, np.int8)), "b": (X[5:], np.zeros(15, np.int8))}
    on = Device(Signals.joined(both, ("rest",)), "cpu")
    found = on.windows(torch.tensor([9, 20]), torch.tensor([5, 5]), 6).numpy()
    rows = [[5, 5, 5, 6, 7, 8], [14, 15, 16, 17, 18, 19]]
    assert np.array_equal(found, X[rows].astype(np.float32) / 1000)


@pytest.mark.parametrize("source", ["weak", "strong"])
def test_answers_never_see_the_future(signals: Signals, source: str) -> None:
    torch.manual_seed(0)
    model = Transformer(TINY[source], 6)
    name = signals.names[1]
    steps = signals.steps((name,))
    before = fit.answers(model, Device(signals, "cpu"), steps)
    at = 17
    changed = signals.X.copy()
    changed[steps.end[at] :] = 3000
    changed[: steps.first[0]] = -3000  # another person, who comes before
    other = Signals(changed, signals.y, signals.starts, signals.names, signals.classes)
    after = fit.answers(model, Device(other, "cpu"), steps)
    assert np.array_equal(before[: at + 1], after[: at + 1])
    assert (before[at + 1] != after[at + 1]).any()


def test_rotation_keeps_the_length_but_for_the_scale() -> None:
    torch.manual_seed(0)
    x = torch.randn(50, 7, 3)
    plain = fit.turned(x, Plan(turn=40.0, scale=0.0))
    torch.testing.assert_close(plain.norm(dim=2), x.norm(dim=2))
    angle = torch.rad2deg(torch.arccos(torch.cosine_similarity(plain[:, 0], x[:, 0]).clip(-1, 1)))
    assert 5 < float(angle.mean()) < 50
    factor = (fit.turned(x, Plan(turn=0.0, scale=0.1)) / x)[:, 0, 0]
    assert float(factor.std()) == pytest.approx(0.1, rel=0.3)


def test_class_weights_are_one_by_the_root_of_the_share() -> None:
    label = np.repeat(np.array([0, 1, 2, -1], np.int8), [900, 100, 0, 50])
    w = fit.class_weights(label, 4)
    assert w[1] / w[0] == pytest.approx(3.0)
    assert w[2] == w[3] == 1
    assert 900 * w[0] + 100 * w[1] == pytest.approx(1000)


def fitted(signals: Signals, kept: Path | None, plan: Plan = PLAN, stop: int = -1) -> fit.Fitted:
    some, held_out, _ = folds(signals.names, 2)[0]

    def tell(epoch: int, row: dict[str, float]) -> None:
        if epoch == stop:
            raise KeyboardInterrupt

    steps = signals.steps(some), signals.steps(held_out)
    return fit.fit(TINY["weak"], 6, Device(signals, "cpu"), *steps, plan, 5, kept, tell)


def test_a_stopped_training_ends_in_the_same_weights(signals: Signals, tmp_path: Path) -> None:
    whole = fitted(signals, None)
    with pytest.raises(KeyboardInterrupt):
        fitted(signals, tmp_path / "kept.pt", stop=1)
    resumed = fitted(signals, tmp_path / "kept.pt")
    assert np.array_equal(whole.vector, resumed.vector)
    assert len((tmp_path / "kept.csv").read_text().splitlines()) == 1 + 4
    columns = [[row["held_out_loss"] for row in one.log] for one in (whole, resumed)]
    assert columns[0] == columns[1]


def test_training_learns_and_keeps_the_best_epoch(signals: Signals) -> None:
    plan = Plan(epochs=25, batches=10, batch=64, rate=1e-2, turn=5.0)
    found = fitted(signals, None, plan)
    losses = [row["held_out_loss"] for row in found.log]
    assert min(losses) < 0.5 * losses[0]
    _, held_out, _ = folds(signals.names, 2)[0]
    steps = signals.steps(held_out)
    model = fit.fitted_model(TINY["weak"], 6, found.vector)
    P = fit.answers(model, Device(signals, "cpu"), steps)
    loss = -np.log(P[np.arange(len(P)), steps.label]).mean()
    assert loss == pytest.approx(min(losses), rel=1e-5)


def test_training_stops_without_progress(signals: Signals) -> None:
    found = fitted(signals, None, Plan(epochs=50, batches=1, batch=4, rate=0.0, horizon=2))
    assert len(found.log) == 3  # the first is the best; two are not better


def test_training_needs_labels(signals: Signals) -> None:
    bare = Signals(signals.X, signals.y * 0 - 1, signals.starts, signals.names, signals.classes)
    on, some, none = Device(signals, "cpu"), signals.steps(signals.names), bare.steps(bare.names)
    with pytest.raises(ValueError, match="to learn from has a label"):
        fit.fit(TINY["weak"], 6, on, none, some, PLAN, 0)
    with pytest.raises(ValueError, match="held-out steps has a label"):
        fit.fit(TINY["weak"], 6, on, some, none, PLAN, 0)


def small(data: Path, out: Path, *more: str) -> list[str]:
    size = ["--epochs", "2", "--batches", "2", "--batch", "16", "--hours", "0.1"]
    return ["wisdm", "--data", str(data), "--out", str(out), "--tiny", "--seeds", "1", *size, *more]


def test_the_command_packs_every_persons_answers(tmp_path: Path, signals: Signals) -> None:
    data = made_people.wisdm(tmp_path, people=4)
    train.main(small(data, tmp_path / "out", "--folds", "2"))
    with np.load(tmp_path / "out/answers.npz") as file, np.load(tmp_path / "out/weights.npz") as w:
        people: list[NDArray[np.str_]] = [file[f"people/{fold}"] for fold in range(2)]
        assert sorted(np.concatenate(people)) == sorted(signals.names)
        for fold in range(2):
            steps = signals.steps(tuple(people[fold].tolist()))
            said = file[f"answers/recorded/strong/{fold}/0"]
            assert said.shape == (len(steps.end), 6)
            assert np.array_equal(file[f"labels/recorded/{fold}"], steps.label)
            model = fit.fitted_model(TINY["strong"], 6, w[f"strong/{fold}/0"])
            P = fit.answers(model, Device(signals, "cpu"), steps)
            assert np.abs(P - said).max() < 1e-3  # of half precision
            chained = file[f"answers/chained/weak/{fold}/0"]
            assert len(chained) == file[f"counts/chained/{fold}"].sum() == 2 * 360 * 20 // STEP
    before = (tmp_path / "out/weights.npz").stat().st_mtime_ns
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/work").glob("*.npz")}
    train.main(small(data, tmp_path / "out", "--folds", "2"))  # nothing is left to do
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert (tmp_path / "out/weights.npz").stat().st_mtime_ns > before


def test_training_needs_pytorch_and_numpy_alone() -> None:
    code = (
        "import sys; absent = ['classfilter', 'polars', 'rich', 'sklearn']"
        "; sys.modules.update(dict.fromkeys(absent)); import experiments.train"
        "; print(experiments.progress.Progress(1).bar)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "None\n", done.stderr
