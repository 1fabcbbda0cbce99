"""Fuzzing, a while for each target.

``python -m tests.fuzz [--seconds N] [--jobs N] [--corpus FOLDER] [TARGET ...]`` compiles the C
core in both precisions, and its events in ticks too, with libFuzzer, AddressSanitizer and UBSan (it
needs clang), and calls the targets of ``targets.py`` with atheris, or, where that is not installed,
with changed inputs of the corpus and no eye on coverage. It starts from ``tests/fuzz/corpus``; with
``--corpus``, what it finds is kept there and continued the next time. It prints a line for each
target, or the input that did it where one fails, and ends with 1 then.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .targets import TARGETS

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
CSRC, HARNESS = ROOT / "src/classfilter/csrc", ROOT / "tests/core/c"
CORES = {
    "core_f64": ("fuzz.c", []),
    "core_f32": ("fuzz.c", ["-DSINGLE"]),
    "events_f64": ("fuzz_events.c", []),
    "events_f32": ("fuzz_events.c", ["-DSINGLE"]),
    "ticks_f32": ("fuzz_events.c", ["-DCF_TICKS", "-DCF_SMALL"]),
}
"""The targets in C: the harness, and how it is compiled."""
SANITIZE = ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"]


def compile_core(target: str, folder: Path) -> list[str]:
    """Return the command of a fuzzer of the core."""
    harness, more = CORES[target]
    kinds = "*" if harness == "fuzz.c" else "events"
    sources = [HARNESS / harness, CSRC / "status.c", *sorted(CSRC.glob(f"{kinds}_{target[-3:]}.c"))]
    flags = ["-std=gnu99", "-O1", "-g", "-ffp-contract=off", "-DCF_ONE_TARGET", *SANITIZE]
    program = folder / target
    command = ["clang", *flags, *more, f"-I{CSRC}", f"-I{HARNESS}"]
    subprocess.run([*command, *map(str, sources), "-lm", "-o", str(program)], check=True)
    return [str(program)]


def fuzz(target: str, seconds: int, kept: Path | None, folder: Path) -> bool:
    """Run one target; return whether it held."""
    python = [sys.executable, "-m", "tests.fuzz.python", target]
    command = compile_core(target, folder) if target in CORES else python
    seeds = CORPUS / (target.split("_f")[0] if target in CORES else target)
    corpus = (kept or folder) / f"corpus_{target}"
    corpus.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={seconds}", "-max_len=2048", f"-artifact_prefix={folder}/"]
    done = subprocess.run(
        [*command, *options, str(corpus), str(seeds)], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode != 0:
        print(f"{target}: FAILED\n{done.stdout[-3000:]}{done.stderr[-6000:]}")
        for path in (*folder.glob("crash-*"), *folder.glob("timeout-*"), *folder.glob("oom-*")):
            print(path.name, path.read_bytes())
        return False
    runs = re.findall(r"Done (\d+) runs in (\d+) second", done.stderr)
    covered = re.findall(r"cov: (\d+)", done.stderr)
    reached = f", {covered[-1]} places reached" if covered else ", without an eye on coverage"
    print(
        f"{target}: {int(runs[-1][0]):,} inputs in {runs[-1][1]} s{reached}, no fault", flush=True
    )
    return True


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="targets at a time")
    parser.add_argument("--corpus", type=Path, help="keep what is found in this folder")
    parser.add_argument("targets", nargs="*", metavar="TARGET", default=[])
    given = parser.parse_args()
    known = [*CORES, *TARGETS]
    targets = given.targets or known
    if not set(targets) <= set(known):
        parser.error(f"there are the targets {', '.join(known)}")
    if set(targets) & set(CORES) and shutil.which("clang") is None:
        parser.error("the core needs clang: make toolchain")
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: the targets in Python run without an eye on coverage")

    def held(target: str) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            return fuzz(target, given.seconds, given.corpus, Path(folder))

    with ThreadPoolExecutor(given.jobs) as pool:
        return 0 if all(list(pool.map(held, targets))) else 1


if __name__ == "__main__":
    sys.exit(main())
