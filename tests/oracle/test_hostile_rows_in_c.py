"""Exported firmware on the hostile rows, compiled for this machine: the bits of plain filters."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import classfilter as cf
from classfilter.embedded import export
from differences import part
from entry_points import PIPE, same
from expected_rows import Result, Taken, as_numbers, expected
from hostile_rows import BETA, CASES, CLASSES, FILTERS, Case, Row

APPLIES = [part(case, "firmware") for case in CASES]
MAIN = r"""
#include <stdio.h>
#include "classfilter.h"

/* A device with many streams, which checks the times itself. Each line: stream, time, source and
   prediction; its result: the bits of the estimate and the class. */
int main(void) {
    static cf_stream_f32 streams[100];
    static double last[100];
    static int begun[100];
    int stream, source, k;
    double time;
    float dt, observed[CF_CLASSES];
    union { float real; unsigned bits; } probs[CF_CLASSES];
    while (scanf("%d %la %d", &stream, &time, &source) == 3) {
        for (k = 0; k < CF_CLASSES; k++)
            if (scanf("%a", &observed[k]) != 1) return 1;
        if (!begun[stream]) {
            cf_start_f32(&streams[stream]);
            last[stream] = time;
        }
        dt = (float)(time - last[stream]);
        if (!(time >= last[stream]) ||
            cf_update_f32(&streams[stream], source, observed, dt, &probs[0].real) != CF_OK) {
            puts("refused");
            continue;
        }
        begun[stream] = 1;
        last[stream] = time;
        for (k = 0; k < CF_CLASSES; k++) printf("%08x", probs[k].bits);
        printf(" %d\n", cf_label_f32(&streams[stream]));
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The firmware, in a loop over lines."""
    folder = tmp_path_factory.mktemp("firmware")
    cf.Pipeline.of(FILTERS["dirichlet"], **PIPE).save(folder / "pipeline.json")
    export(cf.load(folder / "pipeline.json"), folder / "c")
    (folder / "c" / "main.c").write_text(MAIN)
    sources = ["main.c", "src/classfilter.c", "src/core/status.c"]
    command = ["gcc", "-std=c99", "-O1", "-Wall", "-Werror", "-Isrc", *sources, "-o", "main"]
    subprocess.run(command, cwd=folder / "c", check=True)
    return folder / "c" / "main"


def run(program: Path, case: Case) -> Result:
    streams = list(dict.fromkeys(row.stream for row in case.rows))
    lines = [as_line(row, streams.index(row.stream)) for row in case.rows]
    text = "\n".join(lines)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return Result([parse(line) for line in done.stdout.splitlines()])


def as_line(row: Row, stream: int) -> str:
    source = row.source or "default"
    index = list(BETA).index(source) if source in BETA else -1
    numbers = " ".join(p.hex() for p in as_numbers(row.probs, source))
    return f"{stream} {row.time.hex()} {index} {numbers}"


def parse(line: str) -> Taken | None:
    if line == "refused":
        return None
    bits, label = line.split()
    return Taken(
        np.frombuffer(bytes.fromhex(bits), ">u4").astype("u4").tobytes(), CLASSES[int(label)]
    )


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("case", APPLIES, ids=str)
def test_as_the_rules_and_plain_filters(case: Case, program: Path) -> None:
    same(run(program, case), expected(case))
