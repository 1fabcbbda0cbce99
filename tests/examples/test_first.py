"""The data of the README's examples: those that their script writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import classfilter as cf
from examples import first, live_events


@pytest.mark.parametrize(
    ("write", "file"),
    [(first.write_one_classifier, first.ONE), (first.write_predictions, first.TABLE)],
)
def test_the_tables_are_what_the_script_writes(
    write: Callable[[Path], None], file: Path, tmp_path: Path
) -> None:
    write(tmp_path / "table.csv")
    written, committed = pl.read_csv(tmp_path / "table.csv"), pl.read_csv(file)
    assert written.columns == committed.columns
    numbers = [name for name in written.columns if name.startswith("p_")]
    assert written.drop(numbers).equals(committed.drop(numbers))
    difference = written.select(numbers).to_numpy() - committed.select(numbers).to_numpy()
    assert np.abs(difference).max() <= 0.001 + 1e-12  # a last digit may be rounded differently


@pytest.mark.filterwarnings("ignore:walking. .* predicted rows are gone")
def test_the_pictures_are_drawn(tmp_path: Path) -> None:
    from matplotlib.image import imread

    first.draw_first(first.ONE, tmp_path / "first.png")
    first.draw_events(first.TABLE, tmp_path / "events.png")
    first.draw_paper(tmp_path / "demo.png")
    for committed in (first.FIRST, first.EVENTS, first.PAPER):
        assert imread(tmp_path / committed.name).shape == imread(committed).shape


def test_the_picture_of_live_events_is_drawn_and_has_those_of_offline(tmp_path: Path) -> None:
    from matplotlib.image import imread

    live_events.draw(first.ONE, tmp_path / "live_events.png")
    assert imread(tmp_path / "live_events.png").shape == imread(live_events.PICTURE).shape
    recordings = cf.rows(cf.read_table(first.ONE)).by_stream()
    sticky = cf.StickyFilter(recordings["bob"].classes, stay=0.5 ** (1 / 60))
    pipe = cf.Pipeline(sticky, rule=cf.EventRule("15s"))
    live = live_events.live_events(recordings["bob"], pipe, "bob")
    assert live.events == cf.events({"bob": recordings["bob"]}, pipe)
    assert len(live.events) == len(live.known) > 10
    assert live.known == sorted(live.known)
