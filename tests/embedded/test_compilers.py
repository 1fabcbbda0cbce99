"""The exported sources in every C and in C++, and the options that they refuse."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from classfilter.embedded import export
from firmware_configs import STEP, all_configs

WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Werror")
COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]
CPP = [c for c in ("g++", "clang++") if shutil.which(c)]
KINDS = ["dirichlet-anchored", "events-slow", "sticky-moving", "labels-sticky", "labels-events"]
"""The self-test of every kind is compiled elsewhere, as C99."""


def compiled(compiler: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Compile every source as it is, and the example."""
    sources = [*sorted((folder / "src").rglob("*.c")), folder / "example.c"]
    command = [compiler, *WARNINGS, "-Isrc", *options, *map(str, sources)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("standard", ["c99", "c11", "c17"])
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_standard_of_c(kind: str, compiler: str, standard: str, tmp_path: Path) -> None:
    export(all_configs()[kind], tmp_path, step=STEP)
    done = compiled(compiler, tmp_path, f"-std={standard}", "-pedantic", "-O2", "-o", "example")
    assert done.returncode == 0, done.stderr


@pytest.mark.covering(1)
@pytest.mark.slow
@pytest.mark.parametrize("compiler", CPP)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_as_c_plus_plus(kind: str, compiler: str, tmp_path: Path) -> None:
    """Some builders have one compiler for all; others compile C, and call it from C++."""
    export(all_configs()[kind], tmp_path, step=STEP)
    (tmp_path / "main.cpp").write_text(
        '#include "cf_selftest.h"\nint main() { return cf_selftest(NULL); }\n'
    )
    sources = [str(path.relative_to(tmp_path)) for path in sorted((tmp_path / "src").rglob("*.c"))]
    strict = [*WARNINGS, "-O1", "-Isrc"]
    as_cpp = [compiler, "-std=c++17", *strict, "-x", "c++"]
    subprocess.run([*as_cpp, *sources, "main.cpp", "-o", "all"], cwd=tmp_path, check=True)
    as_c = [compiler.replace("++", "cc" if compiler == "g++" else ""), "-std=c99", *strict, "-c"]
    subprocess.run([*as_c, *sources], cwd=tmp_path, check=True)
    objects = [Path(source).with_suffix(".o").name for source in sources]
    mixed = [compiler, "-std=c++17", *strict, "main.cpp", *objects, "-o", "mixed"]
    subprocess.run(mixed, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "all"]).returncode == 0
    assert subprocess.run([tmp_path / "mixed"]).returncode == 0


@pytest.mark.parametrize("option", ["-ffast-math", "-Ofast", "-ffinite-math-only"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_options_that_change_the_bits_are_refused(
    compiler: str, option: str, tmp_path: Path
) -> None:
    export(all_configs()["sticky"], tmp_path)
    done = compiled(compiler, tmp_path, "-std=c99", "-fsyntax-only", option)
    assert done.returncode != 0
    name = "-ffinite-math-only" if option == "-ffinite-math-only" else "-ffast-math"
    assert f"classfilter must not be compiled with {name}" in done.stderr
