"""Each error about a file names the line, whoever reads it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import classfilter as cf
from example_tables import walk_sit

CSV = "time,stream,p_walk,p_sit\n0,a,0.9,0.1\n5,a,0.4,0.6\n"
NDJSON = '{"time": 0, "p_walk": 0.9, "p_sit": 0.1}\n'
JUNE = "25.6.2025 06:00,a,0.5,0.5\n"
BROKEN = [
    (".csv", CSV + "9,a,0.9,0.9\n", r"probs in row 2 \(line 4\) sums to 1.8"),
    (".csv", CSV + "3,a,0.9,0.1\n", r"time in row 2 \(line 4\) is 3.0, before 5.0"),
    (".csv", CSV + JUNE, r"time in row 2 \(line 4\) is '25.6.2025 06:00'; .* time_format="),
    (".csv", CSV + "9,a,x,0.9\n", r"column p_walk in row 2 \(line 4\) is 'x'"),
    (".csv", CSV + "9,,0.1,0.9\n", r"stream in row 2 \(line 4\) is None"),
    (".csv", "\n" + CSV + '6,"a",0.9,0.1\n9,"a",2,0\n', r"row 3 \(line 6\) sums to 2"),
    (".csv", CSV + '6,"a\nb",0.9,0.1\n9,"a\nb",2,0\n', r"row 3 \(line 6\) sums to 2"),
    (".tsv", CSV.replace(",", "\t") + "9\ta\t2\t0\n", r"row 2 \(line 4\) sums to 2"),
    (".csv", CSV + "9,a,0.9,0.1,7\n", ", line 4: it has 5 cells, the header has 4"),
    (".csv", CSV + '9,"a,0.9,0.1\n', ", line 4: .*; look for a quote that does not end"),
    (".ndjson", NDJSON + '{"time": 5, "p_walk": 2, "p_sit": 0}\n', r"row 1 \(line 2\) sums to 2"),
    (".ndjson", NDJSON + '\n{"time": 5, "p_walk": 2, "p_sit": 0}\n', r"row 1 \(line 3\) sums to"),
    (".ndjson", NDJSON + '{"time": 5, "p_walk": \n', ", line 2: it is not JSON: "),
    (".ndjson", NDJSON + "[1, 2]\n", r", line 2: it is \[1, 2\], not an object"),
    (
        ".ndjson",
        NDJSON + '{"time": 5, "p_walk": true, "p_sit": false}\n',
        r" cannot be read as \.ndjson: .*'true'",
    ),
]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(("suffix", "text", "message"), BROKEN)
def test_an_error_names_the_line(suffix: str, text: str, message: str, compressed: bool,
                                 tmp_path: Path) -> None:  # fmt: skip
    path = tmp_path / f"day{suffix}{'.gz' * compressed}"
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    for read in (
        lambda: cf.rows(path),
        lambda: cf.filter_table(path, walk_sit()),
        lambda: cf.filter_file(path, tmp_path / f"out{suffix}", walk_sit()),
    ):
        with pytest.raises(ValueError, match=f"^{path}.*{message}"):
            read()


def test_nan_in_a_text_file_is_missing(tmp_path: Path) -> None:
    """Written as text by others; it does not turn the other numbers of the column into text."""
    path = tmp_path / "day.csv"
    path.write_text(CSV + "9,a,nan,NaN\n")
    assert cf.rows(path).observed().tolist() == [True, True, False]
    expected = cf.filter_table(path, walk_sit())["class"].to_list()
    cf.filter_file(path, tmp_path / "out.csv", walk_sit())
    assert cf.read_table(tmp_path / "out.csv")["class"].to_list() == expected
