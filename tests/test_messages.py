"""What errors and warnings say: messages.txt has calls, and what each raises.

A message is there once: to reword it, change the code and its line. `...` stands for any text,
where another line has it already or where it is not ours. The text before the first [section]
is run before each call, and so is the text between a [section] and an empty line.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest

import classfilter as cf
from classfilter.policy import Adaptive
from conftest import Run
from example_tables import VALID
from label_days import label_day
from ndjson_lines import as_line, serve_here

NAN, INF = float("nan"), float("inf")
STEP = 5.0 * np.arange(12)
PROBS = np.random.default_rng(0).dirichlet([1.0, 1.0], 12)
DATES = pd.date_range("2024-03-31 01:59:30", periods=12, freq="5s", tz="Europe/Berlin")
FOUR = {"p_walk": [0.9, 0.2, 0.8, 0.1], "p_sit": [0.1, 0.8, 0.2, 0.9]}
SOURCES = {"weak": lambda window: VALID, "strong": lambda window: VALID}


class Case(NamedTuple):
    setup: list[str]
    call: str
    expected: str
    line: int


def cases() -> Iterator[Case]:
    setups: dict[str, list[str]] = {"": []}
    section, call, in_setup = "", "", True
    text = Path(__file__).with_name("messages.txt").read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("["):
            section, in_setup = line, True
            setups[section] = setups[""].copy()
        elif not line:
            in_setup = False
        elif in_setup:
            setups[section].append(line)
        elif line.startswith("    "):
            yield Case(setups[section], call, line.strip(), number)
        else:
            call = line


CASES = list(cases())


def one(time: Any, classes: Any = ("walk", "sit"), **more: Any) -> cf.Rows:
    return cf.rows(time=[time], probs=[[1 / len(classes)] * len(classes)], classes=classes, **more)


def indexed(index: Any = None) -> pd.DataFrame:
    return pd.DataFrame(PROBS, index=index, columns=["p_walk", "p_sit"])


def steps(rows: int = 4, **cells: Any) -> pl.DataFrame:
    """Rows of changing probabilities; without `time`, five seconds apart."""
    time = {} if "time" in cells else {"time": STEP[:rows]}
    return pl.DataFrame(time | cells | {"p_walk": PROBS[:rows, 0], "p_sit": PROBS[:rows, 1]})


def abc(*scores: list[float]) -> pl.DataFrame:
    return pl.DataFrame({"time": [0, 1], "p_a": scores[0], "p_b": scores[1], "p_c": scores[2]})


def top_1(confidence: Any = (0.7, None, 0.5)) -> pd.DataFrame:
    labels = ["b", None, "c"]
    return pd.DataFrame({"time": [0, 5, 6], "prediction": labels, "confidence": list(confidence)})


def file(name: str, content: str | bytes) -> Path:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return Path(name)


def birds() -> cf.Rows:
    return label_day(0, 100, labelled=False)


def settings(content: str | bytes | dict[str, Any]) -> cf.Pipeline:
    text = json.dumps(content) if isinstance(content, dict) else content
    return cf.load(file("walk.json", text))


def stream(*lines: Any, **how: Any) -> None:
    """Give lines to a stream, and raise what it says of them."""
    errors = io.StringIO()
    serve_here([x if isinstance(x, bytes) else as_line(x) for x in lines], errors=errors, **how)
    raise ValueError(errors.getvalue())


def content() -> dict[Path, bytes | None]:
    """The files of this folder."""
    return {path: path.read_bytes() if path.is_file() else None for path in Path().rglob("*")}


def states(names: dict[str, Any]) -> list[str]:
    """What the filters, policies, trackers and banks of a setup know."""
    kinds = (cf.DirichletFilter, cf.MultiLabelFilter, Adaptive, cf.Cascade)
    known = [repr(value.state) for value in names.values() if isinstance(value, kinds)]
    for value in names.values():
        if isinstance(value, cf.Tracker):
            known += [f"{s} {value.time(s)} {value.filter(s).state}" for s in value.streams]
        if isinstance(value, cf.Bank):
            known += [repr(value.filter(n).state) for n in range(len(value))]
    return known


def test_the_command_line_has_words_of_its_own() -> None:
    """No option is said as an argument of Python."""
    of_python = re.compile(r'\w+=(["\[{]|True|None)|classfilter\.[a-z]')
    typed = [case for case in CASES if case.call.startswith("$ ")]
    assert not [case.line for case in typed if of_python.search(case.expected)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"line {case.line}")
def test_message(case: Case, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own, in which a call that fails changes nothing."""
    names: dict[str, Any] = globals() | {
        "missing": lambda name: monkeypatch.setitem(sys.modules, name, None)
    }
    exec("\n".join(case.setup), names)
    before = content(), states(names)
    if case.call.startswith("$ "):
        code, _, errors = run(*shlex.split(case.call[2:]))
        message = f"exit {code}: {errors.partition('Error: ')[2] or errors}"
    else:
        with warnings.catch_warnings(), pytest.raises(Exception) as caught:  # noqa: PT011, PT012
            warnings.simplefilter("error" if "Warning: " in case.expected else "ignore")
            exec(case.call, names)
        message = f"{type(caught.value).__name__}: {caught.value}"
    if not re.search(r"file\(|settings\(|; ", case.call):
        assert (content(), states(names)) == before
    said = " ".join(message.split()).replace(f"{Path.cwd()}/", "")
    pattern = ".*".join(re.escape(part.strip()) for part in case.expected.split("..."))
    assert re.fullmatch(pattern, said), said
