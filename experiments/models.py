"""The two classifiers: small transformers after Shavit and Klein.

"Boosting Inertial-Based Human Activity Recognition With Transformers" (IEEE Access, 2021): a few
convolutions embed the samples, a learned class token and learned positions are added, a transformer
encoder mixes them, and a head reads the class token. The paper gives only the number of weights,
about 45 and 180 thousand, and the seconds of input, 5 and 30. Strides in the convolutions, which
are ours, keep the number of tokens small enough for a wrist.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional

from .signals import RATE


@dataclass(frozen=True)
class Shape:
    """The sizes of a model.

    Attributes
    ----------
    seconds : float
        Of input.
    width : int
        Numbers per token.
    strides : tuple of int
        One convolution each.
    layers, heads, wider : int
        Of the encoder; `wider` is how much its hidden layers are wider than a token.
    kernel : int
        Samples that a convolution sees.
    dropout : float
        Share of the numbers that are left out in training.
    """

    seconds: float
    width: int
    strides: tuple[int, ...]
    layers: int = 4
    heads: int = 4
    wider: int = 2
    kernel: int = 5
    dropout: float = 0.1

    @property
    def samples(self) -> int:
        """Samples of input."""
        return round(self.seconds * RATE)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Samples after each convolution; the last are the tokens without that of the class."""
        return tuple(
            -(-self.samples // prod(self.strides[: i + 1])) for i in range(len(self.strides))
        )


SHAPES = {
    "weak": Shape(5, 32, (1, 2, 2)),
    "strong": Shape(30, 64, (2, 2, 2)),
}
TINY = {
    "weak": Shape(5, 8, (4, 5), layers=1, heads=2),
    "strong": Shape(30, 8, (10, 6), layers=1, heads=2),
}
"""For tests."""


class Block(nn.Module):
    """One layer of the encoder: attention, then a hidden layer, each after a normalisation."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        d, hidden = shape.width, shape.width * shape.wider
        self.heads, self.dropout = shape.heads, shape.dropout
        self.attention_norm, self.hidden_norm = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.project = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.widen, self.narrow = nn.Linear(d, hidden), nn.Linear(hidden, d)

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (B, T, d) to tokens."""
        B, T, d = x.shape
        q, k, v = (
            self.qkv(self.attention_norm(x)).view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        )
        mixed = functional.scaled_dot_product_attention(q, k, v)
        x = x + self._drop(self.project(mixed.transpose(1, 2).reshape(B, T, d)))
        return x + self._drop(self.narrow(functional.gelu(self.widen(self.hidden_norm(x)))))

    def _drop(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.dropout, self.training)


class Transformer(nn.Module):
    """A classifier of windows.

    Parameters
    ----------
    shape : Shape
        Its sizes.
    classes : int
        How many.
    """

    def __init__(self, shape: Shape, classes: int) -> None:
        super().__init__()
        d = shape.width
        self.shape, self.classes = shape, classes
        inputs = [3] + [d] * (len(shape.strides) - 1)
        self.embed = nn.ModuleList(
            nn.Conv1d(n, d, shape.kernel, stride, padding=shape.kernel // 2)
            for n, stride in zip(inputs, shape.strides, strict=True)
        )
        self.token = nn.Parameter(0.02 * torch.randn(1, 1, d))
        self.position = nn.Parameter(0.02 * torch.randn(1, shape.lengths[-1] + 1, d))
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(d)
        self.hidden, self.head = nn.Linear(d, d // 4), nn.Linear(d // 4, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Map windows (B, samples, 3), in g, to logits (B, classes)."""
        x = x.transpose(1, 2)
        for convolution in self.embed:
            x = functional.gelu(convolution(x))
        x = x.transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.position
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(functional.gelu(self.hidden(self.norm(x[:, 0]))))
        return logits


def weights(shape: Shape, classes: int) -> int:
    """Return how many weights a model has."""
    return sum(p.numel() for p in Transformer(shape, classes).parameters())


def multiply_adds(shape: Shape, classes: int) -> int:
    """Return the multiply-adds of one call; activations and normalisations are not counted.

    Examples
    --------
    >>> multiply_adds(SHAPES["strong"], 6) / multiply_adds(SHAPES["weak"], 6) > 10
    True
    """
    d, tokens = shape.width, shape.lengths[-1] + 1
    inputs = [3] + [d] * (len(shape.strides) - 1)
    embedding = sum(
        length * n * d * shape.kernel for length, n in zip(shape.lengths, inputs, strict=True)
    )
    layer = tokens * d * d * (4 + 2 * shape.wider) + 2 * tokens * tokens * d
    return embedding + shape.layers * layer + d * (d // 4) + (d // 4) * classes
