"""One table of hostile rows, one model of the rules: all entry points agree to the bit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import classfilter as cf
from conftest import Run
from differences import part
from entry_points import (
    ENTRY_POINTS,
    PIPE,
    as_line,
    disagreement,
    no_disagreement,
    runs,
    same,
    table_results,
)
from expected_rows import Result, Taken, expected
from hostile_rows import CASES, Case

# Some rows have wrong clocks, and some are in milliseconds.
pytestmark = pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_agree(case: Case) -> None:
    # Files know no limits: what is left of a case about them takes long, and is a slow test's.
    names = [name for name in ENTRY_POINTS if name != "filter_file" or not case.limits]
    no_disagreement({name: disagreement(name, case) for name in names})


@pytest.mark.slow
@pytest.mark.parametrize("filter_", ["dirichlet", "single", "sticky", "tempered"])
@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_with_every_filter(name: str, filter_: str) -> None:
    with_filter = [replace(case, filter=filter_) for case in CASES]
    no_disagreement({str(case): disagreement(name, case) for case in with_filter})


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_command(case: Case, run: Run, tmp_path: Path) -> None:
    """A restart ends the command, and another one goes on from its file."""
    applies = part(case, "classfilter stream")
    cf.Pipeline.of(case.fresh(), **PIPE).save("pipeline.json")
    options = [f"--{name.replace('_', '-')}={value}" for name, value in applies.limits.items()]
    steps: list[Taken | None] = []
    for rows in runs(applies, restarts=True):
        sent = [as_line(applies, number, row) for number, row in enumerate(rows, len(steps))]
        steps += _results(applies, sent, run, options)
    same(Result(steps), expected(applies))


def _results(
    case: Case, sent: list[dict[str, Any]], run: Run, options: list[str]
) -> list[Taken | None]:
    lines = "".join(json.dumps(line) + "\n" for line in sent).encode()
    _, out, _ = run("stream", "--config=pipeline.json", "--state=state", *options, stdin=lines)
    results = [json.loads(line) for line in out.splitlines()]
    taken = dict(zip([row["n"] for row in results], table_results(case, results), strict=True))
    return [taken.get(line["n"]) for line in sent]
