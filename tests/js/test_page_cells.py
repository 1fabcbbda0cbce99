"""Cells of the example page: times as `_timestamps.py` reads them, CSV files as Polars does."""

from __future__ import annotations

import csv
import io
import itertools
import json
import random
import subprocess
from pathlib import Path
from typing import Any

from classfilter._timestamps import parse_timestamp
from classfilter.data._files import TableInput
from classfilter.data._table_file import TableFile

ROOT = Path(__file__).parents[2]
CHARACTERS = 'ab1 é",;|\t\n'
DAYS = ("2024-02-29", "2023-02-29", "2024-03-10", "0000-01-01", "9999-12-31", "2024-13-01")
CLOCKS = ("", "08:00", "23:59:60", "24:00", "8:00", "02:30:00", "23:59:59.9999995", "01:02:03,25")
ZONES = ("", "Z", "z", " Z", "+02:00", "-0530", "+05", "+25:00", "+02:60", " ")
DATES = ["".join(parts) for parts in itertools.product(DAYS, ("", " ", "T"), CLOCKS, ZONES)]
SPANS = ["1 days 00:00:02.500000", "-1 days +23:59:59", "2 days", "1 day, 1:00:00", "00:00:02"]
SPANS += ["P1DT2.5S", "-PT3M", "PT", "P", "P2D", "P1DT", "PT1H2M3S"]
NUMBERS = ["1_000", "0x10", "+.5e-3", "5.", ".", "1e", "nan", "inf", "", " 7 ", "1e400", "-0"]


def csv_file(rng: random.Random) -> str:
    """A file that `csv` writes; its header has a column of times."""
    width, text = rng.randint(2, 4), io.StringIO()
    end, quoting = rng.choice(["\n", "\r\n", "\r"]), rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    how: Any = {"delimiter": rng.choice(",;|\t"), "lineterminator": end, "quoting": quoting}
    writer = csv.writer(text, **how)
    writer.writerow(["time", *(f"x{i}" for i in range(width - 1))])
    for _ in range(rng.randint(0, 5)):
        cells = ["".join(rng.choices(CHARACTERS, k=rng.randint(0, 6))) for _ in range(width)]
        writer.writerow([cell.replace("\n", " ") if end == "\r" else cell for cell in cells])
    return text.getvalue()


def read(times: list[str], files: list[str]) -> dict[str, Any]:
    """What the page makes of them."""
    process = subprocess.run(
        ["node", str(ROOT / "tests/js/read_cells.mjs")],
        input=json.dumps({"times": times, "files": files}),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    result: dict[str, Any] = json.loads(process.stdout)
    return result


def test_times() -> None:
    rng = random.Random(0)
    floats = [repr(rng.uniform(-1, 1) * 10 ** rng.randint(-20, 20)) for _ in range(200)]
    texts = [*DATES, *SPANS, *NUMBERS, *floats, str(2**63 - 1), str(-(2**70) + 1)]
    results = read(texts, [])["times"]
    for text, got in zip(texts, results, strict=True):
        at = None if got is None else float(got)
        assert at == parse_timestamp(text), text
    assert sum(got is not None for got in results) > 300


def test_csv_files(tmp_path: Path) -> None:
    rng = random.Random(1)
    files = [csv_file(rng) for _ in range(400)]
    path, right = tmp_path / "rows.csv", 0
    for text, got in zip(files, read([], files)["files"], strict=True):
        path.write_bytes(text.encode())
        try:
            table = next(TableFile(TableInput.of(path)).parts(whole=True))
        except ValueError:
            assert "error" in got, text
            continue
        assert "error" not in got, (text, got)
        assert got["names"] == table.columns
        assert got["columns"] == [table[name].to_list() for name in table.columns], text
        right += 1
    assert right > 350
