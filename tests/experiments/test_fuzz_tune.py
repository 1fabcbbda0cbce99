"""The fuzzer of tune: what it draws is what it says, and it finds a tune that loses."""

from __future__ import annotations

import numpy as np
import pytest

import classfilter as cf
from experiments import fuzz_tune


def test_sources_are_right_as_often_as_they_say() -> None:
    """Over many cases, the accuracies that are drawn are those of the rows."""
    for seed in range(40):
        case = fuzz_tune.draw(seed)
        recs = fuzz_tune.streams_of(case)
        assert len(recs) == case.streams
        for i, source in enumerate(case.sources):
            if source.fault or source.lasting > 3 or case.streams * case.rows < 2000:
                continue
            of = [rec.of_source(f"s{i}") for rec in recs]
            right = np.concatenate(
                [
                    (rec.probs.argmax(axis=1) == rec.label)[own]
                    for rec, own in zip(recs, of, strict=True)
                ]
            )
            if len(right) > 2000:
                assert right.mean() == pytest.approx(source.right, abs=0.06)


def test_a_tune_that_loses_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def bad(recs: list[cf.Rows], reference: str | None = None) -> cf.Pipeline:
        pipe = cf.Pipeline(cf.StickyFilter(recs[0].classes, stay=0.99999))
        return cf.Pipeline.of(pipe, tuning=good(recs, reference=reference).tuning)

    good = cf.tune
    fuzz_tune.main(["--cases", "4"])
    before = capsys.readouterr().out.splitlines()[-3].split()
    monkeypatch.setattr(cf, "tune", bad)
    fuzz_tune.main(["--cases", "4"])
    after = capsys.readouterr().out.splitlines()[-3].split()
    assert before[:2] == after[:2] == ["all", "4"]
    assert int(before[2]) < int(after[2])
