"""Files of events that overlap, as those of several labels at once do: they read back equal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.events import FORMATS
from conftest import rejected

READ = [name for name, kind in FORMATS.items() if kind.read]
LABELS = ("robin", "wren", "great-tit")


@st.composite
def overlapping(draw: Any) -> cf.Events:
    """Return events of labels that overlap, but not those of one label; times in milliseconds."""
    events = []
    for stream in draw(st.sampled_from([("ann",), ("ann", "bob")])):
        for label in LABELS:
            bounds = draw(st.lists(st.integers(0, 400), max_size=6, unique=True).map(sorted))
            for start, end in zip(bounds[::2], bounds[1::2], strict=False):
                events.append(cf.Event(stream, label, start / 8, end / 8, 0.75))
    return cf.Events(sorted(events, key=lambda e: (e.stream, e.start, e.label)))


@pytest.mark.parametrize("name", READ)
@given(events=overlapping())
def test_overlapping_events_read_back_equal(
    name: str, events: cf.Events, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "overlapping"
    wanted = [e for e in events if FORMATS[name].streams or e.stream == "ann"]
    longer: Any = {"duration": 60} if name == "textgrid" else {}
    stream: Any = {} if FORMATS[name].streams else {"stream": "ann"}
    cf.write_events(wanted, path, name, **longer)
    again = cf.read_events(path, name, **stream)
    if not FORMATS[name].probability:
        wanted = [e._replace(probability=None) for e in wanted]
    if name == "textgrid":  # in the order of its tiers
        assert sorted(again, key=repr) == sorted(wanted, key=repr)
    else:
        assert again == wanted


def tiers(text: str) -> list[str]:
    return re.findall(r'name = "(.*)"', text)


def test_a_textgrid_has_a_tier_for_each_label_that_overlaps(tmp_path: Path) -> None:
    path = tmp_path / "birds.TextGrid"
    dawn = [cf.Event("ann", "robin", 1.0, 3.0), cf.Event("ann", "wren", 2.0, 4.0)]
    apart = [cf.Event("bob", "robin", 0.0, 2.0), cf.Event("bob", "wren", 2.0, 4.0)]
    cf.write_events([*dawn, *apart], path)
    assert tiers(path.read_text()) == ["ann", "ann", "bob"]
    assert cf.read_events(path) == [*dawn, *apart]
    cf.write_events(dawn, path, tiers="class")
    assert tiers(path.read_text()) == ["robin", "wren"]
    twice = [dawn[0], dawn[0]._replace(start=2.0)]
    with rejected("start"):
        cf.write_events(twice, path, overlaps=True)
