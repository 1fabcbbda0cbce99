"""Train both models, and predict for people they have not seen: ``python -m experiments.train``.

For every fold and seed, a weak and a strong model; then their predictions, at every step, for the
people they have not seen. They are written as files of streams, one for each seed. Models that are
done are not trained again. This command needs NumPy and PyTorch alone.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from . import wisdm
from .fit import Device, Plan, fit, predict
from .models import SHAPES, TINY, Shape
from .signals import RATE, STEP, Signals, folds
from .streams import Stream, write

HOURS = 2.0
"""Of a person's chained stream."""
TESTED = 1_000_000
"""Seed of the chained streams that are tested on; those of training have the seed of the model."""
FOLDS = {"wisdm": (5, 5), "capture24": (6, 1)}
"""How many folds, and how many of them are run; 6 folds of 151 people test 25, as the paper."""
BATCHES = {"wisdm": Plan.batches, "capture24": 250}
"""Batches per epoch by default; Capture-24 has far more data."""
HELD_OUT = 20_000
"""Most held-out steps for early stopping; evenly spread, where there are more."""


@dataclass(frozen=True)
class Task:
    """One model to train, and all that its result depends on."""

    data: str
    folder: str
    source: str
    fold: int
    folds: int
    seed: int
    shape: Shape
    plan: Plan
    hours: float

    def path(self, work: Path) -> Path:
        """Return the file of the predictions; other settings, another file."""
        digest = hashlib.sha256(repr(replace(self, folder="")).encode()).hexdigest()[:10]
        return work / f"{self.data}-{self.source}-{self.fold}-{self.seed}-{digest}.npz"


@cache
def load(data: str, folder: str) -> Signals:
    """Return the signals of a set."""
    if data == "wisdm":
        return wisdm.load(Path(folder))
    from . import capture24

    return capture24.load(Path(folder))


@cache
def kinds(data: str, folder: str, hours: float, seed: int) -> dict[str, Signals]:
    """Return the streams of a set: as recorded, and of WISDM also chained."""
    signals = load(data, folder)
    if data != "wisdm":
        return {"recorded": signals}
    return {"recorded": signals, "chained": wisdm.chained(signals, 3600 * hours, seed)}


def tested(task: Task) -> tuple[str, ...]:
    """Return the people that a model has not seen."""
    return folds(load(task.data, task.folder).names, task.folds)[task.fold][2]


def work_on(task: Task, work: Path, device: str) -> Task:
    """Train the model of a task and write its predictions."""
    path = task.path(work)
    if path.exists():
        return task
    train, held_out, _ = folds(load(task.data, task.folder).names, task.folds)[task.fold]
    streams = kinds(task.data, task.folder, task.hours, task.seed)
    signals = streams.get("chained", streams["recorded"])
    start = time.perf_counter()
    model, log = fit(
        task.shape,
        len(signals.classes),
        Device(signals, device),
        signals.steps(train),
        signals.steps(held_out).thinned(HELD_OUT),
        task.plan,
        seed=1000 * task.seed + task.fold,
    )
    shares: dict[str, Any] = {
        kind: predict(model, Device(of, device), of.steps(tested(task)))
        for kind, of in kinds(task.data, task.folder, task.hours, TESTED).items()
    }
    new = path.with_suffix(".new.npz")
    np.savez_compressed(new, **shares)
    new.replace(path)
    loss, right = min(log)
    took = f"{len(log)} epochs in {time.perf_counter() - start:.0f} s"
    held = f"{100 * right:.1f} % of those held out, loss {loss:.3f}"
    print(f"{path.stem}: {took}; {held}", flush=True)
    return task


def train_all(tasks: list[Task], work: Path, device: str, jobs: int) -> None:
    """Work on the tasks, `jobs` at a time."""
    work.mkdir(parents=True, exist_ok=True)
    one = partial(work_on, work=work, device=device)
    if jobs == 1:
        for task in tasks:
            one(task)
        return
    threads = max(1, (os.cpu_count() or 1) // jobs)
    spawn = get_context("spawn")  # CUDA does not survive a fork
    with ProcessPoolExecutor(jobs, spawn, torch.set_num_threads, (threads,)) as pool:
        list(pool.map(one, tasks))


def streams_of(tasks: list[Task], kind: str, work: Path) -> Iterator[Stream]:
    """Return the streams of one kind and seed."""
    pairs = {(task.fold, task.source): task for task in tasks}
    for fold in sorted({task.fold for task in tasks}):
        task = pairs[fold, "weak"]
        signals = kinds(task.data, task.folder, task.hours, TESTED)[kind]
        steps = signals.steps(tested(task))
        ends = np.cumsum(steps.counts)[:-1]
        columns = [steps.label.astype(np.intp)]
        for source in ("weak", "strong"):
            with np.load(pairs[fold, source].path(work)) as file:
                columns.append(file[kind].astype(np.float64))
        parts = (np.split(column, ends) for column in columns)
        for name, y, weak, strong in zip(steps.names, *parts, strict=True):
            seconds = np.arange(1, len(y) + 1, dtype=np.float64) * (STEP / RATE)
            yield Stream(name, seconds, y, weak, strong, signals.classes, fold)


def parser() -> argparse.ArgumentParser:
    """Return the arguments of this command."""
    result = argparse.ArgumentParser(description=__doc__)
    result.add_argument("set", choices=FOLDS)
    result.add_argument("--data", type=Path, required=True, help="folder with the data")
    result.add_argument("--out", type=Path, default=Path("out"), help="folder of the results")
    result.add_argument("--folds", type=int, help="parts that the people are split into")
    result.add_argument("--seeds", type=int, default=3)
    result.add_argument("--jobs", type=int, default=1, help="models at a time")
    result.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    result.add_argument("--epochs", type=int, default=Plan.epochs)
    result.add_argument("--batches", type=int, help="batches per epoch")
    result.add_argument("--batch", type=int, default=Plan.batch)
    result.add_argument("--hours", type=float, default=HOURS, help="of a chained stream")
    result.add_argument("--tiny", action="store_true", help="tiny models, for a test")
    return result


def tasks_of(args: argparse.Namespace) -> list[Task]:
    """Return the models to train, the slow ones first."""
    count, parts = FOLDS[args.set] if args.folds is None else (args.folds, args.folds)
    batches = BATCHES[args.set] if args.batches is None else args.batches
    plan = Plan(epochs=args.epochs, batches=batches, batch=args.batch)
    shapes = TINY if args.tiny else SHAPES
    return [
        Task(args.set, str(args.data), source, fold, count, seed, shapes[source], plan, args.hours)
        for source in ("strong", "weak")
        for seed in range(args.seeds)
        for fold in range(parts)
    ]


def main(arguments: list[str] | None = None) -> None:
    """Train, predict, and write a file of streams for each kind and seed."""
    args = parser().parse_args(arguments)
    tasks, start = tasks_of(args), time.perf_counter()
    work = args.out / "work"
    train_all(tasks, work, args.device, args.jobs)
    print(f"{len(tasks)} models in {time.perf_counter() - start:.0f} s", flush=True)
    for kind in kinds(args.set, str(args.data), args.hours, TESTED):
        for seed in range(args.seeds):
            own = [task for task in tasks if task.seed == seed]
            write(args.out / f"{kind}-{seed}.npz", list(streams_of(own, kind, work)))


if __name__ == "__main__":
    main()
