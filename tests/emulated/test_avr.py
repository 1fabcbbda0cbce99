"""The firmware on an emulated AVR, the processor of many an Arduino: the bits that Python gives."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from classfilter.embedded import export
from emulated.board import HERE
from firmware_configs import all_configs

AVR = "atmega2560"
GONE = [name for name in ("avr-gcc", "simavr") if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(bool(GONE), reason=f"not installed: {', '.join(GONE)}")


@pytest.mark.parametrize("kind", ["dirichlet-whole", "sticky-adaptive", "labels-sticky"])
def test_the_same_bits_on_an_avr(kind: str, tmp_path: Path) -> None:
    export(all_configs()[kind], tmp_path)
    sources = [*sorted((tmp_path / "src").rglob("*.c")), HERE / "avr.c"]
    command = ["avr-gcc", f"-mmcu={AVR}", "-std=gnu11", "-Os", "-Wall", "-Wextra", "-Werror"]
    command += ["-ffunction-sections", "-Wl,--gc-sections", f"-I{tmp_path / 'src'}"]
    subprocess.run([*command, *map(str, sources), "-o", str(tmp_path / "avr.elf")], check=True)
    done = subprocess.run(
        ["simavr", "-m", AVR, "-f", "16000000", str(tmp_path / "avr.elf")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
    )
    assert b"same bits" in done.stdout, done.stdout
