"""Both models as ONNX files, checked: ``python -m experiments.onnx_export out/wisdm``."""

from __future__ import annotations

import argparse
import json
import logging
import warnings
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from .fit import fitted_model
from .models import SHAPES, TINY, Transformer

CLOSE = 1e-5
"""Largest difference of a probability that passes as rounding."""


class Probabilities(torch.nn.Module):
    """A model whose outputs are probabilities."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, window: torch.Tensor) -> torch.Tensor:
        """Map windows in g, (B, samples, 3), to probabilities (B, classes)."""
        logits: torch.Tensor = self.model(window)
        return logits.softmax(dim=1)


def export(model: Transformer, path: Path) -> None:
    """Write a model that maps ``window`` (batch, samples, 3), in g, to ``probs``."""
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Probabilities(model).eval(),
            (torch.zeros(2, model.shape.samples, 3),),
            path,
            input_names=["window"],
            output_names=["probs"],
            dynamic_shapes={"window": {0: torch.export.Dim("batch")}},
            external_data=False,
            verbose=False,
        )


def difference(model: Transformer, path: Path, windows: NDArray[np.float32]) -> float:
    """Return the largest difference of a probability between PyTorch and ONNX Runtime."""
    from onnxruntime import InferenceSession

    session = InferenceSession(path, providers=["CPUExecutionProvider"])
    (outputs,) = session.run(None, {"window": windows})
    with torch.inference_mode():
        expected = Probabilities(model).eval()(torch.from_numpy(windows)).numpy()
    return float(np.abs(outputs - expected).max())


def export_both(folder: Path, fold: int = 0, seed: int = 0) -> dict[str, float]:
    """Export the models of a fold and a seed, and return how far each is from PyTorch."""
    differences = {}
    with np.load(folder / "weights.npz") as file:
        about = json.loads(str(file["about"]))
        vectors = {source: file[f"{source}/{fold}/{seed}"] for source in SHAPES}
    for source, vector in vectors.items():
        shape = (TINY if about["tiny"] else SHAPES)[source]
        model = fitted_model(shape, len(about["classes"]), vector)
        path = folder / f"{source}.onnx"
        export(model, path)
        noise = np.random.default_rng(0).normal(size=(64, shape.samples, 3)).astype(np.float32)
        differences[source] = difference(model, path, noise)
        if differences[source] > CLOSE:
            raise ValueError(
                f"{path} is {differences[source]:.2g} from PyTorch; it must be below {CLOSE}"
            )
    return differences


def main(arguments: list[str] | None = None) -> None:
    """Export, and print how far the files are from PyTorch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="with the weights.npz of experiments.train")
    args = parser.parse_args(arguments)
    for source, largest in export_both(args.folder).items():
        size = (args.folder / f"{source}.onnx").stat().st_size / 1e3
        print(f"{source}.onnx, {size:.0f} kB: at most {largest:.1e} from PyTorch")


if __name__ == "__main__":
    main()
