"""The report, written, opened and redrawn, and its size: ``python -m benchmarks.report_page``.

It needs Node, Chromium and ``make js/node_modules``.
"""

import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import classfilter as cf

from .harness import machine

ROOT = Path(__file__).parents[1]
DAYS = 12
"""Of 17,280 rows: 207,360 in all."""
ROWS = 20_000
STREAMS = 5_000
"""Of which the first has as many rows, and the others eight: 60,000 in all, which a report has."""


def main() -> None:
    """Print times in milliseconds, the least of several, and sizes."""
    print(machine())
    days = [cf.simulate("capture24", seed=seed).rows() for seed in range(DAYS)]
    tuned = cf.tune(days[:3], reference="strong")
    long = cf.simulate("capture24", hours=ROWS * 5 / 3600, seed=99).rows()
    empty = cf.rows(
        time=[0, 5], source=["strong", "weak"], probs=np.full((2, 6), 1 / 6), classes=long.classes
    )
    with tempfile.TemporaryDirectory() as folder:
        large, redrawn, least, many = (
            Path(folder, f"{name}.html") for name in ("large", "long", "least", "many")
        )
        start = time.process_time()
        cf.report(days, large, tuned)
        took = time.process_time() - start
        cf.report(long, redrawn, tuned)
        cf.report(empty, least, tuned)
        starts = range(0, 8 * (STREAMS - 1), 8)
        short = [
            days[i % DAYS].take(slice(at % 17_000, at % 17_000 + 8)) for i, at in enumerate(starts)
        ]
        start = time.process_time()
        cf.report([long, *short], many, tuned)
        took_many = time.process_time() - start
        command = ["node", "benchmarks/report_page.mjs", *map(str, (large, redrawn, many))]
        result = json.loads(subprocess.check_output(command, cwd=ROOT))
        sizes = [path.stat().st_size for path in (large, redrawn, least, many)]
    show(f"{sum(map(len, days)):,} rows", took, result["opened"])
    show_redraws(f"{len(long):,} rows, 6 classes", result["redrawn"])
    show(f"{STREAMS:,} streams", took_many, result["openedMany"])
    show_redraws(f"{len(long):,} rows in it", result["redrawnMany"])
    print("Size")
    for name, size in zip(
        (
            "rows of 12 days, 60,000 of them in it",
            f"{ROWS:,} rows",
            "no rows",
            f"{STREAMS:,} streams",
        ),
        sizes,
        strict=True,
    ):
        print(f"  report, {name:40}{size / 1e6:8.2f} MB")
    packed = json.loads(
        subprocess.check_output(
            ["npm", "pack", "--dry-run", "--json", "--ignore-scripts"], cwd=ROOT / "js"
        )
    )
    print(f"  npm package {packed[0]['size'] / 1e3:43.0f} kB")
    script = (ROOT / "src/classfilter/report/classfilter.js").stat().st_size
    print(f"  classfilter.js {script / 1e3:40.1f} kB")


def show(title: str, took: float, opened: float) -> None:
    """Print how long a report takes to write and to open."""
    print(f"A report on {title}")
    print(f"  write it, processor time {took:17.1f} s")
    print(f"  open it, until it is drawn {opened:12,.0f} ms")


def show_redraws(title: str, redrawn: dict[str, tuple[float, float]]) -> None:
    """Print how long it takes to redraw after a slider moved."""
    print(f"Redraw {title:30}{'work':>24}{'to the next frame':>21}   goal")
    for kind, (work, frame) in redrawn.items():
        print(f"  {kind:34}{work:22.1f} ms {frame:16.1f} ms   50 ms")


if __name__ == "__main__":
    main()
