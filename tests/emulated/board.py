"""Build a firmware folder for an emulated microcontroller, and run it there under QEMU."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
TOOLS = ("arm-none-eabi-gcc", "arm-none-eabi-size", "arm-none-eabi-nm", "qemu-system-arm")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Werror"]
THRIFTY = ["-ffunction-sections", "-fdata-sections", "-mthumb"]


@dataclass(frozen=True)
class Target:
    """A processor, and the board that QEMU has with it."""

    name: str
    cpu: tuple[str, ...]
    machine: str


M4F = Target(
    "Cortex-M4F",
    ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
    "mps2-an386",
)
M0 = Target("Cortex-M0", ("-mcpu=cortex-m0", "-mfloat-abi=soft"), "microbit")
# Code for an M0 runs on an M4 too; there QEMU has a clock that counts instructions.
M0_COUNTED = Target("Cortex-M0", M0.cpu, "mps2-an386")


def missing() -> str | None:
    """Return why nothing can be built or run; None where it can."""
    gone = [tool for tool in TOOLS if shutil.which(tool) is None]
    return f"not installed: {', '.join(gone)} (make embedded installs them)" if gone else None


def build(
    folder: Path, target: Target, out: Path, sources: list[Path], *flags: str, level: str = "-Os"
) -> Path:
    """Compile and link sources, the board's among them, with a firmware folder."""
    command = [
        "arm-none-eabi-gcc",
        *target.cpu,
        *STRICT,
        *THRIFTY,
        level,
        *flags,
        f"-I{folder / 'src'}",
        f"-I{folder}",
        f"-I{HERE}",
        "-nostartfiles",
        "-Wl,--gc-sections",
        f"-T{HERE / 'board.ld'}",
        *map(str, [*sources, HERE / "board.c", folder / "src/classfilter.c"]),
        "-o",
        str(out),
    ]
    subprocess.run(command, check=True)
    return out


def emulate(program: Path, target: Target, *options: str) -> tuple[int, str]:
    """Run a program to its end: its exit code and its output."""
    command = ["qemu-system-arm", "-M", target.machine, "-nographic", "-monitor", "none"]
    command += ["-serial", "none", "-semihosting-config", "enable=on,target=native", *options]
    done = subprocess.run(
        [*command, "-kernel", str(program)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout


def run(program: Path, target: Target, *, counted: bool = False) -> tuple[int, dict[str, str]]:
    """Run a program that prints ``name value`` lines: its exit code, and these.

    With `counted`, the clock counts instructions.
    """
    options = ["-icount", "shift=7,sleep=off"] if counted else []
    code, output = emulate(program, target, *options)
    return code, dict(re.findall(r"^(.*) (\S+)$", output, re.MULTILINE))


def flash(program: Path) -> int:
    """Return the bytes of flash that a program takes: code, constants and initial data."""
    table = subprocess.run(
        ["arm-none-eabi-size", str(program)], capture_output=True, text=True, check=True
    ).stdout
    text, data = table.splitlines()[1].split()[:2]
    return int(text) + int(data)


def symbols(program: Path) -> dict[str, int]:
    """Return the size of each function and table."""
    table = subprocess.run(
        ["arm-none-eabi-nm", "-S", "--defined-only", str(program)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = [line.split() for line in table.splitlines()]
    return {row[3]: int(row[1], 16) for row in rows if len(row) == 4}
