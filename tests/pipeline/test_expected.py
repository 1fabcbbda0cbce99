"""What a source did when tuned is kept beside the settings, and changes none of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import classfilter as cf
from classfilter.pipeline import Expected

WEAK = Expected(5.0, 0.8, 5.0, (60.0, 1 / 3), 20.0)
BETA = {"weak": 0.1, "strong": 1.0}


def pipe(**parts: Any) -> cf.Pipeline:
    return cf.Pipeline(cf.StickyFilter(["walk", "sit"], stay=0.5 ** (1 / 60)), beta=BETA, **parts)


def test_a_file_has_it_to_the_bit(tmp_path: Path) -> None:
    pipe(expected={"weak": WEAK}).save(tmp_path / "walk.json")
    loaded = cf.load(tmp_path / "walk.json")
    assert loaded.expected == {"weak": WEAK}
    assert loaded.settings == pipe().settings
    assert '"expected"' in (tmp_path / "walk.json").read_text()


def test_states_written_without_it_still_load(tmp_path: Path) -> None:
    """The digest is that of the settings, and a tracker keeps what it expects."""
    judged = pipe(expected={"weak": WEAK})
    assert judged.digest == pipe().digest
    cf.Tracker(judged).save(tmp_path / "tracker")
    assert cf.Tracker.load(tmp_path / "tracker").pipe.expected == {"weak": WEAK}


def test_it_stays_with_other_weights_or_filters() -> None:
    judged = pipe(expected={"weak": WEAK})
    assert cf.Pipeline.of(judged, beta={"weak": 1.0}).expected == {"weak": WEAK}
    assert replace(judged, filter=cf.EmaFilter(["walk", "sit"])).expected == {"weak": WEAK}
    assert pipe().expected == {}
