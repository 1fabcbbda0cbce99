"""The whole example: from raw samples to a timeline, each part against one written by hand."""

from __future__ import annotations

import io
import math
import re
import time
from contextlib import redirect_stdout
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from examples import rehearsal, synthetic, wrist
from examples.sources import from_onnx
from numpy.typing import NDArray

from classfilter import RawFilter
from classfilter.config import Config, read

Floats = NDArray[np.float64]
STEPS = 1440


class Rehearsed(NamedTuple):
    folder: Path
    printed: str
    samples: Floats
    truth: NDArray[np.intp]
    """Of each step."""

    @property
    def table(self) -> pl.DataFrame:
        return pl.read_csv(self.folder / "steps.csv")


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> Rehearsed:
    folder, printed = tmp_path_factory.mktemp("wrist"), io.StringIO()
    with redirect_stdout(printed):
        wrist.main(["-o", str(folder)])
    samples, truth = synthetic.person(rehearsal.NEW, 2.0)
    middle = [truth[100 * n + 50] for n in range(STEPS)]
    return Rehearsed(folder, printed.getvalue(), samples, np.array(middle))


def test_a_table_and_a_picture_are_written(rehearsed: Rehearsed) -> None:
    from matplotlib.image import imread

    table, folder = rehearsed.table, rehearsed.folder
    assert table.columns == ["time", "source", "f_rest", "f_walk", "f_cycle", "f_run", "class"]
    assert table["time"].to_list() == [5.0 * n for n in range(1, STEPS + 1)]
    height, width, _ = imread(folder / "timeline.png").shape
    assert width > 1000
    assert height > 200
    assert {path.name for path in folder.iterdir()} == {
        "weak.onnx", "strong.onnx", "wrist.toml", "steps.csv", "timeline.png",
    }  # fmt: skip


def test_the_cascade_is_a_loop_by_hand(rehearsed: Rehearsed) -> None:
    from onnxruntime import InferenceSession

    f, beta, channel, policy = read(rehearsed.folder / "wrist.toml")
    assert policy is not None
    assert set(channel) == {"weak"}
    asked = {
        name: InferenceSession(str(rehearsed.folder / f"{name}.onnx"))
        for name in ("weak", "strong")
    }
    length, last = {"weak": 100, "strong": 600}, {"weak": -math.inf, "strong": -math.inf}
    sources, labels, probs = [], [], []
    for n in range(1, STEPS + 1):
        so_far, held = rehearsed.samples[: 100 * n], f.probs
        name = policy.choose(held, {name: 5.0 * n - then for name, then in last.items()})
        if len(so_far) < length[name]:
            name = "weak"
        window = so_far[-length[name] :].astype(np.float32)
        said = asked[name].run(None, {"window": window[None]})[0][0].astype(float)
        if name == "weak":
            said = channel[name].apply(said)
        dt = 5.0 if n > 1 else 0.0
        f.update(said, beta[name], dt)
        policy.called(name, said, held, dt)
        last[name] = 5.0 * n
        sources.append(name)
        labels.append(f.label)
        probs.append(f.probs)
    assert rehearsed.table["source"].to_list() == sources
    assert rehearsed.table["class"].to_list() == labels
    np.testing.assert_array_equal(rehearsed.table.select("^f_.*$").to_numpy(), probs)


def test_what_is_printed(rehearsed: Rehearsed) -> None:
    """Accuracy and calls are those of the table; the cascade beats what it has to, on budget."""
    found = re.findall(r"^(\S.*?) {2,}([\d.]+) +(\d+) +(\d+)$", rehearsed.printed, re.MULTILINE)
    rows = {name: (float(right), int(weak), int(strong)) for name, right, weak, strong in found}
    assert list(rows) == [
        "Weak alone", "Strong once a minute, held", "Strong on every step", "Cascade",
    ]  # fmt: skip
    called, classes = rehearsed.table["class"].to_list(), synthetic.CLASSES
    right = np.mean([classes[k] == name for k, name in zip(rehearsed.truth, called, strict=True)])
    source = rehearsed.table["source"].to_list()
    printed = rows["Cascade"]
    assert printed == (round(100 * right, 1), source.count("weak"), source.count("strong"))
    assert rows["Weak alone"][0] < rows["Strong once a minute, held"][0] < printed[0]
    assert printed[2] <= STEPS / 12
    assert rows["Weak alone"][1:] == (STEPS, 0)
    assert rows["Strong on every step"][1:] == (0, STEPS - 5)  # its window has to fill
    assert "could not be used" not in rehearsed.printed


def test_a_step_costs_little_besides_the_models(rehearsed: Rehearsed) -> None:
    """Of the wall's clock the median only: a busy machine takes the processor away at times."""
    times = re.findall(r"median ([\d.]+), 99th percentile ([\d.]+)", rehearsed.printed)
    (wall, _), processor = [tuple(map(float, pair)) for pair in times]
    assert 0 < wall < 1
    assert 0 < processor[0] < processor[1] < 1


def test_time_in_a_source_is_not_besides() -> None:
    lengths = []

    def slow(window: Floats) -> Floats:
        lengths.append(len(window))
        time.sleep(0.02)
        return np.full(4, 0.25)

    config = Config(RawFilter(4), {"weak": 1.0}, {}, None)
    run = wrist.live(config, {"weak": slow}, np.zeros((500, 3)), rate=10)
    assert lengths == [50] * 10
    assert run.besides.shape == (10, 2)
    assert np.median(run.besides[:, 0]) < 0.01


def same_files(rehearsed: Rehearsed, out: Path, *more: str) -> pl.DataFrame:
    np.save(out / "samples.npy", rehearsed.samples)
    folder = str(rehearsed.folder)
    given = ["--models", folder, "--config", f"{folder}/wrist.toml", "--rate", "20"]
    wrist.main([*given, "--samples", str(out / "samples.npy"), "-o", str(out / "new"), *more])
    return pl.read_csv(out / "new" / "steps.csv")


def test_files_give_what_the_rehearsal_gave(rehearsed: Rehearsed, tmp_path: Path) -> None:
    assert same_files(rehearsed, tmp_path).equals(rehearsed.table)
    assert (tmp_path / "new" / "timeline.png").stat().st_size > 5000


def test_models_that_give_logits(
    rehearsed: Rehearsed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import onnx

    for name in ("weak", "strong"):
        model = onnx.load(rehearsed.folder / f"{name}.onnx")
        assert model.graph.node.pop().op_type == "Softmax"
        model.graph.output[0].name = "logits"
        onnx.save(model, tmp_path / f"{name}.onnx")
    models = ["--models", str(tmp_path)]
    found = same_files(rehearsed, tmp_path, "--logits", *models)
    assert "could not be used" not in capsys.readouterr().out
    assert found["class"].to_list() == rehearsed.table["class"].to_list()
    same_files(rehearsed, tmp_path, *models)
    assert "answers that could not be used: {'weak': " in capsys.readouterr().out


def test_wrong_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        wrist.main(["--models", str(tmp_path)])
    assert "go together" in capsys.readouterr().err
    np.save(tmp_path / "flat.npy", np.zeros(300))
    flat = ["--samples", str(tmp_path / "flat.npy")]
    with pytest.raises(SystemExit, match="2"):
        wrist.main(["--models", str(tmp_path), "--config", "none.toml", *flat])
    assert "--samples has the shape (300,); it must be (n, 3)" in capsys.readouterr().err


def by_numpy(name: str, window: Floats) -> Floats:
    """The features of a window; the strong model's bands are every second bin of 5 s."""
    if name == "weak":
        return np.concatenate([window.mean(axis=0), np.log(window.var(axis=0) + 1e-4)])
    off, bell = window - window.mean(axis=0), np.sin(np.pi * np.arange(100) / 100) ** 2 / 100
    parts = np.array([off[i : i + 100] for i in range(0, 501, 50)]) * bell[:, None]
    power = np.abs(np.fft.rfft(parts, axis=1)) ** 2 / 2
    bands = power.mean(axis=(0, 2))[2:40:2]
    return np.concatenate([window.mean(axis=0), np.log(bands + 1e-4)])


@pytest.mark.parametrize("name", ["weak", "strong"])
def test_onnx_is_numpy_and_scikit_learn(name: str, tmp_path: Path) -> None:
    fitted = synthetic.fit(name, [synthetic.person(rehearsal.NEW, 2.0)])
    synthetic.export(name, fitted, tmp_path)
    source = from_onnx(tmp_path / f"{name}.onnx", logits=False)
    given, _ = synthetic.windows(synthetic.person(5, 1.0), synthetic.SAMPLES[name], every=500)
    assert len(given) > 50
    wanted = fitted.predict_proba(np.array([by_numpy(name, window) for window in given]))
    assert len(np.unique(wanted.argmax(axis=1))) > 2
    np.testing.assert_allclose([source(window) for window in given], wanted, rtol=0, atol=2e-5)


def test_people_are_plausible() -> None:
    people = [synthetic.person(seed, 1.0) for seed in range(14, 22)]
    np.testing.assert_array_equal(people[3].samples, synthetic.person(17, 1.0).samples)
    for samples, truth in people:
        dwells = [len(list(run)) / synthetic.RATE for _, run in groupby(truth.tolist())]
        assert all(30 <= seconds <= 1800 for seconds in dwells[:-1])
        assert len(dwells) > 3
        size = np.linalg.norm(samples, axis=1)
        assert abs(size[truth == 0].mean() - 1) < 0.02  # gravity
        assert size[truth == 0].std() < size[truth != 0].std()


def test_windows_are_of_one_class() -> None:
    who = synthetic.person(1, 0.5)
    found, truth = synthetic.windows(who, 600)
    wanted = [
        (who.samples[end - 600 : end], who.truth[end - 1])
        for end in range(600, 36001, 100)
        if len(set(who.truth[end - 600 : end].tolist())) == 1
    ]
    np.testing.assert_array_equal(found, [window for window, _ in wanted])
    np.testing.assert_array_equal(truth, [k for _, k in wanted])
