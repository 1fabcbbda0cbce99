"""The paper's experiment, end to end: ``python -m experiments.run wisdm --data DIR``.

Raw signals, two transformers, the policy, the filters, the paper's tables and its figure. Models
that are trained already, and files of streams that are there, are used again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from classfilter import metrics

from . import capture24, classifiers, figure, train
from .benchmark import Probs, accuracy, error_of_gain, score, table
from .methods import CEILING, ORDER, Run, run_all
from .models import SHAPES, TINY, multiply_adds
from .streams import Ints, Stream, read, write

RESULTS = Path(__file__).parent / "results"
PAPER_ACCURACY = {"Raw": 77.15, "Simple": 80.85, "Single": 82.61, "Multiple": 85.24}
"""Table I, on Capture-24."""
PAPER_SENSITIVITY = {
    "bicycling": (0.86, 0.89, 0.88, 0.82),
    "mixed": (0.68, 0.73, 0.76, 0.77),
    "sit-stand": (0.85, 0.90, 0.93, 0.94),
    "sleep": (0.81, 0.83, 0.84, 0.87),
    "vehicle": (0.65, 0.72, 0.75, 0.81),
    "walking": (0.33, 0.34, 0.34, 0.44),
}
"""Table II; one column per method of `ORDER`."""
PAPER_PRECISION = {
    "bicycling": (0.79, 0.84, 0.87, 0.88),
    "mixed": (0.60, 0.66, 0.69, 0.75),
    "sit-stand": (0.73, 0.76, 0.78, 0.80),
    "sleep": (0.93, 0.95, 0.97, 0.98),
    "vehicle": (0.78, 0.87, 0.90, 0.89),
    "walking": (0.60, 0.71, 0.75, 0.73),
}
"""Table III. Its heading says specificity; its numbers can only be precision."""
SHOWN = (*ORDER, "Hold", "Tuned")
Seeds = list[tuple[list[Stream], dict[str, list[Run]]]]


def truth(people: Sequence[Stream]) -> list[Ints]:
    """Return the labels of each person."""
    return [person.label for person in people]


def probs(runs: Sequence[Run]) -> Probs:
    """Return the probabilities of each person."""
    return [run.probs for run in runs]


def by_fold(people: Sequence[Stream], runs: Sequence[Run]) -> list[float]:
    """Return the accuracy of the people of each fold, in percent."""
    fold = np.array([person.fold for person in people])
    parts = [np.flatnonzero(fold == k).tolist() for k in np.unique(fold)]
    return [
        accuracy(truth([people[i] for i in part]), probs([runs[i] for i in part])) for part in parts
    ]


def measures(
    people: Sequence[Stream], runs: Sequence[Run], cost: Mapping[str, int]
) -> dict[str, float]:
    """Return the measures of one method and seed, of all people together."""
    y, P = truth(people), probs(runs)
    pairs = list(zip(people, runs, strict=True))
    counts = [metrics.count_switches(run.probs, p.time, p.label) for p, run in pairs]
    late = [metrics.detection_delay(p.label, run.probs, p.time) for p, run in pairs]
    late = [delay for delay in late if delay.changes]
    minutes = len(np.concatenate(y)) * float(np.median(np.diff(people[0].time))) / 60
    calls = {source: sum(getattr(run, source) for run in runs) for source in ("strong", "weak")}
    row = {
        "accuracy, %": accuracy(y, P),
        "macro-F1, %": 100 * score(metrics.macro_f1, y, P),
        "log-loss": score(metrics.log_loss, y, P),
        "switches per hour": sum(n for n, _ in counts) / max(sum(h for _, h in counts), 1e-9),
        "delay, s": sum(d.mean * d.changes for d in late) / max(sum(d.changes for d in late), 1),
        "strong calls per hour": 60 * calls["strong"] / minutes,
    }
    if cost:
        work = sum(cost[source] * calls[source] for source in cost) / minutes
        row["million multiply-adds per minute"] = work / 1e6
    return row


def method_table(seeds: Seeds, cost: Mapping[str, int]) -> str:
    """Return Table I, and beyond: means over seeds, and the spread over folds and seeds."""
    lines, heads = [], [""]
    for name in seeds[0][1]:
        each = [measures(people, runs[name], cost) for people, runs in seeds]
        spread = [a for people, runs in seeds for a in by_fold(people, runs[name])]
        mean = {key: float(np.mean([one[key] for one in each])) for key in each[0]}
        cells = [f"{x:.2f}" if key == "log-loss" else f"{x:.1f}" for key, x in mean.items()]
        cells.insert(1, f"{np.std(spread, ddof=1):.1f}" if len(spread) > 1 else "")
        paper = PAPER_ACCURACY.get(name)
        lines.append([name, *cells, "" if paper is None else f"{paper:.2f}"])
        heads = ["", *mean, "paper, Capture-24"]
    heads.insert(2, "± over folds")
    return table("Table I, and beyond.", heads, lines)


def class_tables(seeds: Seeds) -> list[str]:
    """Return Tables II and III, and the paper's where the classes are its own."""
    classes = seeds[0][0][0].classes
    result = []
    for title, measure, paper in (
        ("Table II: sensitivity, TP / (TP + FN)", metrics.sensitivity, PAPER_SENSITIVITY),
        ("Table III: precision, TP / (TP + FP)", metrics.precision, PAPER_PRECISION),
    ):
        columns = [
            np.mean([score(measure, truth(p), probs(runs[name])) for p, runs in seeds], axis=0)
            for name in SHOWN
        ]
        lines = [[c, *(f"{x[i]:.2f}" for x in columns)] for i, c in enumerate(classes)]
        result.append(table(f"{title}.", ["", *SHOWN], lines))
        if set(classes) <= set(paper):
            lines = [[c, *(f"{x:.2f}" for x in paper[c])] for c in classes]
            result.append(table(f"{title}: the paper's, on Capture-24.", ["", *ORDER], lines))
    return result


def order_table(seeds: Seeds) -> tuple[str, bool]:
    """Return how far each method is above the one before it, and whether the paper's order holds.

    The standard error is over people.
    """
    lines, holds = [], True
    for low, high in pairwise((*ORDER, "Tuned", CEILING)):
        tried = [(truth(p), probs(runs[low]), probs(runs[high])) for p, runs in seeds]
        gain = float(np.mean([accuracy(y, b) - accuracy(y, a) for y, a, b in tried]))
        error = float(np.mean([error_of_gain(y, a, b) for y, a, b in tried]))
        lines.append([f"{high} above {low}", f"{gain:+.1f} ± {error:.1f}"])
        holds &= gain > 0 or high not in ORDER
    return table("Does the paper's order hold?", ["", "points"], lines), holds


def predicted(args: argparse.Namespace, more: list[str]) -> tuple[list[Path], dict[str, int]]:
    """Return the files of streams, and the multiply-adds of a call of each model."""
    out, data = args.out / args.set, args.data
    cost: dict[str, int] = {}
    if args.set == "extrasensory":
        if not list(out.glob("*.npz")):
            streams = classifiers.predicted(*classifiers.extrasensory(data), seed=0)
            write(out / "recorded-0.npz", list(streams))
    else:
        if args.set == "capture24" and list(data.glob("P[0-9]*.csv.gz")):
            capture24.prepare(data, out / "signals")
            data = out / "signals"
        train.main([args.set, "--data", str(data), "--out", str(out), *more])
        shapes = TINY if "--tiny" in more else SHAPES
        cost = {source: multiply_adds(shapes[source], 6) for source in SHAPES}
    return sorted(out.glob("*.npz")), cost


def write_page(name: str, seeds: Seeds, cost: Mapping[str, int], command: str, folder: Path) -> str:
    """Write the figure and the tables of streams of one kind; return the page."""
    folder.mkdir(parents=True, exist_ok=True)
    person = figure.draw(*seeds[0], folder / f"{name}.png")
    order, holds = order_table(seeds)
    text = "\n".join([
        f"# {name}\n",
        f"Printed by `{command}`: {len(seeds[0][0])} people, seeds: {len(seeds)}.\n",
        f"![A stretch of {person}: the probability of the true class, and the class that each "
        f"method predicts]({name}.png)",
        method_table(seeds, cost),
        *class_tables(seeds),
        order,
        f"\nThe paper's order {' < '.join(ORDER)} {'holds' if holds else 'does not hold'}.\n",
    ])  # fmt: skip
    (folder / f"{name}.md").write_text(text)
    return text


def main(arguments: list[str] | None = None) -> None:
    """Run the experiment; arguments that are not known here go to `experiments.train`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", choices=(*train.FOLDS, "extrasensory"))
    parser.add_argument("--data", type=Path, required=True, help="folder with the data")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder of large files")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of tables")
    args, more = parser.parse_known_args(arguments)
    start = time.perf_counter()
    files, cost = predicted(args, more)
    command = " ".join(["python -m experiments.run", args.set, "--data DIR", *more])
    for kind in dict.fromkeys(path.stem.split("-")[0] for path in files):
        several = [read(path) for path in files if path.stem.startswith(f"{kind}-")]
        seeds = [(people, run_all(people)) for people in several]
        print(write_page(f"{args.set}-{kind}", seeds, cost, command, args.results))
    print(f"Tables and figures are in {args.results}; {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    main()
