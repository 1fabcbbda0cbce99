"""``python -m benchmarks.limits``: what the Dirichlet filter's update is made of, in cycles.

It compiles the core for the vectors of 32 and, where the processor has them, of 64 bytes, times its
parts, and counts the instructions of a row. It needs gcc and valgrind, on x86.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
CORE = HERE.parent / "src/classfilter/csrc"
FLAGS = "-std=gnu99 -O2 -fpeel-loops -ffp-contract=off -fno-math-errno -fno-trapping-math"
ROWS = 192_000


def build(precision: str, wide: bool, folder: Path) -> list[str]:
    """Compile the programs: the first has the parts, the second the rows."""
    single = ["-DCF_FLOAT"] if precision == "float" else []
    ending = "f32" if single else "f64"
    target = ["-march=x86-64-v4", "-DCF_WIDE_LANES"] if wide else ["-march=x86-64-v3"]
    sources = [CORE / "status.c", *sorted(CORE.glob(f"dirichlet_*{ending}.c"))]
    programs = []
    for name, more in (("parts", ["-DCF_WIDE"] if wide else []), ("rows", [])):
        program = folder / f"{name}{ending}{wide}"
        own = program.with_suffix(".o")
        command = ["gcc", *FLAGS.split(), "-DCF_ONE_TARGET", *target, f"-I{CORE}"]
        limits = [str(HERE / "limits.c"), "-c", "-o", str(own)]
        subprocess.run([*command, *single, *more, *limits], check=True)
        rest = [str(own), *map(str, sources), "-o", str(program)]
        subprocess.run([*command, *rest], check=True)
        programs.append(str(program))
    return programs


def least(program: str, what: str, count: int) -> float:
    """Return the nanoseconds of one, the least of five."""
    return min(
        float(subprocess.run([program, what, str(count)], capture_output=True, check=True).stdout)
        for _ in range(5)
    )


def instructions(program: str, what: str) -> float:
    """Return the instructions of a row beyond those that make it, by valgrind."""
    totals = []
    for each in (what, "rows"):
        command = ["valgrind", "--tool=lackey", "--basic-counts=yes", program, each, "19200"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        counted = re.findall(r"guest instrs:\s+([\d,]+)", done.stderr)[0]
        totals.append(int(counted.replace(",", "")))
    return (totals[0] - totals[1]) / 19200


def main() -> None:
    new = "avx512dq" in Path("/proc/cpuinfo").read_text()
    with TemporaryDirectory() as folder:
        for precision in ("double", "float"):
            for wide in (False, True) if new else (False,):
                parts, rows = build(precision, wide, Path(folder))
                cycle = least(parts, "clock", 300_000_000)
                lanes = (64 if wide else 32) // (8 if precision == "double" else 4)
                print(f"\n{precision}, {lanes} numbers in a vector; {1 / cycle:.2f} GHz")
                for what in ("throughput", "latency"):
                    cycles = least(parts, what, 4_000_000) / cycle
                    print(f"  polygamma functions of a vector, {what:10} {cycles:7.0f} cycles")
                for what, text in (("one", "one stream"), ("many", "many streams")):
                    time = least(rows, what, ROWS)
                    line = f"  a row of {text:12} {time:6.0f} ns, {time / cycle:5.0f} cycles"
                    if not wide:  # valgrind knows no vectors of 64 bytes
                        line += f", {instructions(rows, what):,.0f} instructions"
                    print(line)


if __name__ == "__main__":
    main()
