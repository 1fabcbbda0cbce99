"""The wrist example: from raw samples to a timeline, each part against one written by hand."""

from __future__ import annotations

import io
import math
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import classfilter as cf
from examples import rehearsal, report, synthetic, wrist

Floats = NDArray[np.float64]
STEPS = 1440


class Example(NamedTuple):
    folder: Path
    printed: str
    samples: Floats
    truth: NDArray[np.intp]
    """Of each step."""

    @property
    def table(self) -> pl.DataFrame:
        return pl.read_csv(self.folder / "steps.csv")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Example:
    folder, printed = tmp_path_factory.mktemp("wrist"), io.StringIO()
    with redirect_stdout(printed):
        wrist.main(["-o", str(folder)])
    samples, truth = synthetic.person(rehearsal.NEW, 2.0)
    middle = [truth[100 * n + 50] for n in range(STEPS)]
    return Example(folder, printed.getvalue(), samples, np.array(middle))


def test_a_table_and_a_picture_are_written(example: Example) -> None:
    from matplotlib.image import imread

    table, folder = example.table, example.folder
    assert table.columns == ["time", "source", "f_rest", "f_walk", "f_cycle", "f_run", "class"]
    assert table["time"].to_list() == [5.0 * n for n in range(1, STEPS + 1)]
    height, width, _ = imread(folder / "timeline.png").shape
    assert width > 1000
    assert height > 200
    assert {path.name for path in folder.iterdir()} == {
        "weak.onnx", "strong.onnx", "wrist.json", "steps.csv", "timeline.png",
    }  # fmt: skip


def test_the_cascade_is_a_loop_by_hand(example: Example) -> None:
    from onnxruntime import InferenceSession

    pipe: Any = cf.load(example.folder / "wrist.json")
    f, policy = pipe.filter, pipe.policy.copy()
    assert pipe.channel["strong"] is None
    sessions = {
        name: InferenceSession(str(example.folder / f"{name}.onnx")) for name in ("weak", "strong")
    }
    length, last = {"weak": 100, "strong": 600}, {"weak": -math.inf, "strong": -math.inf}
    sources, labels, filtered = [], [], []
    for n in range(1, STEPS + 1):
        so_far, before = example.samples[: 100 * n], f.probs
        name = policy.choose(before, {name: 5.0 * n - then for name, then in last.items()})
        if len(so_far) < length[name]:
            name = "weak"
        window = so_far[-length[name] :].astype(np.float32)
        probs = sessions[name].run(None, {"window": window[None]})[0][0].astype(float)
        if name == "weak":
            probs = pipe.channel[name].apply(probs)
        dt = 5.0 if n > 1 else 0.0
        f.update(probs, pipe.beta[name], dt)
        policy.called(name, probs, before, dt)
        last[name] = 5.0 * n
        sources.append(name)
        labels.append(f.label)
        filtered.append(f.probs)
    assert example.table["source"].to_list() == sources
    assert example.table["class"].to_list() == labels
    np.testing.assert_array_equal(example.table.select("^f_.*$").to_numpy(), filtered)


def test_the_printed_table(example: Example) -> None:
    """Accuracy and calls are those of steps.csv; the cascade beats the baselines, on budget."""
    matches = re.findall(r"^(\S.*?) {2,}([\d.]+) +(\d+) +(\d+)$", example.printed, re.MULTILINE)
    rows = {name: (float(share), int(weak), int(strong)) for name, share, weak, strong in matches}
    assert list(rows) == [
        "Weak alone", "Strong once a minute, held", "Strong on every step", "Cascade",
    ]  # fmt: skip
    predicted, classes = example.table["class"].to_list(), synthetic.CLASSES
    accuracy = np.mean([classes[k] == c for k, c in zip(example.truth, predicted, strict=True)])
    source = example.table["source"].to_list()
    printed = rows["Cascade"]
    assert printed == (round(100 * accuracy, 1), source.count("weak"), source.count("strong"))
    assert rows["Weak alone"][0] < rows["Strong once a minute, held"][0] < printed[0]
    assert printed[2] <= STEPS / 12
    assert rows["Weak alone"][1:] == (STEPS, 0)
    assert rows["Strong on every step"][1:] == (0, STEPS - 5)  # its window has to fill
    assert "could not be used" not in example.printed


def test_the_overhead_leaves_out_the_time_in_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that only the source and the loop's own reading of it move."""
    seconds = 0.0

    def clock() -> Floats:
        nonlocal seconds
        seconds += 0.001
        return np.array([seconds, 2 * seconds])

    lengths = []

    def slow(window: Floats) -> Floats:
        nonlocal seconds
        lengths.append(len(window))
        seconds += 20.0
        return np.full(4, 0.25)

    monkeypatch.setattr(wrist, "now", clock)
    monkeypatch.setattr(report, "now", clock)
    pipe = cf.Pipeline(cf.RawFilter(4), beta={"weak": 1.0})
    run = wrist.live(pipe, {"weak": slow}, np.zeros((500, 3)), rate=10)
    assert lengths == [50] * 10
    # four readings of the clock per step, of which one interval lies in the source
    np.testing.assert_allclose(run.overhead, [[0.002, 0.004]] * 10, rtol=1e-9)


def test_the_printed_times_are_quantiles_of_the_overhead() -> None:
    milliseconds = np.column_stack([np.arange(101.0), 2 * np.arange(101.0)])
    text = str(report.Run([], {}, {}, milliseconds / 1e3))
    assert "wall clock  median 50.000, 99th percentile 99.000" in text
    assert "CPU         median 100.000, 99th percentile 198.000" in text


def same_files(example: Example, out: Path, *more: str) -> pl.DataFrame:
    np.save(out / "samples.npy", example.samples)
    folder = str(example.folder)
    arguments = ["--models", folder, "--config", f"{folder}/wrist.json", "--rate", "20"]
    wrist.main([*arguments, "--samples", str(out / "samples.npy"), "-o", str(out / "new"), *more])
    return pl.read_csv(out / "new" / "steps.csv")


def test_files_give_the_same_as_the_example(example: Example, tmp_path: Path) -> None:
    assert same_files(example, tmp_path).equals(example.table)
    assert (tmp_path / "new" / "timeline.png").stat().st_size > 5000


def test_models_that_return_logits(
    example: Example, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import onnx

    for name in ("weak", "strong"):
        model = onnx.load(example.folder / f"{name}.onnx")
        assert model.graph.node.pop().op_type == "Softmax"
        model.graph.output[0].name = "logits"
        onnx.save(model, tmp_path / f"{name}.onnx")
    models = ["--models", str(tmp_path)]
    table = same_files(example, tmp_path, "--logits", *models)
    assert "could not be used" not in capsys.readouterr().out
    assert table["class"].to_list() == example.table["class"].to_list()
    same_files(example, tmp_path, *models)
    assert "predictions that could not be used: {'weak': " in capsys.readouterr().out


def test_invalid_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        wrist.main(["--models", str(tmp_path)])
    assert "go together" in capsys.readouterr().err
    np.save(tmp_path / "flat.npy", np.zeros(300))
    flat = ["--samples", str(tmp_path / "flat.npy")]
    with pytest.raises(SystemExit, match="2"):
        wrist.main(["--models", str(tmp_path), "--config", "none.json", *flat])
    assert "--samples has the shape (300,); it must be (n, 3)" in capsys.readouterr().err
