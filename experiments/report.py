"""Results as CSV files and as pages beside them: ``python -m experiments.report``.

It writes one Markdown page per set of streams, such as ``experiments/results/wisdm-chained.md``,
from the CSV files with that name. `experiments.run` does the same at its end.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from .measure import Row

RESULTS = Path(__file__).parent / "results"


def write_rows(path: Path, rows: Sequence[Row], note: str) -> None:
    """Write rows as CSV, below a line with the command they come from."""
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
        work = r["multiply_adds_per_minute"]
        shown.append([
            r["method"] + " *" * (r["smoothed"] == "1"), r["settings"],
            _pm(r["accuracy"], r["accuracy_sd"]), _digits(r["paper_accuracy"], 2),
            _digits(r["macro_f1"], 1), _digits(r["log_loss"], 2), _digits(r["switches"], 1),
            _digits(r["delay"], 0), _digits(r["strong_calls_per_hour"], 1),
            _digits(str(float(work) / 1e6) if work else "", 1),
        ])  # fmt: skip
    titles = ("", "settings", "accuracy, %", "paper, Capture-24", "macro-F1, %", "log-loss",
              "switches per hour", "delay, s", "strong calls per hour",
              "million multiply-adds per minute")  # fmt: skip
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
            paper = _digits(r.get(f"paper_{measure}", ""), 2)
            line.append(_digits(r[measure], 2) + (f" ({paper})" if paper else ""))
        shown.append(line)
    return table(["", *order], shown)


def order(rows: list[dict[str, str]]) -> str:
    """Return by how much each method is above the one before it."""
    shown = [
        [f"{r['better']} above {r['worse']}", _pm(r["gain"], r["standard_error"]),
         f"{r['above_zero']} of {r['folds']}", _digits(r["paper_gain"], 2)]
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
    """Return accuracy over gamma and weight."""
    weights = [key for key in rows[0] if key.startswith("weight_")]
    shown = [[_digits(r["gamma_per_step"], 3), *(_digits(r[w], 1) for w in weights)] for r in rows]
    return table(["gamma per step", *(w.removeprefix("weight_") for w in weights)], shown)


def errors(rows: list[dict[str, str]]) -> str:
    """Return how errors coincide."""
    return table(["", ""], [[r["measure"].replace("_", " "), _digits(r["value"], 3)] for r in rows])


def energy(rows: list[dict[str, str]]) -> str:
    """Return accuracy against strong calls."""
    shown = []
    for r in rows:
        work = r["multiply_adds_per_minute"]
        shown.append([
            r["policy"], r["every"], _pm(r["accuracy"], r["accuracy_sd"]),
            _digits(r["strong_calls_per_hour"], 1),
            _digits(str(float(work) / 1e6) if work else "", 1),
        ])  # fmt: skip
    titles = ("policy", "steps per strong call", "accuracy, %", "strong calls per hour",
              "million multiply-adds per minute")  # fmt: skip
    return _without_empty(titles, shown)


class Table(NamedTuple):
    """A table of a page.

    Attributes
    ----------
    stem : str
        The end of its CSV file's name.
    title : str
        The sentence above it.
    to_markdown : callable
        From rows to Markdown.
    """

    stem: str
    title: str
    to_markdown: Callable[[list[dict[str, str]]], str]


TABLES = (
    Table("methods", "Table I, and beyond: every method, label-free and at its best.", methods),
    Table(
        "classes",
        "Table II: sensitivity, TP / (TP + FN).",
        lambda rows: classes(rows, "sensitivity"),
    ),
    Table(
        "classes", "Table III: precision, TP / (TP + FP).", lambda rows: classes(rows, "precision")
    ),
    Table(
        "classes",
        "What the heading of Table III says: specificity, TN / (TN + FP).",
        lambda rows: classes(rows, "specificity"),
    ),
    Table("order", "Does the paper's order hold?", order),
    Table(
        "sweep",
        "Accuracy of the paper's filter over gamma (rows) and the weak weight (columns).",
        sweep,
    ),
    Table("errors", "How errors coincide; lags are in steps.", errors),
    Table(
        "energy",
        "Accuracy against strong calls; the filter is tuned, without labels, at each budget.",
        energy,
    ),
)


def page(name: str, results: Path = RESULTS) -> str:
    """Return the page of a set of streams, such as ``wisdm-chained``, from its CSV files."""
    note, _ = read_rows(results / f"{name}-methods.csv")
    parts = [f"# {name}", "Written by `python -m experiments.report` from the CSV files beside it."]
    parts.append(f"The numbers: `{note}`")
    parts.append(
        f"![Ten minutes of one person: the probability of the true class, and the class that "
        f"each method predicts]({name}.png)"
    )
    for stem, title, to_markdown in TABLES:
        _, rows = read_rows(results / f"{name}-{stem}.csv")
        parts += [title, to_markdown(rows)]
    return "\n\n".join(parts) + "\n"


def write_page(name: str, results: Path = RESULTS) -> Path:
    """Write the page of a set of streams, and return its path."""
    path = results / f"{name}.md"
    path.write_text(page(name, results))
    return path


def main(arguments: list[str] | None = None) -> None:
    """Write the pages of all sets of streams that have results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the CSV files")
    args = parser.parse_args(arguments)
    for path in sorted(args.results.glob("*-methods.csv")):
        print(write_page(path.stem.removesuffix("-methods"), args.results))


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
