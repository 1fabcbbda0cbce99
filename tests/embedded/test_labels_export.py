"""Firmware of several heads: it compiles strictly, and has the bits of each head."""

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
from firmware_configs import HEADS, STEP, all_configs, configs, label_configs

STRICT = "-O1 -pedantic -Wconversion -Wdouble-promotion -Wno-unknown-pragmas -Werror"
SLOW = pytest.mark.slow
KINDS = [kind for kind in all_configs() if kind not in configs()]
COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]


def make(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["make", "-C", str(folder), *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not COMPILERS or shutil.which("make") is None, reason="no make or no compiler")
@pytest.mark.parametrize(
    "kind",
    [
        kind if kind in ("labels-sticky", "heads-dirichlet") else pytest.param(kind, marks=SLOW)
        for kind in KINDS
    ],
)
def test_the_self_test_has_the_bits_of_python(kind: str, tmp_path: Path) -> None:
    files = export(all_configs()[kind], tmp_path, step=STEP)
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
    float score, probs[CF_COLUMNS];
    int i, on = 0;
    for (i = 0; i <= 100; i++) {
        score = (float)i / 100;
        cf_start_f32(&stream);
        if (cf_update_f32(&stream, 0, &score, 0, probs) != CF_OK) return 101;
        if (cf_label_f32(&stream) != (probs[0] > 0.5f ? CF_CLASS_SPEECH : -1)) return 102;
        on += cf_label_f32(&stream) >= 0;
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


OF_HEADS = """
#include "classfilter.h"
int main(void) {
    static const float row[CF_COLUMNS] = {0.1f, 0.8f, 0.1f, 0.9f, 0.2f, 0.8f};
    cf_stream_f32 stream;
    cf_event events[CF_MOST_EVENTS], piece;
    float probs[CF_COLUMNS];
    uint32_t second;
    size_t count;
    int pieces = 0;
    cf_start_f32(&stream);
    if (cf_label_f32(&stream, CF_HEAD_SPEECH) != -1) return 101;
    for (second = 0; second < 100; second++) {
        if (cf_update_f32(&stream, CF_SOURCE_DEFAULT, row, second > 0, probs) != CF_OK) return 102;
        if (cf_decide_f32(&stream, CF_HEAD_POSTURE, 1000 * second, probs, events, &count) != CF_OK)
            return 103;
        if (count > 0) return 103;
        if (cf_decide_f32(&stream, CF_HEAD_ACTIVITY, 1000 * second, probs, events, &count) != CF_OK)
            return 104;
    }
    if (cf_label_f32(&stream, CF_HEAD_ACTIVITY) != CF_CLASS_ACTIVITY_SIT) return 105;
    if (cf_label_f32(&stream, CF_HEAD_SPEECH) != CF_CLASS_SPEECH) return 106;
    if (cf_label_f32(&stream, CF_HEAD_POSTURE) != CF_CLASS_POSTURE_DOWN) return 107;
    if (cf_current_f32(&stream, CF_HEAD_ACTIVITY, &piece) == 0) return 108;
    if (piece.label != CF_CLASS_ACTIVITY_SIT) return 108;
    if (cf_current_f32(&stream, CF_HEAD_POSTURE, &piece) != 0) return 109;
    cf_finish_f32(&stream, CF_HEAD_ACTIVITY, events, &count);
    if (count != 1 || events[0].label != CF_CLASS_ACTIVITY_SIT) return 110;
    while (cf_piece_f32(&events[0], (size_t)pieces, &piece)) pieces++;
    return pieces;
}
"""


@pytest.mark.skipif(not COMPILERS, reason="no compiler")
def test_a_head_has_its_own_columns_and_rule(tmp_path: Path) -> None:
    """Posture has no events; the one of an activity has its column, and is divided."""
    filters = {name: cf.StickyFilter(len(own or "ab"), stay=0.9) for name, own in HEADS.items()}
    rule = cf.EventRule(3.0, max_duration=40.0, ignore=["posture:up", "posture:down"])
    export(cf.Pipeline(cf.MultiLabelFilter(HEADS, filters), rule=rule), tmp_path)
    (tmp_path / "heads.c").write_text(OF_HEADS)
    command = [COMPILERS[0], "-std=c99", "-Isrc", "heads.c"]
    subprocess.run([*command, "src/classfilter.c", "-o", "heads"], cwd=tmp_path, check=True)
    assert subprocess.run(tmp_path / "heads").returncode == 3


def test_a_head_is_exported_by_itself(tmp_path: Path) -> None:
    pipe = label_configs()["sticky"].head("robin")
    export(pipe, tmp_path)
    header = (tmp_path / "src/cf_config.h").read_text()
    assert "enum { CF_CLASS_NOT_ROBIN, CF_CLASS_ROBIN };" in header
    assert "#define CF_HEADS 1\n" in header


def test_the_log_of_a_device(run: Run, tmp_path: Path) -> None:
    import polars as pl

    labels = ["robin", "wren"]
    f = cf.MultiLabelFilter(labels, cf.StickyFilter(2, stay=0.5 ** (1 / 10)))
    pipe = cf.Pipeline(f, beta={"mic": {"robin": 0.5, "wren": 1.0}})
    pipe.save("birds.json")
    rng = np.random.default_rng(0)
    scores = rng.random((50, 2))
    log: dict[str, Any] = {"time": np.arange(50.0), "source": ["mic"] * 50}
    log |= {f"p_{name}": scores[:, i] for i, name in enumerate(labels)}
    for i, name in enumerate(labels):
        lane = cf.StickyFilter(2, stay=0.5 ** (1 / 10), dtype="float32")
        s = scores[:, i].astype(np.float32)
        dt = np.append(0.0, np.ones(49))
        log[f"f_{name}"] = lane.run(np.stack([1 - s, s], 1), 0.5 + 0.5 * i, dt)[:, 1].astype(float)
    df = pl.DataFrame(log)
    assert verify(df, pipe).row is None
    df.write_csv("log.csv")
    assert run("verify", "log.csv", "--config", "birds.json")[0] == 0
    off = df.with_columns(pl.col("f_wren") * 1.00001)
    assert verify(off, pipe)[1:3] == (0, "wren")
    assert run("export", "birds.json", "-o", "fw")[0] == 0
    assert "#define CF_HEADS 2" in (tmp_path / "fw/src/cf_config.h").read_text()
