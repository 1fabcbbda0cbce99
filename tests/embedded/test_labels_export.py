"""Firmware for several labels at once: it compiles strictly, and has the bits of each label."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.embedded import export, verify
from conftest import Run
from firmware_configs import STEP, label_configs

STRICT = "-O1 -pedantic -Wconversion -Wdouble-promotion -Wno-unknown-pragmas -Werror"
COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]


def make(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["make", "-C", str(folder), *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not COMPILERS or shutil.which("make") is None, reason="no make or no compiler")
@pytest.mark.parametrize(
    "kind",
    [
        "sticky",
        *(
            pytest.param(k, marks=pytest.mark.slow)
            for k in ("events-unlike", "one", "moving", "dirichlet", "events")
        ),
    ],
)
def test_the_self_test_has_the_bits_of_python(kind: str, tmp_path: Path) -> None:
    files = export(label_configs()[kind], tmp_path, step=STEP)
    assert {"classfilter.c", "Makefile", "LICENSE"} <= {path.name for path in files}
    for compiler in COMPILERS:
        how = [f"CC={compiler}", f"CFLAGS={STRICT}"]
        assert "the same bits as in Python (0)" in make(tmp_path, *how, "clean", "test", "example")
    lines = subprocess.run(tmp_path / "example", capture_output=True, text=True).stdout
    assert len(lines.splitlines()) == 8
    assert "refused" not in lines


ON = """
#include "classfilter.h"
int main(void) {
    cf_stream_f32 stream;
    float score, probs[CF_LABELS];
    int i, on = 0;
    for (i = 0; i <= 100; i++) {
        score = (float)i / 100;
        cf_start_f32(&stream);
        if (cf_update_f32(&stream, 0, &score, 0, probs) != CF_OK) return 101;
        if (cf_is_on_f32(&stream, 0) != (probs[0] > 0.5f)) return 102;
        on += cf_is_on_f32(&stream, 0);
    }
    return on;
}
"""


@pytest.mark.skipif(not COMPILERS, reason="no compiler")
def test_a_label_is_on_above_one_half(tmp_path: Path) -> None:
    export(label_configs()["one"], tmp_path)
    (tmp_path / "on.c").write_text(ON)
    command = [COMPILERS[0], "-std=c99", "-Isrc", "on.c", "src/classfilter.c", "-o", "on"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run(tmp_path / "on").returncode == 50


def test_a_head_is_exported_by_itself(tmp_path: Path) -> None:
    chain = label_configs()["sticky"].head("robin")
    export(chain, tmp_path)
    header = (tmp_path / "src/cf_config.h").read_text()
    assert "enum { CF_CLASS_NOT_ROBIN, CF_CLASS_ROBIN };" in header
    assert "CF_LABELS" not in header


def test_the_log_of_a_device(run: Run, tmp_path: Path) -> None:
    import polars as pl

    labels = ["robin", "wren"]
    f = cf.MultiLabelFilter(labels, cf.StickyFilter(2, half_life=10.0))
    chain = cf.Chain(f, beta={"mic": {"robin": 0.5, "wren": 1.0}})
    chain.save("birds.toml")
    rng = np.random.default_rng(0)
    scores = rng.random((50, 2))
    log: dict[str, Any] = {"time": np.arange(50.0), "source": ["mic"] * 50}
    log |= {f"p_{name}": scores[:, i] for i, name in enumerate(labels)}
    for i, name in enumerate(labels):
        lane = cf.StickyFilter(2, half_life=10.0, dtype="float32")
        s = scores[:, i].astype(np.float32)
        dt = np.append(0.0, np.ones(49))
        log[f"f_{name}"] = lane.run(np.stack([1 - s, s], 1), 0.5 + 0.5 * i, dt)[:, 1].astype(float)
    df = pl.DataFrame(log)
    assert verify(df, chain).row is None
    df.write_csv("log.csv")
    assert run("verify", "log.csv", "--config", "birds.toml")[0] == 0
    off = df.with_columns(pl.col("f_wren") * 1.00001)
    assert verify(off, chain)[1:3] == (0, "wren")
    assert run("export", "birds.toml", "-o", "fw")[0] == 0
    assert "#define CF_LABELS 2" in (tmp_path / "fw/src/cf_config.h").read_text()
