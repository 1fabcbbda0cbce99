"""Models as sources: what a library answers is what the filter takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples.sources import from_onnx, from_sklearn, from_torch
from numpy.typing import NDArray

import classfilter as cf

Floats = NDArray[np.float64]
RNG = np.random.default_rng(3)
WINDOWS = RNG.normal(size=(40, 20, 3))
W, B = RNG.normal(size=(4, 60)), RNG.normal(size=4)
LOGITS = WINDOWS.reshape(40, 60) @ W.T + B
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)


def track(source: Any, classes: Any = 4) -> Floats:
    """What a cascade makes of the windows, one a step."""
    f = cf.DirichletFilter(classes, half_life=3.0, estimate="mean")
    cascade = cf.Cascade(f, {"model": source}, window={"model": 20})
    steps = list(cascade.run(WINDOWS, rate=20, step=1.0))
    assert cascade.errors == {"model": 0}
    return np.array([step.probs for step in steps])


def told(probs: Floats) -> Floats:
    f = cf.DirichletFilter(4, half_life=3.0, estimate="mean")
    return f.run(probs, dt=[0.0] + [1.0] * (len(probs) - 1))


def test_sklearn() -> None:
    from sklearn.linear_model import LogisticRegression

    rows = WINDOWS.reshape(40, 60)
    model = LogisticRegression().fit(rows, np.arange(40) % 4)
    alone = np.concatenate([model.predict_proba(row[None]) for row in rows])
    found = track(from_sklearn(model), model.classes_.tolist())
    assert found.tobytes() == told(alone).tobytes()


@pytest.mark.parametrize("logits", [True, False])
@pytest.mark.parametrize(("number", "error"), [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_onnx(tmp_path: Path, logits: bool, number: Any, error: float) -> None:
    import onnx

    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(number))
    node, shaped = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    nodes = [node("Flatten", ["x"], ["row"]), node("Gemm", ["row", "w", "b"], ["y"], transB=1)]
    if not logits:
        nodes.append(node("Softmax", ["y"], ["p"]))
    graph = onnx.helper.make_graph(
        nodes,
        "linear",
        [shaped("x", kind, [1, 20, 3])],
        [shaped("y" if logits else "p", kind, [1, 4])],
        [onnx.numpy_helper.from_array(a.astype(number), n) for n, a in (("w", W), ("b", B))],
    )
    opset = [onnx.helper.make_opsetid("", 13)]
    path = tmp_path / "linear.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    found = track(from_onnx(path, logits=logits))
    np.testing.assert_allclose(found, told(PROBS), rtol=0, atol=error)


@pytest.mark.parametrize("logits", [True, False])
def test_torch(logits: bool) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    linear = torch.nn.Linear(60, 4).double()
    layers = [torch.nn.Flatten(), torch.nn.Dropout(0.5), linear]
    module = torch.nn.Sequential(*layers, *([] if logits else [torch.nn.Softmax(-1)]))
    with torch.no_grad():
        linear.weight[:], linear.bias[:] = torch.as_tensor(W), torch.as_tensor(B)
    found = track(from_torch(module, logits=logits))
    np.testing.assert_allclose(found, told(PROBS), rtol=0, atol=1e-12)


def test_a_tensor_with_a_gradient_is_an_answer() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    answers = iter(PROBS)

    def source(window: Floats) -> Any:
        return torch.tensor(next(answers)[None], requires_grad=True)

    assert track(source).tobytes() == told(PROBS).tobytes()
