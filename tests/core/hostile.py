"""Hostile updates of the C core, with AddressSanitizer and UBSan, on one processor core.

``python -m tests.core.hostile [--updates N] [--pieces P] [--seed S]`` draws settings, rows, weights
and times from the edges of what is allowed, half of the pieces in double and half in single
precision. After every update the estimate must be a distribution and the state finite; none may
fail. A piece has a seed of its own, so that pieces can run one by one: ``--seed 7 --pieces 1``.
The last line has the sums. It needs gcc or clang, and nothing of Python but its standard library.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent / "c"
CORE = Path(__file__).parents[2] / "src/classfilter/csrc"
FLAGS = "-std=c99 -O1 -g -ffp-contract=off -DCF_ONE_TARGET -fno-sanitize-recover=all"
PRECISIONS = {"double": ("f64", []), "float": ("f32", ["-DSINGLE"])}
MAX_ITERATIONS = 96


def build(precision: str, folder: Path) -> Path:
    """Compile the program with sanitizers."""
    ending, flags = PRECISIONS[precision]
    compiler = shutil.which("gcc") or shutil.which("clang") or os.environ.get("CC", "cc")
    sources = [HERE / "hostile.c", CORE / "status.c", *sorted(CORE.glob(f"*_{ending}.c"))]
    command = [compiler, *FLAGS.split(), "-fsanitize=address,undefined", *flags]
    program = folder / precision
    include = [f"-I{CORE}", f"-I{HERE}"]
    subprocess.run([*command, *include, *map(str, sources), "-lm", "-o", str(program)], check=True)
    return program


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.core.hostile")
    parser.add_argument("--updates", type=lambda text: int(float(text)), default=10**8)
    parser.add_argument("--pieces", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the first piece")
    given = parser.parse_args()
    updates = settings = iterations = 0
    with tempfile.TemporaryDirectory() as folder:
        programs = {name: build(name, Path(folder)) for name in PRECISIONS}
        for seed in range(given.seed, given.seed + given.pieces):
            precision = list(PRECISIONS)[seed % 2]
            arguments = [str(-(-given.updates // given.pieces)), str(seed)]
            done = subprocess.run(
                [str(programs[precision]), *arguments], capture_output=True, text=True
            )
            if done.returncode != 0:
                print(f"piece {seed}, {precision}: FAILED\n{done.stderr}")
                return 1
            counts = [int(n) for n in re.findall(r"\d+", done.stdout)]
            updates, settings = updates + counts[0], settings + counts[1]
            iterations = max(iterations, counts[2])
            print(f"piece {seed}, {precision}: {done.stdout.strip()}", flush=True)
    print(
        f"{updates:,} hostile updates of {settings:,} settings with ASan and UBSan: no fault, "
        f"0 NaN, at most {iterations} iterations (the limit is {MAX_ITERATIONS})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
