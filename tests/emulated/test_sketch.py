"""The Arduino library: every file below src is compiled, and the sketch runs on an emulated board.

As the builder of Arduino does, this compiles every source below ``src``, wherever it is, and the
sketch as C++. Arduino's header and core are stand-ins, in ``arduino/``.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from classfilter.embedded import export
from emulated.board import HERE, M0, M4F, THRIFTY, Target, emulate, missing
from firmware_configs import all_configs

STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Werror", "-Os")
SKETCH = "examples/Steady/Steady.ino"
CPP = ("arm-none-eabi-g++", "-std=gnu++17", "-fno-exceptions", "-fno-rtti")
absent = missing() or ("" if shutil.which(CPP[0]) else f"not installed: {CPP[0]}")
pytestmark = pytest.mark.skipif(bool(absent), reason=absent)


def build(folder: Path, target: Target) -> Path:
    """Compile the library and the sketch, each file by itself, and link all objects."""
    flags = [*target.cpu, *THRIFTY, *STRICT, "-c"]
    objects = folder / "objects"
    objects.mkdir()

    def compiled(source: Path, *command: str) -> str:
        out = objects / f"{source.relative_to(source.anchor).as_posix().replace('/', '_')}.o"
        subprocess.run([*command, *flags, str(source), "-o", str(out)], check=True)
        return str(out)

    sketch = [*CPP, f"-I{folder / 'src'}", f"-I{HERE}", f"-I{HERE / 'arduino'}", "-x", "c++"]
    linked = [
        compiled(source, "arm-none-eabi-gcc", "-std=gnu11", f"-I{folder / 'src'}")
        for source in sorted((folder / "src").rglob("*.c"))
    ]
    linked += [
        compiled(HERE / "board.c", "arm-none-eabi-gcc", "-std=gnu11"),
        compiled(HERE / "arduino/core.cpp", *sketch),
        compiled(folder / SKETCH, *sketch, "-include", "Arduino.h"),
    ]
    program = folder / "sketch.elf"
    link = [CPP[0], *target.cpu, "-mthumb", "-nostartfiles", "--specs=nano.specs"]
    link += ["--specs=nosys.specs", "-Wl,--gc-sections", f"-T{HERE / 'board.ld'}"]
    subprocess.run([*link, *linked, "-o", str(program)], check=True)
    return program


@pytest.mark.parametrize("target", [M4F, M0], ids=lambda target: target.name)
@pytest.mark.parametrize("kind", ["dirichlet-anchored", "sticky-adaptive", "labels-sticky"])
def test_the_sketch_prints_what_the_example_prints(
    kind: str, target: Target, tmp_path: Path
) -> None:
    export(all_configs()[kind], tmp_path)
    code, output = emulate(build(tmp_path, target), target)
    assert code == 0, output
    subprocess.run(["make", "-s", "-C", tmp_path, "example"], check=True)
    example = subprocess.run([tmp_path / "example"], capture_output=True, check=True)
    assert output == example.stdout.decode()
    assert len(output.splitlines()) == 8
