"""A live query in a process of its own, to be killed: ``python tests/live_query.py FOLDER MASTER``.

It filters the files of ``FOLDER/in`` that are there to ``FOLDER/out``. While there is a file
``FOLDER/die``, the next worker that filters a row removes it and dies.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import classfilter as cf
from fleet_frames import BETA, CHANNEL, CLASSES, live_frame, session

GAMMA = 0.8


class Mortal(cf.EmaFilter):
    """A filter whose process dies once."""

    def update(self, probs: Any, beta: float = 1.0, dt: float = 1.0) -> Any:
        try:
            (Path(os.environ["LIVE_QUERY"]) / "die").unlink()
        except FileNotFoundError:
            return super().update(probs, beta, dt)
        os.kill(os.getpid(), signal.SIGKILL)


def main(folder: Path, master: str) -> None:
    os.environ["LIVE_QUERY"] = str(folder)  # which the workers inherit
    filtered = cf.spark.filter_stream(
        live_frame(session(master), folder / "in"),
        Mortal(CLASSES, GAMMA),
        beta=BETA,
        channel=CHANNEL,
    )
    query = (
        filtered.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "out"), format="parquet")
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
