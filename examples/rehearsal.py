"""The example `examples.wrist` with synthetic people: models, settings, and a new person.

Some people are labelled, and two small models are fitted to them. Others are not: there the models'
predictions are recorded, and `classfilter.tune` finds the settings. Then the cascade runs on a new
person, beside the baselines it has to beat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from examples.report import Floats, Ints, Run, write
from examples.sources import Source
from examples.synthetic import CLASSES, RATE, export, fit, person
from examples.wrist import SECONDS, STEP, live, models

import classfilter as cf

EVERY = 12
"""Steps from one strong prediction to the next, or on average."""
BETA = {"weak": 0.1, "strong": 1.0}
LABELLED, UNLABELLED, NEW = range(8), range(100, 108), 201
"""Seeds of the people for the models, for the settings, and for the run.

The new one is the first from 200 on who does all four activities in two hours."""


def recorded(samples: Floats, sources: Mapping[str, Source]) -> cf.Rows:
    """Record the models' predictions, the strong one once a minute; without labels."""
    once = cf.Pipeline(cf.RawFilter(CLASSES), beta=BETA, policy=cf.policy.Periodic(EVERY))
    run = live(once, sources, samples, RATE)
    time, source = zip(*((step.time, str(step.source)) for step in run.steps), strict=True)
    return cf.rows(time=time, source=source, probs=run.probs, classes=CLASSES)


def prepare(folder: Path, hours: float) -> cf.Pipeline:
    """Write weak.onnx, strong.onnx and wrist.json, from so many hours of each person."""
    labelled = [person(seed, hours) for seed in LABELLED]
    for name in SECONDS:
        export(name, fit(name, labelled), folder)
    sources = models(folder)
    tuned = cf.tune([recorded(person(seed, hours).samples, sources) for seed in UNLABELLED])
    policy = cf.policy.Adaptive(budget=1 / EVERY)
    replace(tuned, policy=policy).save(folder / "wrist.json")
    return tuned


def run_all(folder: Path, samples: Floats) -> dict[str, Run]:
    """Run the cascade of a folder, and the baselines it has to beat."""
    sources, raw = models(folder), cf.RawFilter(CLASSES)
    once = cf.Pipeline(cf.HoldFilter(CLASSES), beta=BETA, policy=cf.policy.Periodic(EVERY))
    methods = {
        "Weak alone": (cf.Pipeline(raw, beta=BETA), ["weak"]),
        "Strong once a minute, held": (once, ["weak", "strong"]),
        "Strong on every step": (cf.Pipeline(raw, beta=BETA), ["strong"]),
        "Cascade": (cf.load(folder / "wrist.json"), ["weak", "strong"]),
    }
    return {
        method: live(pipe, {name: sources[name] for name in names}, samples, RATE)
        for method, (pipe, names) in methods.items()
    }


def truth_per_step(truth: Ints) -> Ints:
    """Return the class in the middle of each step, from that of each sample."""
    count = round(STEP * RATE)
    return truth[count // 2 : len(truth) // count * count : count]


def main(folder: Path, hours: float = 2.0) -> dict[str, float]:
    """Run the example in a folder; print the results, and return the accuracies."""
    folder.mkdir(parents=True, exist_ok=True)
    print(prepare(folder, hours), end="\n\n")
    samples, per_sample = person(NEW, hours)
    runs, truth = run_all(folder, samples), truth_per_step(per_sample)
    accuracy = {name: cf.metrics.accuracy(truth, run.probs) for name, run in runs.items()}
    print(f"{'':28}accuracy, %  weak calls  strong calls")
    for name, run in runs.items():
        weak, strong = (run.calls.get(source, 0) for source in SECONDS)
        print(f"{name:28}{100 * accuracy[name]:11.1f}{weak:12}{strong:14}")
    print(f"\nThe cascade: {runs['Cascade']}")
    write(folder, CLASSES, runs["Cascade"], {"Weak alone": runs["Weak alone"]}, STEP, truth)
    return accuracy
