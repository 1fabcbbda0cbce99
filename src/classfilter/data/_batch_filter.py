"""The streams of tables that come in turn, filtered."""

from __future__ import annotations

from typing import Any

from .._support.types import Array
from ..chain._chain import Chain
from ..filters._stream_runner import StreamRunner, pack_state
from ..streams._rows import take_many
from ..streams._table import StreamTable
from ._frames import Rows


class BatchFilter:
    """One state per stream; each table continues the streams of the tables before it.

    Parameters
    ----------
    chain : Chain
        The settings of all streams.
    threads : int, optional
        The number of threads; by default that of processors.

    Examples
    --------
    >>> import polars as pl
    >>> from classfilter import Chain, DirichletFilter
    >>> from classfilter.data._frames import read_rows
    >>> streams = BatchFilter(Chain(DirichletFilter(["rest", "move"])))
    >>> for time in (0, 5):
    ...     df = pl.DataFrame({"time": [time], "p_rest": [0.9], "p_move": [0.1]})
    ...     P = streams.run(read_rows(df))
    >>> len(streams)
    1
    """

    def __init__(self, chain: Chain, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads is {threads}; it must be at least 1")
        self._chain, self._threads = chain, threads
        fresh = chain.filter()
        self._runner = StreamRunner(fresh)
        self._table = StreamTable(pack_state(fresh.state, fresh.probs.dtype))

    def __len__(self) -> int:
        """Return the number of streams so far."""
        return len(self._table)

    def run(self, rows: Rows, *, sort: bool = False) -> Array:
        """Filter the rows of a table, (T, K), in the filter's order of classes.

        With `sort`, the rows of a stream come in any order of time within the table. At an error
        nothing changes.
        """
        observed = self._chain.observe_rows(rows.source, rows.probs, rows.classes)
        taken = take_many(
            self._table, self._runner, rows.stream, rows.time, observed,
            sort=sort, threads=self._threads,
        )  # fmt: skip
        return taken.estimates

    def keep(self, stream: Any) -> None:
        """Forget all streams but one: where they come one after the other, the last."""
        for name in [name for name in self._table.slots if name != stream]:
            self._table.forget(name)
