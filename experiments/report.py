"""Results as files, as Markdown, and in the documentation: ``python -m experiments.report``.

It puts the tables of ``experiments/results`` where ``docs/experiments.md`` has marks for them;
``--markdown`` prints them instead.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from .measure import Row

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "experiments/results"
PAGE = ROOT / "docs/experiments.md"
MARK = re.compile(r"(<!-- table: (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def write_rows(path: Path, rows: Sequence[Row], note: str) -> None:
    """Write rows as CSV below a line that says where they come from."""
    with path.open("w", newline="") as file:
        file.write(f"# {note}\n")
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: _number(v) if isinstance(v, float) else v for k, v in row.items()})


def read_rows(path: Path) -> tuple[str, list[dict[str, str]]]:
    """Return the line above a table, and its rows."""
    with path.open() as file:
        note = file.readline().removeprefix("# ").strip()
        return note, list(csv.DictReader(file))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def methods(rows: list[dict[str, str]]) -> str:
    """Return the table of all methods."""
    shown = []
    for r in rows:
        work = r["multiply_adds_a_minute"]
        shown.append([
            r["method"] + " *" * (r["looks_ahead"] == "1"), r["settings"],
            _pm(r["accuracy"], r["accuracy_sd"]), _digits(r["paper_accuracy"], 2),
            _digits(r["macro_f1"], 1), _digits(r["log_loss"], 2), _digits(r["switches"], 1),
            _digits(r["delay"], 0), _digits(r["strong_calls_an_hour"], 1),
            _digits(str(float(work) / 1e6) if work else "", 1),
        ])  # fmt: skip
    titles = ("", "settings", "accuracy, %", "paper, Capture-24", "macro-F1, %", "log-loss",
              "switches an hour", "delay, s", "strong calls an hour",
              "million multiply-adds a minute")  # fmt: skip
    return _without_empty(titles, shown)


def classes(rows: list[dict[str, str]], measure: str) -> str:
    """Return one of the paper's tables of classes, its own numbers in brackets where they fit."""
    names = list(dict.fromkeys(r["class"] for r in rows))
    order = ("Raw", "Simple", "Single", "Multiple", "Hold", "Tuned")
    cells = {(r["method"], r["class"]): r for r in rows}
    shown = []
    for c in names:
        line = [c]
        for m in order:
            r = cells[m, c]
            own = _digits(r.get(f"paper_{measure}", ""), 2)
            line.append(_digits(r[measure], 2) + (f" ({own})" if own else ""))
        shown.append(line)
    return table(["", *order], shown)


def order(rows: list[dict[str, str]]) -> str:
    """Return by how much each method is above the one before it."""
    shown = [
        [f"{r['better']} above {r['worse']}", _pm(r["gain"], r["standard_error"]),
         f"{r['kept']} of {r['of']}", _digits(r["paper_gain"], 2)]
        for r in rows
    ]  # fmt: skip
    titles = (
        "",
        "gain, points ± standard error over people",
        "above 0 in folds and seeds",
        "paper, Capture-24",
    )
    return table(titles, shown)


def sweep(rows: list[dict[str, str]]) -> str:
    """Return accuracy over memory and weight."""
    weights = [key for key in rows[0] if key.startswith("weight_")]
    shown = [[_digits(r["gamma_a_step"], 3), *(_digits(r[w], 1) for w in weights)] for r in rows]
    return table(["gamma a step", *(w.removeprefix("weight_") for w in weights)], shown)


def errors(rows: list[dict[str, str]]) -> str:
    """Return how errors come together."""
    return table(["", ""], [[r["measure"].replace("_", " "), _digits(r["value"], 3)] for r in rows])


def energy(rows: list[dict[str, str]]) -> str:
    """Return accuracy against strong calls."""
    shown = []
    for r in rows:
        work = r["multiply_adds_a_minute"]
        shown.append([
            r["policy"], r["every"], _pm(r["accuracy"], r["accuracy_sd"]),
            _digits(r["strong_calls_an_hour"], 1),
            _digits(str(float(work) / 1e6) if work else "", 1),
        ])  # fmt: skip
    titles = ("policy", "steps a strong call", "accuracy, %", "strong calls an hour",
              "million multiply-adds a minute")  # fmt: skip
    return _without_empty(titles, shown)


class Table(NamedTuple):
    """How a table is made.

    Attributes
    ----------
    stem : str
        The end of its file's name.
    make : callable
        From rows to Markdown.
    title : str
        What stands above it.
    """

    stem: str
    make: Callable[[list[dict[str, str]]], str]
    title: str


TABLES = {
    "methods": Table(
        "methods", methods, "Table I, and beyond: every method, label-free and at its best."
    ),
    "sensitivity": Table(
        "classes",
        lambda rows: classes(rows, "sensitivity"),
        "Table II: sensitivity, TP / (TP + FN).",
    ),
    "precision": Table(
        "classes", lambda rows: classes(rows, "precision"), "Table III: precision, TP / (TP + FP)."
    ),
    "specificity": Table(
        "classes",
        lambda rows: classes(rows, "specificity"),
        "What the heading of Table III says: specificity, TN / (TN + FP).",
    ),
    "order": Table("order", order, "Is the paper's order kept?"),
    "sweep": Table(
        "sweep",
        sweep,
        "Accuracy of the paper's filter over its memory (rows) and the weak weight (columns).",
    ),
    "errors": Table("errors", errors, "How errors come together; lags are in steps."),
    "energy": Table(
        "energy",
        energy,
        "Accuracy against strong calls; the filter is tuned, without labels, at each budget.",
    ),
}


def markdown(name: str, results: Path = RESULTS) -> str:
    """Return a table, such as ``wisdm-chained-methods``; empty where there is no result yet."""
    start, _, kind = name.rpartition("-")
    if kind not in TABLES:
        raise ValueError(f"there is no table {name!r}; it must end in one of {', '.join(TABLES)}")
    wanted = TABLES[kind]
    path = results / f"{start}-{wanted.stem}.csv"
    if not path.exists():
        return ""
    note, rows = read_rows(path)
    below = f"\n{note}\n" if kind == "methods" else ""
    return f"{wanted.title}\n\n{wanted.make(rows)}\n{below}\n"


def filled(text: str, results: Path = RESULTS) -> str:
    """Return a page with all its tables filled in."""
    return MARK.sub(lambda m: m[1] + markdown(m[2], results) + m[4], text)


def main(arguments: list[str] | None = None) -> None:
    """Fill the page, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="print all tables instead")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    if not given.markdown:
        PAGE.write_text(filled(PAGE.read_text(), given.results))
        return
    for path in sorted(given.results.glob("*-methods.csv")):
        start = path.stem.removesuffix("-methods")
        for kind in TABLES:
            print(f"### {start}, {kind}\n\n{markdown(f'{start}-{kind}', given.results)}")


def _number(value: float) -> str:
    return "" if value != value else f"{value:.6g}"


def _digits(text: str, digits: int) -> str:
    return f"{float(text):.{digits}f}" if text else ""


def _pm(value: str, spread: str) -> str:
    return _digits(value, 1) + (f" ± {_digits(spread, 1)}" if spread else "")


def _without_empty(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table without the columns that have no entry."""
    keep = [i for i in range(len(titles)) if any(row[i] for row in rows)]
    return table([titles[i] for i in keep], [[row[i] for i in keep] for row in rows])


if __name__ == "__main__":
    main()
