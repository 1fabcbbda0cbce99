"""Tuning without labels: as good as with them, for any sources, times and order of classes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf
from classfilter import Recording, config
from classfilter.simulation._simulate import Simulation
from classfilter.tuning._folds import MIN_PREDICTIONS
from classfilter.tuning._result import Tuned
from classfilter.tuning._tune import SAFE_WEIGHT, tune
from ndjson_lines import as_line, serve_here

Floats = NDArray[np.float64]
NAN = float("nan")


@lru_cache
def day(seed: int, hours: float) -> Simulation:
    return cf.simulate("capture24", hours=hours, seed=seed)


def days(seeds: Sequence[int], hours: float) -> list[Recording]:
    return [day(seed, hours).recording() for seed in seeds]


def three(simulated: Simulation, medium: bool = True) -> Recording:
    """Add a medium source, the mean of weak and strong, three times per minute."""
    n = np.arange(len(simulated.time))
    both = simulated.probs | {"medium": (simulated.probs["weak"] + simulated.probs["strong"]) / 2}
    source = np.where(n % 12 == 0, "strong", np.where(medium & (n % 4 == 2), "medium", "weak"))
    probs = np.array([both[name][t] for t, name in enumerate(source.tolist())])
    return Recording(simulated.time, source, probs, simulated.classes, simulated.truth)


def changed(rec: Recording, **new: Any) -> Recording:
    columns = {name: getattr(rec, name) for name in ("time", "source", "probs", "classes", "label")}
    return Recording(**(columns | new))


def accuracy(run: Callable[[Recording], Floats], recs: Sequence[Recording]) -> float:
    correct = [np.asarray(run(rec)).argmax(axis=1) == rec.label for rec in recs]
    return float(np.concatenate(correct).mean())


def hold(rec: Recording) -> Floats:
    beta = {name: 1.0 if name == "strong" else 0.5 for name in rec.sources}
    return rec.run(cf.HoldFilter(rec.classes), beta)


@lru_cache
def tuned_short(kind: Any) -> Tuned:
    return tune(days([0, 1], 2.0), kind, "strong")


# --- how good -------------------------------------------------------------------------------

FRESH = [200, 201, 202]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(4), range(10, 14)])
def test_without_labels_about_as_good_as_with_them(seeds: range) -> None:
    """Tuned on some days, measured on others; the paper's weights get the best half-life there."""
    fresh = days(FRESH, 8.0)
    tuned = tune(days(seeds, 6.0))
    labelled = tune(days(seeds, 6.0), labels=True)
    unlabelled, best = accuracy(tuned.run, fresh), accuracy(labelled.run, fresh)
    assert (tuned.criterion, labelled.criterion) == ("future predictions", "labels")
    assert unlabelled > best - 0.015
    paper = max(
        accuracy(
            lambda rec, h=h: rec.run(  # type: ignore[misc]
                cf.DirichletFilter(rec.classes, half_life=h), {"strong": 1.0, "weak": 0.5}
            ),
            fresh,
        )
        for h in (5, 10, 20, 40, 80, 160)
    )
    assert unlabelled > paper + 0.02
    assert unlabelled > accuracy(hold, fresh) + 0.02
    assert accuracy(tuned.smooth, fresh) > unlabelled


@pytest.mark.slow
def test_three_sources() -> None:
    seeds = range(2)
    tuned = tune([three(day(seed, 6.0)) for seed in seeds])
    assert tuned.reference == "strong"  # it is called least often
    assert list(tuned.beta) == ["strong", "weak", "medium"]
    assert tuned.beta["medium"] > tuned.beta["weak"]
    fresh = [day(seed, 8.0) for seed in FRESH]
    with_three = accuracy(tuned.run, [three(simulated) for simulated in fresh])
    two = tune(days(seeds, 6.0))
    assert with_three > accuracy(two.run, [simulated.recording() for simulated in fresh]) + 0.005
    assert with_three > accuracy(hold, [three(simulated) for simulated in fresh]) + 0.02


@pytest.mark.parametrize("kind", ["auto", "dirichlet", "sticky"])
def test_one_source(kind: Any) -> None:
    """It is judged by its own predictions, later than its errors last."""

    def alone(seed: int) -> Recording:
        simulated = day(seed, 2.0)
        columns = simulated.time, "weak", simulated.probs["weak"], simulated.classes
        return Recording(*columns, simulated.truth)

    tuned = tune([alone(0), alone(1), alone(2)], kind)
    assert (tuned.reference, tuned.criterion) == ("weak", "future predictions")
    assert tuned.channel == {"weak": None}
    assert "What its source predicts later is" in str(tuned)
    raw = accuracy(lambda rec: rec.run(cf.RawFilter(rec.classes)), [alone(5), alone(6)])
    assert accuracy(tuned.run, [alone(5), alone(6)]) > raw + 0.02


def test_the_table_and_the_explanation() -> None:
    for kind, name in (("dirichlet", "A Dirichlet filter, half-life"), ("sticky", "A sticky")):
        tuned = tuned_short(kind)
        assert str(tuned).startswith(name)
        for source, weight in tuned.beta.items():
            assert f"{source} {weight:.2g}" in str(tuned)
        through = [n for n in tuned.beta if f"{n} {tuned.beta[n]:.2g} through its" in str(tuned)]
        assert through == [n for n, channel in tuned.channel.items() if channel is not None]
        assert "Chosen on 2 streams with 240 predictions of 'strong', without labels." in str(tuned)
        scores = [trial.score for trial in tuned.table]
        assert scores == sorted(scores, reverse=True)
        assert len({trial.candidate for trial in tuned.table}) == len(scores)
        assert all(0 < trial.error < 0.5 for trial in tuned.table)
        (score,) = (t.score for t in tuned.table if t.candidate == tuned.candidate)
        line = f"later is {np.exp(score):.2f} times as likely in its class as on average."
        assert line in str(tuned)
        for rival, gain, error in tuned.rivals:
            clear = "a clear" if abs(gain) > 2 * error else "no clear"
            text = f"Against {rival}: {np.exp(score - gain):.2f} times; {clear} difference."
            assert text in str(tuned)
        assert {"Raw", "Hold", "Ema"} <= {rival.name for rival in tuned.rivals}
    assert isinstance(tuned_short("dirichlet").filter(), cf.DirichletFilter)
    assert isinstance(tuned_short("sticky").filter(), cf.StickyFilter)


@pytest.mark.parametrize("kind", ["dirichlet", "sticky"])
def test_a_saved_filter_gives_the_same_bits_everywhere(kind: Any, tmp_path: Path) -> None:
    """In a recording, a table, a file and a live stream, whatever their order of classes."""
    tuned = tune(days(range(4), 4.0), kind, "strong", channel=True)
    rec = messy(5, 0.5)
    expected = tuned.run(rec)
    tuned.save(tmp_path / "tuned.toml")
    f, beta, channel, policy = config.read(tmp_path / "tuned.toml")
    assert policy is None
    assert list(channel) == ["weak"]
    assert channel["weak"] == tuned.channel["weak"]
    assert rec.run(f, beta, channel).tobytes() == expected.tobytes()
    assert rec.smooth(f, beta, channel).tobytes() == tuned.smooth(rec).tobytes()
    names = [f"f_{name}" for name in rec.classes]
    to = [3, 0, 5, 1, 4, 2]
    other = changed(rec, probs=rec.probs[:, to], classes=[rec.classes[k] for k in to])
    for recording in (rec, other):
        df = recording.to_table()
        out = cf.filter_table(df, f, beta, channel)
        np.testing.assert_array_equal(out.select(names).to_numpy(), expected)
        cf.write_table(df, tmp_path / "day.parquet")
        cf.filter_file(tmp_path / "day.parquet", tmp_path / "out.parquet", f, beta, channel)
        out = cf.read_table(tmp_path / "out.parquet")
        np.testing.assert_array_equal(out.select(names).to_numpy(), expected)
        rows = df.drop("label").fill_nan(None).to_dicts()
        lines = serve_here(
            list(map(as_line, rows)), make_filter=lambda _: f, beta=beta, channel=channel
        )
        served = [[json.loads(line)[name] for name in names] for line in lines]
        np.testing.assert_array_equal(served, expected)


def test_a_fresh_filter_each_time() -> None:
    tuned, rec = tuned_short("dirichlet"), days([5], 2.0)[0]
    expected = tuned.run(rec)
    used = tuned.filter()
    used.update(np.eye(6)[0])
    assert tuned.filter().probs.tolist() != used.probs.tolist()
    assert tuned.run(rec).tobytes() == expected.tobytes()
    assert tuned.classes == rec.classes


@pytest.mark.parametrize("channel", [True, False])
def test_with_channels_or_without(channel: bool) -> None:
    tuned = tune(days([0, 1], 2.0), "dirichlet", channel=channel)
    assert isinstance(tuned.channel["weak"], cf.Channel) == channel
    assert tuned.channel["strong"] is None


def test_progress() -> None:
    shares: list[float] = []
    tune(days([0, 1], 2.0), progress=shares.append)
    assert shares == sorted(set(shares))
    assert shares[0] > 0
    assert shares[-1] == 1.0
    assert len(shares) >= 5


# --- what must not matter -------------------------------------------------------------------


def test_repeatable_and_labels_are_not_used() -> None:
    recs = days([0, 1], 2.0)
    rng = np.random.default_rng(0)
    wrong = [
        changed(recs[0], label=None),
        changed(recs[1], label=rng.integers(6, size=len(recs[1]))),
    ]
    first, again = tuned_short("auto"), tune(wrong, "auto", "strong")
    assert again.table == first.table
    assert (again.beta, str(again)) == (first.beta, str(first))
    assert again.run(recs[0]).tobytes() == first.run(recs[0]).tobytes()


def test_classes_in_another_order() -> None:
    recs, to = days([0, 1], 2.0), np.array([3, 0, 5, 1, 4, 2])
    assert recs[0].label is not None
    names = [recs[0].classes[k] for k in to]
    other = [changed(rec, probs=rec.probs[:, to], classes=names, label=None) for rec in recs]
    plain, permuted = (tune(r, "auto", "strong", channel=True) for r in (recs, other))
    assert permuted.beta == plain.beta
    expected = plain.run(recs[0])[:, to]
    np.testing.assert_allclose(permuted.run(other[0]), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", ["dirichlet", "sticky"])
def test_the_unit_of_time(kind: Any) -> None:
    recs = days([0, 1], 2.0)
    minutes = [changed(rec, time=rec.time / 60) for rec in recs]
    tuned = tune(minutes, kind, "strong")
    assert tuned.beta == tuned_short(kind).beta
    np.testing.assert_allclose(
        tuned.run(minutes[0]), tuned_short(kind).run(recs[0]), rtol=0, atol=1e-8
    )


def test_a_unit_of_time_that_is_too_long() -> None:
    recs = days([0, 1], 2.0)
    hours = [changed(rec, time=rec.time / 4096) for rec in recs]  # about; near times stay near
    tuned = tune(hours, "sticky", "strong")
    np.testing.assert_allclose(
        tuned.run(hours[0]), tuned_short("sticky").run(recs[0]), rtol=0, atol=1e-6
    )
    with pytest.raises(ValueError, match=r"recordings: 5\.79e-05 time units from row to row are"):
        tune([changed(rec, time=rec.time / 86400) for rec in recs])


# --- what comes in practice -----------------------------------------------------------------


def messy(seed: int, hours: float = 3.0) -> Recording:
    """Rows lost, irregular times, some predictions missing, and both sources at one time."""
    rng = np.random.default_rng(seed)
    simulated = day(seed, hours)
    rows = np.flatnonzero(rng.random(len(simulated.time)) < 0.8)
    time = simulated.time[rows] + rng.uniform(0, 2, len(rows))
    strong = rows % 12 < 1
    order = np.repeat(np.arange(len(rows)), 1 + strong)
    second = np.append(False, order[1:] == order[:-1])
    both = (simulated.probs[name][rows[order]] for name in ("strong", "weak"))
    probs = np.where(second[:, None], *both)
    probs[rng.random(len(order)) < 0.05] = NAN
    source = np.where(second, "strong", "weak")
    return Recording(time[order], source, probs, simulated.classes, simulated.truth[rows[order]])


def test_messy_recordings() -> None:
    recs = [messy(seed) for seed in range(3)]
    tuned = tune([changed(rec, label=None) for rec in recs])
    fresh = [messy(seed) for seed in (5, 6)]
    assert accuracy(tuned.run, fresh) > accuracy(hold, fresh) + 0.02
    assert not any(np.isnan(tuned.run(rec)).any() for rec in fresh)


@pytest.mark.parametrize("has", [[True, False, True, False], [False, True, False, False]])
def test_a_source_that_some_streams_lack(has: list[bool]) -> None:
    """In two of four, or in one only; a stream without the reference may be there too."""
    recs = [three(day(seed, 6.0), medium) for seed, medium in enumerate(has)]
    more = day(9, 2.0)
    recs.append(Recording(more.time, "weak", more.probs["weak"], more.classes))
    recs.append(first_rows(more.recording(), 5))  # the reference in the first row only
    tuned = tune(recs, "sticky", "strong")
    assert tuned.criterion == "future predictions"
    assert set(tuned.beta) == {"strong", "weak", "medium"}
    fresh = [three(day(seed, 2.0)) for seed in (5, 6)]
    assert accuracy(tuned.run, fresh) > accuracy(hold, fresh)


def test_one_stream_and_a_reference_by_name() -> None:
    rec = days([0], 4.0)[0]
    assert tune(rec, "sticky").reference == "strong"
    tuned = tune(rec, "sticky", "weak")
    assert (tuned.reference, tuned.beta["weak"]) == ("weak", 1.0)
    assert "Chosen on 1 stream with" in str(tuned)


# --- too little, or wrong -------------------------------------------------------------------


def first_rows(rec: Recording, rows: int) -> Recording:
    label = None if rec.label is None else rec.label[:rows]
    return Recording(rec.time[:rows], rec.source[:rows], rec.probs[:rows], rec.classes, label)


def test_a_reference_that_is_called_too_rarely() -> None:
    """The class changes every two minutes, and the strong one is called every five."""
    truth = np.tile(np.repeat(np.arange(4), 24), 40)
    rng = np.random.default_rng(0)
    probs = {"weak": rng.dirichlet(np.ones(4), truth.size), "strong": np.eye(4)[truth]}
    day = Simulation(np.arange(0.0, truth.size) * 5, truth, tuple("abcd"), probs)
    with pytest.warns(
        UserWarning, match=r"successive predictions of 'strong' agree hardly more th"
    ):
        tune([day.recording(every=60)] * 2, "sticky", "strong")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tune([day.recording(every=6)] * 2, "sticky", "strong")


@pytest.mark.parametrize(
    ("kind", "cls"),
    [("auto", cf.DirichletFilter), ("dirichlet", cf.DirichletFilter), ("sticky", cf.StickyFilter)],
)
@pytest.mark.parametrize("rows", [2, 12 * (MIN_PREDICTIONS - 1)])
def test_too_little_gives_safe_settings_and_a_warning(kind: Any, cls: Any, rows: int) -> None:
    rec = first_rows(day(0, 2.0).recording(), rows)
    count = (rec.source == "strong").sum()
    with pytest.warns(
        UserWarning, match=f"there are {count} predictions of 'strong'; tuning needs at"
    ):
        tuned = tune(rec, kind, "strong")
    assert tuned.beta == {"strong": 1.0, "weak": SAFE_WEIGHT}
    assert tuned.channel == {"strong": None, "weak": None}
    assert (tuned.criterion, tuned.table) == ("nothing", [])
    assert isinstance(tuned.filter(), cls)
    assert "safe settings" in str(tuned)
    fresh = days([5], 2.0)
    if rows > 2:
        assert accuracy(tuned.run, fresh) > accuracy(
            lambda rec: rec.run(cf.RawFilter(6), 1.0), fresh
        )


def test_just_enough() -> None:
    rec = first_rows(day(0, 2.0).recording(), 12 * MIN_PREDICTIONS)
    assert tune(rec, "dirichlet").criterion == "future predictions"


def test_missing_predictions_do_not_count() -> None:
    rec = first_rows(day(0, 2.0).recording(), 12 * MIN_PREDICTIONS)
    probs = rec.probs.copy()
    probs[12] = NAN
    with pytest.warns(UserWarning, match="there are 39 predictions of 'strong'"):
        tune(changed(rec, probs=probs))
    probs[rec.source == "strong"] = NAN
    with pytest.raises(
        ValueError, match="reference is 'strong'; the sources with predictions are weak"
    ):
        tune(changed(rec, probs=probs), reference="strong")


HMM: Any = "hmm"
ONE = Recording([0], "b", [[1.0, 0.0]], ["walk", "sit"], ["walk"])
TWO = Recording([0, 1], ["a", "b"], [[0.5, 0.5], [1.0, 0.0]], ["walk", "sit"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tune([]), "recordings is empty; give one per stream"),
        (lambda: tune(Recording([], [], [], 2)), "recordings has no predictions; there is no"),
        (lambda: tune(TWO, HMM), "filter is 'hmm'; it must be one of auto, sticky, dirichlet"),
        (lambda: tune(TWO), "reference is not given, and 'a' and 'b' have about as many predict"),
        (
            lambda: tune(TWO, reference="c"),
            "reference is 'c'; the sources with predictions are a, b",
        ),
        (
            lambda: tune(TWO, reference="a", labels=True),
            "labels is True, but no recording with predictions of 'a' has a label; leave it out",
        ),
        (
            lambda: tune([changed(TWO, label=[-1, -1]), ONE], reference="a", labels=True),
            "labels is True, but no recording with predictions of 'a' has a label",
        ),
        (
            lambda: tune([TWO, changed(TWO, classes=["sit", "walk"])]),
            r"recordings\[1\] has the classes \['sit', 'walk'\], the first \['walk', 'sit'\]; give",
        ),
        (
            lambda: tune(TWO, reference="a", every=0),
            "every is 0; it counts steps and must be 1 or more",
        ),
        (
            lambda: tune(TWO, reference="a", budget=1.5),
            "budget is 1.5; it is a share of the steps, above 0",
        ),
        (
            lambda: tune(TWO, reference="a", every=3, budget=0.5),
            "every and budget are both given; give one of them",
        ),
    ],
)
def test_errors_name_the_argument_and_the_remedy(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_file_comes_back_ready_to_run(tmp_path: Path) -> None:
    tuned, rec = tuned_short("sticky"), days([5], 2.0)[0]
    tuned.save(tmp_path / "walk.toml")
    again = cf.Tuned.load(tmp_path / "walk.toml")
    assert again.run(rec).tobytes() == tuned.run(rec).tobytes()
    assert again.smooth(rec).tobytes() == tuned.smooth(rec).tobytes()
    assert (again.beta, again.reference, again.candidate) == (tuned.beta, "strong", None)
    cf.DirichletFilter(["a", "b"]).save(tmp_path / "bare.toml")
    with pytest.raises(ValueError, match=r"bare\.toml has no section \[beta\]; name the weight"):
        cf.Tuned.load(tmp_path / "bare.toml")


def test_the_chosen_candidate() -> None:
    tuned = tuned_short("sticky")
    assert tuned.candidate is not None
    assert dict(tuned.candidate.beta) == tuned.beta
    assert tuned.candidate in [trial.candidate for trial in tuned.table]


def test_recordings_of_a_dataframe() -> None:
    recs = days([0, 1], 2.0)
    tuned = tune({"ann": recs[0], "bob": recs[1]}, "sticky", "strong")
    assert tuned.beta == tuned_short("sticky").beta
    with pytest.raises(
        TypeError, match=r"recordings has a str; give recordings: those of a datafr"
    ):
        tune(["ann", "bob"])  # type: ignore[list-item]
