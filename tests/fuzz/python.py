"""One target in Python: ``python -m tests.fuzz.python TARGET [libFuzzer's options] FOLDER ...``.

It takes and prints what libFuzzer does, with atheris and without.
"""

from __future__ import annotations

import contextlib
import importlib
import random
import sys
import time
from pathlib import Path
from typing import Any

atheris: Any = None
if __name__ == "__main__":  # tests import it too, and measure no coverage
    with contextlib.suppress(ImportError):
        atheris = importlib.import_module("atheris")
if atheris is None:
    from .targets import TARGETS
else:
    with atheris.instrument_imports(include=["classfilter", "tests.fuzz.targets"]):
        from .targets import TARGETS


def changed(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """Return an input with some bytes replaced, removed, doubled or taken from another."""
    new = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        at, length = rng.randrange(len(new) + 1), rng.randrange(1, 9)
        part = rng.choice(others)
        cut = rng.randrange(len(part) + 1)
        insert = [rng.randbytes(length), part[cut : cut + 4 * length], new[at : at + length]]
        new[at : at + rng.choice([0, length])] = rng.choice([*insert, b""])
    return bytes(new)


def without_coverage(target: str, seconds: float, folders: list[str]) -> None:
    paths = sorted(path for folder in folders for path in Path(folder).iterdir())
    corpus = [path.read_bytes() for path in paths] or [b""]
    rng = random.Random(target)
    start, runs = time.monotonic(), 0
    for data in corpus:
        TARGETS[target](data)
    while time.monotonic() - start < seconds:
        data = changed(rng.choice(corpus), corpus, rng)
        try:
            TARGETS[target](data)
        except BaseException:
            print(f"input {data!r}", file=sys.stderr)
            raise
        runs += 1
    print(f"Done {runs + len(corpus)} runs in {seconds:.0f} second(s)", file=sys.stderr)


def main() -> None:
    target, *arguments = sys.argv[1:]
    if atheris is not None:
        atheris.Setup([sys.argv[0], *arguments], TARGETS[target])
        atheris.Fuzz()
    folders = [argument for argument in arguments if not argument.startswith("-")]
    options = dict(a[1:].split("=", 1) for a in arguments if a.startswith("-"))
    without_coverage(target, float(options["max_total_time"]), folders)


if __name__ == "__main__":
    main()
