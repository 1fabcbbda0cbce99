"""Train one model, with early stopping on held-out people.

The signals lie on the device as they were recorded; windows are cut there by their indices and
augmented there, a batch at a time. Every epoch has its own seed. This module needs NumPy and
PyTorch alone.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from .models import Shape, Transformer
from .signals import PER_G, STEP, Signals, Steps


@dataclass(frozen=True)
class Plan:
    """How to train.

    Attributes
    ----------
    epochs, batches, batch : int
        At most so many epochs, of so many batches, of so many windows.
    patience : int
        Epochs without a better loss on those held out, after which training ends.
    rate, decay : float
        The highest learning rate, and the decay of weights.
    turn, scale : float
        Standard deviations of a random rotation, in degrees, and of a random factor.
    """

    epochs: int = 100
    batches: int = 32
    batch: int = 256
    patience: int = 20
    rate: float = 2e-3
    decay: float = 0.05
    turn: float = 15.0
    scale: float = 0.1


class Device:
    """Signals on a device, and the windows cut from them.

    Parameters
    ----------
    signals : Signals
        All that windows will be cut from. On the CPU they are not copied: a memory map stays one.
    device : str
        Of PyTorch.
    """

    def __init__(self, signals: Signals, device: str) -> None:
        torch.backends.cudnn.allow_tf32 = False  # predictions are the same on every device
        self.device = torch.device(device)
        self.X = torch.from_numpy(signals.X).to(self.device)
        self.y = torch.from_numpy(signals.y).to(self.device)

    def windows(self, end: Tensor, first: Tensor, samples: int) -> Tensor:
        """Return the `samples` before each end, in g, (B, samples, 3); see `signals`."""
        back = torch.arange(-samples, 0, device=self.device)
        rows = torch.maximum(end[:, None] + back, first[:, None])
        return self.X[rows].float() / PER_G

    def index(self, rows: NDArray[np.int64]) -> Tensor:
        """Return row numbers on the device."""
        return torch.from_numpy(np.ascontiguousarray(rows)).to(self.device)


def predict(model: Transformer, on: Device, steps: Steps, batch: int = 2048) -> NDArray[np.float32]:
    """Return a model's probabilities at each step, (T, K)."""
    model.eval()
    parts = [torch.zeros(0, model.classes)]
    with torch.inference_mode():
        for at in range(0, len(steps.end), batch):
            rows = slice(at, at + batch)
            end, first = on.index(steps.end[rows]), on.index(steps.first[rows])
            parts.append(model(on.windows(end, first, model.shape.samples)).softmax(dim=1).cpu())
    return torch.cat(parts).numpy()


def fit(
    shape: Shape,
    classes: int,
    on: Device,
    train: Steps,
    held_out: Steps,
    plan: Plan,
    seed: int,
) -> tuple[Transformer, list[tuple[float, float]]]:
    """Train a model.

    Parameters
    ----------
    shape : Shape
        Its sizes.
    classes : int
        How many.
    on : Device
        The signals.
    train, held_out : Steps
        Steps to learn from, and steps to stop by.
    plan : Plan
        How to train.
    seed : int
        Of the weights, the batches and their augmentation.

    Returns
    -------
    model, log : Transformer, list of (float, float)
        The model as it was at the epoch that was best on those held out; and of each epoch the
        loss and the accuracy on them.
    """
    torch.manual_seed(1_000_003 * seed)  # that of every device
    model = Transformer(shape, classes).to(on.device)
    optimizer = torch.optim.AdamW(model.parameters(), plan.rate, weight_decay=plan.decay)
    known = train.label >= 0
    end, first = on.index(train.end[known]), on.index(train.first[known])
    weight = class_weights(train.label, classes)
    best, log = copy.deepcopy(model.state_dict()), [(math.inf, 0.0)]
    for epoch in range(plan.epochs):
        torch.manual_seed(1_000_003 * seed + epoch + 1)
        _epoch(model, optimizer, on, end, first, torch.from_numpy(weight), plan, epoch)
        log.append(_score(predict(model, on, held_out), held_out.label, weight))
        losses = [loss for loss, _ in log]
        if losses[-1] < min(losses[:-1]):
            best = copy.deepcopy(model.state_dict())
        elif epoch + 1 - losses.index(min(losses)) >= plan.patience:
            break
    model.load_state_dict(best)
    return model.eval(), log[1:]


def class_weights(label: NDArray[np.int8], classes: int) -> NDArray[np.float32]:
    """Return the weight of each class: one over the square root of its share, 1 on average.

    A full inverse would teach the model that rare classes are as common as others; the root is a
    compromise, and on sets with equal shares it is 1. A class that is not there has 1 too.
    """
    counts = np.bincount(label[label >= 0], minlength=classes).astype(float)
    if not counts.any():
        raise ValueError("none of the steps to learn from has a label; train on other people")
    raw = 1 / np.sqrt(np.maximum(counts, 1))
    weights: NDArray[np.float32] = (raw * counts.sum() / (raw @ counts)).astype(np.float32)
    return np.where(counts > 0, weights, np.float32(1))


def augment(x: Tensor, plan: Plan) -> Tensor:
    """Rotate each window (B, T, 3) about a random axis and scale it, both a little."""
    B = x.shape[0]
    axis = functional.normalize(torch.randn(B, 3, device=x.device), dim=1)
    angle = torch.randn(B, 1, 1, device=x.device) * math.radians(plan.turn)
    zero = torch.zeros(B, device=x.device)
    a, b, c = axis.unbind(1)
    cross = torch.stack([zero, -c, b, c, zero, -a, -b, a, zero], dim=1).view(B, 3, 3)
    rotation = torch.eye(3, device=x.device) + angle.sin() * cross
    rotation = rotation + (1 - angle.cos()) * (cross @ cross)
    factor = 1 + plan.scale * torch.randn(B, 1, 1, device=x.device)
    return torch.bmm(x, rotation.transpose(1, 2)) * factor


def _epoch(
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    on: Device,
    end: Tensor,
    first: Tensor,
    weight: Tensor,
    plan: Plan,
    epoch: int,
) -> None:
    model.train()
    weight = weight.to(on.device)
    for number in range(plan.batches):
        rate = _rate(plan, epoch + number / plan.batches)
        for group in optimizer.param_groups:
            group["lr"] = rate
        pick = torch.randint(len(end), (plan.batch,), device=on.device)
        earlier = torch.randint(STEP, (plan.batch,), device=on.device)  # the shift in time
        at, since = end[pick] - earlier, first[pick]
        x = augment(on.windows(at, since, model.shape.samples), plan)
        with torch.autocast(on.device.type, torch.bfloat16, enabled=on.device.type == "cuda"):
            logits = model(x).float()
        loss = functional.cross_entropy(logits, on.y[at - 1].long(), weight, ignore_index=-1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def _rate(plan: Plan, epoch: float) -> float:
    """Rise over two epochs, then fall along a cosine."""
    falling = 0.5 * (1 + math.cos(math.pi * epoch / plan.epochs)) + 1e-3
    return plan.rate * min((epoch + 0.05) / 2.05, falling)


def _score(
    P: NDArray[np.float32], label: NDArray[np.int8], weight: NDArray[np.float32]
) -> tuple[float, float]:
    """Return the weighted log-loss and the accuracy."""
    P, y = P[label >= 0], label[label >= 0].astype(np.intp)
    if not len(y):
        raise ValueError("none of the held-out steps has a label; hold out other people")
    w = weight[y].astype(float)
    loss = -np.log(np.maximum(P[np.arange(len(y)), y], 1e-6)) @ w / w.sum()
    return float(loss), float(np.mean(P.argmax(axis=1) == y))
