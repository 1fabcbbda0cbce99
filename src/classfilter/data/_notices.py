"""What is said of a table that can be filtered, but is likely not what was meant."""

from __future__ import annotations

import warnings
from collections.abc import Collection

from .._time_scale import TimeScale
from ..chain._chain import Chain
from ._frames import TableRows
from ._stream_column import interleaved, warn_of_streams


def look_at_rows(rows: TableRows, chain: Chain, unit: str | None) -> None:
    """Warn if the rows of a whole table do not fit the filter, one stream, or the channels."""
    scale = TimeScale(unit, chain.filter())
    scale.see(rows.time, rows.stream.codes, rows.time_kind.is_number)
    scale.warn()
    warn_of_streams(interleaved(rows))
    warn_of_channels(chain, rows.source.categories if len(rows.time) else ())


def warn_of_channels(chain: Chain, sources: Collection[str]) -> None:
    """Warn if no source of a whole table has a channel, though there are channels.

    Where weights are by name, a source without one is refused anyway.
    """
    corrected = [name for name, channel in chain.channel.items() if channel is not None]
    if not corrected or not sources or isinstance(chain.beta, dict):
        return
    if not set(corrected) & set(sources):
        there = sorted(sources)[:5]
        warnings.warn(
            f"channel names {corrected}, but the rows have the sources {there}, so that nothing is "
            f"corrected; give channel={{{there[0]!r}: ...}}, or a column source",
            stacklevel=4,
        )
