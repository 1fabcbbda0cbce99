"""Train both models, and predict for people they have not seen: ``python -m experiments.train``.

For every fold and seed, a weak and a strong model; then their predictions, at every step, for the
people they have not seen. All goes into two files, ``predictions.npz`` and ``weights.npz``, from
which `experiments.run` makes recordings, tables and figures. A run that was stopped resumes.
This command needs NumPy and PyTorch alone.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from . import wisdm
from .fit import Device, Plan, fit, fitted_model, predict, write_log
from .models import SHAPES, TINY, Shape, multiply_adds, weights
from .progress import Progress
from .signals import Signals, folds

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

    @property
    def name(self) -> str:
        """Return which model it is."""
        return f"{self.source}/{self.fold}/{self.seed}"

    def path(self, work: Path) -> Path:
        """Return the file of the result; other settings make another file."""
        settings = json.dumps({**asdict(self), "folder": ""}, sort_keys=True)
        digest = hashlib.sha256(settings.encode()).hexdigest()[:10]
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


def work_on(task: Task, work: Path, device: str, on_epoch: Any = None) -> Path:
    """Train the model of a task and write its weights, its predictions and its log."""
    path = task.path(work)
    if path.exists():
        return path
    train, held_out, tested = folds(load(task.data, task.folder).names, task.folds)[task.fold]
    streams_of = kinds(task.data, task.folder, task.hours, task.seed)
    signals = streams_of.get("chained", streams_of["recorded"])
    classes, on = len(signals.classes), Device(signals, device)
    fitted = fit(
        task.shape, classes, on, signals.steps(train),
        signals.steps(held_out).thinned(HELD_OUT), task.plan,
        seed=1000 * task.seed + task.fold, checkpoint=path.with_suffix(".pt"), on_epoch=on_epoch,
    )  # fmt: skip
    del on
    model = fitted_model(task.shape, classes, fitted.vector).to(device)
    arrays: dict[str, Any] = {}
    for kind, streams in kinds(task.data, task.folder, task.hours, TESTED).items():
        steps = streams.steps(tested)
        P = predict(model, Device(streams, device), steps)
        arrays[f"predictions/{kind}"] = P.astype(np.float16)
        arrays[f"labels/{kind}"] = steps.label
        arrays[f"counts/{kind}"] = steps.counts
    for key in fitted.log[0]:
        arrays[f"log/{key}"] = np.array([row[key] for row in fitted.log])
    new = path.with_suffix(".new.npz")
    np.savez_compressed(new, vector=fitted.vector, people=np.array(tested), **arrays)
    new.replace(path)
    path.with_suffix(".pt").unlink(missing_ok=True)
    return path


def pack(tasks: list[Task], work: Path, out: Path, about: dict[str, Any]) -> int:
    """Pack finished models into ``predictions.npz`` and ``weights.npz``; return their number."""
    gathered: dict[str, Any] = {}
    vectors: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    seconds = 0.0
    for task in tasks:
        if not task.path(work).exists():
            continue
        name = task.name
        with np.load(task.path(work)) as file:
            vectors[name] = file["vector"]
            seconds += float(file["log/seconds"].sum())
            for kind in [key.split("/")[1] for key in file.files if key.startswith("predictions/")]:
                gathered[f"predictions/{kind}/{name}"] = file[f"predictions/{kind}"]
                for column in ("labels", "counts"):
                    gathered[f"{column}/{kind}/{task.fold}"] = file[f"{column}/{kind}"]
            gathered[f"people/{task.fold}"] = file["people"]
            columns = {k[4:]: file[k] for k in file.files if k.startswith("log/")}
            where = {"source": task.source, "fold": task.fold, "seed": task.seed}
            for i in range(len(columns["epoch"])):
                rows.append({**where, **{k: float(v[i]) for k, v in columns.items()}})
    if vectors:
        out.mkdir(parents=True, exist_ok=True)
        metadata = json.dumps({**about, "seconds": seconds})
        for name, arrays in (("predictions", gathered), ("weights", vectors)):
            new = out / f"{name}.new.npz"
            np.savez_compressed(new, about=np.array(metadata), **arrays)
            new.replace(out / f"{name}.npz")
        write_log(out / "log.csv", rows)
    return len(vectors)


def rates(path: Path, plan: Plan) -> Iterator[str]:
    """Yield how fast each kind of model was trained, including its held-out evaluation."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    for source in sorted({row["source"] for row in rows}):
        seconds = [float(row["seconds"]) for row in rows if row["source"] == source]
        speed = plan.batches * plan.batch / float(np.median(seconds))
        epoch = f"{np.median(seconds):.3g} s per epoch"
        yield f"{source}: {epoch}, {speed:.0f} windows per second and job"


def commit() -> str:
    """Return the commit of the code, where there is one; CLASSFILTER_COMMIT stands in for it."""
    override = os.environ.get("CLASSFILTER_COMMIT")
    if override:
        return override
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            capture_output=True, text=True, check=True, cwd=Path(__file__).parent,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


_QUEUE: Any = None


def _start(queue: Any, threads: int) -> None:
    global _QUEUE
    _QUEUE = queue
    torch.set_num_threads(threads)


def _remote(task: Task, work: Path, device: str) -> Path:
    return work_on(task, work, device, lambda epoch, row: _QUEUE.put((task, epoch, row)))


def train_all(tasks: list[Task], work: Path, device: str, jobs: int) -> Iterator[Task]:
    """Work on the tasks, `jobs` at a time, and yield each when it is done."""
    work.mkdir(parents=True, exist_ok=True)
    with Progress(len(tasks)) as bar:

        def show(task: Task, epoch: int, row: dict[str, float]) -> None:
            score = f"{100 * row['held_out_accuracy']:.1f} %, loss {row['held_out_loss']:.3f}"
            bar.note(f"{task.name} epoch {epoch}: {score}")

        if jobs == 1:
            for task in tasks:
                work_on(task, work, device, partial(show, task))
                bar.done(task.name)
                yield task
            return
        context = get_context("spawn")  # CUDA does not survive a fork
        queue = context.Queue()
        threads = max(1, (os.cpu_count() or 1) // jobs)
        with ProcessPoolExecutor(jobs, context, _start, (queue, threads)) as pool:
            waiting = {pool.submit(_remote, task, work, device): task for task in tasks}
            while waiting:
                finished, _ = wait(waiting, timeout=1.0, return_when=FIRST_COMPLETED)
                while not queue.empty():
                    show(*queue.get())
                for future in finished:
                    future.result()
                    task = waiting.pop(future)
                    bar.done(task.name)
                    yield task


def parser() -> argparse.ArgumentParser:
    """Return the arguments of this command."""
    result = argparse.ArgumentParser(description=__doc__)
    result.add_argument("set", choices=FOLDS)
    result.add_argument("--data", type=Path, required=True, help="folder with the data")
    result.add_argument("--out", type=Path, default=Path("out"), help="folder of the results")
    result.add_argument("--work", type=Path, help="folder of unfinished work; OUT/work")
    result.add_argument("--folds", type=int, help="parts that the people are split into")
    result.add_argument("--parts", type=int, help="how many of the folds to run")
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
    count, parts = FOLDS[args.set]
    if args.folds is not None:
        count = parts = args.folds
    parts = min(parts, args.parts or parts)
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
    """Train, predict, and pack after each model, so that a stopped run leaves its finished part."""
    args = parser().parse_args(arguments)
    tasks = tasks_of(args)
    work = args.work or args.out / "work"
    signals = load(args.set, str(args.data))
    K = len(signals.classes)
    cuda = args.device.startswith("cuda")
    about = {
        "set": args.set, "classes": signals.classes, "folds": tasks[0].folds,
        "models": len(tasks), "seeds": args.seeds, "tiny": args.tiny,
        "hours": args.hours, "commit": commit(),
        "plan": asdict(tasks[0].plan), "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if cuda else "cpu",
        "command": f"python -m experiments.train {args.set} --folds {tasks[0].folds} "
        f"--seeds {args.seeds} --epochs {args.epochs}",
    }  # fmt: skip
    for source in ("weak", "strong"):
        shape = next(task.shape for task in tasks if task.source == source)
        sizes = f"{weights(shape, K)} weights, {multiply_adds(shape, K)} multiply-adds per call"
        print(f"{source}: {shape.seconds:g} s, {sizes}", flush=True)
    print(f"{len(tasks)} models of {args.set} on {about['device']}", flush=True)
    start = time.perf_counter()
    pack(tasks, work, args.out, about)
    for _ in train_all(tasks, work, args.device, args.jobs):
        pack(tasks, work, args.out, about)
    took = time.perf_counter() - start
    done = pack(tasks, work, args.out, about)
    print(f"{done} of {len(tasks)} models in {took:.0f} s; in {args.out}", flush=True)
    for line in rates(args.out / "log.csv", tasks[0].plan):
        print(line, flush=True)


if __name__ == "__main__":
    main()
