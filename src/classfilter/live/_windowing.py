"""Samples that come in blocks of any size, cut into the windows of equal steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._support.types import Array


class Windows:
    """Cuts blocks of any size into the windows of steps, which do not depend on those sizes.

    Parameters
    ----------
    rate, step : float
        As in `Cascade.run`.
    keep : int
        The most samples of a window.
    """

    def __init__(self, rate: float, step: float, keep: int) -> None:
        self._rate, self._step, self._keep = rate, step, keep
        self._blocks: list[Array] = []
        self._first = self._seen = 0
        """The index of the first sample that is kept, and of the first that is still to come."""
        self._next = 1

    def add(self, block: Array) -> Iterator[tuple[int, Array]]:
        """Take a block, and yield the number and the window of each step that it completes."""
        if not len(block):
            return
        if self._blocks and block.shape[1:] != self._blocks[0].shape[1:]:
            raise ValueError(
                f"chunks has samples of shape {block.shape[1:]} after those of shape "
                f"{self._blocks[0].shape[1:]}; give the same channels in each block"
            )
        self._blocks.append(np.array(block))  # the caller may reuse its memory
        self._seen += len(block)
        while self._seen >= (end := self._end()):
            held = self._blocks[0] if len(self._blocks) == 1 else np.concatenate(self._blocks)
            stop = end - self._first
            yield self._next, held[max(0, stop - self._keep) : stop]
            self._next += 1
            past = max(0, self._end() - self._keep - self._first)
            self._blocks, self._first = [held[past:]], self._first + min(past, len(held))
        self._forget()

    def _end(self) -> int:
        return round(self._next * self._step * self._rate)

    def _forget(self) -> None:
        """Let go of the blocks that no step to come will see, and of what a block was cut from."""
        oldest = self._end() - self._keep
        while self._blocks and self._first + len(self._blocks[0]) <= oldest:
            self._first += len(self._blocks.pop(0))
        if self._blocks and self._blocks[0].base is not None:
            self._blocks[0] = self._blocks[0].copy()
