"""Python in the browser: the wheel for Pyodide has the bits of this Python, the page runs."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from release import sbom
from website.pyodide.session import lanes, run
from website.sessions import with_copies

import classfilter as cf

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build/pyodide"

SAME = """
import hashlib
import numpy as np
import classfilter as cf

def show(name, *arrays):
    for a in arrays:
        a = np.ascontiguousarray(a)
        print(name, a.dtype, a.shape, hashlib.sha256(a.tobytes()).hexdigest())

# Integers, and one division: the same rows wherever IEEE numbers are.
counts = (np.arange(1, 2401, dtype=np.int64) ** 3 * 7919 % 997).reshape(600, 4) + 1
probs = counts / counts.sum(axis=1, keepdims=True)
probs[17] = np.nan
beta = (np.arange(600) * 37 % 11) / 10.0
dt = (np.arange(600) * 13 % 7) * 1.0
classes = ["a", "b", "c", "d"]
filters = [
    cf.DirichletFilter(classes, half_life=9.0),
    cf.DirichletFilter(classes, gamma=0.95, estimate="mean", anchor=0.1),
    cf.DirichletFilter(classes, gamma=0.9, dtype="float32"),
    cf.StickyFilter(classes, half_life=30.0),
    cf.StickyFilter(classes, stay=0.9, dtype="float32"),
]
for f in filters:
    show("run", f.run(probs, beta=beta, dt=dt), *f.state[:1])
    f.reset()
    show("update", np.array([f.update(p, beta=b, dt=d) for p, b, d in zip(probs, beta, dt)]))
show("smooth", cf.smooth(filters[0], probs, beta, dt).round(9))  # by NumPy, not by the core
bank = cf.Bank(filters[0].copy(), streams=600)
show("bank", bank.update(probs, beta, dt))
rec = cf.Recording(np.cumsum(dt + 1.0), "model", probs, classes)
rule = cf.EventRule(0.2, min_duration={"a": 4.0}, leave_cost=0.1)
for f in filters[:1] + filters[3:4]:
    offline = cf.events(rec, f, rule)
    tracker = cf.Tracker(f, events=rule)
    for time, p in zip(rec.time, probs):
        tracker.update("ann", time, "model", p)
    live = [*tracker.pop_events()]
    assert len(offline) >= len(live) > 10
    for events in (offline, live):
        print(" ".join(e.label for e in events))
        show("events", np.array([(e.start, e.end, e.probability) for e in events]))
for wrong in ([1.0, 2.0, 3.0, 4.0], [0.5, 0.5], "e", [np.nan, 0.5, 0.5, 0.0]):
    try:
        filters[0].update(wrong)
    except ValueError as error:
        print(type(error).__name__, error)
"""


@pytest.fixture(scope="module")
def built() -> Path:
    """Return the folder of the wheels, which are of these sources."""
    wheels = list(BUILT.glob(f"classfilter-{cf.__version__}-*.whl"))
    if not wheels:
        pytest.skip("there is no wheel for Pyodide; make pyodide builds it")
    with zipfile.ZipFile(wheels[0]) as wheel:
        for file in (ROOT / "src/classfilter").rglob("*.py"):
            name = file.relative_to(ROOT / "src").as_posix()
            assert wheel.read(name) == file.read_bytes(), "the wheel is old: make pyodide"
        bill = f"classfilter-{cf.__version__}.dist-info/sboms/classfilter.cdx.json"
        assert wheel.read(bill).decode() == sbom.document(cf.__version__)
    return BUILT


def test_the_bits_are_those_of_this_python(built: Path) -> None:
    script = str(ROOT / "tests/js/run_pyodide.mjs")
    there = subprocess.run(["node", script, str(built)], input=SAME, capture_output=True, text=True)
    assert there.returncode == 0, there.stderr
    with contextlib.redirect_stdout(io.StringIO()) as here:
        exec(SAME, {})
    assert there.stdout == here.getvalue()
    assert here.getvalue().count("\n") > 20


def shown_by(page: Path) -> dict[str, Any]:
    script = str(ROOT / "tests/js/use_try.mjs")
    process = subprocess.run(
        ["node", script, str(page), str(page.parent)], capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    return dict(json.loads(process.stdout))


def test_the_page_runs_its_examples_from_disk(built: Path, tmp_path: Path) -> None:
    if find_spec("pymdownx") is None:
        pytest.skip("there is no Markdown with its extensions; make docs installs it")
    from markdown import markdown  # type: ignore[import-untyped, unused-ignore]

    text = (ROOT / "docs/try.md").read_text("utf-8").replace("```python", "```pycon")
    body = markdown(text, extensions=["pymdownx.highlight", "pymdownx.superfences"])
    page = tmp_path / "try.html"
    script = f'<script src="{(built / "page/page.js").as_uri()}" defer></script>'
    page.write_text(f'<meta charset="utf-8">{with_copies(body)}{script}', "utf-8")
    shown = shown_by(page)

    assert shown["messages"] == []
    assert {url.partition(":")[0] for url in shown["requests"]} == {"file", "blob"}
    assert len(shown["cells"]) == text.count("```pycon") >= 4
    for written, cell in zip(shown["asWritten"], shown["cells"], strict=True):
        # The tests of the documentation compare what is written with what this Python prints.
        assert cell["output"].strip() == written["output"].strip() != ""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            drawn = json.loads(run(cell["code"]))
        assert cell["output"] == printed.getvalue()
        assert cell["key"] == drawn["classes"]
        spans = [f"{lane['name']}: {len(lane['spans'])} spans" for lane in drawn["lanes"]]
        assert cell["lanes"] == spans != []
    assert "before\n" in shown["failed"]["output"]
    assert "classfilter.RowError: probs sums to 7.0" in shown["failed"]["output"]
    assert "session.py" not in shown["failed"]["output"]
    assert "SyntaxError" in shown["wrong"]["output"]
    assert "NameError" in shown["fresh"]["output"]  # nothing is left of the run before
    assert shown["stopped"]["status"] == "Stopped."
    assert shown["again"]["output"] == "2\n"
    assert shown["reset"] == shown["asWritten"][0]["code"]


def test_lanes_are_of_probabilities_and_events() -> None:
    import numpy as np

    probs = np.array([[0.9, 0.1], [0.8, 0.2], [np.nan, np.nan], [0.2, 0.8]])
    events = [cf.Event("ann", "b", 1.0, 4.0, 0.5), cf.Event("bob", "z", 2.0, 3.0, 0.5)]
    names = {"times": [0, 2, 4, 6], "classes": ["a", "b"], "probs": probs, "events": events}
    others = {"same": probs, "scores": probs * 3.0, "row": probs[0], "none": [], "whole": 3}
    assert lanes({**names, **others}) == {
        "classes": ["a", "b", "z"],
        "start": 0.0,
        "end": 8.0,
        "lanes": [
            {"name": "probs", "spans": [(0.0, 6.0, "a"), (6.0, 8.0, "b")]},
            {"name": "events, ann", "spans": [(1.0, 4.0, "b")]},
            {"name": "events, bob", "spans": [(2.0, 3.0, "z")]},
        ],
    }
    unnamed = lanes({"P": probs})
    assert unnamed["classes"] == ["class 0", "class 1"]
    assert unnamed["end"] == 4.0
