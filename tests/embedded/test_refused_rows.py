"""What the firmware refuses changes no byte, and time passes where nothing was observed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from classfilter import Pipeline
from classfilter.embedded import export
from classfilter.embedded.folder import in_float32
from classfilter.embedded.golden import state_numbers
from firmware_configs import STEP, all_configs

COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]
QUICK = ("dirichlet-anchored",)
KINDS = [
    kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in all_configs()
]


def state_after_a_gap(config: Pipeline) -> list[int]:
    """Return the bits of Python's state after a row of the last source, and 7 s without one."""
    settings: Any = in_float32(config)
    if not isinstance(settings.beta, dict):
        settings = Pipeline.of(settings, beta={"default": settings.beta})
    f, width = settings.filter, len(settings.classes)
    row = np.zeros(width, np.float32)
    for span in settings.heads.spans:
        row[span] = np.float32(0.25) / np.float32(max(span.stop - span.start - 1, 1))
        row[span.start] = 0.75
    _, beta, observed = settings.observe(settings.sources[-1], row)
    f.update(observed, beta, 0.0)
    _, beta, missing = settings.observe(settings.sources[0], np.full(width, np.nan, np.float32))
    f.update(missing, beta, 0.0)
    f.update(missing, beta, 7.0)
    state = state_numbers(f, settings.heads)
    return [int(word) for word in state.view(np.uint32)]


@pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_refused_changes_nothing(kind: str, tmp_path: Path) -> None:
    config = all_configs()[kind]
    export(config, tmp_path, step=STEP)
    files = [str(Path(__file__).parent / "refused.c"), "src/classfilter.c"]
    for compiler in COMPILERS:
        command = [compiler, "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-Isrc"]
        subprocess.run([*command, *files, "-o", "refused"], cwd=tmp_path, check=True)
        done = subprocess.run([tmp_path / "refused"], capture_output=True, text=True)
        assert done.returncode == 0, f"refused.c, line {done.returncode}"
        assert [int(word, 16) for word in done.stdout.split()] == state_after_a_gap(config)
