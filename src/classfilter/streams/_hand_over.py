"""A stream that goes on by another name, such as an object whose tracker changed its id."""

from __future__ import annotations

from collections.abc import Hashable

from .._errors import ArgumentError
from ._table import StreamTable, check_name


def hand_over(table: StreamTable, old: Hashable, new: Hashable) -> None:
    """Give the slot of a stream another name, or raise and change nothing."""
    slot, slots = table.slot(old), table.slots
    check_name(new)
    if new in slots:
        problem = f"is {{}}, a stream with rows of its own, so that {old!r} cannot go on as it"
        raise ArgumentError("new", new, problem, remedy=f"forget those first: drop([{new!r}])")
    if table.live is not None:
        table.live.waiting[new] = None  # `pop_events` looks only at these
    if table.expire_after is not None:
        # It is the last one to go now, and streams go in the order in which they were seen.
        table.columns.seen[slot] = table.clock
    # Without a call in between: a signal's handler finds the stream by one of the names.
    slots[new] = slot
    del slots[old]
    if old in table.strays:
        table.strays[new] = table.strays.pop(old)
