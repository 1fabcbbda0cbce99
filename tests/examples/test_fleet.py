"""The fleet's script and notebook: they run, and print what they should."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from examples import fleet as script

NOTEBOOK = Path(script.__file__).with_suffix(".ipynb")


def test_the_notebook_prints_what_it_shows(
    spark: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark starts first: its Java keeps the folder it starts in, and serves other tests."""
    monkeypatch.chdir(NOTEBOOK.parent)
    names: dict[str, Any] = {}
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            capfd.readouterr()
            exec("".join(cell["source"]), names)
            shown = "".join(line for output in cell["outputs"] for line in output["text"])
            assert capfd.readouterr().out == shown


def test_the_script(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script.main(tmp_path)
    lines = capfd.readouterr().out.splitlines()
    assert lines == [
        "4320 rows of 4 streams",
        "filtered: accuracy 87.9%; smoothed: 92.9%",
        "live: 4320 rows ok",
        "live: accuracy 87.9%",
    ]
