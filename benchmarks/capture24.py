"""Reading Capture-24: ``python -m benchmarks.capture24 [hours]``.

Makes the file of one person in the official layout, reads it as `experiments.capture24` does, and
prints an estimate for 151 people of a day each.
"""

from __future__ import annotations

import gzip
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from experiments.capture24 import COLUMN, DICTIONARY, prepare

RATE, DAY, PEOPLE = 100, 24.0, 151
ANNOTATIONS = {"7030 sleeping;MET 0.95": "sleep", "5060 walking;MET 3.3": "walking"}


def write(folder: Path, hours: float) -> int:
    """Write so many hours of a person, and return the number of rows."""
    n = round(hours * 3600 * RATE)
    rng = np.random.default_rng(0)
    microseconds = 1_478_995_200_000_000 + 10_000 * pl.int_range(0, n, eager=True)
    table = pl.DataFrame(
        {
            "time": microseconds.cast(pl.Datetime("us")).dt.to_string("%Y-%m-%d %H:%M:%S%.6f"),
            **{axis: np.round(rng.normal(size=n), 6) for axis in "xyz"},
            "annotation": np.array(list(ANNOTATIONS))[np.arange(n) // 60_000 % 2],
        }
    )
    with gzip.open(folder / "P001.csv.gz", "wb", compresslevel=6) as file:
        file.write(table.write_csv().encode())
    named = {"annotation": list(ANNOTATIONS), COLUMN: list(ANNOTATIONS.values())}
    pl.DataFrame(named).write_csv(folder / DICTIONARY)
    return n


def main() -> None:
    hours = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = write(folder, hours)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        prepare(folder, folder / "signals")
        elapsed = time.perf_counter() - start
        size = sum(path.stat().st_size for path in (folder / "signals").iterdir())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    factor = DAY / hours * PEOPLE
    print(f"{hours:g} h, {rows:,} rows: {elapsed:.1f} s, {rows / elapsed:,.0f} rows per second")
    print(f"peak memory {peak / 1000:.0f} MB, of which {before / 1000:.0f} MB to make the file")
    print(
        f"{PEOPLE} days: {elapsed * factor / 60:.0f} minutes, {size * factor / 1e9:.1f} GB on disk"
    )


if __name__ == "__main__":
    main()
