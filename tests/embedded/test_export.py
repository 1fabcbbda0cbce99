"""Exported firmware on this machine: it compiles strictly, and gives the bits that Python gives."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.embedded import export
from classfilter.embedded.folder import in_float32
from classfilter.embedded.golden import golden
from classfilter.embedded.header import config_header, constants, number
from conftest import Run
from firmware_configs import STEP, configs

ROOT = Path(__file__).parents[2]
STRICT = "-O1 -pedantic -Wconversion -Wdouble-promotion -Wno-unknown-pragmas -Werror"
PLAIN = ("sleep", "sit", "walk", "ride", "run", "mixed")
COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]
LIKE_OTHERS = (
    "dirichlet-whole", "dirichlet-loose", "dirichlet-tempered", "sticky", "sticky-whole",
    "sticky-periodic",
    "events", "events-uncertain",
)  # fmt: skip
"""Kinds whose code others in the quick suite have, too."""
needs_make = pytest.mark.skipif(
    not COMPILERS or shutil.which("make") is None, reason="no make, or no gcc and no clang"
)


class Custom:
    """A policy that is not one of the library."""

    state = ()

    def choose(self, probs: Any, since: Any) -> str:
        return "strong"

    def called(self, source: str, observation: Any, probs: Any, dt: float) -> None:
        pass

    def reset(self) -> None:
        pass

    def copy(self) -> Custom:
        return Custom()


def make(folder: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        ["make", "-C", str(folder), *arguments], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@needs_make
@pytest.mark.covering(1)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.slow) if kind in LIKE_OTHERS else kind
        for kind in configs()
    ],
)
def test_the_self_test_passes(kind: str, compiler: str, tmp_path: Path) -> None:
    export(configs()[kind], tmp_path, step=STEP)
    code, output = make(tmp_path, "all", "test", f"CC={compiler}", f"CFLAGS={STRICT}")
    assert code == 0, output
    assert "3000 rows" in output
    assert "the same bits as in Python (0)" in output
    assert subprocess.run([tmp_path / "example"], check=True, capture_output=True).stdout


@needs_make
@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "code_shown"),
    [
        ("src/cf_golden.h", r"(OUTPUTS 0x)\w", r"\g<1>z", None),  # it does not compile
        ("src/cf_golden.h", r"(INPUTS 0x).{8}", r"\g<1>00000000", "(-2)"),
        ("src/cf_golden.h", r"(OUTPUTS 0x).{8}", r"\g<1>00000000", "(-1)"),
        ("src/cf_golden.h", r"(= \{\n.*\n    \{)0x.{8}", r"\g<1>0x00000000", "(2)"),
        ("src/cf_config.h", r"(cf_config_beta\[\] = \{)0.1", r"\g<1>0.11", "(1)"),
        ("src/core/dirichlet_update.h", r"keep \* update", "keep * keep * update", "(1)"),
    ],
)
def test_the_self_test_detects_a_change(
    file: str, old: str, new: str, code_shown: str | None, tmp_path: Path
) -> None:
    export(configs()["dirichlet"], tmp_path)
    text, count = re.subn(old, new, (tmp_path / file).read_text(), count=1)
    assert count == 1
    (tmp_path / file).write_text(text)
    code, output = make(tmp_path, "test", f"CC={COMPILERS[0]}", "CFLAGS=-O0")
    assert code != 0
    assert code_shown is None or f"other bits than in Python {code_shown}" in output, output


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="cppcheck is not installed")
@pytest.mark.parametrize("kind", ["dirichlet-anchored", "sticky-moving"])
def test_cppcheck_finds_nothing(kind: str, tmp_path: Path) -> None:
    export(configs()[kind], tmp_path)
    kinds = "--enable=warning,performance,portability"
    units = ("src/classfilter.c", "src/cf_selftest.c", "example.c")
    done = subprocess.run(
        ["cppcheck", "-q", "--force", "--std=c99", "--error-exitcode=1", kinds, "-Isrc", *units],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("bits", [0x3F800000, 0x3DCCCCCD, 0x00800000, 0x7F7FFFFF, 0xC61C3C00])
def test_numbers_come_back_to_the_bit(bits: int) -> None:
    single = np.uint32(bits).view(np.float32)
    text = number(float(single))
    assert re.fullmatch(r"-?[0-9.e+-]+f", text)
    assert np.float32(text[:-1]).view(np.uint32) == bits


def test_firmware_has_the_licence_and_the_version(tmp_path: Path) -> None:
    export(cf.Pipeline(cf.StickyFilter(2)), tmp_path)
    assert (tmp_path / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    library = json.loads((tmp_path / "library.json").read_text())
    assert (library["version"], library["license"]) == (cf.__version__, "MIT")
    assert f'#define CF_VERSION "{cf.__version__}"' in (tmp_path / "src/core/cf.h").read_text()
    assert f"classfilter {cf.__version__} " in (tmp_path / "src/cf_config.h").read_text()
    for path in tmp_path.rglob("*.[ch]"):
        generated = path.name in ("cf_config.h", "cf_golden.h")
        assert generated or path.read_text().startswith("/* SPDX-License-Identifier: MIT */"), path


@given(st.lists(st.sampled_from(["a", "A", "A_1", "a_1", "A_2", "A-2", "NAMES", "A_2_2"])))
@example(["A_2", "a", "A"])
@example(["NAMES", "names", "NAMES_0"])
def test_no_two_names_are_alike_in_c(names: list[str]) -> None:
    words = constants("CF_CLASS", names)
    assert len(set(words)) == len(words) == len(names)
    assert "CF_CLASS_NAMES" not in words
    for name, word in zip(names, words, strict=True):
        assert re.fullmatch(f"CF_CLASS_{re.sub('-', '_', name).upper()}(_[0-9]+)?", word)


@pytest.mark.parametrize("names", [["NAMES", "b"], ["A_2", "a", "A"]])
def test_odd_names_compile(names: list[str], tmp_path: Path) -> None:
    export(
        cf.Pipeline(cf.DirichletFilter(names), beta={"A_2": 1.0, "a": 0.5, "A": 0.1}),
        tmp_path,
    )
    command = ["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    subprocess.run([*command, "-Isrc", "example.c", "src/cf_selftest.c"], cwd=tmp_path, check=True)


def test_names_are_valid_in_c(tmp_path: Path) -> None:
    f = cf.StickyFilter(["a b", "a-b", 'x"\n', "*/"], stay=0.9)
    header = config_header(cf.Pipeline(f, beta={"*/": 1.0}), "/* a\n*/.json")
    assert "enum { CF_CLASS_A_B, CF_CLASS_A_B_1, CF_CLASS_X__, CF_CLASS___ };" in header
    assert r'{"a b", "a-b", "x\042\012", "*/"}' in header
    assert header.splitlines()[0].endswith("from ? a??.json; do not edit. */")


def test_a_small_floor_has_the_limit_of_single_precision(tmp_path: Path) -> None:
    """By default, the limit of alpha's sum is larger in double precision."""
    f = cf.DirichletFilter(3, gamma=0.9, floor=1e-6)
    single = cf.DirichletFilter(3, gamma=0.9, floor=1e-6, dtype=np.float32)
    for name, one in (("a", f), ("b", single)):
        export(one, tmp_path / name)
    text = (tmp_path / "a/src/cf_config.h").read_text()
    assert text == (tmp_path / "b/src/cf_config.h").read_text()
    assert "1000000.0f" in text


@pytest.mark.parametrize("taken", ["Makefile", "src", "src/core"])
def test_what_stands_in_the_way_is_named(taken: str, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    (folder / taken).parent.mkdir(parents=True)
    if taken == "Makefile":
        (folder / taken).mkdir()
    else:
        (folder / taken).write_text("mine")
    before = sorted(folder.rglob("*"))
    with pytest.raises(ValueError, match=f"with the names of the export: {taken}; move them away"):
        export(cf.StickyFilter(2), folder)
    assert sorted(folder.rglob("*")) == before
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(ValueError, match="file is a file; give a folder"):
        export(cf.StickyFilter(2), file)


def test_only_needed_files_are_written(tmp_path: Path) -> None:
    def core(kind: str) -> set[str]:
        return {p.name for p in export(configs()[kind], tmp_path / kind) if p.parent.name == "core"}

    def parts(*names: str) -> set[str]:
        return {f"{name}{end}" for name in names for end in ("_impl.h", "_f32.h")}

    shared = {"cf.h", "cf_port.h", "cf_real.h", "validate.h", "coefficients.h", "special.h"}
    shared |= {"cf_vec.h", "special_of.h", "status.c", "table.h"}
    modes = {f"dirichlet_{part}.h" for part in ("memory", "numbers", "search", "update")}
    assert core("dirichlet") == shared | parts("dirichlet") | modes
    sticky = shared | parts("sticky") | {"sticky_time.h"}
    assert core("sticky-whole") == sticky
    assert core("sticky") == sticky | parts("channel")
    assert core("sticky-adaptive") == sticky | parts("channel", "policy_adaptive")
    assert core("sticky-periodic") == sticky
    assert core("dirichlet-tempered") == core("dirichlet") | parts("temper")
    of_events = {f"events_{part}.h" for part in ("confirm", "path", "report", "state")}
    of_events |= {"events_ticks.h", "events_time.h"}
    assert core("events") == sticky | parts("events") | of_events


def device_log(config: cf.Pipeline) -> Any:
    """Return the log of a device over some rows."""
    import polars as pl

    settings: Any = in_float32(config)
    vectors = golden(settings, 200)
    vectors = vectors._replace(dt=np.append(np.float32(0), vectors.dt[1:]))
    f = settings.filter
    rows = []
    for source, dt, probs in zip(vectors.source, vectors.dt, vectors.probs, strict=True):
        channel = settings.channel[source]
        s = probs if channel is None else channel.apply(probs)
        rows.append(f.update(s, settings.beta[source], float(dt)))
    names = [str(name) for name in f.classes]
    columns: dict[str, Any] = {"time": np.cumsum(vectors.dt, dtype=np.float64), "dt": vectors.dt}
    columns |= {"stream": ["device"] * len(vectors.dt), "source": vectors.source}
    columns |= {f"p_{name}": vectors.probs[:, k] for k, name in enumerate(names)}
    columns |= {f"f_{name}": np.array(rows)[:, k] for k, name in enumerate(names)}
    return pl.DataFrame(columns).with_columns(
        pl.col("^p_.*$").cast(pl.Float64).fill_nan(None), pl.col("^f_.*$").cast(pl.Float64)
    )


@pytest.mark.parametrize("ending", ["csv", "ndjson"])
@pytest.mark.parametrize("kind", ["dirichlet-anchored", "sticky-moving"])
def test_a_log_of_a_device(kind: str, ending: str, run: Run, tmp_path: Path) -> None:
    import polars as pl

    config = configs(PLAIN)[kind]
    config.save("walk.json")
    log, path = device_log(config), tmp_path / f"log.{ending}"

    def verify(df: pl.DataFrame) -> tuple[int, str]:
        df.write_csv(path) if ending == "csv" else df.write_ndjson(path)
        code, out, err = run("verify", path.name, "--config", "walk.json")
        return code, out + err

    assert verify(log) == (0, f"{path.name}: 200 rows, the same bits\n")
    at = pl.int_range(pl.len()) == 150
    off = log.with_columns(
        pl.when(at).then(pl.col("f_walk") * (1 + 2e-7)).otherwise("f_walk").alias("f_walk")
    )
    code, words = verify(off)
    assert code == 1
    assert "row 150, class 'walk': the device has" in words
    assert "the 150 rows before agree" in words
    columns = [f"f_{name}" for name in PLAIN]
    words32 = log.select(columns).to_numpy().astype(np.float32).view(np.uint32).tolist()
    bits = ["0x" + "".join(f"{word:08x}" for word in row) for row in words32]
    as_bits = log.drop(columns).with_columns(pl.Series("bits", bits))
    assert verify(as_bits)[0] == 0
    bits[7] = bits[7][:-1]
    code, words = verify(as_bits.with_columns(pl.Series("bits", bits)))
    assert code == 1
    assert "bits in row 7 is '0x" in words
    assert "it must be 0x and 48 hexadecimal digits" in words
    code, words = verify(log.drop("f_sit"))
    assert "the column f_sit is missing; the log must hold the results of the device" in words
    code, words = verify(log.rename({"time": "ts"}))
    assert words.endswith("; rename the columns of the log\n")


def test_the_export_command(run: Run, tmp_path: Path) -> None:
    cf.Pipeline.of(cf.StickyFilter(["a", "b"], stay=0.9), beta={"weak": 0.5}).save("x.json")
    assert run("export", "x.json", "-o", "fw") == (
        0,
        "fw: 39 files; make -C fw test compares bits\n",
        "",
    )
    assert "from x.json; do not edit" in (tmp_path / "fw/src/cf_config.h").read_text()
    cf.Pipeline(cf.EmaFilter(["a", "b"])).save("y.json")
    code, out, err = run("export", "y.json", "-o", "fw2")
    assert (code, out) == (1, "")
    assert err.startswith("classfilter: y.json: filter is EmaFilter; only")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_cmake_builds_it_and_runs_the_self_test(tmp_path: Path) -> None:
    export(configs()["sticky"], tmp_path)
    for command in (
        ["cmake", "-S", ".", "-B", "build"],
        ["cmake", "--build", "build"],
        ["ctest", "--test-dir", "build", "--output-on-failure"],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "100% tests passed" in done.stdout


def test_other_files_are_not_replaced(tmp_path: Path) -> None:
    """Those of an earlier export are, as the checksums beside them tell."""
    f = cf.StickyFilter(["a", "b"], stay=0.9)
    (tmp_path / "LICENSE").write_text("all rights reserved")
    with pytest.raises(ValueError, match=r"with the names of the export: LICENSE; move them away"):
        export(f, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["LICENSE"]
    (tmp_path / "LICENSE").unlink()
    (tmp_path / "mine.c").write_text("int x;")
    export(f, tmp_path)
    for line in (tmp_path / "classfilter.sha256").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == digest
    before = (tmp_path / "src/cf_config.h").read_text()
    export(cf.StickyFilter(["a", "b"], stay=0.8), tmp_path)
    assert (tmp_path / "src/cf_config.h").read_text() != before
    (tmp_path / "example.c").write_text("/* changed by hand */")
    with pytest.raises(ValueError, match=r"or changed ones, .*: example.c; move them away, or wri"):
        export(f, tmp_path)
    assert (tmp_path / "mine.c").read_text() == "int x;"
