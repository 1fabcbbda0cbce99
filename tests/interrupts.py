"""Ctrl-C at any point of a call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def interrupted(call: Callable[[], object], at: int) -> bool:
    """Call; raise KeyboardInterrupt where Python would handle a signal for the at-th time.

    It does so where a function begins, and after one in C has returned. Returns whether the call
    was so long.
    """
    left = at

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal left
        if event in ("call", "c_return"):
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

    try:
        sys.setprofile(profile)
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False
