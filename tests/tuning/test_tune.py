"""Tuning without labels: as good as with them, for any sources, times and order of classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.tuning import tune
from ndjson_lines import as_line, serve_here
from tuning_days import accuracy, changed, days, hold, messy, tuned_short

FRESH = [200, 201, 202]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(4), range(10, 14)])
def test_without_labels_about_as_good_as_with_them(seeds: range) -> None:
    """Tuned on some days, measured on others; the paper's weights get the best half-life there."""
    fresh = days(FRESH, 8.0)
    tuned = tune(days(seeds, 6.0))
    labelled = tune(days(seeds, 6.0), labels=True)
    unlabelled, best = accuracy(tuned.run, fresh), accuracy(labelled.run, fresh)
    assert (tuned.tuning.criterion, labelled.tuning.criterion) == ("future predictions", "labels")
    assert unlabelled > best - 0.015
    paper = max(
        accuracy(
            lambda rec, h=h: cf.Pipeline(  # type: ignore[misc]
                cf.DirichletFilter(rec.classes, half_life=h), beta={"strong": 1.0, "weak": 0.5}
            ).run(rec),
            fresh,
        )
        for h in (5, 10, 20, 40, 80, 160)
    )
    assert unlabelled > paper + 0.02
    assert unlabelled > accuracy(hold, fresh) + 0.02
    assert accuracy(tuned.smooth, fresh) > unlabelled


def test_the_table_and_the_explanation() -> None:
    for kind, name in (
        ("dirichlet", "A Dirichlet filter with a half-life of "),
        ("sticky", "A sticky"),
    ):
        tuned = tuned_short(kind)
        assert tuned.tuning.explain().startswith(name)
        assert repr(tuned).startswith(f"Pipeline({tuned.filter!r}, beta={{'strong': ")
        assert len(repr(tuned)) < 600
        for source, weight in tuned.beta.items():
            assert f"{source} {weight:.2g}" in tuned.tuning.explain()
        through = [
            n
            for n in tuned.beta
            if f"{n} {tuned.beta[n]:.2g} through its" in tuned.tuning.explain()
        ]
        assert through == [n for n, channel in tuned.channel.items() if channel is not None]
        assert (
            "Chosen on 2 streams with 240 predictions of 'strong', without labels."
            in tuned.tuning.explain()
        )
        scores = [trial.score for trial in tuned.tuning.table]
        assert scores == sorted(scores, reverse=True)
        assert len({trial.candidate for trial in tuned.tuning.table}) == len(scores)
        assert all(0 < trial.error < 0.5 for trial in tuned.tuning.table)
        (score,) = (t.score for t in tuned.tuning.table if t.candidate == tuned.tuning.candidate)
        line = f" are {np.exp(score):.2f} times as likely in the filtered class as on average."
        assert line in tuned.tuning.explain()
        for rival, gain, error, needed in tuned.tuning.rivals:
            clear = "clearly less" if gain > 0 else "clearly more"
            verdict = clear if abs(gain) > 2 * error else "no clear difference"
            text = f"With {rival}: {np.exp(score - gain):.2f} times; {verdict}."
            assert text in tuned.tuning.explain()
            assert needed == pytest.approx(2 * (2 * error / gain) ** 2)  # two streams
        assert {"Raw", "Hold", "Ema"} <= {rival.name for rival in tuned.tuning.rivals}
    assert isinstance(tuned_short("dirichlet").filter, cf.DirichletFilter)
    assert isinstance(tuned_short("sticky").filter, cf.StickyFilter)


@pytest.mark.parametrize("kind", ["dirichlet", "sticky"])
def test_a_saved_filter_gives_the_same_bits_everywhere(kind: Any, tmp_path: Path) -> None:
    """In a recording, a table, a file and a live stream, whatever their order of classes."""
    tuned = tune(days(range(4), 4.0), kind, "strong", channel=True)
    rec = messy(5, 0.5)
    expected = tuned.run(rec)
    tuned.save(tmp_path / "tuned.json")
    pipe = cf.load(tmp_path / "tuned.json")
    assert pipe.policy is None
    assert pipe.channel == tuned.channel
    assert pipe.channel["weak"] is not None
    assert cf.Pipeline.of(pipe).run(rec).tobytes() == expected.tobytes()
    assert cf.Pipeline.of(pipe).smooth(rec).tobytes() == tuned.smooth(rec).tobytes()
    names = [f"f_{name}" for name in rec.classes]
    to = [3, 0, 5, 1, 4, 2]
    other = changed(rec, probs=rec.probs[:, to], classes=[rec.classes[k] for k in to])
    for recording in (rec, other):
        df = recording.to_table()
        out = cf.filter_table(df, pipe)
        np.testing.assert_array_equal(out.select(names).to_numpy(), expected)
        cf.write_table(df, tmp_path / "day.parquet")
        cf.filter_file(tmp_path / "day.parquet", tmp_path / "out.parquet", pipe)
        out = cf.read_table(tmp_path / "out.parquet")
        np.testing.assert_array_equal(out.select(names).to_numpy(), expected)
        rows = df.drop("label").fill_nan(None).to_dicts()
        lines = serve_here(
            list(map(as_line, rows)),
            make_filter=lambda _: pipe.filter,
            beta=pipe.beta,
            channel=pipe.channel,
        )
        served = [[json.loads(line)[name] for name in names] for line in lines]
        np.testing.assert_array_equal(served, expected)


def test_a_fresh_filter_each_time() -> None:
    tuned, rec = tuned_short("dirichlet"), days([5], 2.0)[0]
    expected = tuned.run(rec)
    used = tuned.filter
    used.update(np.eye(6)[0])
    assert tuned.filter.probs.tolist() != used.probs.tolist()
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


def test_repeatable_and_labels_are_not_used() -> None:
    recs = days([0, 1], 2.0)
    rng = np.random.default_rng(0)
    wrong = [
        changed(recs[0], label=None),
        changed(recs[1], label=rng.integers(6, size=len(recs[1]))),
    ]
    first, again = tuned_short("auto"), tune(wrong, "auto", "strong")
    assert again.tuning.table == first.tuning.table
    assert (again.beta, str(again)) == (first.beta, str(first))
    assert again.run(recs[0]).tobytes() == first.run(recs[0]).tobytes()


def test_a_file_comes_back_ready_to_run(tmp_path: Path) -> None:
    tuned, rec = tuned_short("sticky"), days([5], 2.0)[0]
    tuned.save(tmp_path / "walk.json")
    again = cf.load(tmp_path / "walk.json")
    assert again.run(rec).tobytes() == tuned.run(rec).tobytes()
    assert again.smooth(rec).tobytes() == tuned.smooth(rec).tobytes()
    assert (again.beta, again.reference) == (tuned.beta, "strong")


def test_the_chosen_candidate() -> None:
    tuned = tuned_short("sticky")
    assert tuned.tuning.candidate is not None
    assert dict(tuned.tuning.candidate.beta) == tuned.beta
    assert tuned.tuning.candidate in [trial.candidate for trial in tuned.tuning.table]


def test_rows_of_several_streams() -> None:
    recs = days([0, 1], 2.0)
    tuned = tune({"ann": recs[0], "bob": recs[1]}, "sticky", "strong")
    assert tuned.beta == tuned_short("sticky").beta
    with pytest.raises(ValueError, match="ann"):
        tune(["ann", "bob"])
