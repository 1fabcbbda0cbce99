"""A live query to be killed: ``python tests/live_query.py FOLDER MASTER rows|events``.

It filters the files of ``FOLDER/in`` that are there to ``FOLDER/out``, or decides events. While
there is a file ``FOLDER/die``, the next worker that filters a row removes it and dies.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import classfilter as cf
from fleet_frames import BETA, CHANNEL, CLASSES, live_frame, run_query, session

GAMMA = 0.8
RULE = cf.EventRule(1.0)
EXPIRE_AFTER = 1e5


class Mortal(cf.EmaFilter):
    """A filter whose process dies once."""

    def update(self, probs: Any, beta: float = 1.0, dt: float = 1.0) -> Any:
        try:
            (Path(os.environ["LIVE_QUERY"]) / "die").unlink()
        except FileNotFoundError:
            return super().update(probs, beta, dt)
        os.kill(os.getpid(), signal.SIGKILL)


def main(folder: Path, master: str, what: str) -> None:
    os.environ["LIVE_QUERY"] = str(folder)  # which the workers inherit
    rows, f = live_frame(session(master), folder / "in"), Mortal(CLASSES, GAMMA)
    how: dict[str, Any] = {"beta": BETA, "channel": CHANNEL}
    if what == "rows":
        run_query(cf.spark.filter_stream(rows, f, **how), folder)
    else:
        run_query(cf.spark.event_stream(rows, f, RULE, expire_after=EXPIRE_AFTER, **how), folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
