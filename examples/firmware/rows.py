"""Write a stream of a table as rows.h, for day.c: ``python rows.py predictions.csv STREAM``."""

import sys

import polars as pl


def header(table: pl.DataFrame) -> str:
    """Return the rows as an array of C."""
    classes = [name for name in table.columns if name.startswith("p_")]
    lines = [
        f"#define ROWS {len(table)}",
        f"static const struct {{ uint32_t time_ms; int source; float output[{len(classes)}]; }}",
        "    rows[ROWS] = {",
    ]
    for row in table.iter_rows(named=True):
        output = ", ".join(f"{row[name]!r}f" for name in classes)
        source = f"CF_SOURCE_{row['source'].upper()}"
        lines.append(f"    {{{round(1000 * row['time'])}, {source}, {{{output}}}}},")
    return "\n".join([*lines, "};"])


if __name__ == "__main__":
    print(header(pl.read_csv(sys.argv[1]).filter(pl.col("stream") == sys.argv[2])))
