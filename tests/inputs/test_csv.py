"""CSV as it exists: separators, decimal commas, quotes, line ends, encodings, compression.

Python's csv and gzip modules and pandas are the independent writers and readers.
"""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import classfilter as cf
from classfilter.inputs import TableFile

ROWS = [[0.0, "ann", 0.9, 0.1], [5.0, "ann", 0.25, 0.75], [7.5, "bob", 0.5, 0.5]]
HEADER = ["time", "stream", "p_a", "p_b"]
AB = cf.DirichletFilter(["a", "b"], half_life=60.0)


def written(
    rows: list[list[Any]] | None = None,
    separator: str = ",",
    mark: str = ".",
    line_end: str = "\n",
    quoting: Any = csv.QUOTE_MINIMAL,
    header: list[str] | None = None,
) -> bytes:
    """A table as Python's csv module writes it."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=separator, lineterminator=line_end, quoting=quoting)
    writer.writerow(header or HEADER)
    for row in ROWS if rows is None else rows:
        writer.writerow([str(x).replace(".", mark) if isinstance(x, float) else x for x in row])
    return file.getvalue().encode()


def read(data: bytes, folder: Path, name: str = "day.csv", **how: Any) -> pl.DataFrame:
    path = folder / name
    path.write_bytes(data)
    return cf.read_table(path, **how)


def filtered(data: bytes, folder: Path, name: str = "day.csv", out: str = "out.csv") -> list[Any]:
    """The results for a file: numbers of the columns p_a and f_a."""
    (folder / name).write_bytes(data)
    cf.filter_file(folder / name, folder / out, AB)
    df = cf.read_table(folder / out)
    return [df[column].to_list() for column in ("time", "stream", "p_a", "f_a")]


DIALECTS = [(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ","), ("|", "."), ("|", ",")]
CELLS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8)
NUMBERS = st.floats(-1e6, 1e6).map(lambda x: float(f"{x:.6f}"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    dialect=st.sampled_from(DIALECTS),
    line_end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    bom=st.booleans(),
    rows=st.lists(st.tuples(NUMBERS, CELLS, NUMBERS, NUMBERS), min_size=1, max_size=6),
)
def test_any_dialect_reads_back(
    dialect: tuple[str, str],
    line_end: str,
    quoting: Any,
    bom: bool,
    rows: list[tuple[Any, ...]],
    tmp_path: Path,
) -> None:
    separator, mark = dialect
    cells = [[t, f"x{name}", p, q] for t, name, p, q in rows]  # an empty cell would be no name
    data = written(cells, separator, mark, line_end, quoting)
    df = read(b"\xef\xbb\xbf" * bom + data, tmp_path)
    assert df.columns == HEADER
    assert [list(row) for row in df.rows()] == cells
    expected = pd.read_csv(
        io.BytesIO(data), sep=separator, decimal=mark, lineterminator=None, keep_default_na=False
    )
    assert df["p_a"].to_list() == pytest.approx(expected["p_a"].tolist(), rel=1e-15)


def test_results_have_commas_and_points(tmp_path: Path) -> None:
    """Of a file with semicolons and decimal commas too; a column of no use stays as it is."""
    data = written([[0.5, "ann", 1.0, 0.0, "6,5"]], ";", ",", header=[*HEADER, "note"])
    filtered(data, tmp_path)
    (row,) = csv.DictReader((tmp_path / "out.csv").read_text().splitlines())
    assert list(row.values())[:5] == ["0.5", "ann", "1.0", "0.0", "6,5"]
    assert float(row["f_a"]) + float(row["f_b"]) == pytest.approx(1.0)
    filtered(data, tmp_path, out="out.tsv")
    assert pd.read_csv(tmp_path / "out.tsv", sep="\t")["f_a"].tolist() == [float(row["f_a"])]


def test_decimal_commas_in_columns_of_any_name(tmp_path: Path) -> None:
    df = read(b"time;note;walk;n\n0;1,5;0,5;7\n", tmp_path)
    assert df.row(0) == (0, 1.5, 0.5, 7)


@pytest.mark.parametrize(
    ("header", "separator"),
    [
        ("time,p_a,p_b", ","),
        ("time;p_a;p_b", ";"),
        ("time\tp_a, b\tp_c", "\t"),
        ("time,p_a;b,p_c|d", ","),
        ("time,p_a;time,p_b", ","),
        ('time;"p_a,b";p_c', ";"),
        ('"time","p_a;b","p_c"', ","),
        ("Time|p_a,b|p_c", "|"),
        ("time", ","),
        ('id;"a,b"', ";"),
    ],
)
def test_the_separator_is_found(header: str, separator: str, tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text(header + "\n")
    expected = next(csv.reader([header], delimiter=separator))
    assert cf.read_table(path).columns == expected


def test_a_separator_that_is_given_counts(tmp_path: Path) -> None:
    assert read(b"a\tb,c\n", tmp_path, separator="|").columns == ["a\tb,c"]
    assert len(read(b"time,x;time;y\n", tmp_path, separator=",").columns) == 2


def test_a_suffix_decides_where_the_header_does_not(tmp_path: Path) -> None:
    assert read(b"time\n0\n", tmp_path, "day.tsv").columns == ["time"]
    assert read(b"time,p_a,p_b\n0,0.5,0.5\n", tmp_path, "day.tsv").columns[0] == "time"


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".ndjson", ".jsonl"])
@pytest.mark.parametrize("compression", [".gz", ".zst"])
def test_compressed_files(suffix: str, compression: str, tmp_path: Path) -> None:
    df = pl.DataFrame(ROWS, schema=HEADER, orient="row")
    path = tmp_path / f"day{suffix}{compression}"
    cf.write_table(df, path)
    assert cf.read_table(path).equals(df)
    out = tmp_path / f"out{suffix}{compression}"
    cf.filter_file(path, out, AB)
    expected = cf.filter_table(df, AB)
    assert cf.read_table(out).equals(expected)
    if compression == ".gz":  # by another program
        plain = tmp_path / f"plain{suffix}"
        plain.write_bytes(gzip.decompress(out.read_bytes()))
        assert cf.read_table(plain).equals(expected)
        read_again = pd.read_csv if "sv" in suffix else pd.read_json
        how: Any = {"sep": None, "engine": "python"} if "sv" in suffix else {"lines": True}
        assert read_again(path, **how)["p_a"].tolist() == df["p_a"].to_list()


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".ndjson", ".jsonl.zst", ".parquet"])
def test_how_many_rows_there_are(suffix: str, tmp_path: Path) -> None:
    cf.write_table(pl.DataFrame(ROWS, schema=HEADER, orient="row"), tmp_path / f"day{suffix}")
    assert TableFile(tmp_path / f"day{suffix}").rows == 3
