"""Models as sources of a `classfilter.Cascade`: callables from a window to probabilities.

Each takes a window of samples, (n, ...), and returns K probabilities in the model's order of
classes, which has to be the filter's. Copy what you need, and put your own preparation of the
samples in front of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

Source = Callable[[NDArray[Any]], NDArray[Any]]
DTYPES = {"tensor(float16)": np.float16, "tensor(float)": np.float32, "tensor(double)": np.float64}


def from_sklearn(model: Any) -> Source:
    """Return a source that calls a scikit-learn classifier, with all samples in a row as features.

    Make the filter with ``model.classes_``, so that both have the classes in one order.

    Examples
    --------
    >>> import classfilter as cf
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> windows = rng.normal(size=(200, 20, 3)) + np.repeat([0.0, 1.0], 100)[:, None, None]
    >>> labels = np.repeat(["rest", "walk"], 100)
    >>> model = LogisticRegression().fit(windows.reshape(200, -1), labels)
    >>> f = cf.DirichletFilter(model.classes_.tolist(), half_life=30.0)
    >>> cascade = cf.Cascade(f, {"model": from_sklearn(model)}, window={"model": 20})
    >>> [step.label for step in cascade.run(windows[98:102], rate=10, step=2.0)]
    ['rest', 'rest', 'rest', 'walk']
    """

    def call(window: NDArray[Any]) -> NDArray[Any]:
        probs: NDArray[Any] = model.predict_proba(window.reshape(1, -1))[0]
        return probs

    return call


def from_onnx(path: str | PathLike[str], *, logits: bool = True, threads: int = 0) -> Source:
    """Return a source that runs an ONNX file, which takes (1, n, ...) and gives (1, K) last.

    Where it gives probabilities already, say ``logits=False``. Unless `threads` is given, the
    runtime takes all cores; its threads wait busily for more, so a small model is better off
    with one.
    """
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = threads
    session = InferenceSession(fspath(path), options)
    (input_,), output = session.get_inputs(), session.get_outputs()[-1].name
    dtype = DTYPES[input_.type]

    def call(window: NDArray[Any]) -> NDArray[Any]:
        (batch,) = session.run([output], {input_.name: window[None].astype(dtype)})
        return softmax(batch[0]) if logits else batch[0]

    return call


def from_torch(module: Any, *, logits: bool = True) -> Source:
    """Return a source that runs a torch module, which takes (1, n, ...) and gives (1, K).

    The module is set to evaluation. Where it gives probabilities already, say ``logits=False``.
    """
    import torch

    module.eval()
    parameter = next(module.parameters())

    def call(window: NDArray[Any]) -> NDArray[Any]:
        with torch.inference_mode():
            batch = module(torch.as_tensor(window[None]).to(parameter))
            return np.asarray((torch.softmax(batch, -1) if logits else batch)[0].cpu())

    return call


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Return probabilities, in double precision.

    Examples
    --------
    >>> softmax(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    weights = np.exp(logits.astype(np.float64) - logits.max())
    p: NDArray[Any] = weights / weights.sum()
    return p
