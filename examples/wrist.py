"""Raw wrist samples in, activity timeline out: ``python -m examples.wrist``.

By itself it runs on synthetic people with small models; see `examples.rehearsal`. With
models, settings and samples of your own::

    python -m examples.wrist --models DIR --config FILE.json --samples FILE.npy --rate 20

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

SECONDS = {"weak": 5.0, "strong": 30.0}
"""Length of each model's window."""
STEP = 5.0
BLOCK = 37
"""Samples that come at a time; any number will do."""


def models(folder: Path, *, logits: bool = False) -> dict[str, Source]:
    """Return the two models of a folder as sources; each in one thread, since they are small."""
    return {name: from_onnx(folder / f"{name}.onnx", logits=logits, threads=1) for name in SECONDS}


def live(pipe: cf.Pipeline, sources: Mapping[str, Source], samples: Floats, rate: float) -> Run:
    """Run the loop over samples (n, 3), with the settings of a file."""
    timed = {name: Timed(source) for name, source in sources.items()}
    cascade = cf.Cascade(
        pipe,
        timed,
        window={name: round(SECONDS[name] * rate) for name in sources},
    )
    blocks = (samples[i : i + BLOCK] for i in range(0, len(samples), BLOCK))
    steps, overhead = [], []
    start = now()
    for step in cascade.run(blocks, rate, STEP):
        overhead.append(now() - start - sum(source.elapsed() for source in timed.values()))
        steps.append(step)  # a product shows it, stores it or sends it
        start = now()
    return Run(steps, cascade.calls, cascade.errors, np.array(overhead))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run on the samples of a file; or on a synthetic person, if no file is named."""
    parser = argparse.ArgumentParser("python -m examples.wrist")
    parser.add_argument("--models", type=Path, help="folder with weak.onnx and strong.onnx")
    parser.add_argument("--config", type=Path, help="file with filter, weights and policy")
    parser.add_argument("--samples", type=Path, help="NumPy file, acceleration in g, (n, 3)")
    parser.add_argument("--rate", type=float, default=20.0, help="samples per second (20)")
    parser.add_argument(
        "--logits", action="store_true", help="the models return logits, not probabilities"
    )
    parser.add_argument("-o", "--out", type=Path, default=Path("out/wrist"), help="output folder")
    args = parser.parse_args(arguments)
    files = (args.models, args.config, args.samples)
    if not any(files):
        from examples import rehearsal

        rehearsal.main(args.out)
    elif not all(files):
        parser.error("--models, --config and --samples go together; give all three, or none")
    else:
        samples = np.load(args.samples)
        if samples.ndim != 2 or samples.shape[1] != 3:
            parser.error(f"--samples has the shape {samples.shape}; it must be (n, 3)")
        pipe, sources = cf.load(args.config), models(args.models, logits=args.logits)
        names = tuple(pipe.classes)
        alone = cf.Pipeline(cf.RawFilter(names), beta=pipe.beta)
        weak = live(alone, {"weak": sources["weak"]}, samples, args.rate)
        run = live(pipe, sources, samples, args.rate)
        print(run)
        write(args.out, names, run, {"Weak alone": weak}, STEP)
    print(f"{args.out}: steps.csv, timeline.png")


if __name__ == "__main__":
    main()
