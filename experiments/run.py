"""The paper's experiment, end to end: ``python -m experiments.run wisdm --data DIR``.

Raw signals, two transformers, the policy, the filters, the tables and the figure. What is there
already is used: unfinished training goes on, and ``answers.npz`` and ``weights.npz`` may come from
another machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import capture24, figure, people, report, train, why
from .measure import Done, Row, class_rows, method_rows, order_rows
from .methods import ORDER, all_tracks
from .models import SHAPES, TINY, multiply_adds
from .people import Answers

SETS = (*train.FOLDS, "extrasensory")


def streams(given: argparse.Namespace, more: list[str]) -> tuple[Path, dict[str, float], str]:
    """Make the Parquet files; return their folder, the cost of calls, and where they come from."""
    out = given.out / given.set
    kept = out / "streams"
    if given.set == "extrasensory":
        origin = kept / "origin.txt"
        if not origin.exists():  # streams that are used again keep the commit that made them
            made_by = train.commit()
            people.write(people.by_features(given.data), kept)
            origin.write_text(f"streams by simple classifiers, 5 folds, commit {made_by}")
        return kept, {}, origin.read_text()
    if not people.complete(out):
        data = given.data
        if given.set == "capture24" and list(data.glob("P[0-9]*.csv.gz")):
            capture24.main([str(data), "--out", str(out / "signals")])
            data = out / "signals"
        train.main([given.set, "--data", str(data), "--out", str(out), *more])
    for found in people.from_models(out):
        people.write(found, kept)
    told = people.about(out)
    shapes = TINY if told["tiny"] else SHAPES
    cost = {s: float(multiply_adds(shapes[s], len(told["classes"]))) for s in SHAPES}
    print("; ".join(_exported(out)))
    return kept, cost, (
        f"models by {told['command']} on {told['device']}, {told['models']} models, "
        f"{told['seconds']:.0f} s in all, commit {told['commit']}"
    )  # fmt: skip


def _exported(out: Path) -> list[str]:
    from .onnx_export import export_both

    found = export_both(out)
    return [f"{source}.onnx: at most {far:.1e} from PyTorch" for source, far in found.items()]


def results(
    found: Sequence[Answers], cost: Mapping[str, float], folder: Path, start: str, note: str
) -> None:
    """Run and measure all methods on streams of one kind, one entry a seed; write the results."""
    done: list[Done] = [(one, *all_tracks(one.people)) for one in found]
    folder.mkdir(parents=True, exist_ok=True)
    tables: dict[str, list[Row]] = {
        "methods": method_rows(done, cost),
        "classes": class_rows(done),
        "order": order_rows(done),
        "sweep": why.sweep_rows(found),
        "errors": why.error_rows(found),
        "energy": why.energy_rows(found, cost),
    }
    for name, rows in tables.items():
        report.write_rows(folder / f"{start}-{name}.csv", rows, note)
    stretch = figure.draw(done[0], folder / f"{start}.png")
    name = found[0].people[stretch.person].name
    text = f"{note}\nThe figure: person {name}, seed 0, from step {stretch.first}.\n"
    (folder / f"{start}.txt").write_text(text)
    for name in ("methods", "sensitivity", "precision", "specificity", "order", "errors", "energy"):
        print(f"\n{start}, {name}\n\n{report.markdown(f'{start}-{name}', folder)}")
    kept = all(row["gain"] > 0 for row in tables["order"][: len(ORDER) - 1])
    print(f"{start}: the paper's order {' < '.join(ORDER)} is {'kept' if kept else 'not kept'}.")


def main(arguments: list[str] | None = None) -> None:
    """Do all of it; arguments that are not known here go to `experiments.train`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--data", type=Path, required=True, help="folder with the data")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder of large files")
    parser.add_argument("--results", type=Path, default=report.RESULTS, help="folder of tables")
    given, more = parser.parse_known_args(arguments)
    begun = time.perf_counter()
    kept, cost, origin = streams(given, more)
    by_kind: dict[str, list[Answers]] = {}
    for path in sorted(kept.glob("*.parquet")):
        found = people.read(path)
        by_kind.setdefault(found.kind, []).append(found)
    note = f"python -m experiments.run {given.set} --data DIR, commit {train.commit()}; {origin}"
    for kind, several in by_kind.items():
        results(several, cost, given.results, f"{given.set}-{kind}", note)
    print(f"Tables and figures are in {given.results}; {time.perf_counter() - begun:.0f} s.")


if __name__ == "__main__":
    main()
