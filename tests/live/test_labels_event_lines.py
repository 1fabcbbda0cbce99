"""Lines of events of several labels at once: each once, also after a restart."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.live._event_lines import EventLines
from classfilter.live._streams import LiveStreams, resume
from label_event_cases import LABELS, random_scores

RULE = cf.EventRule(1.0, merge_gap={"wren": 4.0}, max_delay=20.0)
CHAIN = cf.Chain(cf.MultiLabelFilter(LABELS, cf.StickyFilter(2, half_life=3.0)), rule=RULE)
ROWS = random_scores(np.random.default_rng(2), 150)


def offline() -> list[cf.Event]:
    rec = cf.Recording(range(len(ROWS)), "a", ROWS, LABELS, scores="independent")
    return list(cf.events({"dawn": rec}, CHAIN))


def parsed(path: Path) -> list[cf.Event]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["event"] for line in lines] == list(range(1, len(lines) + 1))
    keys = "stream", "class", "start", "end", "probability"
    return [cf.Event(*(line[key] for key in keys)) for line in lines]


def take(streams: Any, lines: EventLines, rows: range) -> None:
    for i in rows:
        streams.update("dawn", float(i), b"%d" % i, None, ROWS[i].tolist())
        lines.write(streams)


@pytest.mark.parametrize(("saved", "died"), [(0, 40), (70, 100), (70, 70), (149, 150)])
def test_after_a_restart_each_event_is_there_once(saved: int, died: int, tmp_path: Path) -> None:
    """The file of events is ahead of the state; the lines since then come again."""
    state, path = tmp_path / "state", tmp_path / "events.ndjson"
    streams = LiveStreams(CHAIN, LABELS, state, every=0.0)
    lines = EventLines(path, lambda _: None, io.StringIO())
    lines.resume(None)
    take(streams, lines, range(saved))
    streams._changed = True
    streams.save()
    take(streams, lines, range(saved, died))
    lines.close()
    streams = resume(lambda _: CHAIN, state)
    log = io.StringIO()
    lines = EventLines(path, lambda _: None, log)
    lines.resume(streams)
    take(streams, lines, range(len(ROWS)))
    streams.tracker.drop(streams.tracker.streams)
    lines.write(streams)
    lines.close()
    assert log.getvalue() == ""
    assert sorted(parsed(path), key=repr) == sorted(offline(), key=repr)
    assert len({e.label for e in parsed(path)}) == 3
