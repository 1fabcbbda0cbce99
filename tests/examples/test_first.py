"""The data of the README's first example: those that its script writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from examples import first


def test_the_table_is_what_the_script_writes(tmp_path: Path) -> None:
    first.write_predictions(tmp_path / "predictions.csv")
    written, committed = pl.read_csv(tmp_path / "predictions.csv"), pl.read_csv(first.TABLE)
    names = ["time", "stream", "source", "label"]
    assert written.columns == committed.columns
    assert written.select(names).equals(committed.select(names))
    difference = written.drop(names).to_numpy() - committed.drop(names).to_numpy()
    assert np.abs(difference).max() <= 0.001 + 1e-12  # a last digit may be rounded differently


def test_the_pictures_are_drawn(tmp_path: Path) -> None:
    from matplotlib.image import imread

    drawn = tmp_path / "docs/first.png", tmp_path / "docs/events.png"
    first.draw(first.TABLE, *drawn)
    for path, committed in zip(drawn, (first.FIRST, first.EVENTS), strict=True):
        assert imread(path).shape == imread(committed).shape
