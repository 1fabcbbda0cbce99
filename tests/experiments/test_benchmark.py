"""The tables of the benchmark, against plain loops, and the files that it reads."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.streams import Stream

import classfilter as cf
import synthetic_datasets
from experiments import benchmark, classifiers, streams
from printed_tables import rows_of

LENGTHS = (600, 480, 720, 480)


def columns(seed: int = 0) -> dict[str, Any]:
    """Return a file of four streams whose weak classifier is right in 60 %, the strong in 85 %."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat(rng.integers(3, size=n // 40), 40) for n in LENGTHS])

    def predicted(right: float) -> np.ndarray:
        said = np.where(rng.random(len(y)) < right, y, rng.integers(3, size=len(y)))
        rows = rng.integers(100, 3000, (len(y), 3)) + 6000 * np.eye(3, dtype=int)[said]
        return np.asarray(rows, np.uint16)

    weak, strong = predicted(0.4), predicted(0.8)
    label = np.where(rng.random(len(y)) < 0.05, -1, y).astype(np.int8)
    return {"y": label, "weak": weak, "strong": strong, "lengths": np.array(LENGTHS)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.savez(tmp_path / "walks_streams.npz", **columns())
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    benchmark.main([str(argument) for argument in arguments])
    return capsys.readouterr().out


def mixed(every: int) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Return labels, rows by the policy, and the last strong row, of each stream, by loops."""
    data, y, raw, held, start = columns(), [], [], [], 0
    for n in LENGTHS:
        rows, last = [], np.zeros(3)
        hold = []
        for t in range(n):
            source = "strong" if t % every == 0 else "weak"
            row = data[source][start + t] / data[source][start + t].sum(dtype=float)
            last = row if source == "strong" else last
            rows.append(row)
            hold.append(last)
        y.append(data["y"][start : start + n])
        raw.append(np.array(rows))
        held.append(np.array(hold))
        start += n
    return y, raw, held


def right(y: list[np.ndarray], probs: list[np.ndarray]) -> float:
    pairs = [
        (a, b) for a, b in zip(np.concatenate(y), np.concatenate(probs), strict=True) if a >= 0
    ]
    return 100 * sum(int(np.argmax(row) == label) for label, row in pairs) / len(pairs)


def test_rows_are_counted_as_by_loops(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, folder, "--every", 4)
    row = rows_of(text, "Rows right, %; 1 in 4, probabilities, in sample")["walks"]
    y, raw, held = mixed(4)
    names = [str(i) for i in range(3)]
    recs = [
        cf.rows(
            time=5.0 * np.arange(len(p)),
            source=np.where(np.arange(len(p)) % 4, "weak", "strong"),
            probs=p,
            classes=names,
        )
        for p in raw
    ]
    tuned = cf.tune(recs, reference="strong")
    live, smoothed = [tuned.run(rec) for rec in recs], [tuned.smooth(rec) for rec in recs]
    means = [np.array([p[max(0, t - 4) : t + 1].mean(0) for t in range(len(p))]) for p in raw]
    emas = []
    for rows in benchmark.HALF_LIVES:
        gamma, probs = 0.5 ** (1 / rows), []
        for p in raw:
            weights = [gamma ** np.arange(t, -1, -1) for t in range(len(p))]
            probs.append(np.array([w @ p[: len(w)] / w.sum() for w in weights]))
        emas.append(right(y, probs))
    expected = {"Raw": right(y, raw), "Mean": right(y, means), "Best Ema": max(emas)}
    expected |= {"Hold": right(y, held), "live": right(y, live), "smoothed": right(y, smoothed)}
    assert {name: float(row[name]) for name in expected} == pytest.approx(expected, abs=0.051)
    gain, error = (float(x) for x in row["live - Hold"].split(" ± "))
    assert gain == pytest.approx(expected["live"] - expected["Hold"], abs=0.051)
    gains = [right([a], [b]) - right([a], [c]) for a, b, c in zip(y, live, held, strict=True)]
    spread = np.std(gains, ddof=1) / np.sqrt(len(y))
    assert error == pytest.approx(spread, rel=0.2, abs=0.06)  # streams differ a little in length

    honest = rows_of(text, "Calibration error")["walks"]
    for name, probs in (("Hold", held), ("live", live), ("smoothed", smoothed)):
        P, labels = np.concatenate(probs), np.concatenate(y)
        P, labels = P[labels >= 0], labels[labels >= 0]
        hit, top = P.argmax(1) == labels, P.max(1)
        edges = list(itertools.pairwise(np.linspace(0, 1, 16)))
        inside = [(top > low) & (top <= high) for low, high in edges]
        ece = sum(abs((hit[b] - top[b]).sum()) for b in inside) / len(P)
        assert float(honest[f"ECE, {name}"]) == pytest.approx(100 * ece, abs=0.06)
        loss = -np.log(P[np.arange(len(P)), labels]).mean()
        assert float(honest[f"log-loss, {name}"]) == pytest.approx(loss, abs=0.0006)


def test_each_half_runs_with_what_the_other_half_chose(folder: Path) -> None:
    (people,) = streams.read_all([folder]).values()
    recs = [person.rows(4) for person in people]
    (first, second), other = benchmark.folds(len(recs), two_fold=True)
    assert sorted([*first, *second]) == [0, 1, 2, 3]
    assert np.array_equal(other, (second, first))
    live, smoothed, _ = benchmark.filtered(recs, [(first, second), (second, first)], "strong")
    tuned = cf.tune([recs[i] for i in first], reference="strong")
    for i in second:
        assert np.array_equal(live[i], tuned.run(recs[i]))
        assert np.array_equal(smoothed[i], tuned.smooth(recs[i]))


def test_events_are_scored_by_their_overlap(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = rows_of(printed(capsys, folder, "--every", 4, "--parts", "events"), "F1@50")["walks"]
    y, _, held = mixed(4)

    def spans(labels: np.ndarray) -> list[tuple[int, int, int]]:
        edges = [0, *(np.flatnonzero(np.diff(labels)) + 1), len(labels)]
        return [(int(labels[a]), a, b) for a, b in itertools.pairwise(edges) if labels[a] >= 0]

    found = said = count = length = 0
    for labels, probs in zip(y, held, strict=True):
        true, free = spans(labels), set(range(len(spans(labels))))
        for k, start, end in spans(probs.argmax(1)):
            said += 1
            overlaps = [
                max(0, min(end, b) - max(start, a)) / (max(end, b) - min(start, a)) * (c == k)
                for c, a, b in true
            ]
            best = int(np.argmax(overlaps))
            if overlaps[best] >= 0.5 and best in free:
                free.remove(best)
                found += 1
        count, length = count + len(true), length + sum(b - a for _, a, b in true)
    assert row["true events"] == str(count)
    # The last row of a stream lasts as long as the others.
    assert float(row["their duration, s"]) == pytest.approx(5 * length / count, abs=0.6)
    assert float(row["Hold"]) == pytest.approx(200 * found / (count + said), abs=0.06)
    assert float(row["duration, smoothed"]) > float(row["Hold"])


def test_few_streams_are_measured_on_all_others(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "COUNTS", (2, 4))
    text = printed(capsys, folder, "--every", 4, "--parts", "few", "--draws", 2)
    row = rows_of(text, "Tuned on few streams")["walks"]  # four of four leave none to measure on
    (people,) = streams.read_all([folder]).values()
    recs, (y, _, held) = [person.rows(4) for person in people], mixed(4)
    gains = []
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(4)
        tuned = cf.tune([recs[i] for i in order[:2]], reference="strong")
        live = [tuned.run(recs[i]) for i in order[2:]]
        rest = [y[i] for i in order[2:]]
        gains.append(right(rest, live) - right(rest, [held[i] for i in order[2:]]))
    assert row["streams"] == "2"
    assert float(row["live - Hold"]) == pytest.approx(np.mean(gains), abs=0.051)
    assert float(row["worst draw"]) == pytest.approx(min(gains), abs=0.051)
    assert row["below -2"] == f"{sum(gain < -2 for gain in gains)} of 2"


def test_one_classifier_of_hard_labels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, folder, "--parts", "one", "--hard")
    rows = rows_of(text, "One classifier at every row, %; hard labels, in sample")
    data = columns()
    known = data["y"] >= 0
    for source in ("weak", "strong"):
        hits = data[source].argmax(axis=1) == data["y"]
        assert float(rows[f"walks, {source}"]["Raw"]) == pytest.approx(
            100 * hits[known].mean(), abs=0.051
        )
    (people,) = streams.read_all([folder]).values()
    assert people[0].rows(4, hard=True).one_hot.all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weak": None, "lengths": None}, "no weak, lengths; a file of streams has y, weak"),
        ({"lengths": np.array([5])}, "lengths with the sum 5, and y with 2280 rows"),
        ({"strong": np.ones((3, 3))}, r"strong of the shape \(3, 3\); y has 2280 rows"),
        ({"strong": np.ones((2280, 4))}, "3 columns in weak and 4 in strong"),
        ({"y": np.full(2280, 3)}, "y from 3 to 3; it must be -1 or a column, 0 to 2"),
        ({"weak": np.full((2280, 3), np.nan)}, r"no probabilities in weak, row 0: \[nan, nan"),
        ({"weak": np.zeros((2280, 3))}, "no probabilities in weak, row 0"),
    ],
)
def test_a_malformed_file_is_rejected_by_its_name(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    file = {k: v for k, v in (columns() | changed).items() if v is not None}
    np.savez(tmp_path / "bad.npz", **file)
    with pytest.raises(SystemExit, match=rf"bad\.npz: it has {message}"):
        benchmark.main([str(tmp_path)])
    (tmp_path / "bad.npz").unlink()
    with pytest.raises(SystemExit, match=r"no file ends in \.npz"):
        benchmark.main([str(tmp_path)])


def test_a_file_keeps_its_streams(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    several = []
    for i, n in enumerate((30, 50)):
        weak, strong = rng.dirichlet(np.ones(3), (2, n))
        time, label = np.sort(rng.random(n)) * 1e9, rng.integers(-1, 3, n)
        several.append(Stream(f"p{i}", time, label, weak, strong, ("a", "b", "c"), i))
    streams.write(tmp_path / "new/some.npz", several)
    for a, b in zip(several, streams.read(tmp_path / "new/some.npz"), strict=True):
        assert (a.name, a.classes, a.fold) == (b.name, b.classes, b.fold)
        assert (a.time == b.time).all()
        assert (a.label == b.label).all()
        assert max(np.abs(a.weak - b.weak).max(), np.abs(a.strong - b.strong).max()) < 1.2e-5


def test_people_are_predicted_once_by_the_other_half(tmp_path: Path) -> None:
    synthetic_datasets.wisdm(tmp_path, people=6)
    synthetic_datasets.extrasensory(tmp_path, people=10)
    classifiers.main([str(tmp_path), "--out", str(tmp_path / "out")])
    sets = streams.read_all([tmp_path / "out"])
    assert {name: len(people) for name, people in sets.items()} == {"extrasensory": 10, "wisdm": 6}
    for people in sets.values():
        assert len({person.name for person in people}) == 2 * sum(p.fold for p in people)
        y = [person.label for person in people]
        assert right(y, [person.strong for person in people]) > 75
    persons, classes = classifiers.extrasensory(tmp_path)
    first, last = sets["extrasensory"][0].name, sets["extrasensory"][-1].name  # of both halves
    changed = persons | {first: persons[first]._replace(label=(persons[first].label + 1) % 3)}
    before, after = (
        {p.name: p.strong for p in classifiers.predicted(people, classes, seed=0)}
        for people in (persons, changed)
    )
    assert np.array_equal(before[first], after[first])  # its own labels are not used
    assert not np.array_equal(before[last], after[last])
