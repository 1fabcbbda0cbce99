"""Train one model, stop where people who were held out say so, and go on after a stop.

The signals lie on the device as they were recorded; windows are cut there by their indices and
changed there, a batch at a time. Every epoch has a seed of its own, so that a run that was stopped
and goes on ends in the same weights. This module needs NumPy and PyTorch alone.
"""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from .models import Shape, Transformer, from_vector, to_vector
from .signals import PER_G, STEP, Signals, Steps

Tell = Callable[[int, dict[str, float]], None]


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


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained model.

    Attributes
    ----------
    vector : ndarray of float32
        Its weights, as `models.to_vector` orders them.
    log : list of dict
        A row an epoch.
    """

    vector: NDArray[np.float32]
    log: list[dict[str, float]]


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
        torch.backends.cudnn.allow_tf32 = False  # answers are the same on every device
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


def answers(model: Transformer, on: Device, steps: Steps, batch: int = 2048) -> NDArray[np.float32]:
    """Return what a model says at each step, (T, K)."""
    model.eval()
    found = []
    with torch.inference_mode():
        for at in range(0, len(steps.end), batch):
            end, first = (
                on.index(steps.end[at : at + batch]),
                on.index(steps.first[at : at + batch]),
            )
            logits = model(on.windows(end, first, model.shape.samples))
            found.append(logits.softmax(dim=1).cpu())
    return torch.cat(found).numpy() if found else np.zeros((0, model.classes), np.float32)


def fit(
    shape: Shape,
    classes: int,
    on: Device,
    train: Steps,
    held_out: Steps,
    plan: Plan,
    seed: int,
    kept: Path | None = None,
    tell: Tell | None = None,
) -> Fitted:
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
        How.
    seed : int
        Of the weights, the batches and what is done to them.
    kept : Path, optional
        Where all is kept after each epoch; training goes on from there, if it exists.
    tell : callable, optional
        Is told each epoch and its row of the log.

    Returns
    -------
    Fitted
        The weights of the epoch that was best on those held out.
    """
    _seed(on.device, seed, 0)
    model = Transformer(shape, classes).to(on.device)
    optimizer = torch.optim.AdamW(
        model.parameters(), plan.rate, weight_decay=plan.decay, fused=on.device.type == "cuda"
    )
    known = train.label >= 0
    end, first = on.index(train.end[known]), on.index(train.first[known])
    weight = torch.from_numpy(class_weights(train.label, classes)).to(on.device)
    log: list[dict[str, float]] = []
    best = to_vector(model)
    if kept is not None and kept.exists():
        state = torch.load(kept, map_location=on.device, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        log, best = state["log"], state["best"].cpu()
    while not _done(log, plan):
        epoch, begun = len(log), time.perf_counter()
        _seed(on.device, seed, epoch + 1)
        loss = _epoch(model, optimizer, on, end, first, weight, plan, epoch)
        P = answers(model, on, held_out)
        row = {
            "epoch": float(epoch),
            "loss": loss,
            **_score(P, held_out.label, weight.cpu().numpy()),
        }
        row["seconds"] = time.perf_counter() - begun
        if row["held_out_loss"] < min((r["held_out_loss"] for r in log), default=math.inf):
            best = to_vector(model)
        log.append(row)
        if kept is not None:
            _keep(kept, model, optimizer, log, best)
        if tell is not None:
            tell(epoch, row)
    return Fitted(best.numpy(), log)


def fitted_model(shape: Shape, classes: int, vector: NDArray[np.float32]) -> Transformer:
    """Return the model of stored weights."""
    return from_vector(shape, classes, torch.from_numpy(np.array(vector, np.float32)))


def class_weights(label: NDArray[np.int8], classes: int) -> NDArray[np.float32]:
    """Return the weight of each class: one by the square root of its share, 1 on average.

    A full inverse would teach the model that rare classes are as common as others; the root is a
    compromise, and on sets with equal shares it is 1. A class that is not there has 1 too.
    """
    counts = np.bincount(label[label >= 0], minlength=classes).astype(float)
    if not counts.any():
        raise ValueError("none of the steps to learn from has a label; train on other people")
    raw = 1 / np.sqrt(np.maximum(counts, 1))
    found: NDArray[np.float32] = (raw * counts.sum() / (raw @ counts)).astype(np.float32)
    return np.where(counts > 0, found, np.float32(1))


def turned(x: Tensor, plan: Plan) -> Tensor:
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
) -> float:
    model.train()
    total = torch.zeros((), device=on.device)
    for number in range(plan.batches):
        rate = _rate(plan, epoch + number / plan.batches)
        for group in optimizer.param_groups:
            group["lr"] = rate
        pick = torch.randint(len(end), (plan.batch,), device=on.device)
        earlier = torch.randint(STEP, (plan.batch,), device=on.device)  # the shift in time
        at, since = end[pick] - earlier, first[pick]
        label = on.y[at - 1].long()
        x = turned(on.windows(at, since, model.shape.samples), plan)
        with torch.autocast(on.device.type, torch.bfloat16, enabled=on.device.type == "cuda"):
            logits = model(x)
        loss = functional.cross_entropy(logits.float(), label, weight, ignore_index=-1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.detach()
    return float(total) / plan.batches


def _rate(plan: Plan, epoch: float) -> float:
    """Rise over two epochs, then fall along a cosine."""
    return plan.rate * min(
        (epoch + 0.05) / 2.05, 0.5 * (1 + math.cos(math.pi * epoch / plan.epochs)) + 1e-3
    )


def _score(
    P: NDArray[np.float32], label: NDArray[np.int8], weight: NDArray[np.float32]
) -> dict[str, float]:
    """Return the weighted log-loss and the accuracy."""
    P, y = P[label >= 0], label[label >= 0].astype(np.intp)
    if not len(y):
        raise ValueError("none of the held-out steps has a label; hold out other people")
    w = weight[y].astype(float)
    loss = -np.log(np.maximum(P[np.arange(len(y)), y], 1e-6)) @ w / w.sum()
    return {"held_out_loss": float(loss), "held_out_accuracy": float(np.mean(P.argmax(1) == y))}


def _done(log: list[dict[str, float]], plan: Plan) -> bool:
    if not log:
        return False
    best = int(np.argmin([row["held_out_loss"] for row in log]))
    return len(log) >= plan.epochs or len(log) - best > plan.horizon


def _seed(device: torch.device, seed: int, epoch: int) -> None:
    torch.manual_seed(1_000_003 * seed + epoch)  # that of every device


def _keep(
    path: Path, model: nn.Module, optimizer: Any, log: list[dict[str, float]], best: Tensor
) -> None:
    """Write the state whole or not at all, and the log beside it."""
    state = {
        "model": model.state_dict(), "optimizer": optimizer.state_dict(), "log": log, "best": best
    }  # fmt: skip
    new = path.with_suffix(".new")
    torch.save(state, new)
    new.replace(path)
    write_log(path.with_suffix(".csv"), log)


def write_log(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows
        )
