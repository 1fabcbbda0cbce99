"""Raw wrist samples in, activity timeline out: ``python -m examples.wrist``.

By itself it is a rehearsal with invented people and small models; see `examples.rehearsal`. With
models, settings and samples of your own::

    python -m examples.wrist --models DIR --config FILE.toml --samples FILE.npy --rate 20

DIR has weak.onnx and strong.onnx, from (1, n, 3) in g to probabilities, or to logits with
``--logits``. The output folder gets ``steps.csv`` and ``timeline.png``.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from examples.report import Floats, Run, Timed, now, write
from examples.sources import Source, from_onnx

import classfilter as cf
from classfilter.config import Config, read

SECONDS = {"weak": 5.0, "strong": 30.0}
"""What each model looks at."""
STEP = 5.0
BLOCK = 37
"""Samples that come at a time; any number will do."""


def models(folder: Path, *, logits: bool = False) -> dict[str, Source]:
    """Return the two models of a folder as sources; each in one thread, since they are small."""
    return {name: from_onnx(folder / f"{name}.onnx", logits=logits, threads=1) for name in SECONDS}


def live(config: Config, sources: Mapping[str, Source], samples: Floats, rate: float) -> Run:
    """Run the loop over samples (n, 3), with the settings of a file."""
    timed = {name: Timed(source) for name, source in sources.items()}
    cascade = cf.Cascade(
        config.filter,
        timed,
        config.policy,
        config.beta,
        channel=config.channel,
        window={name: round(SECONDS[name] * rate) for name in sources},
    )
    blocks = (samples[i : i + BLOCK] for i in range(0, len(samples), BLOCK))
    steps, besides = [], []
    start = now()
    for step in cascade.run(blocks, rate, STEP):
        besides.append(now() - start - sum(source.taken() for source in timed.values()))
        steps.append(step)  # a product shows it, stores it or sends it
        start = now()
    return Run(steps, cascade.calls, cascade.errors, np.array(besides))


def main(arguments: Sequence[str] | None = None) -> None:
    """Follow the samples of a file; or those of an invented person, where nothing is given."""
    parser = argparse.ArgumentParser("python -m examples.wrist")
    parser.add_argument("--models", type=Path, help="folder with weak.onnx and strong.onnx")
    parser.add_argument("--config", type=Path, help="TOML file with filter, weights and policy")
    parser.add_argument("--samples", type=Path, help="NumPy file, acceleration in g, (n, 3)")
    parser.add_argument("--rate", type=float, default=20.0, help="samples a second (20)")
    parser.add_argument("--logits", action="store_true", help="the models give no probabilities")
    parser.add_argument("-o", "--out", type=Path, default=Path("out/wrist"), help="output folder")
    asked = parser.parse_args(arguments)
    given = (asked.models, asked.config, asked.samples)
    if not any(given):
        from examples import rehearsal

        rehearsal.main(asked.out)
    elif not all(given):
        parser.error("--models, --config and --samples go together; give all three, or none")
    else:
        samples = np.load(asked.samples)
        if samples.ndim != 2 or samples.shape[1] != 3:
            parser.error(f"--samples has the shape {samples.shape}; it must be (n, 3)")
        config, sources = read(asked.config), models(asked.models, logits=asked.logits)
        names = tuple(config.filter.classes)
        alone = Config(cf.RawFilter(names), config.beta, {}, None)
        weak = live(alone, {"weak": sources["weak"]}, samples, asked.rate)
        run = live(config, sources, samples, asked.rate)
        print(run)
        write(asked.out, names, run, {"Weak alone": weak}, STEP)
    print(f"{asked.out}: steps.csv, timeline.png")


if __name__ == "__main__":
    main()
