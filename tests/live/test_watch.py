"""Lines: a source that goes wrong is named on standard error, when it begins and when it ends."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np

import classfilter as cf
from classfilter.live import serve
from classfilter.live.ndjson import SourceWatch
from classfilter.pipeline import Expected

USUAL = Expected(5.0, 0.8, 5.0, (60.0, 60.0), 4.0)


def served(classes: list[int], tmp_path: Path) -> list[str]:
    pipe = cf.Pipeline(
        cf.StickyFilter(["rest", "move"], stay=0.5 ** (1 / 60)),
        beta={"weak": 1.0},
        expected={"weak": USUAL},
    )
    rows = [
        {"time": 5.0 * i, "source": "weak", "p_rest": [0.9, 0.1][k], "p_move": [0.1, 0.9][k]}
        for i, k in enumerate(classes)
    ]
    (tmp_path / "in").write_text("".join(json.dumps(row) + "\n" for row in rows))
    log = io.StringIO()
    with (tmp_path / "in").open() as source, (tmp_path / "out").open("w") as sink:
        serve(lambda _: pipe, source=source.fileno(), sink=sink.fileno(), errors=log)
    return log.getvalue().splitlines()


def test_begin_end_and_summary(tmp_path: Path) -> None:
    usual = [(i // 10) % 2 for i in range(100)]
    assert served(usual, tmp_path) == []
    lines = served([*usual, *[0] * 100, *usual], tmp_path)
    # Four times 60 s after the first line of the run, at 500 s, is line 150; it looks now and then.
    assert lines == [
        "line 160: source 'weak': stuck on 'rest': the last 60 predictions, 4.92 min; at most 12 "
        "when tuned",
        "line 224: source 'weak': no longer stuck",
        "source 'weak' was reported once; at the end: as usual now",
    ]


def test_often_is_said_ever_more_rarely(tmp_path: Path) -> None:
    log = io.StringIO()
    watch = SourceWatch(log)
    for number in range(20):
        watch._say("weak", "stuck", "stuck on 'rest'", number)
    said = [int(line.split(":")[0].removeprefix("line ")) for line in log.getvalue().splitlines()]
    assert said == [0, 1, 2, 3, 7, 15]
    assert log.getvalue().splitlines()[-1].endswith("stuck on 'rest' (no. 16)")


def test_it_goes_on_from_a_file(tmp_path: Path) -> None:
    usual = np.array([(i // 10) % 2 for i in range(100)])
    pipe = cf.Pipeline(
        cf.StickyFilter(["rest", "move"], stay=0.5 ** (1 / 60)), expected={"weak": USUAL}
    )
    rows = [json.dumps({"time": 5.0 * i, "source": "weak", "p_rest": 0.9 - 0.8 * k,
                        "p_move": 0.1 + 0.8 * k}) + "\n"
            for i, k in enumerate([*usual, *[0] * 60])]  # fmt: skip
    logs = []
    for part in (rows[:120], rows[120:]):
        (tmp_path / "in").write_text("".join(part))
        log = io.StringIO()
        with (tmp_path / "in").open() as source, (tmp_path / "out").open("w") as sink:
            serve(lambda _: pipe, source=source.fileno(), sink=sink.fileno(), errors=log,
                  state=tmp_path / "state")  # fmt: skip
        logs.append(log.getvalue())
    assert "stuck" not in logs[0]
    assert "line 32: source 'weak': stuck on 'rest': the last 52 predictions" in logs[1]
