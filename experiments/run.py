"""The paper's experiment, end to end: ``python -m experiments.run wisdm --data DIR``.

Raw signals, two transformers, the policy, the filters, the tables and the figure. Existing files
are used again: unfinished training resumes, and ``predictions.npz`` and ``weights.npz`` may come
from another machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import analysis, capture24, figure, people, report, train
from .measure import Row, SeedResult, class_rows, method_rows, order_rows
from .methods import ORDER, run_all
from .models import SHAPES, TINY, multiply_adds
from .people import Predictions

SETS = (*train.FOLDS, "extrasensory")


def streams(args: argparse.Namespace, more: list[str]) -> tuple[Path, dict[str, float], str]:
    """Make the Parquet files; return their folder, the cost of calls, and where they come from."""
    out = args.out / args.set
    folder = out / "streams"
    if args.set == "extrasensory":
        origin = folder / "origin.txt"
        if not origin.exists():  # streams that are used again keep the commit that made them
            commit = train.commit()
            people.write(people.by_features(args.data), folder)
            origin.write_text(f"streams by simple classifiers, 5 folds, commit {commit}")
        return folder, {}, origin.read_text()
    if not people.complete(out):
        data = args.data
        if args.set == "capture24" and list(data.glob("P[0-9]*.csv.gz")):
            capture24.main([str(data), "--out", str(out / "signals")])
            data = out / "signals"
        train.main([args.set, "--data", str(data), "--out", str(out), *more])
    for predictions in people.from_models(out):
        people.write(predictions, folder)
    about = people.about(out)
    shapes = TINY if about["tiny"] else SHAPES
    cost = {s: float(multiply_adds(shapes[s], len(about["classes"]))) for s in SHAPES}
    print("; ".join(_exported(out)))
    return folder, cost, (
        f"models by {about['command']} on {about['device']}, {about['models']} models, "
        f"{about['seconds']:.0f} s in all, commit {about['commit']}"
    )  # fmt: skip


def _exported(out: Path) -> list[str]:
    from .onnx_export import export_both

    differences = export_both(out)
    return [f"{source}.onnx: at most {d:.1e} from PyTorch" for source, d in differences.items()]


def write_results(
    seeds: Sequence[Predictions], cost: Mapping[str, float], folder: Path, start: str, note: str
) -> None:
    """Run and measure all methods on streams of one kind, per seed; write the results."""
    results = [SeedResult(seed, *run_all(seed.people)) for seed in seeds]
    folder.mkdir(parents=True, exist_ok=True)
    tables: dict[str, list[Row]] = {
        "methods": method_rows(results, cost),
        "classes": class_rows(results),
        "order": order_rows(results),
        "sweep": analysis.sweep_rows(seeds),
        "errors": analysis.error_rows(seeds),
        "energy": analysis.energy_rows(seeds, cost),
    }
    for name, rows in tables.items():
        report.write_rows(folder / f"{start}-{name}.csv", rows, note)
    stretch = figure.draw(results[0], folder / f"{start}.png")
    name = seeds[0].people[stretch.person].name
    text = f"{note}\nThe figure: person {name}, seed 0, from step {stretch.first}.\n"
    (folder / f"{start}.txt").write_text(text)
    print(report.write_page(start, folder).read_text())
    holds = all(row["gain"] > 0 for row in tables["order"][: len(ORDER) - 1])
    print(
        f"{start}: the paper's order {' < '.join(ORDER)} {'holds' if holds else 'does not hold'}."
    )


def main(arguments: list[str] | None = None) -> None:
    """Run the experiment; arguments that are not known here go to `experiments.train`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--data", type=Path, required=True, help="folder with the data")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder of large files")
    parser.add_argument("--results", type=Path, default=report.RESULTS, help="folder of tables")
    args, more = parser.parse_known_args(arguments)
    start = time.perf_counter()
    folder, cost, origin = streams(args, more)
    by_kind: dict[str, list[Predictions]] = {}
    for path in sorted(folder.glob("*.parquet")):
        predictions = people.read(path)
        by_kind.setdefault(predictions.kind, []).append(predictions)
    note = f"python -m experiments.run {args.set} --data DIR, commit {train.commit()}; {origin}"
    for kind, seeds in by_kind.items():
        write_results(seeds, cost, args.results, f"{args.set}-{kind}", note)
    print(f"Tables and figures are in {args.results}; {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    main()
