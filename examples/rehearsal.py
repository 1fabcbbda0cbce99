"""The example `examples.wrist` with invented people: models, settings, and a new person.

Some people are labelled, and two small models are fitted to them. Others are not: there the models'
answers are recorded, and `classfilter.tune` finds the settings. Then a new person is followed by
the cascade, and by what it has to beat.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from examples.report import Floats, Ints, Run, write
from examples.sources import Source
from examples.synthetic import CLASSES, RATE, export, fit, person
from examples.wrist import SECONDS, STEP, live, models

import classfilter as cf
from classfilter.config import Config, read

EVERY = 12
"""Steps from one strong answer to the next, or on average."""
BETA = {"weak": 0.1, "strong": 1.0}
LABELLED, UNLABELLED, NEW = range(8), range(100, 108), 201
"""Who the models are fitted to, who the settings are found on, and who is followed: seeds.

The new one is the first from 200 on who does all four things in two hours."""


def recorded(samples: Floats, sources: Mapping[str, Source]) -> cf.Recording:
    """Return what the models say of someone, the strong one once a minute; without labels."""
    once = Config(cf.RawFilter(CLASSES), BETA, {}, cf.policy.Periodic(EVERY))
    run = live(once, sources, samples, RATE)
    time, source = zip(*((step.time, str(step.source)) for step in run.steps), strict=True)
    return cf.Recording(time, source, run.probs, CLASSES)


def prepare(folder: Path, hours: float) -> cf.Tuned:
    """Write weak.onnx, strong.onnx and wrist.toml, so many hours of each person behind them."""
    labelled = [person(seed, hours) for seed in LABELLED]
    for name in SECONDS:
        export(name, fit(name, labelled), folder)
    sources = models(folder)
    tuned = cf.tune([recorded(person(seed, hours).samples, sources) for seed in UNLABELLED])
    tuned.save(folder / "wrist.toml", policy=cf.policy.Adaptive(budget=1 / EVERY))
    return tuned


def follow(folder: Path, samples: Floats) -> dict[str, Run]:
    """Follow someone by the cascade of a folder, and by what it has to beat."""
    sources, raw = models(folder), cf.RawFilter(CLASSES)
    once = Config(cf.HoldFilter(CLASSES), BETA, {}, cf.policy.Periodic(EVERY))
    ways = {
        "Weak alone": (Config(raw, BETA, {}, None), ["weak"]),
        "Strong once a minute, held": (once, ["weak", "strong"]),
        "Strong on every step": (Config(raw, BETA, {}, None), ["strong"]),
        "Cascade": (read(folder / "wrist.toml"), ["weak", "strong"]),
    }
    return {
        way: live(config, {name: sources[name] for name in called}, samples, RATE)
        for way, (config, called) in ways.items()
    }


def of_steps(truth: Ints) -> Ints:
    """Return the class in the middle of each step, of that of each sample."""
    each = round(STEP * RATE)
    return truth[each // 2 : len(truth) // each * each : each]


def main(folder: Path, hours: float = 2.0) -> dict[str, float]:
    """Rehearse in a folder; print what came of it, and return the accuracies."""
    folder.mkdir(parents=True, exist_ok=True)
    print(prepare(folder, hours), end="\n\n")
    samples, each = person(NEW, hours)
    runs, truth = follow(folder, samples), of_steps(each)
    found = {way: cf.metrics.accuracy(truth, run.probs) for way, run in runs.items()}
    print(f"{'':28}accuracy, %  weak calls  strong calls")
    for way, run in runs.items():
        weak, strong = (run.calls.get(name, 0) for name in SECONDS)
        print(f"{way:28}{100 * found[way]:11.1f}{weak:12}{strong:14}")
    print(f"\nThe cascade: {runs['Cascade']}")
    write(folder, CLASSES, runs["Cascade"], {"Weak alone": runs["Weak alone"]}, STEP, truth)
    return found
